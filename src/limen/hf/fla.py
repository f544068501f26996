"""flash-linear-attention's own types: recurrences of h heads with d_k × d_v numbers, and its transformer.

gla, retnet, delta_net, gated_deltanet, hgrn2, gsa,
rwkv6, rwkv7                                               one recurrence a layer, or one behind convolutions
samba                                                      Mamba
transformer, sba                                           attention, of a window where it has one
attn: {layers: […], num_heads, num_kv_heads, window_size}  these layers are attention instead

The convolutions of queries, keys and values are three, of h·d_k, h·d_k and h·d_v channels.  GSA keeps m
slots, each a key and a value.  RWKV shifts the last token into both halves of a layer.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.core.mixer import Mixer
from limen.hf.attention import Heads, full, window
from limen.hf.fields import Fields
from limen.hf.mamba import Pieces, behind_convolution
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block, FixedRows, Kept, Use, recurrence
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.mamba import Mamba
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7


class FlaSizes(NamedTuple):
    """h heads of d_k × d_v; queries and keys come in h_k heads, keys and values in h_kv."""

    h: int
    d_k: int
    d_v: int
    h_k: int
    h_kv: int


_MIXERS: dict[str, Mixer] = {
    "delta_net": Delta(),
    "gated_deltanet": GatedDelta(),
    "retnet": Retnet(),
    "rwkv7": Rwkv7(),
}


def sizes(f: Fields) -> FlaSizes:
    width = f.integer("hidden_size")
    if f.model_type == "gated_deltanet":
        h_k, d_k = f.integer("num_heads"), f.integer("head_dim")
        h = f.size_or("num_v_heads", h_k)
        return FlaSizes(h, d_k, int(d_k * f.number("expand_v")), h_k, h)
    if f.model_type in ("hgrn2", "rwkv7"):
        name = "expand_ratio" if f.model_type == "hgrn2" else "head_dim"
        size = f.size(name)
        if size is not None and size > width:
            raise f.wrong(name, f"at most hidden_size = {width}")
        h = f.integer("num_heads") if size is None else width // size
        values = f.size_or("value_dim", width)
        return FlaSizes(h, size or width // h, values // h, h, h)
    h = f.integer("num_heads")
    d_k, d_v = (int(width * f.number(name)) // h for name in ("expand_k", "expand_v"))
    kv = f.size_or("num_kv_heads", h)
    return FlaSizes(h, d_k, d_v, h, kv)


def _recurrence(f: Fields, bits: Bits) -> Block:
    h, d_k, d_v, h_k, h_kv = sizes(f)
    mixer = _MIXERS.get(f.model_type, GatedLinear())
    state: Pieces = ((h, d_k * d_v),)
    if f.model_type == "gsa":
        state = ((h_kv, f.integer("num_slots") * (d_k + d_v)),)
    if f["use_short_conv"] and f.model_type != "retnet":  # whose block does not pass it on
        keys = h_kv if f.model_type in ("gla", "gsa") else h_k
        channels = (h_k, d_k), (keys, d_k), (h_kv, d_v)
        return behind_convolution(f.model_type, mixer, state, (channels, f.integer("conv_size")), bits)
    numbers = sum(heads * size for heads, size in state)
    kept = [Kept(Use.RECURRENT, numbers, FixedRows(), wide=True, pieces=state)]
    if f.model_type in ("rwkv6", "rwkv7"):
        kept.append(Kept(Use.CONVOLUTION, 2 * f.integer("hidden_size"), FixedRows()))
    return recurrence(f.model_type, mixer, tuple(kept), bits, (("heads", h), ("state_numbers", numbers)))


def _samba(f: Fields, bits: Bits) -> Block:
    channels = int(f.number("expand") * f.integer("hidden_size"))
    state, c = ((channels, f.integer("state_size")),), f.integer("conv_kernel")
    return behind_convolution("mamba", Mamba(), state, (((channels, 1),), c), bits)


def _attention(f: Fields, sizes: Fields, bits: Bits) -> Block:
    h, width = sizes.integer("num_heads"), f.integer("hidden_size")
    if width % h:
        raise sizes.wrong("num_heads", f"a divisor of hidden_size = {width}")
    which = Heads(h, sizes.size_or("num_kv_heads", h), width // h, width // h)
    W = sizes.size("window_size")
    return full(which) if W is None else window(which, W, bits)


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "attention":
        inner = f if f.model_type in _TRANSFORMERS else f.nested("attn", ATTENTION)
        return ((_attention(f, inner, bits),),)
    return ((_samba(f, bits) if f.model_type == "samba" else _recurrence(f, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    count = f.integer("num_hidden_layers")
    if f.model_type in _TRANSFORMERS:
        return ("attention",) * count
    if f["attn"] is None:
        return ("recurrence",) * count
    inner = f.nested("attn", ATTENTION)
    among = set(inner.integers("layers"))
    if not among <= set(range(count)):
        raise inner.wrong("layers", f"a list of layers, 0..{count - 1}")
    return tuple("attention" if i in among else "recurrence" for i in range(count))


_TRANSFORMERS = ("transformer", "sba")
ATTENTION = ("layers", "num_heads", "num_kv_heads", "window_size", "qkv_bias", "qk_norm")  # inside attn

READER = Reader(
    (),
    (
        *("hidden_size", "num_heads", "num_kv_heads", "num_v_heads", "head_dim", "value_dim", "expand_k"),
        *("expand_v", "expand_ratio", "num_slots", "use_short_conv", "conv_size", "attn", "window_size"),
        *("expand", "state_size", "conv_kernel"),
    ),
    _layer,
    _kinds,
    {"": ("recurrence", "attention")},
)
