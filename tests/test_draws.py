"""Numbers that differ within a row: every such row is as likely, however they are drawn."""

from itertools import permutations

import numpy as np
import pytest

from limen.core import task
from limen.core.task import distinct, shuffled, uniform

ROWS = 60_000


def even(rows: np.ndarray, kinds: int) -> None:
    """Each of so many rows comes about as often: chi squared within five deviations of its mean."""
    _, seen = np.unique(rows, axis=0, return_counts=True)
    assert len(seen) == kinds
    expected = len(rows) / kinds
    assert abs(((seen - expected) ** 2 / expected).sum() - (kinds - 1)) <= 5 * (2 * (kinds - 1)) ** 0.5


@pytest.mark.parametrize(("n", "of"), [(1, 5), (2, 3), (3, 3), (3, 4), (3, 6), (2, 7), (3, 8), (4, 4)])
def test_every_row_of_different_numbers_is_as_likely(n: int, of: int) -> None:
    even(distinct(np.random.default_rng(0), ROWS, n, of), len(list(permutations(range(of), n))))


def test_one_row_after_the_other_they_are_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_SHORT", 1)
    even(distinct(np.random.default_rng(0), 6_000, 3, 4), 24)


def test_equal_keys_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of few random bits most rows have equal keys; as they are, lower numbers would lead."""
    words = task._words
    monkeypatch.setattr(task, "_words", lambda rng, size, kind: words(rng, size, kind) & kind.type(0b11111))
    even(distinct(np.random.default_rng(0), ROWS, 3, 4), 24)


@pytest.mark.parametrize(
    ("n", "of"), [(256, 256), (256, 512), (200, 1024), (700, 1024), (300, 2**40), (2000, 2100), (9, 2**62)]
)
def test_long_rows_hold_different_numbers_from_the_whole_range(n: int, of: int) -> None:
    found = distinct(np.random.default_rng(0), 50, n, of)
    assert found.shape == (50, n) and found.min() >= 0 and found.max() < of
    assert (np.diff(np.sort(found, axis=1)) > 0).all()
    assert abs(found.mean() / (of / 2) - 1) < 0.1 and abs(found[:, 0].mean() / (of / 2) - 1) < 0.5


@pytest.mark.parametrize("of", [1, 2, 3, 8, 10, 256])
def test_uniform_numbers_are_as_likely(of: int) -> None:
    even(uniform(np.random.default_rng(0), of, (ROWS, 1)), of)


def test_a_shuffled_row_keeps_its_numbers_and_every_order_is_as_likely() -> None:
    x = np.tile([5, 7, 9], (ROWS, 1)) + 10 * np.arange(ROWS)[:, None]
    y = shuffled(np.random.default_rng(0), x)
    assert (np.sort(y, axis=1) == x).all()
    even(y - 10 * np.arange(ROWS)[:, None], 6)
