"""The weight that the last token gives to each position, in each head, on an input that fools the model.

    softmax       the attention itself
    a memory      q·(all that was done to the state since)·k_i, which may be negative

In both y = Σ_i weight_i v_i, so they are drawn alike.
"""

from __future__ import annotations

from limen.adversary.strategies.exact.layer import heads_on
from limen.core.arrays import np
from limen.core.catalogue import identifier
from limen.core.fooled_input import Look
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import Model, Place, at_once
from limen.model.target import Target


def head_weights(target: Target, tokens: Tokens) -> tuple[Look, ...]:
    """The weights of every head of a Limen model in float64; mixers without such weights are left out."""
    model = target.limen
    if model is None:
        return ()
    wide = Model(model.frame, {name: w.detach().double() for name, w in model.weights.items()})
    heads: list[Look] = []

    def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
        first, text = np.zeros(1, dtype=np.int64), np.zeros((1, len(tokens)), dtype=np.int64)
        for i, head in enumerate(heads_on(place, seen) or ()):
            weights = head.weights(first, text)[0]
            heads.append(Look(place.layer, i, identifier(place.mixer), tuple(weights.tolist())))
        return at_once(place, seen)

    with torch.no_grad():
        wide.through(wide.embedded(torch.as_tensor(np.ascontiguousarray(tokens))), mix)
    return tuple(heads)
