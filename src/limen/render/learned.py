"""Two thresholds side by side: what is proved, and what trained models answered so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.training.learned import Learned

_KEYS = {"fixed": "fixed addresses", "anew": "keys drawn anew"}


def lines_of(thresholds: Sequence[Learned]) -> list[str]:
    """Two lines for each kind of keys; nothing for a stack that keeps every token."""
    if not thresholds:
        return []
    symbols = thresholds[0].symbols
    lines = [
        f"Random questions about n of {symbols} symbols: two thresholds, and neither follows from the other"
    ]
    for one in thresholds:
        lines += [f"  {_KEYS[one.keys]:<15}  proved: {proved(one)}", f"  {'':<15}  {learned(one)}"]
    return lines


def proved(one: Learned) -> str:
    return "nothing is ruled out" if one.proved is None else f"ruled out from n = {one.proved:,}"


def measured(one: Learned) -> str:
    """A figure, where there is one, in a sentence that stands alone."""
    between = f" ({one.least:,} to {one.most:,})" if one.least != one.most else ""
    return (
        f"learned so far (fit to {plural(one.runs, 'small run')}, not a theorem): models like this one "
        f"answered 90 % of random lookups ({_KEYS[one.keys]}, {one.symbols} symbols) up to about "
        f"n = {one.n90:,}{between}, half of them up to about {one.n50:,}"
    )


def learned(one: Learned) -> str:
    """The fit in words that no proof uses."""
    if one.n90 is None:
        return f"learned so far: no figure, {one.silent}"
    between = f" ({one.least:,} to {one.most:,} by single cells)" if one.least != one.most else ""
    return (
        f"learned so far (fit to {plural(one.runs, 'small run')}, not a theorem): models like this one "
        f"answered 90 % of random questions up to about n = {one.n90:,}{between}, half of them up to about "
        f"{one.n50:,}"
    )
