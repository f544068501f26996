"""How many parameters a config describes: what each layer mixes with, its MLP or experts, norms, embeddings.

embedding     V·w, and as much again for the head unless it is tied
attention     w·(h + 2·h_kv)·d + h·d·w, biases, norms of queries and keys, gates, sinks
MLP           3·w·m with a gate, 2·w·m without; of experts each, the router w·E, experts that all tokens pass
norms         so many vectors of the width in a layer, and one at the end

Each type says in which it differs from Llama.  A type that is not here is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from limen.errors import BadInput
from limen.hf.fields import Fields
from limen.hf.stack import Block, ModelLayer

Says = bool | str  # always, never, or as this field says
_ATTENTION = (
    "full attention",
    "sliding window",
    "chunk",
    "block-sparse attention",
    "indexed attention",
    "latent attention",
)


class Experts(NamedTuple):
    """Those of one type: fields with their number and size, which layers have none, what all tokens pass."""

    number: str = "num_experts"
    size: str = "moe_intermediate_size"
    dense: Callable[[Fields, int], bool] = lambda f, i: False
    shared: Callable[[Fields], int] = lambda f: 0  # the size of the MLP that all tokens pass
    shared_gate: bool = False
    bias: bool = False
    router_bias: bool = False
    gated: bool = True
    latent: str = ""  # the field with the width in which they work, where that is another one


class Shape(NamedTuple):
    """In which a type differs from Llama."""

    qkv: Says = "attention_bias"
    out: Says = "attention_bias"
    qk_norm: str = ""  # "head": a vector of a head's size each; "whole": of all heads
    qk_switch: str = ""  # the field that switches it
    gate: str = ""  # of the output: "whole", or "query": it comes with the queries, biases included
    sinks: bool = False
    norms: int = 2  # of a layer
    norm: int = 1  # vectors of a norm: 2 with a bias, 0 where it has no weights
    gated: bool = True
    bias: Says = "mlp_bias"
    size: Callable[[Fields, int], int] = lambda f, i: f.integer("intermediate_size")
    experts: Experts | None = None
    layer: Callable[[Fields, ModelLayer], int] = lambda f, layer: 0  # what else it has
    once: Callable[[Fields], int] = lambda f: 0  # what else the model has
    tie: Says = "tie_word_embeddings"
    attends: bool = True  # whether each layer with attention has weights of its own for it
    alike: bool = True  # whether layers that look alike have as many


class NotCounted(Exception):
    """What of a config is not known here: a variant of a type, or a size that is missing."""


def parameters(f: Fields, layers: Sequence[ModelLayer], head: bool = True) -> int | NotCounted:
    """Or why they are not counted; `head`: with what makes words of the last vector."""
    if (shape := shape_of(f.model_type)) is None:
        return NotCounted(f"the shapes of {f.model_type}'s weights are not known here")
    try:
        return _counted(f, shape, layers, head)
    except NotCounted as unknown:
        return unknown
    except BadInput as missing:  # the cache may be read where a size of the weights is missing
        return NotCounted(str(missing).removeprefix(f"{f.where}: {f.model_type}: "))


def shape_of(model_type: str) -> Shape | None:
    """Of a type that transformers has, or of another; no other file is loaded."""
    from limen.hf.shapes import SHAPES

    if model_type in SHAPES:
        return SHAPES[model_type]
    from limen.hf.own_shapes import OWN

    return OWN.get(model_type)


def _counted(f: Fields, shape: Shape, layers: Sequence[ModelLayer], head: bool) -> int:
    if f["add_cross_attention"]:
        raise NotCounted("add_cross_attention adds weights that are not known here")
    w, V = f.integer("hidden_size"), f.integer("vocab_size")
    words = V * w * (2 if head and not says(f, shape.tie) else 1)
    kinds: dict[tuple[object, ...], int] = {}
    total = words + shape.norm * w + shape.once(f)
    for layer in layers:
        own = f.of_layer(layer.index)
        dense = shape.experts is not None and shape.experts.dense(own, layer.index)
        wide = shape.size(own, layer.index) if shape.experts is None or dense else 0
        kind = (
            layer.kind,
            tuple((b.what, b.sizes, b.part.kv, len(b.kept)) for b in layer.blocks),
            dense,
            wide,
        )
        if own is not f or kind not in kinds or not shape.alike:
            kinds[kind] = _layer(own, shape, layer, dense, wide)
        total += kinds[kind]
    return total


def _layer(f: Fields, shape: Shape, layer: ModelLayer, dense: bool, wide: int) -> int:
    w = f.integer("hidden_size")
    blocks = [block for block in layer.blocks if block.what in _ATTENTION and shape.attends]
    mixed = sum(_attention(f, shape, block, w) for block in blocks)
    if shape.experts is None or dense:
        passed = _mlp(shape, w, wide, says(f, shape.bias))
    else:
        passed = _experts(f, shape, shape.experts, w)
    return mixed + passed + shape.norms * shape.norm * w + shape.layer(f, layer)


def says(f: Fields, which: Says) -> bool:
    """Whether there is a bias, a norm …: always, never, or by a field that the type has."""
    if isinstance(which, bool):
        return which
    return bool(f[which]) if f.takes(which) or which == "tie_word_embeddings" else False


def _attention(f: Fields, shape: Shape, block: Block, w: int) -> int:
    if block.what == "latent attention":
        return latent(f, w)
    if block.what == "indexed attention":
        return latent(f, w) + latent_index(f, w, block)
    sizes = dict(block.sizes)
    h, h_kv, d = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
    d_v = f.integer("v_head_dim") if f.model_type == "mimo_v2_flash" else d
    own = block.part.kv is None  # else the keys are another layer's
    sets = (d + d_v) if not _one_for_both(f, block) else d
    qkv = h * d + (h_kv * sets if own else 0)
    norm = shape.qk_norm if not shape.qk_switch or says(f, shape.qk_switch) else ""
    norms = {"": 0, "head": 1 + own, "whole": h + h_kv}[norm] * d
    gate = {"": 0, "whole": w, "query": w + says(f, shape.qkv)}[shape.gate] * h * d
    out = h * d_v * w + says(f, shape.out) * w
    return (w + says(f, shape.qkv)) * qkv + out + norms + gate + h * shape.sinks


def _one_for_both(f: Fields, block: Block) -> bool:
    """Gemma 4: the values of its full layers are their keys."""
    return (
        f.model_type.startswith("gemma4") and bool(f["attention_k_eq_v"]) and block.what == "full attention"
    )


def latent(f: Fields, w: int) -> int:
    h, r_q, r, d_r = f.integer("num_attention_heads"), f.maybe("q_lora_rank"), *_ranks(f)
    d, d_v, bias = f.integer("qk_nope_head_dim"), f.maybe("v_head_dim"), says(f, "attention_bias")
    q = w * h * (d + d_r) if r_q is None else (w + bias) * r_q + r_q + r_q * h * (d + d_r)
    d_v = d_v or f.share("num_attention_heads", of="hidden_size")
    return q + (w + bias) * (r + d_r) + r + r * h * (d + d_v) + h * d_v * w + bias * w


def _ranks(f: Fields) -> tuple[int, int]:
    return f.integer("kv_lora_rank"), f.integer("qk_rope_head_dim", 0)


def latent_index(f: Fields, w: int, block: Block) -> int:
    """Queries from the compressed ones, one key with its norm, a weight a head; none where it is shared."""
    if len(block.kept) < 2:
        return 0
    h, d = f.integer("index_n_heads"), f.integer("index_head_dim")
    return f.integer("q_lora_rank") * h * d + w * d + 2 * d + w * h


def _mlp(shape: Shape | Experts, w: int, m: int, bias: bool) -> int:
    ways = 2 if shape.gated else 1
    if m == 0:
        return 0
    return (ways + 1) * w * m + (ways * m + w if bias else 0)


def _experts(f: Fields, shape: Shape, experts: Experts, w: int) -> int:
    count, shared = f.integer(experts.number, 0), experts.shared(f)
    m = f.integer(experts.size) if count else 0
    passed = _mlp(experts, w, shared, says(f, shape.bias)) if shared else 0
    router = count * (w + experts.router_bias)
    inner = f.size(experts.latent) if experts.latent else None  # between two matrices, and a norm
    between = 0 if inner is None else 2 * w * inner + (inner if f["latent_moe_use_norm"] else 0)
    each = _mlp(experts, inner or w, m, experts.bias)
    return count * each + between + router + passed + experts.shared_gate * w
