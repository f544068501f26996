"""The reports of `limen fool` that are shipped are about the models of benchmarks/models, and hold today."""

from pathlib import Path

import pytest

import limen
from limen.adversary.report import kept
from limen.adversary.saved import read_report, shipped
from limen.adversary.shrink import pulls
from limen.core.certificate import WrongAnswer, decode
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import load
from limen.model.target import Target
from limen.page.start import FOOLED

MODELS = Path(__file__).parents[1] / "benchmarks/models"


def test_the_page_offers_each_of_them() -> None:
    assert sorted(fooled["model"] for fooled, _ in FOOLED) == list(shipped())
    for fooled, _ in FOOLED:
        assert read_report(fooled["model"]).task == fooled["task"]


@pytest.mark.parametrize("name", shipped())
def test_the_certificate_holds_for_the_model_and_the_drawing_is_what_a_run_gives(
    name: str, tmp_path: Path
) -> None:
    report, folder = read_report(name), MODELS / name
    file = tmp_path / "found.json"
    file.write_bytes(kept(report))
    again = limen.check(file, folder)
    assert again.valid and again.robust
    witness = decode(file.read_bytes())
    assert isinstance(witness, WrongAnswer)
    target = Target(Task.parse(report.task), load(folder))
    assert pulls(target, witness) == pytest.approx(report.pulls, rel=1e-3, abs=1e-3)
    first, second = report.inputs
    assert first.tokens == witness.tokens and first.right != first.given
    assert second.right == second.given, "the page says that it is right on the second row"
    assert sum(a != b for a, b in zip(first.tokens, second.tokens, strict=True)) == 1
    assert (report.random_failures, report.random_forwards) == (0, 4096), "as the page says"


def test_a_shipped_report_is_shown_as_it_is_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limen.fool("gated", "eva(n=16)") == read_report("gated")
    with pytest.raises(BadInput, match=r"is about eva\(n=16\), not about eva\(n=8\)"):
        limen.fool("gated", "eva(n=8)")
    with pytest.raises(BadInput, match="shown as it is"):
        limen.fool("gated", "eva(n=16)", claim="same_answer")
    monkeypatch.chdir(tmp_path)
    Path("gated").mkdir()
    with pytest.raises(BadInput, match="gated"):  # a folder of that name is the model
        limen.fool("gated", "eva(n=16)")
