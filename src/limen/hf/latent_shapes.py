"""The shapes of weights around latent attention that is not DeepSeek's own; in each formula w is the width.

axk2           queries and a gate of the output come from two vectors of r_q numbers; norms with a gate
hy_v4          a gate of the output, a sink a head, hc_mult streams
longcat_flash  two attentions, two MLPs and one set of experts a layer; idle experts have no weights
mistral_large4_text  queries straight; layers may read another's latents; a scale and a bias a head
glm5_next_text       an index of pools, KDA, hc_mult streams
"""

from __future__ import annotations

from limen.hf.fields import Fields
from limen.hf.parameters import Experts, Shape, latent, latent_index, says
from limen.hf.shape_parts import kda, listed, times
from limen.hf.stack import ModelLayer, Use


def _sizes(f: Fields) -> tuple[int, int, int, int, int]:
    """w, heads, and what a head has of keys without positions, of rotated ones and of values."""
    d, d_v = f.integer("qk_nope_head_dim"), f.integer("v_head_dim")
    d_r = f.integer("qk_rope_head_dim", 0)
    return f.integer("hidden_size"), f.integer("num_attention_heads"), d, d_r, d_v


def _axk2(f: Fields, layer: ModelLayer) -> int:
    """2·r_q·h·(d + d_r + d_v) in the place of r_q·h·(d + d_r); both gates through gated_norm_rank numbers."""
    w, h, d, d_r, d_v = _sizes(f)
    gates = 1 if listed(f, layer.index) else 2
    more = f.integer("q_lora_rank") * h * (d + d_r + 2 * d_v)
    return more + gates * 2 * w * f.integer("gated_norm_rank")


def _hy(f: Fields, layer: ModelLayer) -> int:
    """2·n weights of n·w numbers, their biases and two scales, before both halves."""
    w, h, _, _, d_v = _sizes(f)
    n = f.integer("hc_mult")
    return w * h * d_v + h + 2 * (2 * n * n * w + 2 * n + 2)


def hyper_head(f: Fields) -> int:
    """n weights of n·w numbers, their biases and a scale: n streams become one."""
    n = f.integer("hc_mult")
    return n * n * f.integer("hidden_size") + n + 1


def hyper(f: Fields) -> int:
    """(2 + n)·n weights of n·w numbers, their biases and three scales, before both halves of a layer."""
    n = f.integer("hc_mult")
    return 2 * ((2 + n) * n * (n * f.integer("hidden_size") + 1) + 3)


def _longcat(f: Fields, layer: ModelLayer) -> int:
    """Experts stand in every other of the layers counted here; idle ones have no weights."""
    if layer.index % 2:
        return 0
    w, count = f.integer("hidden_size"), f.integer("n_routed_experts", 0)
    routed = count + f.either("zero_expert_num", 0)
    return 3 * w * f.integer("moe_intermediate_size") * count + routed * (w + says(f, "router_bias"))


def _large(f: Fields, layer: ModelLayer) -> int:
    """Latents only where they are its own; their keys take the rotated part's place where there is none."""
    w, h, d, d_r, d_v = _sizes(f)
    from limen.hf.latent import rotated

    (block,), bias, r = layer.blocks, says(f, "attention_bias"), f.integer("kv_lora_rank")
    own = next((k.numbers for k in block.kept if k.use is Use.KV), None)
    down = 0 if own is None else (w + bias) * own + r
    up = r * h * (d + (0 if rotated(f, layer.index) else d_r) + d_v)
    index = sum(_large_index(f, w) for k in block.kept if k.use is Use.INDEX)
    return w * h * (d + d_r) + down + up + (h * d_v + bias) * w + 2 * h + index


def _large_index(f: Fields, w: int) -> int:
    """Queries from the stream behind a norm, one key with its norm, a weight, a scale and a bias a head."""
    h, d = f.integer("index_n_heads"), f.integer("index_head_dim")
    return w * h * d + w * d + 2 * d + w * h + 2 * w + 2 * h


def _glm5(f: Fields, layer: ModelLayer) -> int:
    """Its index gives each pool a vector by gates: index_kpool places, and a matrix."""
    w, streams = f.integer("hidden_size"), hyper(f)
    if layer.kind == "linear_attention":
        return streams + kda(f, layer)
    (block,) = layer.blocks
    d = f.integer("index_head_dim")
    pools = f.integer("index_kpool") * d + d * w if len(block.kept) > 1 else 0
    return streams + latent(f, w) + latent_index(f, w, block) + pools


_EXPERTS = Experts("n_routed_experts", dense=listed, shared=times("n_shared_experts"))

LATENT: dict[str, Shape] = {
    "axk2": Shape(experts=_EXPERTS, layer=_axk2),
    "hy_v4": Shape(experts=_EXPERTS, layer=_hy, once=hyper_head),
    "longcat_flash": Shape(layer=_longcat, alike=False),
    "mistral_large4_text": Shape(experts=_EXPERTS, attends=False, layer=_large, alike=False),
    "glm5_next_text": Shape(experts=_EXPERTS, attends=False, layer=_glm5),
}
