"""What an engine is started with: the options of all of them, each with the engine that reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, TypeVar

from limen.core import quantities
from limen.core.option import Option
from limen.errors import BadInput, unknown
from limen.hf.stored.ranks import BACKENDS

_NAMES = {
    "context": "tokens of context",
    "tensor_parallel": "ranks of tensor parallelism",
    "speculative": "speculative tokens",
    "ubatch": "tokens of a pass (ubatch)",
    "pipeline_parallel": "stages of pipeline parallelism",
    "batched": "tokens of a step (batched)",
    "activation": "bytes of activations",
    "overhead": "bytes of overhead",
    "cuda_graphs": "bytes of CUDA graphs",
    "block": "tokens of a block",
    "page": "tokens of a page",
    "draft_layers": "layers of a drafter",
}
_FROM_ZERO = ("checkpoints", "speculative", "draft_layers", "activation", "overhead", "cuda_graphs")


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
    pipeline_parallel: Annotated[
        int, Option("Number of stages that share the layers; bytes are those of the fullest.", least=1)
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
    batched: Annotated[
        int | None,
        Option("vllm: most tokens scheduled in one step. Default: by the GPU, else 8192.", least=1),
    ] = None
    async_scheduling: Annotated[bool, Option("vllm: run two steps at a time.")] = True
    draft_layers: Annotated[int, Option("vllm: layers that a draft model (MTP) adds.", least=0)] = 0
    prefix_caching: Annotated[bool, Option("vllm: keep states at block boundaries.")] = True
    gpu_memory_utilization: Annotated[
        float | None, Option("vllm: share of the GPU's memory that it takes. Default: 0.92.")
    ] = None
    mem_fraction_static: Annotated[
        float | None, Option("sglang: share for weights and cache. Default: by the GPU, as SGLang does.")
    ] = None
    activation: Annotated[
        int | None,
        Option("Memory of activations, such as 2GiB. Default: assumed by engine.", parse=quantities.memory),
    ] = None
    overhead: Annotated[
        int | None,
        Option(
            "Memory beside PyTorch's (CUDA, NCCL), or a margin. Default: assumed by engine.",
            parse=quantities.memory,
        ),
    ] = None
    cuda_graphs: Annotated[
        int | None,
        Option("vllm, sglang: memory of CUDA graphs. Default: assumed.", parse=quantities.memory),
    ] = None
    enforce_eager: Annotated[bool, Option("vllm, sglang: no CUDA graphs.")] = False
    moe_backend: Annotated[
        str | None,
        Option(
            "vllm: kernel of MXFP4 experts, which pads them: marlin, triton, … Default: by the GPU.",
            complete=lambda incomplete: BACKENDS,
        ),
    ] = None
    mtp: Annotated[bool, Option("Load the layers that draft tokens (MTP), too.")] = False

    def __post_init__(self) -> None:
        least = dict.fromkeys(_FROM_ZERO, 0)
        for name, value in ((f.name, getattr(self, f.name)) for f in fields(Asked)):
            if type(value) is int and value < least.get(name, 1):
                what = _NAMES.get(name, name)
                raise BadInput(f"the number of {what} must be at least {least.get(name, 1)}, got {value}")
        if self.swa_ratio is not None and not 0 < self.swa_ratio <= 1:
            raise BadInput(f"the share of window tokens must be above 0 and at most 1, got {self.swa_ratio}")
        for name in ("gpu_memory_utilization", "mem_fraction_static"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise BadInput(f"--{name.replace('_', '-')} must be above 0 and at most 1, got {share}")
        if self.moe_backend is not None and self.moe_backend not in BACKENDS:
            raise unknown("backend of experts", self.moe_backend, BACKENDS)

    @property
    def ranks(self) -> int:
        """How many GPUs share a model."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def states(self) -> int:
        return self.sequences if self.slots is None else self.slots


AskedT = TypeVar("AskedT", bound=Asked)  # the options of an engine, and what a command adds to them
