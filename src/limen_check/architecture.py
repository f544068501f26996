r"""Architectures: how many bits each part of a layer carries from token to token.

A part either carries a state of so many bits past a cut, whatever came before, or is *full*: it keeps every
token, and what counts is the reply of a group of earlier tokens to one query.  p bits are what every number
that crosses takes: states, running maxima, sums.  A softmax reply is, for each head, the running maximum, the
normaliser and d sums: h(d+2)p bits.  Any number of groups' replies merge into the layer's output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from limen_check.files import expect, need
from limen_check.text import Call, Value, parse_stack

Sizes = dict[str, int]

# h heads with values of size d and keys of size k, or d channels; how many numbers are kept after n tokens
_CONVOLVED: Callable[[Sizes], int] = lambda a: (a["c"] - 1) * a["h"] * (2 * a["d_k"] + a["d"])  # noqa: E731
_DELTA: Callable[[Sizes, int], int] = lambda a, n: a["h"] * a["d_k"] * a["d"] + _CONVOLVED(a)  # noqa: E731
_STATES: dict[str, Callable[[Sizes, int], int]] = {
    "linear": lambda a, n: a["h"] * a["phi"] * (a["d"] + a["normalise"]),
    "gated_linear": lambda a, n: a["h"] * a["d_k"] * a["d"],
    "delta": _DELTA,
    "gated_delta": _DELTA,
    "mamba": lambda a, n: a["d"] * (a["s"] + a["c"] - 1),
    "mamba2": lambda a, n: a["h"] * a["d"] * a["s"] + (a["c"] - 1) * (a["h"] * a["d"] + 2 * a["s"]),
    "lstm": lambda a, n: 2 * a["d"],
    "relu_rnn": lambda a, n: a["d"],
    "window": lambda a, n: min(n, a["W"] - 1) * a["h"] * (a["d_k"] + a["d"]),
    "masked_softmax": lambda a, n: min(n, a["first"] + a["last"] - 1) * a["h"] * (a["d_k"] + a["d"]),
    # the levels after n tokens are the binary digits 1 of n - 1, and the token itself
    "log_linear": lambda a, n: (
        ((n - 1).bit_count() + 1 if n else 0) * a["h"] * a["d_k"] * (a["d"] + a["over"])
    ),
}
_REPLIES: dict[str, Callable[[Sizes], int] | None] = {
    "softmax": lambda a: a["h"] * (a["d"] + 2),
    "conv_softmax": lambda a: a["h"] * (a["d"] + 2),
    "hard": lambda a: a["h"] * (a["d"] + 1),  # the best score and its value
    "top_k": lambda a: a["k"] * (1 + a["h"] * (1 + a["d"])),  # the k best: index score, scores, values
    "block_sparse": None,
}
_HEADS = "h d d_k p"
_KEYS = {
    "softmax": f"{_HEADS} kv_heads bidirectional",
    "conv_softmax": f"{_HEADS} c",
    "hard": _HEADS,
    "top_k": f"{_HEADS} k h_i d_i",
    "block_sparse": f"{_HEADS} B k",
    "linear": f"{_HEADS} phi normalise",
    "gated_linear": _HEADS,
    "delta": f"{_HEADS} c",
    "gated_delta": f"{_HEADS} c",
    "mamba": "d s c r p",
    "mamba2": "h d s c p",
    "lstm": "d p",
    "relu_rnn": "d stages p",
    "window": f"{_HEADS} W",
    "masked_softmax": f"{_HEADS} first last",
    "log_linear": f"{_HEADS} over levels",
}
_PHI: dict[str, Callable[[int], int]] = dict.fromkeys(("elu1", "relu", "exp", "identity"), lambda k: k)
_PHI |= {"taylor": lambda k: 1 + k + k * k}
_OVER = {"linear": 1, "mamba2": 0, "gated_delta": 0}  # the normaliser is one more value
_SHARED = ("softmax", "hard", "linear", "window", "masked_softmax")  # all that they keep are keys and values


@dataclass(frozen=True, eq=False)
class Part:
    """One mixer: its sizes, or the bits of its state or reply if only these are said; whose keys it reads."""

    name: str
    sizes: Sizes
    said: int | None
    kv: int | None

    @property
    def full(self) -> bool:
        """Whether it keeps every token."""
        return self.name in _REPLIES

    @property
    def ahead(self) -> bool:
        """Whether tokens read later ones."""
        return bool(self.sizes.get("bidirectional"))

    def state(self, n: int) -> int:
        """Bits that cross a cut after n tokens."""
        if self.said is not None:
            return self.said
        if self.name == "log_linear":
            need((n - 1).bit_length() < self.sizes["levels"], "log_linear: the text is beyond its levels")
        return _STATES[self.name](self.sizes, n) * self.sizes["p"]

    def most(self, n: int) -> int:
        """The most bits that cross any cut of n ≥ 1 tokens.

        States do not shrink as n grows but for log_linear: of the numbers below n the one with the most
        digits 1 is n - 1 or the last 2^r - 1, for whoever turns the digit 1 at place i of n - 1 to 0 keeps at
        most r - i digits 1 above it and gains i below.
        """
        return max(self.state(n), self.state(1 << n.bit_length() - 1))

    def reply(self) -> int:
        """Bits that a group of earlier tokens tells one later token."""
        reply = _REPLIES[self.name]
        if self.said is not None:
            return self.said
        need(reply is not None, f"the replies of {self.name} have no fixed size")
        return 0 if reply is None else reply(self.sizes) * self.sizes["p"]

    def query(self) -> int:
        """Bits of a softmax part's queries."""
        need(self.said is None, "the size of the queries is not said")
        return self.sizes["h"] * self.sizes["d_k"] * self.sizes["p"]

    def shift(self) -> int:
        """Bits of the convolution that queries, keys and values of a full part pass first."""
        return _CONVOLVED(self.sizes) * self.sizes["p"] if self.name == "conv_softmax" else 0


