r"""The steps of a training run: of one pupil, or of several as one.

    W: (pupils, weights)        loss_i = loss(W_i, batch_i)        ∂ Σ_j loss_j / ∂W_i = ∂ loss_i / ∂W_i

So one backward pass gives each pupil its own gradient, and a row of W takes the step that it would take
alone.  Small models spend most of a step on the overhead of operations, which several then share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import lazy_loader
import numpy as np

from limen.training.adamw import AdamW, AdamWByRows
from limen.training.lesson import Batch
from limen.training.pupil import Pupil
from limen.training.rounded import StateCodes

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_LONGEST = 1.0  # of a gradient, all weights together


class Taken(NamedTuple):
    """One step of one pupil: its batch and its rate."""

    pupil: Pupil
    batch: Batch
    rate: float


class Alone:
    """The steps of one pupil."""

    def __init__(self, pupil: Pupil) -> None:
        for w in pupil.weights:
            w.requires_grad_()
        self.optimizer = AdamW(pupil.weights, pupil.spec.decay)

    def step(self, lessons: list[Taken], proposed: Batch | None) -> list[float]:
        """The loss of one step on a fresh batch and on the inputs that an adversary proposed."""
        ((pupil, batch, rate),) = lessons
        loss = pupil.loss(batch)
        if proposed is not None:
            loss = loss + pupil.loss(proposed)
        loss.backward()
        self.optimizer.step(rate, _LONGEST)
        return [float(loss.detach())]


class Together:
    """The steps of several pupils: the pass of one under `vmap`, the weights of each a row of one matrix.

    A pupil's own model sees its row, so it may be asked at any time.
    """

    def __init__(self, pupils: Sequence[Pupil]) -> None:
        self.pupils = list(pupils)
        self.shapes = [w.shape for w in pupils[0].weights]
        rows = [torch.cat([w.detach().flatten() for w in pupil.weights]) for pupil in pupils]
        self.optimizer = AdamWByRows(torch.stack(rows).requires_grad_(), pupils[0].spec.decay)
        self._see()

    def step(self, lessons: list[Taken], proposed: Batch | None) -> list[float]:
        """The losses of one step, each pupil on its own batch at its own rate."""
        assert proposed is None, "an adversary proposes to one pupil"
        self._keep([taken.pupil for taken in lessons])
        batch, axes = _stacked([taken.batch for taken in lessons])
        rows = self.optimizer.rows
        losses, codes = torch.func.vmap(self._loss, in_dims=(0, axes, 0))(
            self._weights(rows), batch, _codes(self.pupils)
        )
        losses.sum().backward()
        self.optimizer.step([taken.rate for taken in lessons], _LONGEST)
        for i, pupil in enumerate(self.pupils):
            if pupil.rounding is not None:
                pupil.rounding.codes = {name: (mean[i], spread[i]) for name, (mean, spread) in codes.items()}
        each: list[float] = losses.tolist()
        return each

    def _loss(
        self, weights: list[torch.Tensor], batch: Batch, codes: StateCodes
    ) -> tuple[torch.Tensor, StateCodes]:
        """The loss of one pupil, and the codes of its rounded states after this batch."""
        pupil = self.pupils[0].having(weights)
        if pupil.rounding is None:
            return pupil.loss(batch), codes
        pupil.rounding.codes = dict(codes)
        return pupil.loss(batch), pupil.rounding.codes

    def _weights(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """The rows, or one row, as weights."""
        parts = rows.split([shape.numel() for shape in self.shapes], -1)
        return [
            part.unflatten(-1, shape) if shape else part.squeeze(-1)
            for part, shape in zip(parts, self.shapes, strict=True)
        ]

    def _keep(self, pupils: list[Pupil]) -> None:
        if len(pupils) < len(self.pupils):
            some = [i for i, pupil in enumerate(self.pupils) if any(pupil is kept for kept in pupils)]
            self.optimizer.keep(some)
            self.pupils = pupils
            self._see()

    def _see(self) -> None:
        for pupil, row in zip(self.pupils, self.optimizer.rows.detach(), strict=True):
            own = pupil.having(self._weights(row))
            pupil.model, pupil.heads = own.model, own.heads


def _codes(pupils: list[Pupil]) -> StateCodes:
    """The codes of all pupils' rounded states, stacked; empty where nothing is rounded."""
    own = [pupil.rounding.codes for pupil in pupils if pupil.rounding is not None]
    return {
        name: (torch.stack([codes[name][0] for codes in own]), torch.stack([codes[name][1] for codes in own]))
        for name in (own[0] if own else ())
    }


def _stacked(batches: list[Batch]) -> tuple[Batch, Batch]:
    """The batches as one, and the axis of the pupils in each part; None: the part is the same for all."""
    first = batches[0]
    same = first.due.ndim == 1 and all(np.array_equal(batch.due, first.due) for batch in batches)
    axes: list[Any] = [None if part is None else 0 for part in first]
    axes[Batch._fields.index("due")] = None if same else 0
    given: list[Any] = batches
    parts: list[Any] = [
        part if part is None else torch.as_tensor(part if axis is None else np.stack([b[i] for b in given]))
        for i, (part, axis) in enumerate(zip(first, axes, strict=True))
    ]
    return Batch(*parts), Batch(*axes)
