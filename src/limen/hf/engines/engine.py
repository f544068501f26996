"""What an engine decides about a cache: precisions, rows rounded up, how ranks share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Self

from limen.hf.dtypes import BITS, Declared
from limen.hf.engines.asked import Asked, AskedT
from limen.hf.engines.budget import Budget, given
from limen.hf.engines.plan import Plan
from limen.hf.gpus import Device
from limen.hf.stack import Bits, EveryBlock, EveryToken, Kept, LastTokens, Stack, Use

PAGE_LIKE = (Use.KV, Use.INDEX)
INDEXED = ("deepseek_v32", "glm_moe_dsa")  # types whose index keys vLLM and SGLang keep in 8 bits
_SCALED = 128  # numbers in 8 bits that share a scale of 32


class AskedDtypes(NamedTuple):
    """The precisions that the user asks for."""

    kv: str | None = None
    conv: str | None = None
    state: str | None = None


class Dtypes(NamedTuple):
    """Those that an engine takes; None: as the model's own code keeps it."""

    model: str
    kv: str
    conv: str | None
    state: str | None

    @property
    def bits(self) -> Bits:
        conv, state = (None if name is None else BITS[name] for name in (self.conv, self.state))
        return Bits(BITS[self.kv], BITS[self.model], conv, state)


