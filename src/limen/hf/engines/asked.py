"""What an engine is started with: the options of all of them, each with the engine that reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

from limen.core import quantities
from limen.core.option import Option
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

    context: Annotated[
        int, Option("Number of tokens in a sequence: 4096, 128k, 1M.", parse=quantities.tokens, line="128k")
    ] = 131_072
    sequences: Annotated[int, Option("Number of sequences at a time.", least=1)] = 1
    tensor_parallel: Annotated[
        int, Option("Number of ranks that share the heads; bytes are per rank.", least=1)
    ] = 1
    slots: Annotated[
        int | None, Option("Recurrent states in the pool. Default: one per sequence.", least=1)
    ] = None
    checkpoints: Annotated[int, Option("llamacpp: checkpoints kept of each state.", least=0)] = 0
    speculative: Annotated[int, Option("vllm: speculative tokens.", least=0)] = 0
    ubatch: Annotated[int, Option("llamacpp: tokens in one physical batch.", least=1)] = 512
    unified: Annotated[bool, Option("llamacpp: all sequences share one pool of cells.")] = False
    swa_full: Annotated[bool, Option("llamacpp: windows get as many cells as the context.")] = False
    swa_ratio: Annotated[float | None, Option("sglang: window tokens per full token. Default: 0.8.")] = None
    page: Annotated[
        int | None, Option("sglang: tokens in a page. Default: 1, or 64 with a token index.", least=1)
    ] = None
    block: Annotated[int, Option("vllm: least number of tokens in a block.", least=1)] = 16
    batched: Annotated[int, Option("vllm: most tokens scheduled in one step.", least=1)] = 8192
    async_scheduling: Annotated[bool, Option("vllm: run two steps at a time.")] = True
    draft_layers: Annotated[int, Option("vllm: layers that a draft model (MTP) adds.", least=0)] = 0
    prefix_caching: Annotated[bool, Option("vllm: keep states at block boundaries.")] = True

    def __post_init__(self) -> None:
        least = {"checkpoints": 0, "speculative": 0, "draft_layers": 0}
        for name, value in ((f.name, getattr(self, f.name)) for f in fields(Asked)):
            if type(value) is int and value < least.get(name, 1):
                what = _NAMES.get(name, name)
                raise BadInput(f"the number of {what} must be at least {least.get(name, 1)}, got {value}")
        if self.swa_ratio is not None and not 0 < self.swa_ratio <= 1:
            raise BadInput(f"the share of window tokens must be above 0 and at most 1, got {self.swa_ratio}")

    @property
    def states(self) -> int:
        return self.sequences if self.slots is None else self.slots
