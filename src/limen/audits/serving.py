"""One answer for who serves: by engine what fits and what would make it fit; and on which GPUs it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from limen.audits.changes import COUNTS, OptionChange, cheapest, cheapest_on_more, more_gpus
from limen.audits.reading import Audit
from limen.hf.gpus import Device, gpus
from limen.hf.layer_sizes import NotCounted
from limen.hf.stored.mixtures import FILE_TYPES

_SHOWN = ("vllm", "sglang", "llamacpp")  # beside the engine that is asked for
_PLAIN = ("bfloat16", "float16", "bf16", "f16")


class ByEngine(NamedTuple):
    """One engine's answer, and the changes that make it fit where it does not."""

    audit: Audit
    change: OptionChange | None = None
    more: OptionChange | None = None  # more GPUs


def by_engine(audit: Audit) -> list[ByEngine]:
    """The answers of the engine that is asked for and of the others that load such weights."""
    own = () if audit.engine.name == "minimal" else (audit.engine.name,)
    each = [audit if name in own else _started_by(audit, name) for name in dict.fromkeys((*own, *_SHOWN))]
    return [_answer(one) for one in each if one is not None]


def _answer(audit: Audit) -> ByEngine:
    if audit.fits is not False:
        return ByEngine(audit)
    change, more = cheapest(audit), more_gpus(audit)
    return ByEngine(audit, change or (None if more else cheapest_on_more(audit)), more)


def _started_by(audit: Audit, name: str) -> Audit | None:
    """The same question to another engine, in the weights that it loads; None if it loads none like these."""
    given = audit.given
    scheme, kv = (given.weights_dtype or "").lower(), given.kv_dtype
    files = scheme in FILE_TYPES or audit.stored is not None
    if name == "llamacpp" and not files and given.weights is None:
        if scheme and scheme not in _PLAIN:
            return None
        scheme = "mxfp4_moe" if _declared(audit).startswith("MXFP4") else "f16"
    elif (files != (name == "llamacpp") and given.weights is None) or scheme.startswith("mlx-"):
        return None
    ranks = given.gpus or given.tensor_parallel * given.pipeline_parallel
    other = audit.asking(
        engine=name,
        weights_dtype=scheme or None,
        kv_dtype=kv if name != "llamacpp" or kv in (None, "auto") or kv.startswith("q") else "q8_0",
        gpus=ranks,
        tensor_parallel=1 if name == "llamacpp" else given.tensor_parallel,
        pipeline_parallel=1 if name == "llamacpp" else given.pipeline_parallel,
    )
    return other if name == "llamacpp" or other.shared_by(other.request.tensor_parallel) else None


def _declared(audit: Audit) -> str:
    """The scheme that the checkpoint has; empty if it is not counted."""
    held = audit.asking(weights_dtype=None, weights=None).held
    return "" if isinstance(held, NotCounted) else held.scheme


class OnGpus(NamedTuple):
    """A GPU, and the audit on as many of them as it takes; None: on none of the numbers that are tried."""

    device: Device
    audit: Audit | None


def on_gpus(audit: Audit) -> list[OnGpus]:
    """For each GPU that is known and that the engine runs on, the fewest on which the model fits."""
    known = (device for device in gpus().values() if (device.capability or 0) >= audit.engine.capability)
    return [OnGpus(device, next(_fitting(audit, device), None)) for device in known]


def _fitting(audit: Audit, device: Device) -> Iterator[Audit]:
    for N in COUNTS:
        if audit.shared_by(N):
            alone = {"tensor_parallel": 1, "pipeline_parallel": 1}
            one = audit.asking(memory=None, gpu=device.name, gpus=N, **alone)
            if one.fits:
                yield one
