r"""States of p bits: what crosses the cut is rounded, and training goes through as if it were not.

    s ↦ μ + (k + ½)·6σ/2^p,     k the nearest in -2^(p-1) … 2^(p-1) - 1

a number of the state at a time; μ and σ are its mean and deviation over past batches, constants of the model.
Only there the theorems count bits: before and after the cut nothing is rounded.  With p in the architecture's
text a cell can so lie below a proved bound, which float32 states never do at these sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import lazy_loader

from limen.errors import BadInput
from limen.model.model import Model, State

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_RANGE = 3.0  # deviations to each side that have codes
_SLOW = 0.95  # how much of the past mean and deviation is kept at each batch


StateCodes = dict[str, tuple["torch.Tensor", "torch.Tensor"]]  # by number of a state: its mean and deviation


class Rounding:
    """The codes of every number of the states, learned from the batches it has seen."""

    def __init__(self, model: Model) -> None:
        parts = [part for layer in model.frame.architecture.layers for part in layer.parts]
        if any(part.p is not None and part.full for part in parts):
            raise BadInput(
                f"{model.frame.architecture}: p is for fixed-size states, and a full layer has none"
            )
        self.bits = [[part.p for part in layer.parts] for layer in model.frame.architecture.layers]
        self.codes: StateCodes = {}

    def __call__(self, state: State, learn: bool) -> State:
        """The state with every number of the parts that say p rounded."""
        layers = [
            tuple(
                self._part(f"{i}.{j}", one, p, learn)
                for j, (one, p) in enumerate(zip(parts, bits, strict=True))
            )
            for i, (parts, bits) in enumerate(zip(state.layers, self.bits, strict=True))
        ]
        return State(state.position, tuple(layers))

    def _part(self, place: str, state: Any, p: int | None, learn: bool) -> Any:
        if p is None:
            return state
        return _mapped(state, place, lambda name, s: self._round(name, s, p, learn))

    def _round(self, name: str, s: torch.Tensor, p: int, learn: bool) -> torch.Tensor:
        if learn or name not in self.codes:
            self._learn(name, s.detach())
        mean, deviation = self.codes[name]
        step, most = 2 * _RANGE * deviation / 2**p, 2 ** (p - 1)
        inside = ((s - mean) / step).clamp(-most, most - 1e-3)
        codes = (inside.floor() + 0.5 - inside).detach() + inside  # its gradient is that of `inside`
        rounded: torch.Tensor = mean + codes * step
        return rounded

    def _learn(self, name: str, s: torch.Tensor) -> None:
        """Mixes mean and deviation of the batch into those of the past."""
        mean, deviation = s.mean(0), s.std(0).clamp(min=1e-6)
        if name in self.codes:
            old_mean, old_deviation = self.codes[name]
            mean = _SLOW * old_mean + (1 - _SLOW) * mean
            deviation = _SLOW * old_deviation + (1 - _SLOW) * deviation
        self.codes[name] = mean, deviation


def logits_after_cut(
    model: Model, round_state: Callable[[State], State], text: torch.Tensor, questions: torch.Tensor
) -> torch.Tensor:
    """(rows, cut) and (rows, Q, s) -> (rows, Q, answers): each question from the rounded state alone."""
    state, _ = model.absorb(text)
    state = _for_each(round_state(state), questions.shape[1])
    for token in questions.unbind(-1):
        state, logits = model.step(state, token)
    return logits


def _for_each(state: State, questions: int) -> State:
    """A copy of the state for every question: (rows, …) -> (rows, questions, …)."""

    def spread(_: str, s: torch.Tensor) -> torch.Tensor:
        return s.unsqueeze(1).expand(len(s), questions, *s.shape[1:])

    layers = tuple(tuple(_mapped(one, "", spread) for one in parts) for parts in state.layers)
    return State(state.position, layers)


def _mapped(state: Any, name: str, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Any:
    """A state with each of its tensors changed, by the name of its place."""
    if isinstance(state, torch.Tensor):
        return change(name, state) if state.numel() else state
    if isinstance(state, tuple):
        items = [_mapped(item, f"{name}.{i}", change) for i, item in enumerate(state)]
        return type(state)(*items) if hasattr(state, "_fields") else tuple(items)
    return state
