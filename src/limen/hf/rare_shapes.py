"""The shapes of weights that have little in common with Llama's; in each formula w is the width."""

from __future__ import annotations

from limen.hf.fields import Fields
from limen.hf.parameters import NotCounted, Shape, says
from limen.hf.stack import ModelLayer


def _rwkv(f: Fields, layer: ModelLayer) -> int:
    """Time mixing of A channels: a decay, a first weight, mixes of three; then mixes of two and an MLP."""
    w, m = f.integer("hidden_size"), f.size("intermediate_size")
    A = f.size_or("attention_hidden_size", w)
    return 2 * A + 5 * w + 4 * w * A + 2 * w * (m or 4 * w) + w * w


def _xlstm(f: Fields, layer: ModelLayer) -> int:
    """Queries and keys of half the values' size, gates, a norm of all heads, an MLP rounded up."""
    if f["use_bias"] or not f["add_out_norm"] or f["weight_mode"] not in (None, "single"):
        raise NotCounted("use_bias, add_out_norm and weight_mode of no published xlstm")
    w, h = f.integer("hidden_size"), f.integer("num_heads")
    qk, v = int(f.number("qk_dim_factor") * w), int(f.number("v_dim_factor") * w)
    unit = f.integer("ffn_round_up_to_multiple_of")
    m = -(-int(f.number("ffn_proj_factor") * w) // unit) * unit
    return 2 * w * qk + 2 * w * v + 2 * (w + 1) * h + v + v * w + 3 * w * m


def _doge(f: Fields, layer: ModelLayer) -> int:
    """A weight for both residuals, and a mask that values give: one number a head of keys."""
    if f["is_moe"]:
        raise NotCounted("the shapes of doge's experts (is_moe) are not known here")
    sizes = dict(layer.blocks[0].sizes)
    h_kv, d = sizes["kv_heads"], sizes["head_dim"]
    gates = h_kv + h_kv * (h_kv * d + says(f, "attention_bias"))
    return 2 * f.integer("hidden_size") + gates


def _modernbert(f: Fields) -> int:
    """A norm of the embedding in place of the first layer's; a dense head before the tied words."""
    if f["norm_bias"] or f["classifier_bias"]:
        raise NotCounted("norm_bias and classifier_bias add weights that are not known here")
    w = f.integer("hidden_size")
    return w * w + w + (f.integer("vocab_size") if f["decoder_bias"] else 0)


def _none(f: Fields, i: int) -> int:
    return 0


RARE = {
    "rwkv": Shape(norm=2, size=_none, layer=_rwkv, once=lambda f: 2 * f.integer("hidden_size")),
    "xlstm": Shape(size=_none, layer=_xlstm, tie=False),
    "doge": Shape(qk_norm="head", layer=_doge),
    "modernbert-decoder": Shape(once=_modernbert),
    "gpt_neox_japanese": Shape(
        qkv=False,
        out=False,
        norm=2,
        gated=False,
        bias=False,
        size=lambda f, i: f.integer("intermediate_multiple_size") * f.integer("hidden_size"),
        once=lambda f: f.integer("hidden_size"),
    ),
}
