"""What the kernel remembers of score tables changes no sentence, and is small."""

import tracemalloc
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import limen_check
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction
from limen.core.weights import Weights
from limen.model.files import written
from limen_check.can import scores
from limen_check.can.fits import derived
from limen_check.can.rational import Rational
from limen_check.can.scores import Table
from limen_check.can.vectors import Column

Claim = tuple[bytes, bytes, str, int, dict[str, Any]]


def spoilt(weights: Weights) -> Weights:
    """The same with one of them half as large again."""
    changed = {name: np.array(w) for name, w in weights.items()}
    largest = max(changed.values(), key=lambda w: float(np.abs(w).max()))
    largest.flat[int(np.abs(largest).argmax())] *= 1.5
    return changed


def claims() -> Iterable[Claim]:
    """Weights of every construction whose scores the kernel looks up, right ones and spoilt ones."""
    for name in ids("constructions"):
        if name.startswith("dyck_"):  # no tables, and the slowest
            continue
        for construction in lookup("constructions", name, Construction).examples():
            hints = construction.hints()
            if hints is not None:
                for weights in (construction.weights(), spoilt(construction.weights())):
                    files = written(construction.frame(), weights)
                    yield *files, construction.task.spelled, construction.steps, hints


def sentence(claim: Claim) -> str:
    header, packed, task, steps, hints = claim
    try:
        return str(derived(limen_check.files.model(header, packed), task, "float32", steps, hints))
    except (limen_check.Refused, limen_check.Malformed) as refused:
        return str(refused)


def test_certificates_in_either_order_get_the_same_sentences() -> None:
    """After any others, after these others backwards, and alone."""
    cases, alone = list(claims()), []
    for case in cases:
        scores._best_again.cache_clear()
        alone.append(sentence(case))
    assert list(map(sentence, cases)) == alone
    assert scores._best_again.cache_info().hits > 100  # it does remember
    assert list(map(sentence, cases[::-1])) == alone[::-1]
    assert 50 < sum("/" in text for text in alone) < len(alone) - 20  # some are refused


@pytest.mark.parametrize(("columns", "rows"), [(7, 1024), (4095, 1)])
def test_what_is_remembered_takes_less_than_100_megabytes(columns: int, rows: int) -> None:
    """The largest tables that are kept, no two of their numbers equal."""
    scores._best_again.cache_clear()
    tracemalloc.start()
    q, k = {}, {}
    for c in range(columns):
        q[c] = Column.of([Rational(2**64 - 1 - c * rows - j) for j in range(rows)])
        k[c] = Column.of([Rational(2**63 + c)])
    Table(q, k).best(Column.of([Rational(1, 2**63)]))
    del q, k
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert scores._best_again.cache_info().currsize == 1
    assert size * scores._TABLES < 100e6


def test_long_tables_are_not_remembered() -> None:
    scores._best_again.cache_clear()
    one = {0: Column.of([Rational(1)])}
    for q in ([Rational(2**64)], [Rational(1, 2**64)], [Rational(j) for j in range(1025)]):
        Table({0: Column.of(q)}, one).best(Column.of([Rational(0)]))
    assert scores._best_again.cache_info().currsize == 0
