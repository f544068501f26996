"""The cheapest change that makes a model fit: tighter settings, smaller keys, smaller weights, more GPUs.

Cheapest first: tighter settings cost speed or safety; keys in fewer bits need no other checkpoint; a smaller
scheme of the weights does; a GPU more costs money.  A change is proposed only if the audit so changed fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from limen.audits.reading import Audit
from limen.hf.dtypes import BITS, dtype
from limen.hf.layer_sizes import NotCounted

COUNTS = (1, 2, 4, 8, 16, 32)  # of GPUs that are tried
_SMALL = 6  # bits a weight: a checkpoint with fewer is not quantised again

Options = tuple[tuple[str, Any], ...]


class OptionChange(NamedTuple):
    """Options that are changed, each with its new value."""

    options: Options

    def of(self, audit: Audit) -> Audit:
        """The audit of the request so changed."""
        return audit.asking(**dict(self.options))

    @property
    def gpus(self) -> int | None:
        """The number of GPUs, if that changes."""
        number: int | None = dict(self.options).get("gpus")
        return number

    @property
    def flags(self) -> str:
        """As the command line has them."""
        named = ((f"--{name.replace('_', '-')}", value) for name, value in self.options)
        return " ".join(flag if value is True else f"{flag} {value}" for flag, value in named)


def cheapest(audit: Audit) -> OptionChange | None:
    """The first change on the same GPUs with which it fits; None if none does."""
    return next((change for change in _smaller(audit) if change.of(audit).starts), None)


def more_gpus(audit: Audit) -> OptionChange | None:
    """The least number of such GPUs, more than now, on which it fits with nothing else changed."""
    return next((change for change in _larger(audit) if change.of(audit).starts), None)


def cheapest_on_more(audit: Audit) -> OptionChange | None:
    """The least number of GPUs, more than now, on which it fits with another change."""
    both = (
        OptionChange(more.options + less.options) for more, less in product(_larger(audit), _smaller(audit))
    )
    return next((change for change in both if change.of(audit).starts), None)


def _larger(audit: Audit) -> Iterator[OptionChange]:
    """More GPUs, which share the model as their engine does it; by more heads where ranks are given."""
    T, P = audit.given.tensor_parallel, audit.given.pipeline_parallel
    for N in COUNTS:
        if audit.request.ranks >= N or N % P or not audit.shared_by(N // P):
            continue
        if T * P == 1:
            yield OptionChange((("gpus", N),))
        elif audit.engine.by_heads:
            yield OptionChange((("gpus", N), ("tensor_parallel", N // P)))


def _smaller(audit: Audit) -> Iterator[OptionChange]:
    """Tighter settings, smaller keys and smaller weights, and all of them together, the cheapest first."""
    given = audit.given
    tighter = [own for own in audit.engine.tighter if not any(getattr(given, name) for name, _ in own)]
    each: tuple[tuple[Options, ...], ...] = (
        ((), *((("weights_dtype", name),) for name in _schemes(audit))),
        ((), *((("kv_dtype", name),) for name in _keys(audit))),
        ((), *tighter),
    )
    for scheme, kv, setting in product(*each):
        if options := (*setting, *kv, *scheme):
            yield OptionChange(options)


def _keys(audit: Audit) -> list[str]:
    """The engine's precisions of keys that are smaller than now."""
    bits = BITS[audit.kv_dtype] if audit.kv_bytes else 0
    return [name for name in audit.engine.kv_dtypes if BITS[dtype(name, audit.engine.name)] < bits]


def _schemes(audit: Audit) -> list[str]:
    """The engine's schemes of weights that are smaller than now; none for a checkpoint of few bits."""
    own = audit.asking(weights_dtype=None).held
    if audit.given.weights is not None or isinstance(own, NotCounted):
        return []
    if 8 * own.files.total < _SMALL * (audit.stack.parameters or 0):
        return []
    now = audit.fullest.weights_bytes or 0
    sizes = ((name, audit.asking(weights_dtype=name).fullest.weights_bytes) for name in audit.engine.schemes)
    return [name for name, size in sizes if size is not None and size < now]
