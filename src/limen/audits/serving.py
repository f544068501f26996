"""One answer for who serves: by engine what fits and what would make it fit; and on which GPUs it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from limen.audits.changes import COUNTS, OptionChange, cheapest, cheapest_on_more, more_gpus
from limen.audits.reading import Audit, file_type
from limen.hf.dtypes import BITS
from limen.hf.engines import Engine, engine
from limen.hf.gpus import Device, gpus
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
    """The same question to another engine; None if it loads no such weights, or cannot share them so."""
    given, by = audit.given, engine(name)
    if (scheme := _scheme_of(audit, name)) is None:
        return None
    alone = {} if by.by_heads else {"tensor_parallel": 1, "pipeline_parallel": 1}
    other = audit.asking(
        engine=name,
        weights_dtype=scheme or None,
        kv_dtype=_keys_of(given.dtypes.kv, by),
        gpus=given.gpus or given.tensor_parallel * given.pipeline_parallel,
        **alone,
    )
    return other if other.refusal is None and (by.by_heads or other.shared_by(other.request.ranks)) else None


def _keys_of(kv: str | None, by: Engine) -> str | None:
    """The engine's own word for keys in fewer than 16 bits; None: as it does it by itself."""
    return kv if kv is None or BITS[kv] >= 16 else next(iter(by.kv_dtypes), None)


def _scheme_of(audit: Audit, name: str) -> str | None:
    """The scheme in which an engine loads the weights, "" as they are; None if it loads none like these."""
    scheme = (audit.given.weights_dtype or "").lower()
    if audit.given.weights is not None:
        return scheme
    files = scheme in FILE_TYPES or audit.stored is not None
    if name != "llamacpp" or files:
        return None if files != (name == "llamacpp") or scheme.startswith("mlx-") else scheme
    return file_type(audit.model_weights) if scheme in ("", *_PLAIN) else None


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
            if one.starts:
                yield one
