"""The options of `limen audit`, each written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from limen.core import quantities
from limen.core.catalogue import ids
from limen.core.option import Option
from limen.errors import BadInput
from limen.hf.dtypes import dtype
from limen.hf.engines import Asked, AskedDtypes, engines
from limen.hf.stored.wanted import SCHEMES

_DEVICE = 2**20  # bytes: no device has less


def device(text: str) -> int:
    """The memory of a device; a number without its unit is a slip."""
    if (size := quantities.memory(text)) < _DEVICE:
        raise BadInput(f"--memory {text}: no device has {size:,} bytes; write the unit, such as 24GiB")
    return size


def _engines(incomplete: str) -> Iterable[str]:
    return engines()


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
        str,
        Option(
            "llamacpp, mlx, sglang, transformers or vllm; minimal counts what the next token needs.",
            complete=_engines,
        ),
    ] = "minimal"
    memory: Annotated[
        int | None,
        Option("Memory of the device, such as 24GiB; says what fits.", parse=device, least=_DEVICE),
    ] = None
    weights: Annotated[
        int | None,
        Option(
            "Size of the weights, such as 15GiB. Default: counted from the config.",
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

    @property
    def dtypes(self) -> AskedDtypes:
        names = (self.kv_dtype, self.conv_dtype, self.state_dtype)
        return AskedDtypes(*(None if name in (None, "auto") else dtype(name, "option") for name in names))
