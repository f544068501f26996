"""`limen demo width`: how far one layer's weights are from their lower bound, and what is refused or open."""

import pytest
from fixtures.cli import limen

from limen.commands.demo.width import width


@pytest.mark.parametrize("task", ["equality", "disjointness", "recall", "nearest_neighbor", "dyck"])
def test_in_bits_one_layer_does_not_move_away_from_what_it_needs(task: str) -> None:
    report = width(task, [4, 8, 16])  # type: ignore[arg-type]
    ratios = [row.one.numbers * 32 / row.needs_bits for row in report.rows]
    assert ratios == sorted(ratios, reverse=True) == [row.factor(report.p) for row in report.rows]
    assert all(row.needs_bits <= row.least * 32 < row.needs_bits + 32 for row in report.rows)
    assert report.rows[-1].needs_bits / report.rows[0].needs_bits >= 4  # the bound is linear itself


def test_sizes_that_take_longer_than_seconds_are_refused_in_one_line() -> None:
    refused = limen("demo", "width", "dyck", "--sizes", "8,64")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "for dyck sizes are 1 to 32" in refused.stderr and "got 64" in refused.stderr


def test_weights_that_are_not_certified_are_named_with_the_reason() -> None:
    found = limen("demo", "width", "disjointness", "--sizes", "16,4096")
    *_, why = found.stdout.splitlines()
    assert found.returncode == 1 and "one layer grows like" not in found.stdout
    assert why.startswith("* n = 4,096, one layer: OPEN") and "too many for the kernel" in why