Layer = tuple[Part, ...]


class Architecture(NamedTuple):
    """Layers in sequence, parts of a layer side by side, and how often each part stands in it."""

    layers: tuple[Layer, ...]
    counted: list[tuple[Part, int]]


def read(text: str) -> Architecture:
    """Reads the text form: every size is spelled."""
    stack = parse_stack(text)
    made = {id(calls): tuple(map(_part, calls)) for calls in {id(calls): calls for calls in stack}.values()}
    layers = tuple(made[id(calls)] for calls in stack)
    for i, layer in enumerate(layers):
        expect(all(part.kv is None or part.kv < i for part in layer), "kv must name an earlier layer")
    times = Counter(id(layer) for layer in layers)
    return Architecture(layers, [(part, times[id(made[key])]) for key in made for part in made[key]])


def _part(call: Call) -> Part:
    name, given = call.name, dict(call.arguments)
    expect(name in _KEYS, f"no mixer is named {name[:40]!r}")
    kv = given.pop("kv", None)
    expect(kv is None or (type(kv) is int and name in _SHARED), f"{name} cannot read another layer's keys")
    alone = "reply_bits" if name in ("softmax", "hard") else "state_bits" if name in _STATES else ""
    if set(given) == {alone}:
        said = given[alone]
        expect(type(said) is int, f"{name}: {alone} must be a number of bits")
        return Part(name, {}, int(said), _number(kv))
    keys = {*_KEYS[name].split(), *(["inner"] if name == "relu_rnn" and given.get("stages") != 1 else [])}
    wrong = sorted(keys ^ set(given))
    expect(not wrong, f"{name}: {wrong and wrong[0][:40]} is missing or unknown")
    sizes = {key: _size(name, key, value) for key, value in given.items() if key not in ("phi", "over")}
    if name == "linear":
        expect(given["phi"] in list(_PHI), f"linear: no feature map {str(given['phi'])[:40]!r}")
        sizes["phi"] = _PHI[str(given["phi"])](sizes["d_k"])
    if name == "log_linear":
        expect(given["over"] in list(_OVER), f"log_linear: no rule {str(given['over'])[:40]!r}")
        sizes["over"] = _OVER[str(given["over"])]
    expect(sizes.get("h", 0) % sizes.get("kv_heads", 1) == 0, "softmax: kv_heads must divide h")
    return Part(name, sizes, None, _number(kv))


def _number(kv: Value | None) -> int | None:
    return None if kv is None else int(kv)


def _size(name: str, key: str, value: Value) -> int:
    flag = key in ("bidirectional", "normalise")
    right = type(value) is bool if flag else type(value) is int and value >= (key != "first")
    expect(right, f"{name}: {key} must be {'true or false' if flag else 'a positive integer'}")
    return int(value)
