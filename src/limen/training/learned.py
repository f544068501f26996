"""What trained models of a kind answered so far, beside what is proved: a fit to small runs, never a limit.

The figures are in learned.json, which `limen experiment fit all --save` makes of result files.  Outside the
sizes of those runs there is no figure, and for stacks that keep every token none is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.decisions.thresholds import limit
from limen.training.fit import LONGEST, Fitted, Keys, first, matrix_numbers
from limen.training.law import energy

STORED = "learned.json"
_SYMBOLS = 32  # that a value may be, in all the runs
_LAYERS = 2  # whose numbers were seen to add up
_FEWEST, _OFF = 3, 0.1  # cells of a fit that is used, and its root mean square error at most
_TASKS: dict[Keys, Callable[[int], str]] = {
    "fixed": lambda n: f"index(n={n},S={_SYMBOLS})",
    "anew": lambda n: f"retrieval(n={n},D={max(8, (n - 1).bit_length())},V={_SYMBOLS})",
}


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """Up to about which n trained models answered random questions, and from where on it is ruled out."""

    evidence: Literal["fit"] = "fit"
    keys: Keys  # fixed addresses, or keys drawn anew
    symbols: int = _SYMBOLS
    numbers: int  # in the matrices of the stack
    proved: int | None  # ruled out from this n on
    n50: int | None = None  # half of the questions answered, up to about this n
    n90: int | None = None
    least: int | None = None  # n90 with the lowest η of a cell
    most: int | None = None
    cells: int = 0
    runs: int = 0
    residual: float | None = None  # root mean square of the fit's errors, in parts of accuracy
    silent: str = ""  # why there is no figure

    @property
    def inside(self) -> bool:
        """Whether there is a figure."""
        return self.n90 is not None


@cache
def fitted() -> tuple[Fitted, ...]:
    """The fits that are shipped."""
    content = (files("limen.training") / STORED).read_bytes()
    return msgspec.json.decode(content, type=tuple[Fitted, ...])


def learned(architecture: Architecture) -> tuple[Learned, ...]:
    """A line for each kind of keys; nothing for a stack that keeps every token or has no matrix memory."""
    return tuple(_learned(architecture, *one) for one in _memories(architecture))


def with_figures(architecture: Architecture) -> tuple[Learned, ...]:
    """Those of `learned` that have a figure; for the others no proof is looked for."""
    may = [one for one in _memories(architecture) if not _silent(architecture, *one)]
    return tuple(line for one in may if (line := _learned(architecture, *one)).inside)


def _memories(architecture: Architecture) -> list[tuple[Keys, list[str], int, bool]]:
    """Keys, mixers, the numbers of their matrices, and whether these are cut to few bits."""
    counted = [(part, times) for layer, times in architecture.counted.items() for part in layer.parts]
    sizes = [(matrix_numbers(part.mixer), times) for part, times in counted]
    if any(part.full for part, _ in counted) or not any(size for size, _ in sizes):
        return []
    numbers = sum((size or 0) * times for size, times in sizes)
    mixers = sorted({identifier(part.mixer) for part, _ in counted})
    cut = any((part.p is not None and part.p < 16) or part.bits is not None for part, _ in counted)
    return [(keys, mixers, numbers, cut) for keys in _TASKS]


def _fit(keys: Keys, mixers: list[str]) -> Fitted | None:
    return next((one for one in fitted() if [one.mixer] == mixers and one.keys == keys), None)


def _silent(architecture: Architecture, keys: Keys, mixers: list[str], numbers: int, cut: bool) -> str:
    """Why the fit has no figure for this stack."""
    if (fit := _fit(keys, mixers)) is None:
        return f"no run had {', '.join(mixers)} and such keys"
    low, high = fit.numbers
    if len(fit.cells) < _FEWEST:
        return f"the fit has {len(fit.cells)} of at least {_FEWEST} cells"
    if fit.residual > _OFF:
        return f"the fit is off by {100 * fit.residual:.0f} points"
    if architecture.depth > _LAYERS:
        return (
            f"numbers of {_LAYERS} layers were seen to add up, this stack has {architecture.depth:,} layers"
        )
    if cut:
        return "the runs did not cut the numbers of the state"
    if not low <= numbers <= high:
        held = f"{low:,} numbers" if low == high else f"{low:,} to {high:,} numbers"
        return f"the runs had states of {held}, this stack has {numbers:,}"
    if _up_to(fit.eta, numbers, keys, 0.9) > LONGEST:
        return f"the runs asked at most {LONGEST} keys"
    return ""


def _learned(architecture: Architecture, keys: Keys, mixers: list[str], numbers: int, cut: bool) -> Learned:
    proof = limit(keys, lambda n: Task.parse(_TASKS[keys](n)), architecture)
    proved = None if proof is None else proof.n
    fit, silent = _fit(keys, mixers), _silent(architecture, keys, mixers, numbers, cut)
    if fit is None or silent:
        return Learned(keys=keys, numbers=numbers, proved=proved, silent=silent)
    where = {q: _up_to(fit.eta, numbers, keys, q) for q in (0.5, 0.9)}
    if proved is not None and proved <= where[0.9]:
        return Learned(keys=keys, numbers=numbers, proved=proved, silent="the proof is sharper")
    return Learned(
        keys=keys,
        numbers=numbers,
        proved=proved,
        n50=where[0.5],
        n90=where[0.9],
        least=_up_to(fit.lowest, numbers, keys, 0.9),
        most=_up_to(fit.highest, numbers, keys, 0.9),
        cells=len(fit.cells),
        runs=fit.runs,
        residual=round(fit.residual, 3),
    )


def _up_to(eta: float, numbers: int, keys: Keys, q: float) -> int:
    """n₀ + η·S/γ_q with two digits."""
    n = first(numbers, keys) + eta * numbers / energy(q, _SYMBOLS)
    return round(float(f"{n:.2g}"))
