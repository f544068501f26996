"""The shapes of each type's weights: in what it differs from Llama (`parameters.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from limen.hf.fields import Fields
from limen.hf.latent_shapes import LATENT, hyper, hyper_head
from limen.hf.parameters import Experts, NotCounted, Says, Shape, says
from limen.hf.rare_shapes import RARE
from limen.hf.shape_parts import delta, first, four, kda, kept_by, listed, none, sized, stepped, times, wide
from limen.hf.stack import ModelLayer, Use
from limen.hf.strange_shapes import STRANGE

FIELDS = (
    *("intermediate_multiple_size", "qk_dim_factor", "v_dim_factor", "ffn_proj_factor", "add_out_norm"),
    *("ffn_round_up_to_multiple_of", "weight_mode", "is_moe", "norm_bias", "classifier_bias", "decoder_bias"),
    *("hidden_size", "vocab_size", "intermediate_size", "tie_word_embeddings", "head_dim"),
    *("max_position_embeddings", "attention_bias", "mlp_bias", "use_bias", "bias", "enable_bias"),
    *("attention_out_bias", "add_bias_linear", "use_qkv_bias", "lm_head_bias", "no_bias"),
    *("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "moe_intermediate_size"),
    *("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "shared_intermediate_size"),
    *("shared_expert_intermediate_size", "share_expert_dim", "moe_shared_expert_intermediate_size"),
    *("num_dense_layers", "first_k_dense_replace", "mlp_only_layers", "decoder_sparse_step"),
    *("moe_layer_start_index", "moe_layer_end_index", "moe_layer_interval", "moe_layers"),
    *("interleave_moe_layer_step", "intermediate_size_mlp", "expert_layer_period", "expert_layer_offset"),
    *("q_lora_rank", "use_qk_norm", "qk_layernorm", "use_parallel_residual", "use_post_norm"),
    *("n_inner", "ffn_dim", "word_embed_proj_dim", "expansion_ratio", "ffn_hidden_size"),
    *("time_step_rank", "mamba_dt_rank", "use_conv_bias", "mamba_conv_bias", "mamba_proj_bias"),
    *("mamba_rms_norm", "conv_bias", "block_auto_adjust_ff_dim", "block_multiple_of"),
    *("block_ffn_dim_multiplier", "new_decoder_architecture", "num_ln_in_parallel_attn", "parallel_attn"),
    *("hidden_size_per_layer_input", "vocab_size_per_layer_input", "enable_moe_block", "alibi"),
    *("use_double_wide_mlp", "attention_k_eq_v", "moe_latent_size", "additional_vocab_size"),
    *("use_mem_rope", "num_mem_blocks", "adapter_rank", "use_shared_attention_adapter", "lru_width"),
    *("use_shared_mlp_adapter", "attention_hidden_size", "layer_norm_elementwise_affine"),
    *("do_layer_norm_before", "_remove_final_layer_norm", "gating"),
    *("qkv_bias", "projectors_bias", "moe_layer_freq", "moe_layers_enum", "attention_other_setting"),
    *(
        "multi_query",
        "num_sliding_attention_heads",
        "num_kv_heads",
        "mlp_layer_types",
        "prefix_dense_intermediate_size",
        "laurel_rank",
    ),
    *("dense_intermediate_size", "altup_num_inputs", "hc_mult", "o_groups", "o_lora_rank", "index_n_heads"),
    *("gated_norm_rank", "zero_expert_num", "router_bias", "router_hidden_size", "d_rel", "rel_extent"),
    *("hc_count", "hc_lowrank", "indexer_kv_heads", "ple_embed_dim", "heads_per_ngram", "dense_mlp_idx"),
    *("ngram_vocab_size_base", "make_ngram_vocab_size_divisible_by"),
)


def _ernie(f: Fields, i: int) -> bool:
    start, every = f.either("moe_layer_start_index", 0), f.either("moe_layer_interval", 1)
    last = f["moe_layer_end_index"]
    end = f.integer("num_hidden_layers") - 1 if last in (None, -1) else f.integer("moe_layer_end_index")
    return not ((i + 1) % every == 0 and start <= i <= end)


def _llama4(f: Fields, i: int) -> bool:
    if isinstance(said := f["moe_layers"], list):
        return i not in said
    return (i + 1) % f.either("interleave_moe_layer_step", 1) != 0


def _jamba(f: Fields, i: int) -> bool:
    return (
        i % f.integer("expert_layer_period") != f.integer("expert_layer_offset", 0) or f["num_experts"] == 1
    )


def _kimi(f: Fields, layer: ModelLayer) -> int:
    """Kimi K3 gates the output of latent attention, and weighs earlier blocks of layers before each half."""
    w = f.integer("hidden_size")
    gated = layer.kind != "linear_attention" and f["mla_use_output_gate"]
    gate = w * f.integer("num_attention_heads") * f.integer("v_head_dim") if gated else 0
    return kda(f, layer) + gate + (4 * w if f["attn_res_block_size"] is not None else 0)


def _kimi_once(f: Fields) -> int:
    return 2 * f.integer("hidden_size") if f["attn_res_block_size"] is not None else 0


def mamba2(
    norm: Callable[[Fields], bool], conv: Says, proj: str, out: str = ""
) -> Callable[[Fields, ModelLayer], int]:
    """In: both halves, B and C, a step a head; a convolution; a step, a decay and a skip a head; out."""

    def count(f: Fields, layer: ModelLayer) -> int:
        total, w = 0, f.integer("hidden_size")
        for block in (b for b in layer.blocks if b.what == "mamba2"):
            kept = next(k for k in block.kept if k.use is Use.CONVOLUTION)
            (h, d), _ = kept.pieces
            channels, c = kept_by(block, Use.CONVOLUTION)
            into = h * d + channels + h
            total += (w + says(f, proj)) * into + channels * (c + says(f, conv)) + 3 * h
            total += norm(f) * h * d + h * d * w + says(f, out or proj) * w
        return total

    return count


def _normed(f: Fields) -> bool:
    """Mamba-2 has a norm unless flash-linear-attention's type of the same name says no."""
    return f["rmsnorm"] is not False and f["rms_norm"] is not False


