"""The shapes of flash-linear-attention's weights, as its layers say (`fla/layers`, August 2026).

w is the width, k = h·d_k the numbers of all keys, v = h·d_v those of all values, k', v' those of the heads
of keys and values where they are fewer.

gla             w·(k + k' + v') + v·w, a gate w·v, a decay through 16 numbers, a norm of d_v
delta_net       w·(2k + v) + v·w, a step w·h, a gate w·v where asked, a norm of d_v
gated_deltanet  the same with a gate, two numbers a head from w, two of its own
gsa             w·(k + k' + v') + v·w, a decay w·h_kv·m of m slots, a norm of w
hgrn2           w·(2k + w) + w·w, a norm of w; lower bounds for all layers
rwkv6, rwkv7    shifts, low-rank decays, gates and steps, a norm of all heads with a bias, an MLP without gate
transformer     attention with heads of w/h;  samba: that or Mamba
"""

from __future__ import annotations

from limen.hf.fields import Fields
from limen.hf.fla import ATTENTION, sizes
from limen.hf.parameters import NotCounted, Shape, says
from limen.hf.stack import ModelLayer

FIELDS = (
    *("hidden_ratio", "intermediate_size", "vocab_size", "tie_word_embeddings", "use_output_gate"),
    *("use_gate", "use_beta", "use_lower_bound", "elementwise_affine", "conv_bias", "qkv_bias", "qk_norm"),
    *("norm_bias", "norm_first", "proj_low_rank_dim", "gate_low_rank_dim", "decay_low_rank_dim"),
    *("a_low_rank_dim", "v_low_rank_dim", "time_step_rank", "use_bias", "use_conv_bias"),
)
_LOW = 16  # numbers through which GLA's decays come


