"""MiniMax M3: keys and values of every token, read in the blocks that an index chooses.

h_kv·2·d numbers a token    keys and values
d_i more                    in sparse layers the index key, one for all heads
"""

from __future__ import annotations

from limen.core.architecture import Part
from limen.hf.attention import FIELDS, full, heads
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import SUMS, Bits, Block, EveryToken, Kept, Use
from limen.mixers.block_sparse import BlockSparse

_SPARSE = "minimax_m3_sparse"
_OLDER = {
    "index_head_dim": "sparse_index_dim",
    "index_block_size": "sparse_block_size",
    "index_topk_blocks": "sparse_topk_blocks",
}

_INSIDE = (*_OLDER.values(), "sparse_attention_freq")


def _size(f: Fields, name: str) -> int:
    return f.nested("sparse_attention_config", _INSIDE).size_or(_OLDER[name], f.integer(name))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    which = heads(f)
    if kind == "full_attention":
        return ((full(which),),)
    B, k, d_i = (_size(f, name) for name in ("index_block_size", "index_topk_blocks", "index_head_dim"))
    part = Part(BlockSparse(which.h, which.d, B, k), p=SUMS)
    kept = which.kept(EveryToken()), Kept(Use.INDEX, d_i, EveryToken())
    return ((Block("block-sparse attention", part, kept, (*which.sizes, ("block", B), ("blocks", k))),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    """As listed, by the older list of 0 and 1, or full throughout."""
    inner = f.nested("sparse_attention_config", _INSIDE)
    if f.listed or inner["sparse_attention_freq"] is None:
        return f.kinds()
    frequency = inner.integers("sparse_attention_freq")
    if len(frequency) != f.integer("num_hidden_layers"):
        raise f.contradiction(
            f"num_hidden_layers is {f.integer('num_hidden_layers')}",
            f"sparse_attention_freq lists {len(frequency)}",
        )
    return tuple(_SPARSE if one else "full_attention" for one in frequency)


READER = Reader(
    ("minimax_m3_vl_text",),
    (*FIELDS, "index_n_heads", "index_head_dim", "index_block_size", "index_topk_blocks"),
    _layer,
    _kinds,
    {"": ("full_attention", _SPARSE)},
)
