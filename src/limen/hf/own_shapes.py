"""The shapes of weights of types that transformers has not, as the code says that their authors published.

qwen           Llama with biases of queries, keys and values; the MLP's size counts both its halves
baichuan       Llama;  baichuan_m1: windows with heads of their own, convolutions of two numbers a head
chatglm        Llama with the fields' names of its own
mimo           Qwen 2;  minimax_m1, minimax_text_01: MiniMax;  minimax_m3: MiniMax M3 VL's decoder
nemotron-nas   Llama whose layers have each an attention, an MLP, a matrix in their place, or nothing
yuan           Llama behind two convolutions over two tokens, of w to w/2 numbers and back
bailing_moe_linear  lightning attention with a gate and a norm, experts with one that all tokens pass
step3_text     queries through a narrow matrix;  minicpm: Llama
phi4flash      differential attention, Mamba, gates in the second half;  hymba: both side by side
plamo2         Mamba-2 whose steps, B and C come from the convolved channels, norms around both halves

Drafters (MTP) are not counted, as elsewhere.
"""

from __future__ import annotations

from typing import Any

from limen.hf.fields import Fields
from limen.hf.fla_shapes import FIELDS as FLA_FIELDS
from limen.hf.fla_shapes import FLA
from limen.hf.parameters import Experts, NotCounted, Shape, says
from limen.hf.stack import ModelLayer

FIELDS = (
    *FLA_FIELDS,
    *("no_bias", "ffn_hidden_size", "padded_vocab_size", "add_qkv_bias", "add_bias_linear", "rmsnorm"),
    *("post_layer_norm", "attention_bias", "mlp_bias", "moe_layer_freq", "first_k_dense_replace"),
    *("num_local_experts", "num_experts", "shared_intermediate_size", "dense_intermediate_size"),
    *("moe_intermediate_size", "num_shared_experts", "moe_shared_expert_intermediate_size"),
    *("use_qk_norm", "use_qkv_bias", "hidden_size", "vocab_size", "intermediate_size"),
)
_UNIT = 256  # to which Nemotron NAS rounds the size of an MLP up


def _qwen(f: Fields, i: int) -> int:
    """Half of it is the gate."""
    return f.share_of("intermediate_size", 2)


def _not_no_bias(f: Fields, layer: ModelLayer) -> int:
    """Biases of the output and of the MLP, in the files that have them."""
    if f["no_bias"] is not False:
        return 0
    return 2 * f.integer("hidden_size") + 2 * _qwen(f, layer.index)


def _chatglm(f: Fields, layer: ModelLayer) -> int:
    """What its switches add; another norm or residual is another model."""
    if f["rmsnorm"] is False or f["post_layer_norm"] is False or f["add_bias_linear"]:
        raise NotCounted("rmsnorm, post_layer_norm and add_bias_linear of no published chatglm")
    sizes = dict(layer.blocks[0].sizes)
    wide = (sizes["heads"] + 2 * sizes["kv_heads"]) * sizes["head_dim"]
    return wide if f["add_qkv_bias"] else 0


def _baichuan_m1(f: Fields, layer: ModelLayer) -> int:
    w, sizes = f.integer("hidden_size"), dict(layer.blocks[0].sizes)
    h, h_kv, d = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
    return w * (h + 2 * h_kv) * d + h * d * w + 2 * h_kv * f.integer("conv_window")


def _yuan(f: Fields, layer: ModelLayer) -> int:
    """Attention, and what stands before it: 2·w·w/2 numbers each way, their biases, a norm."""
    w, sizes = f.integer("hidden_size"), dict(layer.blocks[0].sizes)
    h, d = sizes["heads"], sizes["head_dim"]
    half = f.share_of("hidden_size", 2)
    return w * 3 * h * d + h * d * w + 4 * w * half + half + w + w


def _block(f: Fields, i: int, part: str) -> dict[str, Any]:
    found = f["block_configs"][i].get(part)
    if not isinstance(found, dict):
        raise NotCounted(f"block_configs[{i}] does not say its {part}")
    return found


