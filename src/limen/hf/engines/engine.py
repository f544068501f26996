"""What an engine decides about a cache: precisions, rows rounded up, how ranks share it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import NamedTuple

from limen.core.errors import BadInput
from limen.hf.dtypes import BITS, Declared
from limen.hf.stack import Bits, Kept, Stack, Use

PAGE_LIKE = (Use.KV, Use.INDEX)
_NAMES = {
    "context": "tokens of context",
    "tensor_parallel": "ranks of tensor parallelism",
    "speculative": "speculative tokens",
    "ubatch": "tokens of a pass (ubatch)",
    "batched": "tokens of a step (batched)",
}


@dataclass(frozen=True)
class Asked:
    """What an engine is started with."""

    context: int = 131_072  # tokens of a sequence
    sequences: int = 1
    tensor_parallel: int = 1
    slots: int | None = None  # recurrent states that are held; one a sequence unless said
    checkpoints: int = 0  # llama.cpp: states kept beside each, to go back to
    speculative: int = 0  # tokens drafted ahead
    ubatch: int = 512  # llama.cpp: tokens that one pass computes
    unified: bool = False  # llama.cpp: one pool of cells for all sequences
    batched: int = 8192  # vLLM: tokens scheduled in one step
    prefix_caching: bool = True  # vLLM: a second state for each sequence, at the last whole block

    def __post_init__(self) -> None:
        least = {"checkpoints": 0, "speculative": 0, "slots": 1}
        for name in (f.name for f in fields(Asked) if f.type in ("int", "int | None")):
            value = getattr(self, name)
            if value is not None and value < least.get(name, 1):
                said = _NAMES.get(name, name)
                raise BadInput(f"the number of {said} must be at least {least.get(name, 1)}, got {value}")

    @property
    def states(self) -> int:
        return self.sequences if self.slots is None else self.slots


class Said(NamedTuple):
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


class Kind(NamedTuple):
    """Layers that are allocated alike: bytes a token of keys, or bytes of a state."""

    what: str  # "full", "window" or "state"
    size: int
    W: int = 0


class Plan(NamedTuple):
    """How a model's layers share blocks."""

    block: int  # tokens
    page: int  # bytes of a block in one layer
    layers: int  # of a group
    groups: tuple[tuple[Kind, int], ...]  # how many groups of each kind

    @property
    def block_bytes(self) -> int:
        """Of a block in all layers of a group."""
        return self.page * self.layers

    def of_kind(self, kind: Kind, n: int, asked: Asked) -> int:
        """Blocks of one group for one request."""
        if kind.what == "state":
            return 1 + asked.speculative + asked.prefix_caching
        if kind.what == "window":
            size = self.page // kind.size
            return -(-min(kind.W - 1 + asked.batched, n) // size) + 1
        return -(-n // (self.page // kind.size))

    def request(self, n: int, asked: Asked) -> int:
        """Blocks of one request of n tokens."""
        return sum(count * self.of_kind(kind, n, asked) for kind, count in self.groups)


class Engine:
    """The rules of `minimal`, which every other engine changes in some point."""

    name = "minimal"
    follows = True  # whether a precision of the keys that a quantised checkpoint declares is followed

    def of(self, model_type: str) -> Engine:
        """The engine as it treats this type."""
        return self

    def dtypes(self, said: Said, declared: Declared, model_type: str) -> Dtypes:
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

    def bytes_of(self, tensors: Iterable[tuple[Kept, int]], n: int, asked: Asked, bits: Bits) -> int:
        """Of these tensors, each in so many layers, after n tokens a sequence, on one rank."""
        held = (
            self.rows(kept, n, asked) * self.numbers(kept, asked) * bits.of(kept) * times
            for kept, times in tensors
        )
        return -(-sum(held, Fraction(0)) // 8)

    def padding(self, stack: Stack, n: int, asked: Asked, bits: Bits) -> int:
        """Bytes that belong to no tensor."""
        return 0

    def plan(self, stack: Stack, asked: Asked, bits: Bits) -> Plan | None:
        """How layers share blocks, where an engine has them."""
        return None

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        """What is rounded up, and why."""
        return []
