"""Attention behind short convolutions, and convolutions in series with it.

zaya     queries and keys pass two convolutions, of a and b tokens: a+b-2 columns of (h+h_kv)·d numbers;
         half of each value comes from the token before: h_kv·d/2 numbers
inkling  keys, values, the output of attention and that of the MLP pass a convolution each
baichuan_m1  keys and values pass a convolution over conv_window tokens; windows have heads of their own
yuan     the input passes two convolutions over two tokens: the last two inputs stay
"""

from __future__ import annotations

from dataclasses import replace

from limen.core.architecture import Part
from limen.hf.attention import FIELDS, Heads, attention, heads
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.short_conv import convolution
from limen.hf.stack import SUMS, Bits, Block, FixedRows, Kept, LastColumns, Use
from limen.mixers.conv_softmax import ConvSoftmax

_YUAN = 3  # tokens that two convolutions over two see
_KINDS = {"hybrid": "full_attention", "hybrid_sliding": "sliding_attention"}


def _zaya(f: Fields, i: int, kind: str, bits: Bits) -> Block:
    which = heads(f)
    past = f.integer("cca_time0") + f.integer("cca_time1") - 2
    columns = Kept(Use.CONVOLUTION, (which.h + which.h_kv) * which.d, FixedRows(past))
    delayed = Kept(Use.CONVOLUTION, which.h_kv * which.d // 2, FixedRows())
    return _behind(attention(f, i, kind, bits, which), which, past + 1, (columns, delayed))


def _inkling(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    names = ("num_attention_heads", "num_key_value_heads", "head_dim")
    swa = "swa_" if kind == "sliding_attention" else ""
    h, h_kv, d = (f.integer(f"{swa}{name}") for name in names)
    which, c, width = Heads(h, h_kv, d, d), f.integer("conv_kernel_size"), f.integer("hidden_size")
    columns = Kept(
        Use.CONVOLUTION, which.row, LastColumns(c), wide=True, pieces=((which.h_kv, which.d + which.d_v),)
    )
    behind = _behind(attention(f, i, kind, bits, which), which, c, (columns,))
    after = convolution("convolution", width, c, bits, wide=True)
    return (behind,), (after,), (after,)


def _baichuan(f: Fields, i: int, kind: str, bits: Bits) -> Block:
    swa = "num_swa_" if kind == "sliding_attention" else "num_"
    h = f.integer(f"{swa}attention_heads")
    d = f.size("head_dim") or f.integer("hidden_size") // h
    which, c = Heads(h, f.size_or(f"{swa}key_value_heads", h), d, d), f.integer("conv_window")
    columns = Kept(Use.CONVOLUTION, which.row, FixedRows(c - 1), pieces=((which.h_kv, which.d + which.d_v),))
    return _behind(attention(f, i, kind, bits, which), which, c, (columns,))


def _yuan(f: Fields, i: int, kind: str, bits: Bits) -> Block:
    which = heads(f)
    inputs = Kept(Use.CONVOLUTION, f.integer("hidden_size"), FixedRows(_YUAN - 1))
    return _behind(attention(f, i, kind, bits, which), which, _YUAN, (inputs,))


def _behind(block: Block, which: Heads, c: int, kept: tuple[Kept, ...]) -> Block:
    """Full attention that reads through a convolution is another mixer: it may bring a hop.

    A window keeps what it keeps: in theory the columns belong to its reach.
    """
    mixer = ConvSoftmax(which.h, which.d_v, c, d_k=which.d_k)
    part = Part(mixer, p=SUMS) if block.part.full else block.part
    return replace(block, what=f"{block.what} after a convolution", part=part, kept=(*block.kept, *kept))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if f.model_type in _PLAIN:
        return ((_PLAIN[f.model_type](f, i, kind, bits),),)
    if f.model_type == "zaya":
        return ((_zaya(f, i, _KINDS[kind], bits),),)
    return _inkling(f, i, _KINDS[kind], bits)


_PLAIN = {"baichuan_m1": _baichuan, "yuan": _yuan}


def _kinds(f: Fields) -> tuple[str, ...]:
    if f.model_type == "inkling_text" and not f.listed and f["local_layer_ids"] is not None:
        near = set(f.integers("local_layer_ids"))
        return tuple(
            "hybrid_sliding" if i in near else "hybrid" for i in range(f.integer("num_hidden_layers"))
        )
    if f.model_type not in _PLAIN:
        return f.kinds()
    windows = set(f.integers("sliding_window_layers")) if f["sliding_window_layers"] is not None else set()
    count = f.integer("num_hidden_layers")
    return tuple("sliding_attention" if i in windows else "full_attention" for i in range(count))


READER = Reader(
    ("zaya", "inkling_text"),
    (
        *FIELDS,
        *("cca_time0", "cca_time1", "conv_kernel_size"),
        *("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim"),
        *(
            "local_layer_ids",
            "conv_window",
            "num_swa_attention_heads",
            "num_swa_key_value_heads",
            "sliding_window_layers",
        ),
    ),
    _layer,
    _kinds,
    {"": tuple(_KINDS)} | dict.fromkeys(_PLAIN, ("full_attention", "sliding_attention")),
)