def _nas(f: Fields, i: int) -> int:
    """⅔·ffn_mult·w, rounded up; 0 where there is none."""
    ffn = Fields(_block(f, i, "ffn"), f.model_type, f"{f.where}: block_configs[{i}].ffn")
    if ffn["no_op"] or ffn["replace_with_linear"]:
        return 0
    if ffn["intermediate_size"] is not None:
        return ffn.integer("intermediate_size")
    return -(-int(2 * ffn.number("ffn_mult") * f.integer("hidden_size") / 3) // _UNIT) * _UNIT


def _nas_rest(f: Fields, layer: ModelLayer) -> int:
    """A norm of each half that there is, a matrix where one stands in its place."""
    w, total = f.integer("hidden_size"), 0
    for part, bias in (("attention", "attention_bias"), ("ffn", "mlp_bias")):
        own = _block(f, layer.index, part)
        total += 0 if own.get("no_op") else w
        total += w * (w + says(f, bias)) if own.get("replace_with_linear") else 0
    return total


def _bailing(f: Fields, layer: ModelLayer) -> int:
    """Lightning attention of h heads throughout, with a gate and a norm of all of them."""
    if layer.kind != "linear_attention":
        return 0
    w, h = f.integer("hidden_size"), f.integer("num_attention_heads")
    inner, norms = w // h * h, 2 * (w // h) if f["use_qk_norm"] else 0
    return (
        (w + says(f, "use_qkv_bias")) * 3 * inner
        + (w + says(f, "use_bias")) * inner
        + w * inner
        + inner
        + norms
    )


def _dense(f: Fields, i: int) -> bool:
    return i < f.either("first_k_dense_replace", 0)


def _shared(f: Fields) -> int:
    size = f.size_or("moe_shared_expert_intermediate_size", f.integer("moe_intermediate_size"))
    return f.either("num_shared_experts", 0) * size


def _plamo2(f: Fields, layer: ModelLayer) -> int:
    """Mamba: in, a convolution without bias, B, C and steps of r numbers with norms, out."""
    w, sizes = f.integer("hidden_size"), dict(layer.blocks[0].sizes)
    if layer.kind != "linear_attention":
        return (sizes["heads"] + sizes["kv_heads"]) * sizes["head_dim"]  # norms of queries and keys
    h, d, s = (f.integer(name) for name in ("mamba_num_heads", "head_dim", "mamba_d_state"))
    r, inner = max(64, w // 16), h * d
    into = 2 * w * inner + inner * f.integer("mamba_d_conv") + inner * (r + 2 * s) + r * h
    return into + 3 * h + r + 2 * s + inner * w


def _m3_dense(f: Fields, i: int) -> bool:
    often = f["moe_layer_freq"]
    if isinstance(often, list):
        if i >= len(often):
            raise NotCounted(f"moe_layer_freq does not say layer {i}")
        return not often[i]
    return _dense(f, i)


def _m3_index(f: Fields, layer: ModelLayer) -> int:
    """An index of blocks: queries, one key, their norms."""
    if layer.kind == "full_attention":
        return 0
    inner, w = f.nested("sparse_attention_config"), f.integer("hidden_size")
    h = inner.size_or("sparse_num_index_heads", f.integer("index_n_heads"))
    d = inner.size_or("sparse_index_dim", f.integer("index_head_dim"))
    return w * d * (h + 1) + 2 * d


def _lightning(f: Fields, layer: ModelLayer) -> int:
    from limen.hf.shapes import lightning

    if f["shared_intermediate_size"]:
        raise NotCounted("shared_intermediate_size of no published model: what it adds is not known here")
    return lightning(f, layer)


def _step3(f: Fields, layer: ModelLayer) -> int:
    """Queries come through share_q_dim numbers with a norm; one head of keys and values."""
    w, sizes = f.integer("hidden_size"), dict(layer.blocks[0].sizes)
    h, h_kv, d = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
    q = f.size_or("share_q_dim", d)
    return w * (q + 2 * h_kv * d) + q + q * h * d + h * d * w


def _step3_dense(f: Fields, i: int) -> bool:
    """Experts from the second layer on, or where the text "4,5,…" says."""
    if (said := f["moe_layers_enum"]) is None:
        return i == 0
    if not isinstance(said, str) or not all(part.strip().isdigit() for part in said.split(",")):
        raise f.wrong("moe_layers_enum", "numbers of layers, with commas")
    return i not in {int(part) for part in said.split(",")}


def _minicpm(f: Fields, layer: ModelLayer) -> int:
    if f["num_experts"]:
        raise NotCounted("the shapes of minicpm's experts are not known here")
    return 0


def _steps(f: Fields, w: int) -> int:
    rank = f["mamba_dt_rank"]
    return -(-w // 16) if rank in (None, "auto") else f.integer("mamba_dt_rank")


def _inner(f: Fields, channels: int, w: int) -> int:
    """Mamba between in and out: a convolution with its bias, what gives Δ, B and C, Δ, decays, skips."""
    s, r = f.integer("mamba_d_state"), _steps(f, w)
    return (
        channels * (f.integer("mamba_d_conv") + 1)
        + channels * (r + 2 * s)
        + (r + 1) * channels
        + (channels * (s + 1))
    )


def _phi4flash(f: Fields, layer: ModelLayer) -> int:
    """Differential attention: four vectors and a norm of two heads; biases; Mamba, or a gate in its place."""
    w = f.integer("hidden_size")
    channels = int(f.number("mamba_expand") * w)
    if layer.kind == "gate":
        return 2 * w * channels
    if layer.kind == "linear_attention":
        return 3 * w * channels + _inner(f, channels, w)
    sizes = dict(layer.blocks[0].sizes)
    h, h_kv, d = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
    wide = h * d + (2 * h_kv * d if layer.blocks[0].part.kv is None else 0)
    return (w + 1) * wide + (h * d + 1) * w + 6 * d


def _hymba(f: Fields, layer: ModelLayer) -> int:
    """One matrix in for Mamba, its gate, queries, keys and values; norms of both outputs; steps normed."""
    if f["mamba_proj_bias"] or f["num_experts"] not in (None, 1) or f["kq_norm"] not in (None, "none"):
        raise NotCounted("mamba_proj_bias, num_experts and kq_norm of no published hymba")
    w = f.integer("hidden_size")
    channels, s, r = int(f.number("mamba_expand") * w), f.integer("mamba_d_state"), _steps(f, w)
    sizes, shared = dict(layer.blocks[0].sizes), layer.blocks[0].part.kv is not None
    keys = 0 if shared else sizes["kv_heads"] * (sizes["head_dim"] + channels // sizes["heads"])
    norms = 2 * channels + (r + 2 * s if f["mamba_inner_layernorms"] is not False else 0)
    return w * (2 * channels + w + keys) + _inner(f, channels, w) + channels * w + norms


_LOCAL = Experts("num_local_experts", "intermediate_size")
_MINIMAX = Shape(qkv=False, out=False, experts=_LOCAL, layer=_lightning)

OWN: dict[str, Shape] = {
    **FLA,
    "qwen": Shape(qkv=True, out=False, bias=False, size=_qwen, layer=_not_no_bias),
    "baichuan": Shape(qkv=False, out=False, bias=False),
    "baichuan_m1": Shape(bias=False, attends=False, layer=_baichuan_m1),
    "chatglm": Shape(
        qkv=False, out=False, bias=False, size=lambda f, i: f.integer("ffn_hidden_size"), layer=_chatglm
    ),
    "mimo": Shape(qkv=True, out=False, bias=False),
    "minimax_m1": _MINIMAX,
    "minimax_text_01": _MINIMAX,
    "minimax_m3": Shape(
        qkv=False,
        out=False,
        qk_norm="head",
        experts=_LOCAL._replace(dense=_m3_dense, shared=lambda f: f.either("shared_intermediate_size", 0)),
        size=lambda f, i: f.integer("dense_intermediate_size"),
        layer=_m3_index,
    ),
    "nemotron-nas": Shape(
        qkv="attention_bias", out="attention_bias", norms=0, size=_nas, layer=_nas_rest, alike=False
    ),
    "yuan": Shape(bias=False, attends=False, layer=_yuan),
    "bailing_moe_linear": Shape(
        qkv="use_qkv_bias",
        out="use_bias",
        bias="use_bias",
        qk_norm="head",
        qk_switch="use_qk_norm",
        layer=_bailing,
        experts=Experts(dense=_dense, shared=_shared),
    ),
    "step3_text": Shape(
        bias=False,
        attends=False,
        layer=_step3,
        experts=Experts(
            "moe_num_experts", dense=_step3_dense, shared=lambda f: f.either("share_expert_dim", 0)
        ),
    ),
    "minicpm": Shape(bias=False, layer=_minicpm),
    "phi4flash": Shape(bias=False, norm=2, attends=False, layer=_phi4flash),
    "hymba": Shape(
        bias=False,
        attends=False,
        layer=_hymba,
        once=lambda f: f.either("num_memory_tokens", 0) * f.integer("hidden_size"),
    ),
    "plamo2": Shape(qkv=False, out=False, bias=False, norms=4, layer=_plamo2),
}
