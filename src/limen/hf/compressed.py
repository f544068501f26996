"""DeepSeek V4: a window, and beside it one compressed key, also the value, for each block of r tokens.

window       the last W tokens: d numbers, key and value in one
heavily      every r = 128 tokens give one row of d numbers, and all of them are read; the tokens of the
             open block wait as 2·d numbers (content and gate)
sparse       every r = 4 tokens give one; each is made of two blocks, so the open block waits in two
             versions (4·d) and half of the last one stays (2·d); an index of the same kind, of size d_i,
             chooses which rows are read
"""

from __future__ import annotations

from limen.core.architecture import Part
from limen.hf.attention import FIELDS, Heads
from limen.hf.attention import window as sliding
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import SUMS, Bits, Block, EveryBlock, Kept, LastBlock, LastTokens, OpenBlock, Use
from limen.mixers.block_sparse import BlockSparse

_RATES = {"heavily_compressed_attention": 128, "compressed_sparse_attention": 4}
_LEGACY = {
    "heavily_compressed_attention": "compress_rate_hca",
    "compressed_sparse_attention": "compress_rate_csa",
}


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    h, d, W = f.integer("num_attention_heads"), f.integer("head_dim"), f.integer("sliding_window", 2)
    copies = 2 if kind == "sliding_attention" else 1  # only the other kinds' caches know that both are one
    window = sliding(Heads(h, 1, d, d), W, bits)
    window = Block(window.what, window.part, (Kept(Use.KV, d, LastTokens(W, copies)),), window.sizes)
    if kind == "sliding_attention":
        return ((window,),)
    r = f.nested("compress_rates", tuple(_RATES)).size_or(kind, f.size_or(_LEGACY[kind], _RATES[kind]))
    sizes: tuple[tuple[str, int], ...] = (("heads", h), ("head_dim", d), ("block", r))
    part = Part(BlockSparse(h, d, r, 1), p=SUMS)  # rows may mix tokens of two players: no reply is known
    if kind == "heavily_compressed_attention":
        kept = Kept(Use.KV, d, EveryBlock(r)), Kept(Use.KV, 2 * d, OpenBlock(r))
        return ((Block("compressed attention", part, kept, sizes), window),)
    d_i, k = f.integer("index_head_dim"), f.integer("index_topk")
    series, sizes = _series(Use.KV, d, r) + _series(Use.INDEX, d_i, r), (*sizes, ("top_k", k))
    return ((Block("compressed sparse attention", part, series, sizes), window),)


def _series(use: Use, d: int, r: int) -> tuple[Kept, ...]:
    return Kept(use, d, EveryBlock(r)), Kept(use, 4 * d, OpenBlock(r)), Kept(use, 2 * d, LastBlock(r))


def _kinds(f: Fields) -> tuple[str, ...]:
    """As listed, by the older list of rates (0: a window alone), or by the type's rule."""
    ratios = f["compress_ratios"]
    if f.listed or ratios is None:
        return f.kinds()
    kinds = {0: "sliding_attention"} | {rate: kind for kind, rate in _RATES.items()}
    if not set(f.integers("compress_ratios")) <= set(kinds):
        raise f.wrong("compress_ratios", f"a list of {', '.join(map(str, kinds))}")
    return tuple(kinds[rate] for rate in ratios)[: f.integer("num_hidden_layers")]


READER = Reader(
    ("deepseek_v4",),
    (*FIELDS, "index_head_dim", "index_topk", "compress_rates"),
    _layer,
    _kinds,
    {"": ("sliding_attention", *_RATES)},
)