def mamba(f: Fields, layer: ModelLayer) -> int:
    """S6: in, a convolution, what gives Δ, B and C, Δ out of r numbers, decays, skips, out."""
    if not (blocks := [b for b in layer.blocks if b.what == "mamba"]):
        return 0
    w, (channels, c) = f.integer("hidden_size"), kept_by(blocks[0], Use.CONVOLUTION)
    s = kept_by(blocks[0], Use.RECURRENT)[0] // channels
    old = f.takes("time_step_rank")
    conv, proj = ("use_conv_bias", "use_bias") if old else ("mamba_conv_bias", "mamba_proj_bias")
    rank = f["time_step_rank" if old else "mamba_dt_rank"]
    r = ceil(w / 16) if rank in (None, "auto") else f.integer("time_step_rank" if old else "mamba_dt_rank")
    norms = r + 2 * s if f.model_type == "jamba" else 0
    bias = says(f, proj)
    inner = channels * (c + says(f, conv)) + channels * (r + 2 * s) + r * channels + channels
    return (w + bias) * 2 * channels + inner + channels * (s + 1) + channels * w + bias * w + norms


def short_conv(f: Fields, layer: ModelLayer) -> int:
    if layer.kind != "conv":
        return 0
    w, c, bias = f.integer("hidden_size"), f.integer("conv_L_cache"), says(f, "conv_bias")
    return w * (c + bias) + (w + bias) * 3 * w + (w + bias) * w


