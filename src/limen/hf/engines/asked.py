"""What an engine is started with: the options of all of them, each with the engine that reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from limen.errors import BadInput

_NAMES = {
    "context": "tokens of context",
    "tensor_parallel": "ranks of tensor parallelism",
    "speculative": "speculative tokens",
    "ubatch": "tokens of a pass (ubatch)",
    "batched": "tokens of a step (batched)",
    "block": "tokens of a block",
    "page": "tokens of a page",
    "draft_layers": "layers of a drafter",
}


@dataclass(frozen=True)
class Asked:
    """What an engine is started with."""

    context: int = 131_072  # tokens of a sequence
    sequences: int = 1
    tensor_parallel: int = 1
    slots: int | None = None  # recurrent states that are held; default: one per sequence
    checkpoints: int = 0  # llama.cpp: states kept beside each, to go back to
    speculative: int = 0  # tokens drafted ahead
    ubatch: int = 512  # llama.cpp: tokens that one pass computes
    unified: bool = False  # llama.cpp: one pool of cells for all sequences
    swa_full: bool = False  # llama.cpp: windows take as many cells as the context
    swa_ratio: float | None = None  # SGLang: tokens of a window layer for each of a full one
    page: int | None = None  # SGLang: tokens of a page; default: 1, or 64 where an index chooses tokens
    block: int = 16  # vLLM: tokens of a block, unless a state needs a larger one
    batched: int = 8192  # vLLM: tokens scheduled in one step
    async_scheduling: bool = True  # vLLM: a second step is scheduled before the first is done
    draft_layers: int = 0  # vLLM: layers of full attention that a drafter adds (MTP)
    prefix_caching: bool = True  # vLLM: a second state for each sequence, at the last whole block

    def __post_init__(self) -> None:
        least = {"checkpoints": 0, "speculative": 0, "draft_layers": 0}
        for name in (f.name for f in fields(Asked) if f.type in ("int", "int | None")):
            value = getattr(self, name)
            if value is not None and value < least.get(name, 1):
                said = _NAMES.get(name, name)
                raise BadInput(f"the number of {said} must be at least {least.get(name, 1)}, got {value}")
        if self.swa_ratio is not None and not 0 < self.swa_ratio <= 1:
            raise BadInput(f"the share of window tokens must be above 0 and at most 1, got {self.swa_ratio}")

    @property
    def states(self) -> int:
        return self.sequences if self.slots is None else self.slots
