"""An architecture: a stack of layers with sizes, no weights.

12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))      layer-wise hybrid
softmax(h=4,d=64)|delta(h=4,d=64)                       head-wise: side by side in one layer
softmax(reply_bits=19),linear(state_bits=15)            only bits are given: any layer that has no more
softmax(h=4,d=64),softmax(h=4,d=64,kv=0)                reads the keys and values of layer 0
gated_delta(h=4,d=64),affine                            only an affine map reads what the last layer writes
134217728*linear(h=1,d=8),softmax(h=1,d=8)              very many recurrences are counted, not written out
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, groupby

from limen.core.catalogue import identifier, lookup
from limen.core.mixer import Mixer
from limen.core.text import (
    FOLDED,
    TIMES,
    Call,
    Stack,
    build,
    parse_stack,
    remembered,
    spell,
    spell_stack,
)
from limen.errors import BadInput, at_least

_SERIES = ", or layers in series, as linear(state_bits=…),softmax(reply_bits=…)"
MOST_LAYERS = 4096  # that are written out
# Recurrences, of which a bound sees their states alone: very many in a row are counted.
_COUNTED = {"linear", "gated_linear", "delta", "gated_delta", "kda", "mamba", "mamba2", "lstm", "relu_rnn"}
_COUNTED |= {"log_linear", "retnet", "rwkv7", "s4d"}
AFFINE = "affine"  # the last item of a text, if the readout is supposed to be so
P = 16  # bits per number where the text does not say: what models store


@dataclass(frozen=True)
class Part:
    """One mixer of a layer, at p bits per number.

    Where `bits` are given they are the bits of its state (of a reply, if it keeps every token), whatever
    the mixer's sizes; `kv` is the layer whose keys and values it reads, default: its own.
    """

    mixer: Mixer
    p: int | None = None
    bits: int | None = None
    kv: int | None = None
    times: int = 1  # so many recurrences in a row, counted as one that has all their states

    def __post_init__(self) -> None:
        """Raises unless the bits given are all that the theorems count."""
        name = identifier(self.mixer)
        if self.bits is not None and self.full and not self.mixer.reply_is_all:
            sizes = ", ".join(f.name for f in fields(self.mixer))
            raise BadInput(
                f"{name} passes more than its replies to later tokens: give its sizes {sizes}{_SERIES}"
            )
        if self.kv is not None and not self.mixer.reads_kv_alone:
            raise BadInput(
                f"{name} cannot read the keys and values of layer {self.kv}: its cache also depends on "
                "its own input. Leave kv out; only softmax, gated_softmax, hard, window, masked_softmax and "
                "linear take it"
            )

    @cached_property
    def full(self) -> bool:
        """Whether it keeps every token."""
        return self.mixer.state_bits(1, 1) is None

    def state_bits(self, n: int) -> int | None:
        """Bits that cross a cut after n tokens; None if it keeps every token."""
        if self.bits is not None:
            return None if self.full else self.bits * self.times
        bits = self.mixer.state_bits(n, P if self.p is None else self.p)
        return None if bits is None else bits * self.times

    @property
    def reply_bits(self) -> int | None:
        """Bits that the tokens of one player send one later token; None if it is no fixed number of sums."""
        if self.bits is not None:
            return self.bits if self.full else None
        return self.mixer.reply_bits(P if self.p is None else self.p)

    @property
    def query_state_bits(self) -> int | None:
        """The state of a short convolution before a full mixer; None where there is none."""
        return self.mixer.query_state_bits(P if self.p is None else self.p) if self.bits is None else None

    @property
    def spelled(self) -> str:
        """The text form with every size, none left to a default."""
        return replace(self, p=P if self.p is None else self.p).sized if self.bits is None else str(self)

    @property
    def sized(self) -> str:
        """The text form with every size, but p only where it was given: weights fit every precision."""
        return spell(self.mixer, every=True, p=self.p, kv=self.kv)

    def __str__(self) -> str:
        if self.bits is None:
            return spell(self.mixer, p=self.p, kv=self.kv)
        size = f"{'reply' if self.full else 'state'}_bits={self.bits}"
        return f"{identifier(self.mixer)}({size}{'' if self.kv is None else f',kv={self.kv}'})"


@dataclass(frozen=True)
class Layer:
    """Mixers side by side: all read the same input, their outputs are added."""

    parts: tuple[Part, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash, taken once: a stack counts its layers, and a search looks at thousands of stacks."""
        return hash(self.parts)

    def __reduce__(self) -> tuple[type[Layer], tuple[tuple[Part, ...]]]:
        return Layer, (self.parts,)  # another process hashes otherwise

    @property
    def times(self) -> int:
        """The number of layers in a row that it stands for."""
        return self.parts[0].times

    @property
    def once(self) -> Layer:
        """A single layer of those that it stands for."""
        return self if self.times == 1 else Layer(tuple(replace(part, times=1) for part in self.parts))

    def reaching(self, n: int) -> Layer:
        parts = tuple(replace(part, mixer=part.mixer.reaching(n)) for part in self.parts)
        return self if parts == self.parts else Layer(parts)

    def __str__(self) -> str:
        return "|".join(map(str, self.parts))


