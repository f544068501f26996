"""What the shapes of several types have in common: which layers are dense, sizes by field, recurrences."""

from __future__ import annotations

from collections.abc import Callable

from limen.hf.fields import Fields
from limen.hf.stack import Block, FixedRows, LastColumns, ModelLayer, Use


def listed(f: Fields, i: int) -> bool:
    """Dense as mlp_layer_types says, else the first ones."""
    kinds = f["mlp_layer_types"]
    if isinstance(kinds, list) and i < len(kinds):
        return bool(kinds[i] == "dense")
    if isinstance(often := f["moe_layer_freq"], list) and i < len(often):
        return not often[i]
    return i < (
        _DENSE.get(f.model_type, 0)
        if f["first_k_dense_replace"] is None
        else f.integer("first_k_dense_replace", 0)
    )


# How many layers are dense first, where the config does not say.
_DENSE = {
    "axk1": 1,
    "axk2": 1,
    "beam": 3,
    "glm4_moe_lite": 1,
    "glm5_next_text": 3,
    "hy_v3": 1,
    "hy_v4": 1,
    "kimi_linear": 1,
    "laguna": 1,
    "mimo_v2_flash": 1,
}


def stepped(f: Fields, i: int) -> bool:
    """Experts in every so many layers, but for those that are named."""
    named = [] if f["mlp_only_layers"] is None else f.integers("mlp_only_layers")
    every = f.either("decoder_sparse_step", 1)
    return i in named or (i + 1) % every != 0 or f.integer("num_experts", 0) == 0


def first(name: str) -> Callable[[Fields, int], bool]:
    return lambda f, i: i < f.either(name, 0)


def times(count: str, size: str = "moe_intermediate_size") -> Callable[[Fields], int]:
    """So many experts of one size, as one MLP."""
    return lambda f: f.either(count, 0) * f.integer(size)


def sized(name: str) -> Callable[[Fields], int]:
    return lambda f: f.either(name, 0)


def wide(name: str) -> Callable[[Fields, int], int]:
    return lambda f, i: f.integer(name)


def four(name: str) -> Callable[[Fields, int], int]:
    """An MLP four times as wide as the stream unless the field says."""
    return lambda f, i: f.maybe(name) or 4 * f.integer("hidden_size")


def none(f: Fields, i: int) -> int:
    return 0


def kept_by(block: Block, use: Use) -> tuple[int, int]:
    """Numbers of a row, and rows that a convolution sees."""
    kept = next(k for k in block.kept if k.use is use)
    rows = kept.rows
    return kept.numbers, rows.c if isinstance(rows, LastColumns) else rows.r if isinstance(
        rows, FixedRows
    ) else 0


def delta(f: Fields, layer: ModelLayer) -> int:
    """Queries, keys, values, an output gate; two numbers a head that gate; a norm of a head's size."""
    if not (blocks := [b for b in layer.blocks if b.what == "gated delta rule"]):
        return 0
    from limen.hf.gated_delta import sizes

    w, (h_k, h_v, d_k, d_v, c) = f.integer("hidden_size"), sizes(f)
    channels = 2 * h_k * d_k + h_v * d_v
    return len(blocks) * (w * (channels + h_v * d_v + 2 * h_v) + channels * c + 2 * h_v + d_v + h_v * d_v * w)


def kda(f: Fields, layer: ModelLayer) -> int:
    """Gates come through d numbers in Kimi Linear and GLM 5 Next, straight in Bailing.

    Those of Kimi K3's output come straight.
    """
    if layer.kind != "linear_attention":
        return 0
    from limen.hf.gated_delta import sizes

    w, (h, _, d, _, c) = f.integer("hidden_size"), sizes(f)
    thin, straight = w * d + d * h * d, w * h * d
    narrow, inner = f.model_type != "bailing_hybrid", f.nested("linear_attn_config")
    decay = thin if narrow else straight
    gate = thin if narrow and not inner["use_full_rank_gate"] else straight
    return 3 * w * h * d + 3 * h * d * c + h * d + h + decay + gate + w * h + d + h * d * w
