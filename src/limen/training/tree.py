r"""Texts with many questions, read as one: the facts once, then each question from where the facts end.

    y, S = read(facts)      y_q = read(question_q, from S)        for every question q

A mixer needs nothing of its own for this, only `advance`: some tokens from a state on.  So every question
gets what it would get if the text held it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import lazy_loader

from limen.core.mixer import Streaming
from limen.errors import BadInput
from limen.model.model import Mix, Place

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


def along(trunk: int, branches: Sequence[tuple[int, int]]) -> Mix:
    """How a mixer is run on `trunk` tokens, behind which come branches, each (questions, tokens)."""

    def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
        mixer, w = place.mixer, place.weights
        if not isinstance(mixer, Streaming):
            raise BadInput(f"{mixer} cannot be run from a state on, so it reads no text of many questions")
        rows = seen.shape[0]
        text, *questions = seen.split([trunk, *(Q * n for Q, n in branches)], 1)
        state, y = mixer.advance(w, mixer.start(w, (rows,)), text)
        outputs = [y]
        for (Q, n), part in zip(branches, questions, strict=True):
            of_each = mixer.advance(w, _for_each(state, rows, Q), part.unflatten(1, (Q, n)))[1]
            outputs.append(of_each.flatten(1, 2))
        return torch.cat(outputs, 1)

    return mix


def _for_each(state: Any, rows: int, Q: int) -> Any:
    """The state (rows, …) as that of every question, (rows, Q, …), without a copy."""
    if isinstance(state, torch.Tensor):
        return state.unsqueeze(1).expand(rows, Q, *state.shape[1:])
    items = [_for_each(item, rows, Q) for item in state]
    return type(state)(*items) if hasattr(state, "_fields") else tuple(items)
