"""The shapes of weights of attention behind convolutions, of streams with n-grams, of models that hear.

zaya         queries and keys pass a convolution a number and one a head; an MLP routes; scaled residuals
inkling_text keys, values and both halves pass a convolution; d_rel numbers a head meet distances
qwen4_exp_text  hc_count streams, mixed through hc_lowrank numbers; n-grams of words in some layers
moshi        a word more; half of ffn_dim is the gate
phi4_multimodal  Phi 3's decoder

Of the last two the decoder of words is counted: neither the depth decoder nor towers nor their adapters.
"""

from __future__ import annotations

from limen.hf.fields import Fields
from limen.hf.parameters import Experts, NotCounted, Shape, says
from limen.hf.shape_parts import delta, none, sized
from limen.hf.stack import ModelLayer

_MOST = 1024  # heads of n-grams that are looked at
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # of Miller and Rabin: exact below 2^64


def _zaya(f: Fields, layer: ModelLayer) -> int:
    w, sizes, bias = f.integer("hidden_size"), dict(layer.blocks[0].sizes), says(f, "attention_bias")
    h, h_kv, d = sizes["heads"], sizes["kv_heads"], sizes["head_dim"]
    channels, half = (h + h_kv) * d, h_kv * d // 2
    into = (w + bias) * (channels + 2 * half)
    mixed = channels * (f.integer("cca_time0") + 1) + channels * (d * f.integer("cca_time1") + 1)
    scales = h_kv + 2 * 4 * w  # a temperature a head of keys; both residuals
    return into + mixed + scales + (h * d + bias) * w + _zaya_experts(f, layer.index)


def _zaya_experts(f: Fields, i: int) -> int:
    """A router of R numbers with an MLP; from the second layer on it remembers the one before."""
    w, R, count = (f.integer(name) for name in ("hidden_size", "router_hidden_size", "num_experts"))
    router = (w + 1) * R + R + 2 * (R + 1) * R + R * (count + 1) + (R if i else 0)
    return router + count * 3 * w * f.integer("moe_intermediate_size")


def _zaya_once(f: Fields) -> int:
    """A scale and a bias of the input; a bias of the head."""
    return 2 * f.integer("hidden_size") + (f.integer("vocab_size") if f["lm_head_bias"] else 0)


def _inkling(f: Fields, layer: ModelLayer) -> int:
    w, c, sizes = f.integer("hidden_size"), f.integer("conv_kernel_size"), dict(layer.blocks[0].sizes)
    h, h_kv, d, r = sizes["heads"], sizes["kv_heads"], sizes["head_dim"], f.integer("d_rel")
    reach = sizes.get("window") or f.integer("rel_extent")
    attention = w * (2 * h + 2 * h_kv) * d + w * h * r + r * reach + 2 * d
    return attention + 2 * h_kv * d * c + 2 * w * c + _inkling_passed(f, layer.index)


def _inkling_passed(f: Fields, i: int) -> int:
    """An MLP or experts with a scale; the router sees those that all tokens pass, too."""
    w, said = f.integer("hidden_size"), f.size("dense_intermediate_size")
    size, dense = f.integer("intermediate_size"), said or f.integer("intermediate_size")
    if inkling_dense(f, i):
        return 3 * w * dense + 1
    count = f.integer("n_routed_experts") + f.either("n_shared_experts", 0)
    return count * (3 * w * (size if said else f.integer("moe_intermediate_size")) + w) + 1


def inkling_dense(f: Fields, i: int) -> bool:
    kinds = f["mlp_layer_types"]
    if isinstance(kinds, list) and i < len(kinds):
        return bool(kinds[i] == "dense")
    return i < f.either("dense_mlp_idx", 0)


def _qwen4(f: Fields, layer: ModelLayer) -> int:
    w, n, r = (f.integer(name) for name in ("hidden_size", "hc_count", "hc_lowrank"))
    streams = 2 * (n * w + 2 * n * w * r + n * w * n)
    index = 0
    if layer.blocks[0].what == "block-sparse attention":
        h, d = f.integer("indexer_n_heads") + f.integer("indexer_kv_heads"), f.integer("indexer_head_dim")
        index = w * h * d + 2 * d
    return streams + index + delta(f, layer) + _ngrams(f, layer.index)


def _qwen4_once(f: Fields) -> int:
    """Of the streams one is made."""
    w, n = f.integer("hidden_size"), f.integer("hc_count")
    return n * w + 2 * n * w * f.integer("hc_lowrank")


def _ngrams(f: Fields, i: int) -> int:
    """Keys and values from e numbers, three norms, a convolution; a table of as many rows as primes say."""
    where = sorted(set(f.integers("ple_layer_ids"))) if f["ple_layer_ids"] is not None else []
    if i + 1 not in where:
        return 0
    w, n = f.integer("hidden_size"), f.integer("hc_count")
    e, heads = f.size_or("ple_embed_dim", w), (f.integer("ngram_size") - 1) * f.integer("heads_per_ngram")
    if not 0 < heads <= _MOST or e % heads:
        raise NotCounted(f"ple_embed_dim = {e} over {heads} heads of n-grams")
    rows, unit = _rows(f, where.index(i + 1), heads), f.integer("make_ngram_vocab_size_divisible_by")
    table = -(-rows // unit) * unit * (e // heads)
    return table + e * n * w + e * w + 3 * n * w + n * w * f.integer("ple_conv_kernel_size")


def _rows(f: Fields, place: int, heads: int) -> int:
    """Each head of each such layer has the next prime from ngram_vocab_size_base on."""
    prime, total = f.integer("ngram_vocab_size_base") - 1, 0
    if (place + 1) * heads > _MOST:
        raise NotCounted(f"{(place + 1) * heads} heads of n-grams")
    for k in range((place + 1) * heads):
        prime = next(p for p in range(prime + 1, 4 * prime + 4) if _is_prime(p))
        total += prime if k >= place * heads else 0
    return total


def _is_prime(p: int) -> bool:
    """Miller and Rabin's test."""
    if p < 2 or any(p % a == 0 for a in _WITNESSES):
        return p in _WITNESSES
    s = ((p - 1) & (1 - p)).bit_length() - 1  # p - 1 = t·2^s
    powers = (pow(a, (p - 1) >> s, p) for a in _WITNESSES)
    return all(x == 1 or any(pow(x, 2**k, p) == p - 1 for k in range(s)) for x in powers)


_PHI = Shape(qkv=False, out=False, bias=False)

STRANGE: dict[str, Shape] = {
    "zaya": Shape(attends=False, size=none, layer=_zaya, once=_zaya_once, alike=False),
    "inkling_text": Shape(
        attends=False, size=none, layer=_inkling, once=lambda f: f.integer("hidden_size"), alike=False
    ),
    "qwen4_exp_text": Shape(
        qk_norm="head",
        gate="query",
        norms=0,
        norm=0,
        experts=Experts(shared=sized("shared_expert_intermediate_size"), shared_gate=True),
        layer=_qwen4,
        once=_qwen4_once,
        alike=False,
    ),
    "moshi": _PHI._replace(
        tie=False, size=lambda f, i: f.share_of("ffn_dim", 2), once=lambda f: f.integer("hidden_size")
    ),
    "phi4_multimodal": _PHI,
}
