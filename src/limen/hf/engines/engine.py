"""What an engine decides about a cache: precisions, rows rounded up, how ranks share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, Self

from limen.hf.dtypes import BITS, Declared
from limen.hf.engines.asked import Asked
from limen.hf.engines.plan import Plan
from limen.hf.stack import Bits, EveryBlock, EveryToken, Kept, LastTokens, Stack, Use

PAGE_LIKE = (Use.KV, Use.INDEX)
INDEXED = ("deepseek_v32", "glm_moe_dsa")  # types whose index keys vLLM and SGLang keep in 8 bits


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

    def __init__(self, model_type: str = "") -> None:
        self.model_type = model_type

    def of(self, model_type: str) -> Self:
        """The engine as it treats this type."""
        return type(self)(model_type)

    @property
    def windowed(self) -> bool:
        """Whether layers with a window keep less than every token."""
        return self.windows is None or self.model_type in self.windows

    def tensors(self, stack: Stack, asked: Asked) -> list[tuple[Kept, int]]:
        """Those that it keeps, and in how many layers: of windows that it does not know every token."""
        if self.windowed:
            return stack.tensors
        return [*_counted((_every(kept), times) for kept, times in stack.tensors).items()]

    def dtypes(self, said: AskedDtypes, declared: Declared, model_type: str) -> Dtypes:
        """In the order: as asked, as declared, as the engine does it by itself."""
        model = declared.model or "bfloat16"
        kv = said.kv or (declared.kv if self.follows else None) or self.kv(model)
        conv = said.conv or self.conv(model)
        return Dtypes(model, kv, conv, said.state or self.state(declared, model, model_type))

    def kv(self, model: str) -> str:
        return model

    def conv(self, model: str) -> str | None:
        return None

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return declared.state

    def rows(self, kept: Kept, n: int, asked: Asked) -> int:
        """Rows of one tensor of one layer, of all sequences together."""
        return kept.rows.needed(n) * (asked.sequences if kept.use in PAGE_LIKE else self.states(asked))

    def states(self, asked: Asked) -> int:
        """How many recurrent states are held."""
        return asked.states

    def numbers(self, kept: Kept, asked: Asked) -> int:
        """Numbers a row, on one rank."""
        return kept.share(asked.tensor_parallel)

    def width(self, kept: Kept, asked: Asked, bits: Bits) -> Fraction:
        """Bits of a row, on one rank."""
        return self.numbers(kept, asked) * bits.of(kept)

    def bytes_of(self, tensors: Iterable[tuple[Kept, int]], n: int, asked: Asked, bits: Bits) -> int:
        """Of these tensors, each in so many layers, after n tokens a sequence, on one rank."""
        held = (self.rows(kept, n, asked) * self.width(kept, asked, bits) * times for kept, times in tensors)
        return -(-sum(held, Fraction(0)) // 8)

    def padding(self, stack: Stack, n: int, asked: Asked, bits: Bits) -> int:
        """Bytes that belong to no tensor."""
        return 0

    def plan(self, stack: Stack, asked: Asked, bits: Bits) -> Plan | None:
        """How layers share blocks, where an engine has them."""
        return None

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        """What is rounded up, and why."""
        said = []
        if any(isinstance(kept.rows, EveryBlock) for kept, _ in stack.tensors):
            said.append(
                f"compressed blocks as the model needs them; how {self.name} allocates them is not known"
            )
        W = sorted({kept.rows.W for kept, _ in stack.tensors if isinstance(kept.rows, LastTokens)})
        if W and not self.windowed:
            sizes = " and ".join(f"{size:,}" for size in W)
            what = f"{self.name} knows no window of {self.model_type}"
            said.append(f"{what}: every token is kept, not only the last {sizes}")
        return said


def _every(kept: Kept) -> Kept:
    """With a row for every token."""
    if not isinstance(kept.rows, LastTokens):
        return kept
    return replace(kept, rows=EveryToken(kept.rows.copies))


def _counted(pairs: Iterable[tuple[Kept, int]]) -> Counter[Kept]:
    found: Counter[Kept] = Counter()
    for kept, times in pairs:
        found[kept] += times
    return found


def index_width(kept: Kept) -> Fraction:
    """Of an index key of DeepSeek's kind in vLLM and SGLang: 8 bits a number, a scale of 32 for each 128."""
    return Fraction(8 * kept.numbers + 32 * -(-kept.numbers // 128))