class Engine:
    """The rules of `minimal`, which every other engine changes in some point."""

    name = "minimal"
    follows = True  # whether a precision of the keys that a quantised checkpoint declares is followed
    windows: frozenset[str] | None = None  # the types whose windows it knows; None: of every type
    tables = False  # whether it holds rotary tables and copies of matrices too (stored/ranks.py)
    decompressed: tuple[str, ...] = ()  # the types whose latents it keeps as what is read from them
    by_heads = (
        False  # whether several GPUs share each layer's heads, if nothing else is asked; else the layers
    )
    tighter: tuple[
        tuple[tuple[str, Any], ...], ...
    ] = ()  # options that leave more memory, the cheapest first
    capability = 0  # the least of a GPU
    kv_dtypes: tuple[str, ...] = ()  # smaller precisions of the keys that it has, the nearest first
    schemes: tuple[str, ...] = ()  # smaller schemes of weights that it loads, the nearest first

    def __init__(self, model_type: str = "") -> None:
        self.model_type = model_type

    def of(self, model_type: str) -> Self:
        """The engine as it treats this type."""
        return type(self)(model_type)

    @property
    def windowed(self) -> bool:
        """Whether layers with a window keep less than every token."""
        return self.windows is None or self.model_type in self.windows

    def tensors(self, stack: Stack, options: Asked) -> list[tuple[Kept, int]]:
        """Those that it keeps, and in how many layers."""
        return [*_counted((self.held(kept), times) for kept, times in stack.tensors).items()]

    def held(self, kept: Kept) -> Kept:
        """As it keeps it: every token of a window that it does not know, some types' latents decompressed."""
        if not self.windowed and isinstance(kept.rows, LastTokens):
            return replace(kept, rows=EveryToken(kept.rows.copies))
        if kept.whole is None or self.model_type not in self.decompressed:
            return kept
        h, d = kept.whole[0], self.head(*kept.whole[1:])
        return replace(kept, numbers=h * d, pieces=((h, d),), whole=None)

    def head(self, d_k: int, d_v: int) -> int:
        """Numbers of a key and its value, decompressed."""
        return d_k + d_v

    def dtypes(self, wanted: AskedDtypes, declared: Declared, model_type: str) -> Dtypes:
        """In the order: as asked, as declared, as the engine does it by itself."""
        model = declared.model or "bfloat16"
        kv = wanted.kv or (declared.kv if self.follows else None) or self.kv(model)
        conv = wanted.conv or self.conv(model)
        return Dtypes(model, kv, conv, wanted.state or self.state(declared, model, model_type))

    def kv(self, model: str) -> str:
        return model

    def conv(self, model: str) -> str | None:
        return None

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return declared.state

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        """Rows of one tensor of one layer, of all sequences together."""
        return kept.rows.needed(n) * (options.sequences if kept.use in PAGE_LIKE else self.states(options))

    def states(self, options: Asked) -> int:
        """How many recurrent states are held."""
        return options.states

    def numbers(self, kept: Kept, options: Asked) -> int:
        """Numbers a row, on one rank."""
        return kept.share(options.tensor_parallel)

    def width(self, kept: Kept, options: Asked, bits: Bits) -> Fraction:
        """Bits of a row, on one rank."""
        return self.numbers(kept, options) * bits.of(kept)

    def bytes_of(self, tensors: Iterable[tuple[Kept, int]], n: int, options: Asked, bits: Bits) -> int:
        """Bytes of these tensors, each in so many layers, after n tokens a sequence, on one rank."""
        held = (
            self.rows(kept, n, options) * self.width(kept, options, bits) * times for kept, times in tensors
        )
        return -(-sum(held, Fraction(0)) // 8)

    def padding(self, stack: Stack, n: int, options: Asked, bits: Bits) -> int:
        """Bytes that belong to no tensor."""
        return 0

    def plan(self, stack: Stack, options: Asked, bits: Bits) -> Plan | None:
        """How layers share blocks, where an engine has them."""
        return None

    def refuses(self, kv: str | None, device: Device | None) -> str | None:
        """Why it does not run on such a GPU, or with keys of such a precision; None where it does."""
        own = None if device is None else device.capability
        if device is not None and own is not None and own < self.capability:
            least, has = self.capability / 10, own / 10
            return f"{self.name} needs a GPU of compute capability {least:.1f}; {device.name} has {has:.1f}"
        if self.by_heads and kv is not None and kv.startswith(("q", "iq")):
            return f"{self.name} has no keys in {kv}, a type of llama.cpp; expected fp8 or 16 bits"
        return None

    def started(self, options: AskedT, device: Device) -> AskedT:
        """The options with what it chooses by itself on such a GPU."""
        return options

    def choices(self, options: Asked, device: Device) -> list[str]:
        """Remarks on what it chooses by itself on such a GPU."""
        return []

    def budget(self, device: Device, options: Asked, stack: Stack, vocabulary: int) -> Budget:
        """What it keeps free on each GPU, for a model with so many tokens in its vocabulary."""
        activation = given("activations", options.activation, "--activation")
        return Budget(device.total, (*activation, *given("overhead", options.overhead, "--overhead")))

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        """What is rounded up, and why."""
        remarks = []
        if any(isinstance(kept.rows, EveryBlock) for kept, _ in stack.tensors):
            remarks.append(
                f"compressed blocks as the model needs them; how {self.name} allocates them is unknown"
            )
        W = sorted({kept.rows.W for kept, _ in stack.tensors if isinstance(kept.rows, LastTokens)})
        if W and not self.windowed:
            sizes = " and ".join(f"{size:,}" for size in W)
            what = f"{self.name} has no sliding window for {self.model_type}"
            remarks.append(f"{what}: every token is kept, not only the last {sizes}")
        for kept, _ in stack.tensors:
            if kept.whole is not None and (numbers := self.held(kept).numbers) != kept.numbers:
                sizes = f"{numbers:,} numbers per token instead of {kept.numbers:,}"
                remarks.append(f"{self.name} keeps the latents of {self.model_type} decompressed: {sizes}")
        return remarks


def _counted(pairs: Iterable[tuple[Kept, int]]) -> Counter[Kept]:
    counts: Counter[Kept] = Counter()
    for kept, times in pairs:
        counts[kept] += times
    return counts


def indexed_width(kept: Kept, bits: Bits) -> Fraction | None:
    """Bits of a row of DeepSeek's indexed attention in vLLM and SGLang, where they pack it in their own way.

    An index key is in 8 bits, whatever the precision of the keys; so is a latent vector if that is float8,
    and then the rotated key stays in 16:  8·512 + 32·512/128 + 16·64 bits = 656 bytes.
    """
    if kept.use is Use.INDEX:
        return _scaled(kept.numbers)
    if kept.whole is None or bits.kv != BITS["float8"]:
        return None
    (_, r), *rotated = kept.pieces
    return _scaled(r) + 16 * sum(size for _, size in rotated)


def _scaled(numbers: int) -> Fraction:
    return Fraction(8 * numbers + 32 * -(-numbers // _SCALED))
