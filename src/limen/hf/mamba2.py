"""Mamba-2 (SSD): h heads of d channels with s numbers each; B and C come in g groups.

recurrent    h·d·s numbers, in the state's precision
convolution  the last columns of h·d + 2·g·s numbers: what enters the recurrence, B and C
"""

from __future__ import annotations

from typing import NamedTuple

from limen.hf.attention import FIELDS as ATTENTION
from limen.hf.attention import attention
from limen.hf.fields import Fields
from limen.hf.mamba import behind_convolution, shared_attention
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block
from limen.mixers.mamba2 import Mamba2


class SizeNames(NamedTuple):
    """What a type calls the sizes."""

    h: str
    d: str
    s: str
    g: str
    c: str
    expand: str


_BAMBA = SizeNames(
    "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_expand"
)
_NAMES = {
    "mamba2": SizeNames("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "expand"),
    "nemotron_h": SizeNames(
        "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "expand"
    ),
    "zamba2": SizeNames(
        "n_mamba_heads", "mamba_headdim", "mamba_d_state", "mamba_ngroups", "mamba_d_conv", "mamba_expand"
    ),
    "bamba": _BAMBA,
    "falcon_h1": _BAMBA,
    "granitemoehybrid": _BAMBA,
}
_FREE = ("nemotron_h",)  # whose heads need not make up expand × hidden_size
_ONE_LIST = ("nemotron_h", "zamba2")  # whose class has a list for one number of layers only
_NEMOTRON = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}


def _mamba2(f: Fields, bits: Bits) -> Block:
    names = _NAMES[f.model_type]
    s, g, c = (f.integer(name) for name in (names.s, names.g, names.c))
    channels = _channels(f, names)
    h = channels // f.integer(names.d) if _of_fla(f) else f.integer(names.h)
    d = f.integer(names.d) if f[names.d] not in (None, "auto") else channels // h
    if h * d != channels and f.model_type not in _FREE:
        wide = "mamba_d_ssm" if f.size("mamba_d_ssm") else f"{names.expand} × hidden_size"
        raise f.contradiction(f"{names.h} × {names.d} is {h} × {d} = {h * d}", f"{wide} is {channels}")
    return behind_convolution("mamba2", Mamba2(), ((h, d * s),), (((h, d), (g, 2 * s)), c), bits)


def _of_fla(f: Fields) -> bool:
    """flash-linear-attention's class of this name works the heads out; its configs have these switches."""
    switches = ("fuse_norm", "fuse_cross_entropy")
    return f.model_type == "mamba2" and "num_heads" not in f.config and any(s in f.config for s in switches)


def _channels(f: Fields, names: SizeNames) -> int:
    return f.size("mamba_d_ssm") or int(f.number(names.expand) * f.integer("hidden_size"))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind in ("mlp", "moe"):
        return ()
    if kind == "linear_attention":
        return ((_mamba2(f, bits),),)
    if kind != "hybrid":
        return ((attention(f, i, kind, bits),),)
    if f.model_type == "falcon_h1":  # heads of both kinds side by side
        return ((attention(f, i, "full_attention", bits), _mamba2(f, bits)),)
    return ((shared_attention(f),), (_mamba2(f, bits),))


def _kinds(f: Fields) -> tuple[str, ...]:
    if not f.listed and (pattern := f["hybrid_override_pattern"]) is not None:
        if not isinstance(pattern, str) or set(pattern) - set(_NEMOTRON):
            raise f.wrong("hybrid_override_pattern", f"a string of {', '.join(_NEMOTRON)}")
        return tuple(_NEMOTRON[letter] for letter in pattern)
    if not f.listed and f["attn_layer_indices"] is not None:
        full = set(f.integers("attn_layer_indices"))
        count = f.integer("num_hidden_layers")
        return tuple("full_attention" if i in full else "linear_attention" for i in range(count))
    if not f.listed and f.model_type in _ONE_LIST and f.integer("num_hidden_layers") != len(f.kinds_of_class):
        raise f.wrong("layers_block_type", "a list with the kind of each layer")
    return f.kinds()


READER = Reader(
    tuple(_NAMES),
    (
        *ATTENTION,
        *sorted({name for names in _NAMES.values() for name in names}),
        *("mamba_d_ssm", "hybrid_override_pattern", "attn_layer_indices"),
    ),
    _layer,
    _kinds,
    {
        "": ("linear_attention", "full_attention"),
        "mamba2": ("linear_attention",),
        "falcon_h1": ("hybrid",),
        "zamba2": ("linear_attention", "hybrid"),
        "nemotron_h": ("linear_attention", "full_attention", "mlp", "moe"),
    },
)
