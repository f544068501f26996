"""Architectures: how many bits each part of a layer carries from token to token.

A part either hands on a state of so many bits, or is *full*: it keeps every token, and what counts is the
reply of a group of earlier tokens to one query.  Every number that crosses has p bits: states, maxima, sums.
A softmax reply is, for each head, the maximum, the normaliser and d sums: h(d+2)p bits, and replies merge.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace as Sizes
from typing import Any, NamedTuple

from limen_check.files import expect, need
from limen_check.text import TIMES, Call, parse_stack

_HEADS = "h d d_k p"  # h heads with values of size d and keys of size d_k, p bits a number
_GROUPED = f"{_HEADS} kv_heads"  # whose keys and values are so many sets
_END = re.compile(r",affine\((?:norm=(true|false(?!,))(,bias=true)?|inner=([1-9][0-9]{0,17}))\)\Z")
_Numbers = Callable[[Sizes, int], int]


def _convolved(a: Sizes) -> int:
    """The rows of queries, keys and values that a convolution over c tokens still needs."""
    return int((a.c - 1) * a.h * (2 * a.d_k + a.d))


def _features(a: Sizes) -> int:
    """How many numbers φ makes of a key."""
    return int(1 + a.d_k + a.d_k**2 if a.phi == "taylor" else a.d_k)


def _cached(a: Sizes, tokens: int) -> int:
    return int(tokens * a.kv_heads * (a.d_k + a.d))


def _levels(a: Sizes, n: int) -> int:
    """A level for each digit 1 of n - 1, and the token itself; a normaliser is one more value."""
    need(max(n - 1, 0).bit_length() < a.levels, "log_linear: the text is beyond its levels")
    return int(((n - 1).bit_count() + 1 if n else 0) * (a.d + (a.over == "linear")))


_STATES: dict[str, tuple[str, _Numbers]] = {  # all sizes; numbers kept after n tokens
    "linear": (f"{_HEADS} phi normalise", lambda a, n: _features(a) * a.h * (a.d + a.normalise)),
    "gated_linear": (_HEADS, lambda a, n: a.h * a.d_k * a.d),
    "delta": (f"{_HEADS} c", lambda a, n: a.h * a.d_k * a.d + _convolved(a)),
    "gated_delta": (f"{_HEADS} c", lambda a, n: a.h * a.d_k * a.d + _convolved(a)),
    "kda": (f"{_HEADS} c", lambda a, n: a.h * a.d_k * a.d + _convolved(a)),
    "retnet": (_HEADS, lambda a, n: a.h * a.d_k * a.d),
    "rwkv7": (_HEADS, lambda a, n: a.h * a.d_k * a.d),
    "s4d": ("d s p", lambda a, n: 2 * a.d * a.s),
    "mamba": ("d s c r p", lambda a, n: a.d * (a.s + a.c - 1)),
    "mamba2": ("h d s c p", lambda a, n: a.h * a.d * (a.s + a.c - 1) + 2 * (a.c - 1) * a.s),
    "lstm": ("d p", lambda a, n: 2 * a.d),
    "relu_rnn": ("d stages p", lambda a, n: a.d),
    "window": (f"{_GROUPED} W", lambda a, n: _cached(a, min(n, a.W - 1))),
    "masked_softmax": (f"{_GROUPED} first last", lambda a, n: _cached(a, min(n, a.first + a.last - 1))),
    "log_linear": (f"{_HEADS} over levels", lambda a, n: _levels(a, n) * a.h * a.d_k),
}
_FULL: dict[str, tuple[str, _Numbers]] = {  # all sizes; numbers of a reply
    "softmax": (f"{_GROUPED} bidirectional", lambda a, n: a.h * (a.d + 2)),
    "mla": (f"{_HEADS} r d_r", lambda a, n: a.h * (max(a.d, a.r) + 2)),  # d values are added up, or r latents
    "gated_softmax": (_GROUPED, lambda a, n: a.h * (a.d + 2)),  # a gate is of the token that reads
    "unit_softmax": (_HEADS, lambda a, n: a.h * (a.d + 2)),  # as are queries and keys of length 1
    "conv_softmax": (f"{_HEADS} c", lambda a, n: a.h * (a.d + 2)),
    "hard": (_GROUPED, lambda a, n: a.h * (a.d + 1)),  # the best score and its value
    "top_k": (f"{_HEADS} k h_i d_i", lambda a, n: a.k * (1 + a.h * (1 + a.d))),  # of the k best
    "dsa": (f"{_HEADS} r d_r k h_i d_i", lambda a, n: a.k * (1 + a.h + a.r)),  # of which latents are enough
    "block_sparse": (f"{_HEADS} B k", lambda a, n: 0),  # no fixed number
    "nsa": (f"{_GROUPED} B k W", lambda a, n: 0),  # nor here
}
_MIXERS = _STATES | _FULL
_WORDS = {
    "phi": ("elu1", "relu", "exp", "identity", "taylor"), "over": ("linear", "mamba2", "gated_delta"),
    "bidirectional": (False, True), "normalise": (False, True),
}  # fmt: skip
CHOOSING = ("top_k", "dsa")  # which read the k tokens that an index ranks highest
BLOCKS = ("block_sparse", "nsa")  # which read messages of blocks, and some blocks token by token
SOFTMAX = ("softmax", "mla", "gated_softmax", "unit_softmax")  # whose keys and values are of their own token
_SHARED = ("softmax", "gated_softmax", "hard", "linear", "window", "masked_softmax")  # keep these two alone


class Part(NamedTuple):
    # One mixer: its sizes, or the bits of its state or reply if only these are said; whose keys it reads.
    name: str
    sizes: dict[str, Any]
    said: int | None
    kv: int | None
    times: int = 1  # so many of them in a row: their states together

    @property
    def full(self) -> bool:
        return self.name in _FULL

    def bits(self, n: int = 0) -> int:
        """The bits of the state after n tokens; of a full part, what earlier tokens tell one later token."""
        if self.said is not None:
            return self.said * self.times
        need(self.name not in BLOCKS, f"the replies of {self.name} have no fixed size")
        return int(_MIXERS[self.name][1](Sizes(**self.sizes), n) * self.sizes["p"]) * self.times

    def most(self, n: int) -> int:
        """The most bits that cross any cut of n ≥ 1 tokens; of a full part its reply."""
        return max(self.bits(n), self.bits(1 << n.bit_length() - 1))

    def query(self) -> int:
        """Bits of a softmax part's queries."""
        need(self.said is None, "the size of the queries is not said")
        return int(self.sizes["h"] * self.sizes["d_k"] * self.sizes["p"])

    def message(self) -> int:
        """Bits of what a block of `BLOCKS` says of itself: a key and a value for each set of heads."""
        a = self.sizes
        return int(a.get("kv_heads", a["h"]) * (a["d_k"] + a["d"]) * a["p"])

    def opened(self) -> int:
        """Blocks of `BLOCKS` but its own whose tokens one token reads, at most.

        nsa: k for each set of heads, the first, and those before its own that the window reaches, or one.
        """
        a = self.sizes
        if self.name == "block_sparse":
            return int(a["h"] * a["k"])
        return int(a["kv_heads"] * a["k"] + 1 + max(1, -(-(a["W"] - 1) // a["B"])))

    def shift(self) -> int:
        """Bits of the convolution that queries, keys and values of a full part pass first."""
        return _convolved(Sizes(**self.sizes)) * int(self.sizes["p"]) if self.name == "conv_softmax" else 0


class End(NamedTuple):
    # What is supposed of the readout: a norm before the affine map or none, a bias behind the norm or none,
    # and one layer of so many ReLUs before it, or none.
    norm: bool = False
    bias: bool = False
    inner: int = 0

    @property
    def plain(self) -> bool:
        return not self.bias and not self.inner


class Architecture(NamedTuple):
    # Layers in sequence, parts of a layer side by side, and how often each part stands in it.
    layers: tuple[tuple[Part, ...], ...]
    counted: list[tuple[Part, int]]
    affine: End | None = None  # None: any readout


@lru_cache(maxsize=64)
def read(text: str) -> Architecture:
    """Reads the text form: every size is spelled."""
    text, affine = ending(text)
    stack = parse_stack(text)
    made = {id(calls): tuple(map(_part, calls)) for calls in {id(calls): calls for calls in stack}.values()}
    layers, times = tuple(made[id(calls)] for calls in stack), Counter(map(id, stack))
    for i, layer in enumerate(layers):
        expect(all(part.kv is None or part.kv < i for part in layer), "kv must name an earlier layer")
    counted = any(part.times > 1 for layer in made.values() for part in layer)
    shared = any(part.kv is not None for layer in made.values() for part in layer)
    expect(not (counted and shared), "kv names a layer by its place: then all layers have to be written out")
    counts = [(part, times[key]) for key, layer in made.items() for part in layer]
    return Architecture(layers, counts, affine)


def ending(text: str) -> tuple[str, End | None]:
    """The layers of a text, and what is supposed of the readout that it ends with, if anything.

    It is a restriction: what no weights do with any readout none do with this one.
    """
    found = _END.search(text)
    if found is None:
        return text, None
    norm, bias, inner = found.groups()
    return text[: found.start()], End(norm == "true", bias is not None, int(inner or 0))


def _part(call: Call) -> Part:
    name, a = call.name, dict[str, Any](call.arguments)
    expect(name in _MIXERS, f"no mixer is named {name[:40]!r}")
    kv: Any = a.pop("kv", None)
    times: Any = a.pop(TIMES, 1)
    expect(kv is None or (type(kv) is int and name in _SHARED), f"{name} cannot read another layer's keys")
    alone = "state_bits" if name in _STATES else "reply_bits" if name in (*SOFTMAX, "hard") else ""
    if alone in a:
        expect(type(a[alone]) is int and len(a) == 1, f"{name}: its sizes, or {alone} alone, a number")
        return Part(name, {}, a[alone], kv, times)
    keys = {*_MIXERS[name][0].split(), *(["inner"] if name == "relu_rnn" and a.get("stages") != 1 else [])}
    wrong = sorted(keys ^ set(a))
    expect(not wrong, f"{name}: {wrong and wrong[0][:40]} is missing or unknown")
    for key, value in a.items():
        size, words = type(value) is int and value >= (key not in ("first", "d_r")), _WORDS.get(key)
        known = words and value in words and type(value) is type(words[0])
        expect(bool(known) if words else size, f"{name}: {key} has no such value")
    expect(a.get("h", 0) % a.get("kv_heads", 1) == 0, f"{name}: kv_heads must divide h")
    expect(a.get("d_k", 1) > a.get("d_r", 0), f"{name}: d_r must be less than d_k")
    return Part(name, a, None, kv, times)