def _lfm2(f: Fields, i: int) -> int:
    m = f.integer("intermediate_size")
    if not f["block_auto_adjust_ff_dim"]:
        return m
    m = int(2 * m / 3)
    if f["block_ffn_dim_multiplier"] is not None:
        m = int(f.number("block_ffn_dim_multiplier") * m)
    unit = f.integer("block_multiple_of")
    return unit * -(-m // unit)


def lightning(f: Fields, layer: ModelLayer) -> int:
    if layer.kind != "linear_attention":
        return 0
    from limen.hf.attention import heads

    w, which = f.integer("hidden_size"), heads(f)
    inner = which.h * which.d
    return inner + 5 * w * inner


def _gemma4(f: Fields, layer: ModelLayer) -> int:
    """The part of each layer's own embedding; experts beside the MLP; a wide MLP where keys are shared."""
    w, p = f.integer("hidden_size"), f.either("hidden_size_per_layer_input", 0)
    total = 2 * w * p + w if p else 0
    if f["use_double_wide_mlp"] and layer.blocks[0].part.kv is not None:
        total += 3 * w * f.integer("intermediate_size")
    if f["enable_moe_block"]:
        count = f.integer("num_experts")
        total += count * (3 * w * f.integer("moe_intermediate_size") + w + 1) + 4 * w
    return total


def _gemma4_once(f: Fields) -> int:
    p, L = f.either("hidden_size_per_layer_input", 0), f.integer("num_hidden_layers")
    V = f.either("vocab_size_per_layer_input", f.integer("vocab_size"))
    return V * L * p + f.integer("hidden_size") * L * p + p if p else 0


def positions(more: int = 0) -> Callable[[Fields], int]:
    """A vector for each position."""
    return lambda f: (f.integer("max_position_embeddings") + more) * f.integer("hidden_size")


def _head_bias(f: Fields) -> int:
    return f.integer("vocab_size")


def _opt(f: Fields) -> int:
    w, narrow = f.integer("hidden_size"), f.either("word_embed_proj_dim", f.integer("hidden_size"))
    if (
        narrow != w
        or not f["do_layer_norm_before"]
        or not f["layer_norm_elementwise_affine"]
        or f["_remove_final_layer_norm"]
    ):
        raise NotCounted("an OPT whose norms come last, have no weights, or whose words are narrower")
    return positions(2)(f)


def _falcon(f: Fields, layer: ModelLayer) -> int:
    """One norm where attention and MLP stand side by side; the new decoder has two by default."""
    own = f.either("num_ln_in_parallel_attn", 2 if f["new_decoder_architecture"] else 1)
    norms = 2 if own == 2 or not f["parallel_attn"] else 1
    return norms * 2 * f.integer("hidden_size")


def _stablelm(f: Fields, layer: ModelLayer) -> int:
    w = f.integer("hidden_size")
    if f["qk_layernorm"]:
        raise NotCounted("the norms of qk_layernorm are not known here")
    return 0 if f["use_parallel_residual"] else 2 * w


def _blocks(f: Fields, layer: ModelLayer) -> int:
    """Nemotron-H: a layer is one thing; an MLP and experts without a gate."""
    w, m = f.integer("hidden_size"), f.either("intermediate_size", 0)
    bias = says(f, "mlp_bias")
    if layer.kind == "mlp":
        return 2 * w * m + bias * (m + w)
    if layer.kind != "moe":
        return mamba2(lambda f: True, "use_conv_bias", "use_bias")(f, layer)
    count, size, shared = (
        f.integer(name)
        for name in ("n_routed_experts", "moe_intermediate_size", "moe_shared_expert_intermediate_size")
    )
    inner = f.maybe("moe_latent_size")
    between = 0 if inner is None else 2 * w * inner + bias * (w + inner)
    one = 2 * (inner or w) * size
    return count * (one + w) + 2 * w * shared + bias * (shared + w) + between


def _gating(f: Fields, layer: ModelLayer) -> int:
    """Laguna: a gate of a number a head, or of every number."""
    w, sizes = f.integer("hidden_size"), dict(layer.blocks[0].sizes)
    return w * sizes["heads"] * (1 if f["gating"] in (True, "per-head") else sizes["head_dim"])


def _step(f: Fields, layer: ModelLayer) -> int:
    other = f["num_sliding_attention_heads"] not in (None, f["num_attention_heads"])
    if f["per_layer_config"] is None and (other or f["attention_other_setting"]):
        raise NotCounted("windows with heads of their own (attention_other_setting)")
    return f.integer("hidden_size") * dict(layer.blocks[0].sizes)["heads"]


def _step_dense(f: Fields, i: int) -> bool:
    """Experts from the fourth layer on, where no list says."""
    if f["moe_layers_enum"] is not None:
        raise NotCounted("moe_layers_enum is not read for step3p5")
    return listed(f, i) if f["mlp_layer_types"] is not None else i < 3


def _griffin(f: Fields, layer: ModelLayer) -> int:
    w = f.integer("hidden_size")
    if layer.kind == "full_attention":
        return 0
    r, c, h = f.either("lru_width", w), f.integer("conv1d_width"), f.integer("num_attention_heads")
    gates = 2 * (r * r // h + r)
    return 2 * (w + 1) * r + (r + 1) * w + r * (c + 1) + r + gates


def _mllama(f: Fields, layer: ModelLayer) -> int:
    """A layer that reads an image: as large as the others, with norms of its keys and two gates."""
    if layer.kind != "cross_attention":
        return 0
    from limen.hf.attention import heads

    w, (h, h_kv, d, _) = f.integer("hidden_size"), heads(f)
    return w * (2 * h + 2 * h_kv) * d + 2 * d + 2


def _index_m3(f: Fields, layer: ModelLayer) -> int:
    """An index of blocks: queries, one key, their norms."""
    if layer.kind == "full_attention":
        return 0
    w, d = f.integer("hidden_size"), f.integer("index_head_dim")
    return w * d * (f.integer("index_n_heads") + 1) + 2 * d


def _zamba2(f: Fields) -> int:
    """Blocks that all hybrid layers share, each with a small adapter for its place."""
    w, m = f.integer("hidden_size"), f.integer("intermediate_size")
    if f["use_shared_attention_adapter"] or f["add_bias_linear"] or not f["tie_word_embeddings"]:
        raise NotCounted("a Zamba2 with adapters of attention, biases or a head of its own")
    both, r, count = 2 * w, f.integer("adapter_rank"), f.integer("num_mem_blocks")
    h, d = f.integer("num_attention_heads"), f.either("head_dim", 2 * w // f.integer("num_attention_heads"))
    h_kv = f.either("num_key_value_heads", h)
    places = f.kinds().count("hybrid")
    one = both * (h + 2 * h_kv) * d + h * d * w + 3 * w * m + both + w
    return count * one + places * (w * r + r * 2 * m)


def _zamba_layer(f: Fields, layer: ModelLayer) -> int:
    """What goes into the recurrence passes a matrix where attention stands before it."""
    return mamba(f, layer) + (f.integer("hidden_size") ** 2 if layer.kind == "hybrid" else 0)


def _zamba(f: Fields) -> int:
    """One block of attention over twice the width and an MLP, for all places where it stands."""
    if not f["tie_word_embeddings"]:  # then transformers unties these, too
        raise NotCounted("a Zamba with a head of its own")
    w, h, m = (f.integer(name) for name in ("hidden_size", "num_attention_heads", "intermediate_size"))
    h_kv, d = f.size_or("num_key_value_heads", h), f.size("head_dim") or 2 * w // h
    return 2 * w * (h + 2 * h_kv) * d + h * d * w + 3 * w * m + 3 * w


def _zamba2_layer(f: Fields, layer: ModelLayer) -> int:
    w = f.integer("hidden_size")
    own = mamba2(lambda f: True, True, "add_bias_linear")(f, layer)
    return own + (w * w if layer.kind == "hybrid" else 0)


def _flint(f: Fields, i: int) -> bool:
    """Its first two layers are dense where none are named."""
    return i < 2 if f["mlp_only_layers"] is None else stepped(f, i)


def _key_norms(f: Fields, layer: ModelLayer) -> int:
    return 4 * dict(layer.blocks[0].sizes)["head_dim"] if f["qk_layernorm"] else 0


def _bitnet(f: Fields, layer: ModelLayer) -> int:
    """Norms before the output of both halves."""
    sizes = dict(layer.blocks[0].sizes)
    return sizes["heads"] * sizes["head_dim"] + f.integer("intermediate_size")


def _by_layer(f: Fields, i: int) -> int:
    said = f["intermediate_size"]
    if not isinstance(said, list):
        return f.integer("intermediate_size")
    sizes = f.integers("intermediate_size")
    if i >= len(sizes) or sizes[i] < 1:
        raise f.wrong("intermediate_size", "a size for each layer")
    return sizes[i]


def _gemma3n(f: Fields, layer: ModelLayer) -> int:
    """Streams that are predicted and corrected, a low-rank bypass, the part of its own embedding."""
    w, n, r = (f.integer(name) for name in ("hidden_size", "altup_num_inputs", "laurel_rank"))
    streams = n * n + n**3 + n * w + 2 * w
    return streams + 2 * w * r + w + 2 * w * f.integer("hidden_size_per_layer_input") + w


def _gemma3n_once(f: Fields) -> int:
    w, n = f.integer("hidden_size"), f.integer("altup_num_inputs")
    return _gemma4_once(f) + 2 * (n - 1) * w * w


def _compressed(f: Fields, layer: ModelLayer) -> int:
    """DeepSeek V4: low-rank queries and output, one key, compressors and index, streams."""
    w, h, d, r = (
        f.integer(name) for name in ("hidden_size", "num_attention_heads", "head_dim", "q_lora_rank")
    )
    groups, rank = f.integer("o_groups"), f.integer("o_lora_rank")
    total = h + w * r + r + r * h * d + w * d + d + rank * h * d + groups * rank * w
    total += hyper(f)
    block = next((size for b in layer.blocks for name, size in b.sizes if name == "block"), 0)
    if layer.kind == "heavily_compressed_attention":
        total += block * d + 2 * w * d + d
    if layer.kind == "compressed_sparse_attention":
        h_i, d_i = f.integer("index_n_heads"), f.integer("index_head_dim")
        for size in (d, d_i):
            total += 2 * block * size + 4 * w * size + size
        total += r * h_i * d_i + w * h_i
    return total


_MLA = Experts("n_routed_experts", dense=listed, shared=times("n_shared_experts"))
_QWEN = Experts(dense=stepped)
_QWEN_SHARED = Experts(dense=stepped, shared=sized("shared_expert_intermediate_size"), shared_gate=True)
_LOCAL = Experts("num_local_experts", "intermediate_size")
_OLD = Shape(qkv=True, out=True, norm=2, gated=False, bias=True)
_NO_BIAS = Shape(qkv=False, out=False, bias=False)
_SSM = ("mamba_conv_bias", "mamba_proj_bias")

SHAPES: dict[str, Shape] = {
    **dict.fromkeys(("llama", "cwm", "granite", "smollm3", "gemma"), Shape()),
    "helium": Shape(out=False),
    **dict.fromkeys(("mistral", "ministral", "ministral3", "phi3"), _NO_BIAS),
    **dict.fromkeys(("qwen2", "qwen2_vl_text", "qwen2_5_vl_text"), Shape(qkv=True, out=False, bias=False)),
    **dict.fromkeys(("qwen3", "qwen3_vl_text", "hunyuan_v1_dense"), Shape(qk_norm="head", bias=False)),
    **dict.fromkeys(("qwen3_moe", "qwen3_vl_moe_text"), Shape(qk_norm="head", experts=_QWEN)),
    "qwen2_moe": Shape(qkv="qkv_bias", out=False, experts=_QWEN_SHARED),
    "qwen3_next": Shape(qk_norm="head", gate="query", experts=_QWEN_SHARED, layer=delta),
    "qwen3_5_text": Shape(qk_norm="head", gate="query", layer=delta),
    "qwen3_5_moe_text": Shape(qk_norm="head", gate="query", experts=_QWEN_SHARED, layer=delta),
    "olmo_hybrid": Shape(qk_norm="whole", layer=delta),
    "mixtral": Shape(qkv=False, out=False, experts=_LOCAL),
    "gemma2": Shape(norms=4),
    "gemma3_text": Shape(norms=4, qk_norm="head"),
    "vaultgemma": Shape(),
    "gemma4_text": Shape(norms=4, qk_norm="head", layer=_gemma4, once=_gemma4_once),
    "gemma4_unified_text": Shape(norms=4, qk_norm="head", layer=_gemma4, once=_gemma4_once),
    "gpt_oss": Shape(sinks=True, experts=_LOCAL._replace(bias=True, router_bias=True)),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite"), Shape(experts=_MLA)),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa", "mistral4"), Shape(bias=False, experts=_MLA)),
    **dict.fromkeys(("minicpm3", "youtu"), Shape()),
    "axk1": Shape(
        experts=_MLA, layer=lambda f, layer: 0 if listed(f, layer.index) else f.integer("hidden_size")
    ),
    "kimi_linear": Shape(
        tie=False,
        experts=Experts(
            "num_local_experts",
            dense=listed,
            shared=times("n_shared_experts"),
            latent="routed_expert_hidden_size",
        ),
        layer=_kimi,
        once=_kimi_once,
    ),
    "bailing_hybrid": Shape(
        tie=False,
        experts=Experts("num_local_experts", dense=listed, shared=times("n_shared_experts")),
        layer=lambda f, layer: kda(f, layer) or f.integer("hidden_size") * f.integer("num_attention_heads"),
    ),
    "hyperclovax": Shape(layer=lambda f, layer: 2 * f.integer("hidden_size") if f["use_post_norm"] else 0),
    "molmo2_text": Shape(
        out=False,
        qk_norm="head",
        once=lambda f: f.either("additional_vocab_size", 0) * f.integer("hidden_size"),
    ),
    "aria_text": Shape(
        experts=Experts(
            "moe_num_experts",
            "intermediate_size",
            shared=times("moe_num_shared_experts", "intermediate_size"),
        )
    ),
    "beam": Shape(
        qk_norm="head",
        gate="whole",
        norms=4,
        experts=Experts(dense=listed),
        layer=lambda f, layer: dict(layer.blocks[0].sizes)["heads"],
    ),
    "flint": Shape(
        qk_norm="head",
        sinks=True,
        experts=Experts(dense=_flint, shared=sized("shared_expert_intermediate_size")),
    ),
    "kolibri1": Shape(
        qk_norm="head", norms=4, experts=Experts(shared=sized("shared_expert_intermediate_size"))
    ),
    "cohere2_moe": Shape(
        norms=1,
        experts=Experts(
            size="intermediate_size", dense=listed, shared=times("num_shared_experts", "intermediate_size")
        ),
        size=wide("prefix_dense_intermediate_size"),
    ),
    "persimmon": _OLD._replace(layer=_key_norms),
    "bitnet": Shape(layer=_bitnet),
    "diffllama": Shape(bias=False, layer=lambda f, layer: 4 * dict(layer.blocks[0].sizes)["head_dim"]),
    "minimax_m3_vl_text": Shape(
        qkv=False,
        out=False,
        qk_norm="head",
        experts=_LOCAL._replace(dense=listed, shared=sized("shared_intermediate_size")),
        size=wide("dense_intermediate_size"),
        layer=_index_m3,
    ),
    "step3p5": Shape(
        qk_norm="head",
        layer=_step,
        experts=Experts("n_routed_experts", dense=_step_dense, shared=sized("share_expert_dim")),
    ),
    "gemma3n_text": Shape(norms=4, qk_norm="head", size=_by_layer, layer=_gemma3n, once=_gemma3n_once),
    "deepseek_v4": Shape(
        attends=False,
        experts=Experts("n_routed_experts", shared=sized("moe_intermediate_size")),
        layer=_compressed,
        once=hyper_head,
    ),
    "glm": Shape(out=False, bias=False),
    "glm4": Shape(out=False, bias=False, norms=4),
    "glm4v_text": Shape(qkv=True, out=False, bias=False, norms=4),
    "glm_ocr_text": Shape(qkv=False, out=False, bias=False, norms=4),
    **dict.fromkeys(
        ("glm4_moe", "dots1"), Shape(out=False, qk_norm="head", qk_switch="use_qk_norm", experts=_MLA)
    ),
    "dots1": Shape(qk_norm="head", experts=_MLA),
    "glm4v_moe_text": Shape(out=False, experts=_MLA),
    "solar_open": Shape(out=False, experts=_MLA),
    "exaone4": Shape(qkv=False, out=False, bias=False, qk_norm="head"),
    "exaone_moe": Shape(
        qkv=False,
        out=False,
        qk_norm="head",
        experts=Experts(dense=listed, shared=times("num_shared_experts")),
    ),
    "olmo": Shape(norms=0, norm=0, bias=False),
    **dict.fromkeys(("olmo2", "olmo3"), Shape(qk_norm="whole", bias=False)),
    **dict.fromkeys(
        ("olmoe", "flex_olmo"), Shape(qk_norm="whole", experts=Experts(size="intermediate_size"))
    ),
    "arcee": Shape(gated=False),
    "apertus": Shape(gated=False, bias=False, qk_norm="head", layer=lambda f, layer: 2),
    "nemotron": Shape(gated=False, norm=2),
    "starcoder2": Shape(qkv="use_bias", out="use_bias", norm=2, gated=False, bias="use_bias"),
    "jais2": Shape(norm=2, gated=False),
    "seed_oss": Shape(out="attention_out_bias"),
    "ernie4_5": Shape(qkv="use_bias", out="use_bias", bias="use_bias"),
    "ernie4_5_moe": Shape(
        qkv="use_bias",
        out="use_bias",
        bias="use_bias",
        once=lambda f: f.integer("vocab_size") if f["use_bias"] else 0,
        experts=Experts(
            "moe_num_experts", dense=_ernie, shared=times("moe_num_shared_experts"), router_bias=True
        ),
    ),
    "stablelm": Shape(qkv="use_qkv_bias", out=False, bias=False, norm=2, norms=1, layer=_stablelm),
    "phi": Shape(
        qkv=True, out=True, bias=True, norm=2, norms=1, gated=False, layer=_key_norms, once=_head_bias
    ),
    "nanochat": Shape(norms=0, norm=0, gated=False),
    "cohere": Shape(norms=1, bias=False, qk_norm="whole", qk_switch="use_qk_norm"),
    "cohere2": Shape(norms=1, bias=False),
    "granite_swa": Shape(sinks=True),
    **dict.fromkeys(("granitemoe",), Shape(experts=_LOCAL)),
    "granitemoe_swa": Shape(sinks=True, experts=_LOCAL),
    "granitemoeshared": Shape(experts=_LOCAL._replace(shared=sized("shared_intermediate_size"))),
    "granitemoehybrid": Shape(
        experts=_LOCAL._replace(shared=sized("shared_intermediate_size")),
        layer=mamba2(lambda f: True, *_SSM),
    ),
    "phimoe": Shape(
        norm=2, experts=_LOCAL, once=lambda f: f.integer("vocab_size") if f["lm_head_bias"] else 0
    ),
    "minimax": Shape(qkv=False, out=False, experts=_LOCAL, layer=lightning),
    "minimax_m2": Shape(qkv=False, out=False, qk_norm="whole", experts=_LOCAL),
    "mellum": Shape(qk_norm="head", experts=Experts(dense=listed)),
    "hunyuan_v1_moe": Shape(
        qk_norm="head", experts=Experts(size="intermediate_size", shared=sized("intermediate_size"))
    ),
    "hy_v3": Shape(qk_norm="head", experts=Experts(dense=listed, shared=times("num_shared_experts"))),
    "afmoe": Shape(
        qk_norm="head",
        gate="whole",
        norms=4,
        experts=Experts(
            dense=first("num_dense_layers"), shared=times("num_shared_experts"), router_bias=True
        ),
    ),
    "laguna": Shape(
        qk_norm="head",
        layer=_gating,
        experts=Experts(dense=listed, shared=sized("shared_expert_intermediate_size"), router_bias=True),
    ),
    "llama4_text": Shape(
        experts=_LOCAL._replace(dense=_llama4, shared=sized("intermediate_size")),
        size=wide("intermediate_size_mlp"),
    ),
    "mimo_v2_flash": Shape(
        out=False,
        experts=Experts("n_routed_experts", dense=listed),
        layer=lambda f, layer: (
            dict(layer.blocks[0].sizes)["heads"] if layer.kind == "sliding_attention" else 0
        ),
    ),
    "lfm2": Shape(qkv=False, out=False, bias=False, qk_norm="head", size=_lfm2, layer=short_conv),
    "lfm2_moe": Shape(
        qkv=False,
        out=False,
        bias=False,
        qk_norm="head",
        layer=short_conv,
        experts=Experts(dense=first("num_dense_layers")),
    ),
    "bamba": Shape(layer=mamba2(lambda f: True, *_SSM)),
    "falcon_h1": Shape(layer=mamba2(lambda f: bool(f["mamba_rms_norm"]), *_SSM, "projectors_bias")),
    "mamba2": Shape(norms=1, size=none, bias=False, layer=mamba2(_normed, "use_conv_bias", "use_bias")),
    "mamba": Shape(norms=1, size=none, bias=False, layer=mamba),
    "falcon_mamba": Shape(norms=1, size=none, bias=False, layer=mamba),
    "jamba": Shape(
        qkv=False, out=False, bias=False, layer=mamba, experts=Experts(size="intermediate_size", dense=_jamba)
    ),
    "zamba2": Shape(norms=1, size=none, bias=False, layer=_zamba2_layer, once=_zamba2, attends=False),
    "nemotron_h": Shape(qkv=False, out=False, tie=False, norms=1, size=none, bias=False, layer=_blocks),
    "recurrent_gemma": Shape(
        out=True, bias=True, size=lambda f, i: f.integer("intermediate_size") // 2, layer=_griffin
    ),
    "mllama_text_model": Shape(layer=_mllama, once=lambda f: 8 * f.integer("hidden_size")),
    "gpt2": _OLD._replace(size=four("n_inner"), once=positions()),
    "gpt_bigcode": _OLD._replace(size=four("n_inner"), once=positions()),
    "gpt_neox": _OLD._replace(qkv="attention_bias", out="attention_bias"),
    "gptj": _OLD._replace(qkv=False, out=False, norms=1, size=four("n_inner"), once=_head_bias),
    "codegen": _OLD._replace(qkv=False, out=False, norms=1, size=four("n_inner"), once=_head_bias),
    "bloom": _OLD._replace(
        size=lambda f, i: 4 * f.integer("hidden_size"), once=lambda f: 2 * f.integer("hidden_size")
    ),
    "opt": _OLD._replace(
        qkv="enable_bias", out="enable_bias", bias="enable_bias", size=wide("ffn_dim"), once=_opt
    ),
    "biogpt": _OLD._replace(once=positions(2)),
    "xglm": _OLD._replace(size=wide("ffn_dim")),
    "mpt": Shape(
        qkv=False,
        out=False,
        gated=False,
        bias=False,
        size=lambda f, i: f.integer("expansion_ratio") * f.integer("hidden_size"),
    ),
    "falcon": Shape(
        qkv="bias",
        out="bias",
        norm=2,
        norms=0,
        gated=False,
        bias="bias",
        size=four("ffn_hidden_size"),
        layer=_falcon,
    ),
    "zamba": Shape(norms=1, size=none, bias=False, layer=_zamba_layer, once=_zamba, attends=False),
    **RARE,
    **LATENT,
    **STRANGE,
}