def _mlp(f: Fields, i: int) -> int:
    """⅔·ratio·w rounded up to 256 where no size is given; Samba's is never given."""
    if f.model_type != "samba" and (said := f.size("intermediate_size")) is not None:
        return said
    ratio = 4.0 if f["hidden_ratio"] is None else f.number("hidden_ratio")
    return -(-int(f.integer("hidden_size") * ratio * 2 / 3) // 256) * 256


def _mixer(f: Fields, layer: ModelLayer) -> int:
    """Of one layer: a recurrence, or attention in its place."""
    if f["attnres_block_size"] is not None:
        raise NotCounted("attnres_block_size adds weights that are not known here")
    if layer.kind == "attention":
        return _attention(f, layer)
    return _MIXERS[f.model_type](f, layer)


def _attention(f: Fields, layer: ModelLayer) -> int:
    own = f if f["attn"] is None else f.nested("attn", ATTENTION)
    (_, h), (_, h_kv), (_, d) = layer.blocks[0].sizes[:3]
    w, bias = f.integer("hidden_size"), bool(own["qkv_bias"])
    return (w + bias) * (h + 2 * h_kv) * d + h * d * w + 2 * d * bool(own["qk_norm"])


def _convolutions(f: Fields, channels: int) -> int:
    return channels * (f.integer("conv_size") + bool(f["conv_bias"])) if f["use_short_conv"] else 0


def _gla(f: Fields, layer: ModelLayer) -> int:
    w, (h, d_k, d_v, _, h_kv) = f.integer("hidden_size"), sizes(f)
    k, v, few = h * d_k, h * d_v, h_kv * (d_k + d_v)
    gate = w * v if f["use_output_gate"] else 0
    decay = w * _LOW + (_LOW + 1) * h_kv * d_k
    norm = d_v if f["elementwise_affine"] else 0
    return w * (k + few) + v * w + gate + decay + norm + _convolutions(f, k + few)


def _gsa(f: Fields, layer: ModelLayer) -> int:
    w, (h, d_k, d_v, _, h_kv) = f.integer("hidden_size"), sizes(f)
    few = h_kv * (d_k + d_v)
    norm = w if f["elementwise_affine"] else 0
    into = w * (h * d_k + few + h_kv * f.integer("num_slots"))
    return into + h * d_v * w + norm + _convolutions(f, h * d_k + few)


def _delta_net(f: Fields, layer: ModelLayer) -> int:
    w, (h, d_k, d_v, h_k, _) = f.integer("hidden_size"), sizes(f)
    k, v = h_k * d_k, h * d_v
    gated = f.model_type == "gated_deltanet"
    beside = 2 * w * h + 2 * h if gated else w * h if f["use_beta"] else 0
    gate = w * v if f["use_gate"] else 0
    return w * (2 * k + v) + v * w + beside + gate + d_v + _convolutions(f, 2 * k + v)


def _hgrn2(f: Fields, layer: ModelLayer) -> int:
    w, (h, d_k, *_) = f.integer("hidden_size"), sizes(f)
    norm = w if f["elementwise_affine"] else 0
    return w * (2 * h * d_k + w) + w * w + norm + _convolutions(f, 2 * h * d_k + w)


def _hgrn2_once(f: Fields) -> int:
    return f.integer("num_hidden_layers") * f.integer("hidden_size") if f["use_lower_bound"] else 0


def _rwkv7(f: Fields, layer: ModelLayer) -> int:
    """Six shifts; r, k, v and o; a decay, a step and a mix of values through few numbers; a gate."""
    w, (h, d_k, d_v, *_) = f.integer("hidden_size"), sizes(f)
    k, v, first = h * d_k, h * d_v, layer.index == 0
    low = {name: f.integer(f"{name}_low_rank_dim") for name in ("decay", "a", "v", "gate")}
    thin = low["decay"] * (w + k) + k + low["a"] * (w + k) + k + low["gate"] * (w + v)
    thin += 0 if first else low["v"] * (w + v) + v
    mixed = 6 * w + 3 * k + 2 * w * k + 2 * w * v + thin + 2 * v
    return mixed + w + _norms(f, first) + 2 * w * _wide(f, 4.0)


def _rwkv6(f: Fields, layer: ModelLayer) -> int:
    w, (h, d_k, d_v, *_) = f.integer("hidden_size"), sizes(f)
    k, v = h * d_k, h * d_v
    five, low = 5 * f.integer("proj_low_rank_dim"), f.integer("gate_low_rank_dim")
    shifts = 2 * w * five + w + 5 * w
    mixed = 2 * w * k + 2 * w * v + low * (w + k) + k + k + 2 * v + v * w
    return shifts + mixed + _norms(f, layer.index == 0) + 2 * w * _wide(f, 3.5) + 2 * w + w * w


def _norms(f: Fields, first: bool) -> int:
    """Two of a layer, one more before the first, each with a bias where asked."""
    return (2 + (first and bool(f["norm_first"]))) * (1 + bool(f["norm_bias"])) * f.integer("hidden_size")


def _wide(f: Fields, ratio: float) -> int:
    if (said := f.size("intermediate_size")) is not None:
        return said
    ratio = ratio if f["hidden_ratio"] is None else f.number("hidden_ratio")
    return -(-int(f.integer("hidden_size") * ratio) // 32) * 32


def _rwkv_once(f: Fields) -> int:
    """The bias of the last norm."""
    return f.integer("hidden_size") if f["norm_bias"] else 0


def _samba(f: Fields, layer: ModelLayer) -> int:
    """Mamba: in, a convolution with its bias, what gives Δ, B and C, Δ of r numbers, decays, skips, out."""
    w, bias = f.integer("hidden_size"), says(f, "use_bias")
    channels, s = int(f.number("expand") * w), f.integer("state_size")
    r = -(-w // 16) if f["time_step_rank"] in (None, "auto") else f.integer("time_step_rank")
    inner = channels * (f.integer("conv_kernel") + 1) + channels * (r + 2 * s) + (r + 1) * channels
    return (w + bias) * 2 * channels + inner + channels * (s + 1) + (channels + bias) * w


_MIXERS = {
    "gla": _gla,
    "gsa": _gsa,
    "delta_net": _delta_net,
    "gated_deltanet": _delta_net,
    "hgrn2": _hgrn2,
    "rwkv6": _rwkv6,
    "rwkv7": _rwkv7,
    "samba": _samba,
}
_FLA = Shape(bias=False, size=_mlp, layer=_mixer, attends=False)
_RWKV = _FLA._replace(norms=0, size=lambda f, i: 0, once=_rwkv_once, alike=False)

FLA: dict[str, Shape] = {
    **dict.fromkeys(("gla", "gsa", "delta_net", "gated_deltanet", "samba", "transformer", "sba"), _FLA),
    "hgrn2": _FLA._replace(once=_hgrn2_once),
    **dict.fromkeys(("rwkv6", "rwkv7"), _RWKV),
}
