"""Which model of transformers a construction becomes: the one that has its mixers, and no other ones."""

from __future__ import annotations

from dataclasses import replace

from limen.checkpoints.blocks import ShapedLayer, blocks
from limen.checkpoints.checkpoint import Ported
from limen.checkpoints.llama import Llama
from limen.checkpoints.mamba import Bamba, MambaTwo
from limen.checkpoints.places import Places
from limen.checkpoints.qwen3_next import QwenThreeNext
from limen.core.construction import Construction
from limen.errors import BadInput
from limen.model.model import Model


def ported(construction: Construction) -> Ported:
    """Raises, in one line, if transformers has no such model."""
    places, model = Places.of(construction), Model.of(construction)
    if construction.task.asks > 1:
        raise BadInput(f"{construction.task}: a checkpoint writes one answer, not {construction.task.asks}")
    if model.frame.norm or not model.frame.residual:
        raise BadInput(f"{construction}: a checkpoint has residual sums and no norms of its own")
    made, further = blocks(construction, model, places)
    blocked, delta = any(layer.recurrence or layer.sum for layer in made), any(layer.delta for layer in made)
    if blocked and delta:
        raise BadInput(
            f"{construction}: no causal model of transformers has Mamba-2 and the gated delta rule"
        )
    if delta:
        shape: type[Ported] = QwenThreeNext
    elif blocked and any(layer.heads for layer in made):
        shape = Bamba
    elif blocked:
        shape, made = MambaTwo, [part for layer in made for part in _apart(layer)]
    else:
        shape = Llama
    return shape(construction, model, places, tuple(made), further)


def _apart(layer: ShapedLayer) -> list[ShapedLayer]:
    """A block, and a hidden layer as another one."""
    parts = [replace(layer, hidden=None)] if layer.recurrence or layer.sum else []
    return parts + ([ShapedLayer(hidden=layer.hidden)] if layer.hidden else [])
