"""A theorem is one folder, and nothing registers it: one from outside the package is decided with."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import limen
import limen.theorems
from limen.coq.forms import forms_of
from limen.core.catalogue import ids, summary
from limen.decisions.decide import theorems

CLASS = '''"""Nobody does anything in fewer bits than the text has tokens."""

from limen.core.theorem import Need, Theorem
from limen.theorems import Case, Sides, stated


class AsManyBits(Theorem):
    """One inequality."""

    def bound(self, task, architecture, steps=0):
        return stated("as_many_bits", inequality, Case(task, architecture, steps))

    def needs(self, task):
        return (Need("anything", "bits ≥ tokens", task.length),)


def inequality(case):
    return Sides(needs=case.task.length, has=1)
'''


@pytest.fixture
def as_many_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "as_many_bits"
    folder.mkdir()
    (folder / "__init__.py").write_text(CLASS, encoding="utf-8")
    monkeypatch.setattr(limen.theorems, "__path__", [*limen.theorems.__path__, str(tmp_path)])
    theorems.cache_clear()
    yield folder.name
    theorems.cache_clear()
    for module in [name for name in sys.modules if name.startswith(f"limen.theorems.{folder.name}")]:
        del sys.modules[module]


def test_a_theorem_in_a_folder_of_ones_own_is_decided_with(as_many_bits: str) -> None:
    assert as_many_bits in ids("theorems")
    assert summary("theorems", as_many_bits) == "Nobody does anything in fewer bits than the text has tokens."
    assert forms_of(as_many_bits) == {}
    verdict = limen.decide("khop(n=9,k=2)", "softmax(h=1,d=4),linear(h=1,d=4)")
    assert verdict.answer.value == "open"  # the kernel does not know it, so it says CANNOT nowhere
    sides = "the task needs 10 bits, the architecture holds 1"
    assert f"as_many_bits: {sides} (argued; the kernel has no rule for it)" in verdict.remarks


def test_without_its_folder_it_is_unknown() -> None:
    assert "as_many_bits" not in ids("theorems")
    assert all(name != "as_many_bits" for name, _ in theorems())
