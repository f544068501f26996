"""Attention with keys and values of every token, of a window or of a chunk, heads grouped or not.

full        h_kv·(d + d_v) numbers a token
sliding     the same of the last W tokens
chunked     the same of the present chunk: at most C tokens, counted as a window of C
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from limen.core.architecture import Part
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import SUMS, Bits, Block, EveryToken, Kept, LastTokens, Rows, Use
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.softmax import Softmax
from limen.mixers.window import Window

FIELDS = ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "sliding_window")
_LIMITS = {
    "full_attention": None,
    "sliding_attention": "sliding_window",
    "chunked_attention": "attention_chunk_size",
}
# Types that scale what each head has read by a gate of the token itself, number by number.
_GATED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "afmoe", "beam")


class Heads(NamedTuple):
    """h heads that share h_kv keys of size d and values of size d_v."""

    h: int
    h_kv: int
    d: int
    d_v: int

    @property
    def row(self) -> int:
        """Numbers a token."""
        return self.h_kv * (self.d + self.d_v)

    @property
    def d_k(self) -> int | None:
        """As the mixers want it: nothing where it is the size of the values."""
        return None if self.d == self.d_v else self.d

    def kept(self, rows: Rows) -> Kept:
        return Kept(Use.KV, self.row, rows, pieces=((self.h_kv, self.d + self.d_v),))

    @property
    def kv_heads(self) -> int | None:
        """As the mixers want it: nothing where every head has its own."""
        return None if self.h == self.h_kv else self.h_kv

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        return (("heads", self.h), ("kv_heads", self.h_kv), ("head_dim", self.d))


def heads(f: Fields) -> Heads:
    """d is hidden_size/h where none is given."""
    h = f.integer("num_attention_heads")
    d = f.size("head_dim") or f.share("num_attention_heads", of="hidden_size")
    return Heads(h, f.size_or("num_key_value_heads", h), d, d)


def attention(f: Fields, i: int, kind: str, bits: Bits, which: Heads | None = None) -> Block:
    """Attention of the kind that the config names, with the model's heads unless others are given."""
    which = which or heads(f)
    if which.h % which.h_kv:
        raise f.wrong("num_key_value_heads", f"a divisor of num_attention_heads = {which.h}")
    if (limit := _LIMITS[kind]) is None:
        return full(which, gated=f.model_type in _GATED)
    return window(which, _width(f, limit), bits, chunk=limit != "sliding_window")


def _width(f: Fields, limit: str) -> int:
    """As the field says; ModernBERT's decoder, if it does not, looks back half of local_attention."""
    if f.model_type == "modernbert-decoder" and f["sliding_window"] is None:
        return f.integer("local_attention", 4) // 2
    return f.integer(limit, 2)


def full(which: Heads, gated: bool = False) -> Block:
    kind = GatedSoftmax if gated else Softmax
    part = Part(kind(which.h, which.d_v, d_k=which.d_k, kv_heads=which.kv_heads), p=SUMS)
    return Block("full attention", part, (which.kept(EveryToken()),), which.sizes)


def window(which: Heads, W: int, bits: Bits, chunk: bool = False) -> Block:
    part = Part(Window(which.h, which.d_v, W, d_k=which.d_k, kv_heads=which.kv_heads), p=ceil(bits.kv))
    kept, what = which.kept(LastTokens(W, chunk=chunk)), "chunk" if chunk else "sliding window"
    return Block(what, part, (kept,), (*which.sizes, ("window", W)))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if f["num_attention_heads_per_layer"] is None:
        return ((attention(f, i, kind, bits),),)
    h, which = f.integers("num_attention_heads_per_layer"), heads(f)
    if len(h) != f.integer("num_hidden_layers"):
        raise f.contradiction(
            f"num_hidden_layers is {f['num_hidden_layers']}", f"num_attention_heads_per_layer lists {len(h)}"
        )
    return ((attention(f, i, kind, bits, which._replace(h=h[i])),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    """As listed; otherwise by the type's rule, or windows from some layer on, or in all of them."""
    if f.listed or (f.ruled and f["max_window_layers"] is None):
        return f.kinds() if f.listed or f.model_type != "cohere2_moe" else _cohere(f)
    allowed = bool(f["use_sliding_window"]) or not f.says("use_sliding_window")
    sliding = allowed and f.size("sliding_window") is not None
    others = (
        "sliding_attention" if sliding else "chunked_attention" if f.size("attention_chunk_size") else None
    )
    first = f.integer("max_window_layers", 0) if f.ruled else 0
    count = f.integer("num_hidden_layers")
    if f.model_type == "qwen2_moe":  # in transformers: every other one of the first
        return tuple(
            others if others and i < first and i % 2 == 0 else "full_attention" for i in range(count)
        )
    return tuple(others if others and i >= first else "full_attention" for i in range(count))


def _cohere(f: Fields) -> tuple[str, ...]:
    """Its dense layers come first, with a pattern of their own."""
    kinds, first = f.kinds(), f.either("first_k_dense_replace", 0)
    every = f.integer("prefix_dense_sliding_window_pattern")
    dense = ("full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(first))
    return (*dense, *kinds)[: len(kinds)]


READER = Reader(
    (
        *("afmoe", "apertus", "arcee", "aria_text", "beam", "biogpt", "bitnet", "bloom", "codegen"),
        *("cohere", "cohere2", "cohere2_moe", "cwm", "diffllama", "doge", "dots1", "ernie4_5"),
        *("ernie4_5_moe", "exaone4", "exaone_moe", "flex_olmo", "flint", "gemma", "gemma2"),
        *("gemma3_text", "gemma3n_text", "glm", "glm4", "glm4_moe", "glm4v_moe_text", "glm4v_text"),
        *("glm_ocr_text", "gpt2", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite"),
        *("granite_swa", "granitemoe", "granitemoe_swa", "granitemoeshared", "helium"),
        *("hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "hyperclovax", "jais2", "kolibri1", "laguna"),
        *("llama", "llama4_text", "mellum", "minimax_m2", "ministral", "ministral3", "mistral"),
        *("mixtral", "modernbert-decoder", "molmo2_text", "moshi", "mpt", "nanochat", "nemotron", "olmo"),
        *("olmo2", "olmo3", "olmoe", "opt", "persimmon", "phi", "phi3", "phi4_multimodal", "phimoe"),
        *("qwen2", "qwen2_5_vl_text", "qwen2_moe", "qwen2_vl_text", "qwen3", "qwen3_moe"),
        *("qwen3_vl_moe_text", "qwen3_vl_text", "seed_oss", "smollm3", "solar_open", "stablelm"),
        *("starcoder2", "step3p5", "vaultgemma", "xglm"),
    ),
    (
        *FIELDS,
        *("attention_chunk_size", "use_sliding_window", "max_window_layers", "num_kv_shared_layers"),
        *("num_attention_heads_per_layer", "local_attention", "prefix_dense_sliding_window_pattern"),
    ),
    _layer,
    _kinds,
)