@dataclass(frozen=True)
class AffineEnd:
    """After the last mixer a residual sum and the readout xU + u; with a norm before it, xU and no u.

    It is a hypothesis about the readout, no layer: no MLP but one of `inner` ReLUs, no thought, no gate and
    no norm of the output but the mixer's own.
    """

    norm: bool = False
    bias: bool = False  # one is added behind the norm
    inner: int = 0  # ReLUs in one layer of an MLP that stands before the readout, beside the residual sum

    def __post_init__(self) -> None:
        at_least(self, inner=0)
        if (self.bias and not self.norm) or (self.norm and self.inner):
            raise BadInput("affine: bias is one behind a norm, and inner an MLP without a norm")

    @property
    def plain(self) -> bool:
        """Whether an affine map and perhaps a norm are all."""
        return not self.bias and not self.inner

    @property
    def spelled(self) -> str:
        """The text form as certificates carry it."""
        if self.inner:
            return f"affine(inner={self.inner})"
        return f"affine(norm={str(self.norm).lower()}{',bias=true' if self.bias else ''})"

    def __str__(self) -> str:
        return self.spelled if self != AffineEnd() else "affine"


@dataclass(frozen=True)
class Architecture:
    """Layers in sequence, and what is supposed of the readout: nothing, or that it is affine."""

    layers: tuple[Layer, ...]
    end: AffineEnd | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.layers, self.end))

    def __reduce__(self) -> tuple[type[Architecture], tuple[tuple[Layer, ...], AffineEnd | None]]:
        return Architecture, (self.layers, self.end)

    def __post_init__(self) -> None:
        shared = any(part.kv is not None for layer in self.counted for part in layer.parts)
        if shared and any(layer.times > 1 for layer in self.counted):
            raise BadInput("kv names a layer by its place: then all layers have to be written out")
        for i, layer in enumerate(self.layers if shared else ()):
            for part in layer.parts:
                if part.kv is not None and part.kv >= i:
                    earlier = f"0 to {i - 1}" if i else "and layer 0 has none"
                    heads = f"for {part.kv} KV heads write kv_heads={part.kv}"
                    raise BadInput(f"layer {i}, {part}: kv must name an earlier layer, {earlier}; {heads}")

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Reads the text form; `str` gives it back."""
        return cls(*_read(text))

    def reaching(self, n: int) -> Architecture:
        """The same with default sizes that do not end before n tokens."""
        made = {layer: layer.reaching(n) for layer in self.counted}
        return (
            self
            if all(old is new for old, new in made.items())
            else Architecture(tuple(map(made.__getitem__, self.layers)), self.end)
        )

    def state_bits(self, n: int) -> int | None:
        """Bits that cross a cut after n tokens, all layers together; None if some layer keeps every token."""
        bits = [(part.state_bits(n), times) for layer, times in self.counted.items() for part in layer.parts]
        known = [b * times for b, times in bits if b is not None]
        return sum(known) if len(known) == len(bits) else None

    @cached_property
    def counted(self) -> dict[Layer, int]:
        """The number of times that each layer occurs."""
        return Counter(self.layers)

    @cached_property
    def text(self) -> str:
        """The text form, spelled once: every certificate holds it."""
        layers = self._spelled(str)
        return layers if self.end is None else f"{layers},{self.end}"

    @cached_property
    def spelled(self) -> str:
        """The text form with every size, as certificates carry it."""
        layers = self._spelled(lambda layer: "|".join(part.spelled for part in layer.parts))
        return layers if self.end is None else f"{layers},{self.end.spelled}"

    @property
    def sized(self) -> str:
        """The text form as models carry it: p only where it was given."""
        return self._spelled(lambda layer: "|".join(part.sized for part in layer.parts))

    @property
    def depth(self) -> int:
        """The number of layers."""
        return sum(layer.times for layer in self.layers)

    def _spelled(self, spell: Callable[[Layer], str]) -> str:
        """The text form, each layer spelled once; a number of layers that are counted is one item."""
        spelled = {layer: spell(layer.once) for layer in self.counted}
        words: list[str] = []
        for word, run in groupby(self.layers, key=spelled.__getitem__):
            times = sum(layer.times for layer in run)
            counted = f"{times}*({word})" if "|" in word else f"{times}*{word}"
            words += [counted] if times > FOLDED else [word] * times
        return spell_stack(words)

    def __str__(self) -> str:
        return self.text


@remembered
def _read(text: str) -> tuple[tuple[Layer, ...], AffineEnd | None]:
    stack = parse_stack(text)
    *_, (last, *beside) = stack
    if last.name != AFFINE or beside or len(stack) == 1:
        return _layers(stack), None
    return _layers(stack[:-1]), build(AffineEnd, last)


def _layers(stack: Stack) -> tuple[Layer, ...]:
    if any(call.name == AFFINE for calls in stack for call in calls):
        raise BadInput(f"{AFFINE} is no layer: it stands once, as the last item behind all layers")
    layers = {id(calls): Layer(tuple(map(_part, calls))) for calls in {id(c): c for c in stack}.values()}
    made = [layers[id(calls)] for calls in stack]  # what is repeated is made once
    return tuple(chain.from_iterable(map(_written_out, made)))


def _written_out(layer: Layer) -> list[Layer]:
    """The layers written out; recurrences stay counted, since only the sum of their states matters."""
    if layer.times == 1 or all(identifier(part.mixer) in _COUNTED for part in layer.parts):
        return [layer]
    if layer.times > MOST_LAYERS:
        raise BadInput(
            f"{layer}: more than {MOST_LAYERS} layers in a row; only recurrences are counted beyond"
        )
    return [layer.once] * layer.times


def _part(call: Call) -> Part:
    sizes = dict(call.arguments)
    bits = {key: _bits(call.name, key, sizes.pop(key)) for key in _BITS if key in sizes}
    kv, times = sizes.pop("kv", None), int(sizes.pop(TIMES, 1))
    if kv is not None and (type(kv) is not int or kv < 0):
        raise BadInput(f"{call.name}: kv must be the index of an earlier layer, got {kv}")
    part = Part(
        build(lookup("mixers", call.name, Mixer), Call(call.name, sizes)),
        bits.pop("p", None),
        kv=kv,
        times=times,
    )
    if not bits:
        return part
    right = "reply_bits" if part.full else "state_bits"
    if set(bits) != {right} or sizes or part.p is not None:
        got = ", ".join([*sizes, *bits, *(["p"] if part.p is not None else [])])
        raise BadInput(f"{call.name} takes either its sizes or {right} alone, got {got}")
    return Part(part.mixer, bits=bits[right], kv=kv, times=times)


_BITS = {"p": 1, "state_bits": 0, "reply_bits": 0}  # keys that every mixer takes, and their least value


def _bits(name: str, key: str, value: int | bool | str) -> int:
    if type(value) is not int or value < _BITS[key]:
        raise BadInput(f"{name}: {key} must be a number of bits ≥ {_BITS[key]}, got {value}")
    return value
