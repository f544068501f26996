"""What real models still copy with a part of their layers full: shipped measurements, read without torch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

_SHIPPED = Path(__file__).parent / "results"
_CHOSEN = "top", "greedy"  # by what the model needs
_FLOOR = 0.05  # of copying: below it nothing tells layers apart


class _Row(msgspec.Struct, frozen=True):
    """The fields of a row that are used here."""

    chosen: str
    k: int
    accuracy: float
    low: float
    high: float


class _Results(msgspec.Struct, frozen=True):
    model: str
    layers: tuple[int, ...]
    rows: tuple[_Row, ...]


class Copied(msgspec.Struct, frozen=True):
    """The share of words that is copied, and its 95 % interval."""

    accuracy: float
    low: float
    high: float


class KeptCopying(msgspec.Struct, frozen=True, kw_only=True):
    """One model with so many of its attention layers full, a window on all others, and no retraining."""

    model: str
    full: int
    layers: int
    needed: Copied  # the layers that it needs most
    even: Copied  # as many at equal distances
    whole: Copied  # all of its layers


@cache
def _results() -> tuple[_Results, ...]:
    paths = sorted(_SHIPPED.glob("*.layers.json"))
    return tuple(msgspec.json.decode(path.read_bytes(), type=_Results) for path in paths)


def kept_copying(full: int, layers: int) -> tuple[KeptCopying, ...]:
    """Each measured model with the size that comes nearest to so many of so many layers.

    Nothing for a stack without full layers, or with nothing else: that is no choice of layers.
    """
    if not 0 < full < layers:
        return ()
    return tuple(filter(None, (_nearest(one, full / layers) for one in _results())))


def _nearest(results: _Results, share: float) -> KeptCopying | None:
    whole = next((row for row in results.rows if row.chosen == "all"), None)
    sizes = {row.k for row in results.rows if row.chosen == "even"}
    if whole is None or whole.low <= _FLOOR or not sizes:
        return None
    k = min(sizes, key=lambda k: (abs(k / len(results.layers) - share), k))
    rows = [row for row in results.rows if row.k == k]
    return KeptCopying(
        model=results.model,
        full=k,
        layers=len(results.layers),
        needed=_best(row for row in rows if row.chosen in _CHOSEN),
        even=_best(row for row in rows if row.chosen == "even"),
        whole=_copied(whole),
    )


def _best(rows: Iterable[_Row]) -> Copied:
    return _copied(max(rows, key=lambda row: row.accuracy))


def _copied(row: _Row) -> Copied:
    return Copied(row.accuracy, row.low, row.high)
