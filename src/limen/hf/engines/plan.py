"""How an engine with blocks of one size for all layers lays out a model (vLLM)."""

from __future__ import annotations

from typing import NamedTuple

from limen.hf.engines.asked import Asked

BATCHED = 8192  # tokens of a step, on a GPU that is not named


class LayerKind(NamedTuple):
    """Layers that are allocated alike: bytes a token of keys, or bytes of a state."""

    what: str  # "full", "window", "chunk" or "state"
    size: int
    W: int = 0


class Plan(NamedTuple):
    """How a model's layers share blocks."""

    block: int  # tokens
    page: int  # bytes of a block in one layer
    layers: int  # of a group
    groups: tuple[tuple[LayerKind, int], ...]  # how many groups of each kind

    @property
    def block_bytes(self) -> int:
        """Bytes of one block over all layers of its group."""
        return self.page * self.layers

    @property
    def cached(self) -> bool:
        """Whether prefixes can be cached: by default not where nothing but states is kept."""
        return any(kind.what != "state" for kind, _ in self.groups)

    def tokens(self, kind: LayerKind) -> int:
        """Tokens in one page; a page that rows do not fill exactly holds a block of them and is padded."""
        return self.block if self.page % kind.size else self.page // kind.size

    def of_kind(self, kind: LayerKind, n: int, options: Asked) -> int:
        """Blocks of one group for one request."""
        if kind.what == "state":
            return 1 + options.speculative + (options.prefix_caching and self.cached)
        in_flight = (options.batched or BATCHED) * (2 if options.async_scheduling else 1)
        if kind.what == "window":  # one block more: the window may begin inside one
            return -(-min(kind.W - 1 + in_flight, n) // self.tokens(kind)) + 1
        held = min(kind.W + in_flight, n) if kind.what == "chunk" else n
        return -(-held // self.tokens(kind))

    def request(self, n: int, options: Asked) -> int:
        """Blocks of one request of n tokens."""
        return sum(count * self.of_kind(kind, n, options) for kind, count in self.groups)
