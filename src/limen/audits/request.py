"""The options of `limen audit`, each written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from limen.core import quantities
from limen.core.catalogue import ids
from limen.core.option import Option
from limen.errors import BadInput
from limen.hf.dtypes import dtype
from limen.hf.engines import Asked, AskedDtypes, Engine, engines
from limen.hf.gpus import Device
from limen.hf.gpus import gpu as gpu_named
from limen.hf.gpus import gpus as known_gpus
from limen.hf.stored.wanted import SCHEMES

_DEVICE = 2**20  # bytes: no device has less


def memory_of_device(text: str) -> int:
    """The memory of a device; a number without its unit is a slip."""
    if (size := quantities.memory(text)) < _DEVICE:
        raise BadInput(f"--memory {text}: no device has {size:,} bytes; write the unit, such as 24GiB")
    return size


def _engines(incomplete: str) -> Iterable[str]:
    return engines()


def _gpus(incomplete: str) -> Iterable[str]:
    return known_gpus()


def _schemes(incomplete: str) -> Iterable[str]:
    return SCHEMES


def _tasks(incomplete: str) -> Iterable[str]:
    return ids("tasks")


@dataclass(frozen=True)
class Request(Asked):
    """The options of an audit, the same for every model."""

    kv_dtype: Annotated[
        str | None, Option("Precision of the KV cache: bfloat16, q8_0, … Default: the config's.")
    ] = None
    conv_dtype: Annotated[str | None, Option("Precision of convolution states. Default: the engine's.")] = (
        None
    )
    state_dtype: Annotated[
        str | None, Option("Precision of recurrent states. Default: the config's, otherwise the engine's.")
    ] = None
    engine: Annotated[
        str | None,
        Option(
            "llamacpp, mlx, sglang, transformers or vllm; minimal counts what the next token needs. "
            "Default: minimal; with --gpu the one that loads such weights.",
            complete=_engines,
        ),
    ] = None
    memory: Annotated[
        int | None,
        Option(
            "Memory of each device, such as 24GiB; says what fits.", parse=memory_of_device, least=_DEVICE
        ),
    ] = None
    gpu: Annotated[
        str | None,
        Option(
            "A GPU by name, such as H100, instead of --memory: with what CUDA sees of it.", complete=_gpus
        ),
    ] = None
    gpus: Annotated[
        int | None,
        Option("How many GPUs share the model: by heads in vllm and sglang, else by layers.", least=1),
    ] = None
    weights: Annotated[
        int | None,
        Option(
            "Size of all weights, such as 15GiB. Default: counted from the config.",
            parse=quantities.memory,
            least=0,
        ),
    ] = None
    weights_dtype: Annotated[
        str | None,
        Option(
            "Scheme of the weights: bfloat16, fp8, awq, nf4, mlx-4bit, q4_k_m, … Default: the config's.",
            complete=_schemes,
        ),
    ] = None
    max_cache: Annotated[
        int | None,
        Option("Exit 1 if the cache is larger than this, such as 4GiB.", parse=quantities.memory, least=0),
    ] = None
    needs: Annotated[
        tuple[str, ...],
        Option("Exit 1 if a theorem rules this task out; may be repeated.", complete=_tasks, own=True),
    ] = ()

    find: Annotated[bool, Option("List the GPUs on which it fits, and how many of each.")] = False
    brief: Annotated[bool, Option("Print only what matters for serving.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gpu is not None and self.memory is not None:
            raise BadInput("--gpu and --memory are two ways to say the same: give one of them")

    @property
    def device(self) -> Device | None:
        """One of the GPUs; None if none is given."""
        if self.gpu is not None:
            return gpu_named(self.gpu)
        return None if self.memory is None else Device(self.memory)

    def started(self, name: str, by: Engine) -> Request:
        """The request as this engine starts with it: GPUs shared, and what it chooses by itself filled in."""
        T, P = self._shared(by)
        request = replace(self, engine=name, tensor_parallel=T, pipeline_parallel=P)
        return request if (device := self.device) is None else by.started(request, device)

    def _shared(self, by: Engine) -> tuple[int, int]:
        """Ranks of tensor parallelism and stages: as given, else so that all GPUs share the model."""
        N, T, P = self.gpus, self.tensor_parallel, self.pipeline_parallel
        if N is None or N == T * P:
            return T, P
        if T == P == 1:
            return (N, 1) if by.by_heads else (1, N)
        if P == 1 and N % T == 0:
            return T, N // T
        raise BadInput(f"{N} GPUs cannot be {T} × {P} ranks of tensor and pipeline parallelism")

    @property
    def dtypes(self) -> AskedDtypes:
        names = (self.kv_dtype, self.conv_dtype, self.state_dtype)
        return AskedDtypes(*(None if name in (None, "auto") else dtype(name, "option") for name in names))
