"""Published figures stand beside ours as they are, whichever way they point."""

import runpy
from pathlib import Path

import msgspec
import pytest
from fixtures.cli import limen

from limen.commands.outside import _COMPARED, OutsideFigure, _compared, figures, outside
from limen.render.outside import page

ROOT = Path(__file__).parents[1]


def test_every_figure_is_shown_and_says_where_it_is_from() -> None:
    shown = [figure for one in outside().comparisons for figure in one.figures]
    assert {msgspec.structs.replace(figure, ours=None) for figure in map(_hashable, shown)} == set(
        map(_hashable, figures())
    )
    assert all(figure.source and figure.table and figure.evidence for figure in shown)


def _hashable(figure: OutsideFigure) -> OutsideFigure:
    return msgspec.structs.replace(figure, value=str(figure.value))


def test_contradictions_are_told_like_agreements() -> None:
    says = {one.title: one.says for one in outside().comparisons}
    assert says["Kimi Linear: perplexity by the share of full layers"] == "contradicts"
    assert says["Two full layers that did not learn"] == "contradicts"
    assert says["Kimi Linear: RULER at equal depth"] == "same for us"
    assert says["Bytes of a token, as an engine printed them"] == "agrees"


# A comparison is computed: with other figures it says something else.
OTHER = {
    "Kimi Linear: perplexity by the share of full layers": ("KDA:MLA 0:1", 5.0, "agrees"),
    "Linear, hybrid and full models of 1.3B": ("pure linear, mean of 6 mixers", 0.9, "contradicts"),
    "Bits in a recurrent state": ("pure state 64, N=128", 0.0, "agrees"),  # 1,024 bits are just enough
    "One full layer, or one window, beside a small state": (
        "state 64 + window-32 layer, N=128",
        0.0,
        "contradicts",
    ),
    "Two full layers that did not learn": ("2-layer full attention N=128", 0.01, "agrees"),
    "Induction hops by layers": ("16 hops, depth 2", 0.0, "contradicts"),
    "MQAR with and without log-linear states": ("Mamba-2 width 16", 99.0, "contradicts"),
    "Bytes of a token, as an engine printed them": ("gpt-oss-120b, vLLM log", 73729, "contradicts"),
}


@pytest.mark.parametrize("title", OTHER)
def test_with_another_figure_it_would_say_so(title: str) -> None:
    setting, value, says = OTHER[title]
    (beside,) = [one for one in _COMPARED if one.title == title]
    changed = [
        msgspec.structs.replace(one, value=value) if one.setting == setting else one for one in figures()
    ]
    assert changed != figures() and _compared(beside, changed).says == says


def test_a_state_with_too_few_bits_that_had_learned_would_contradict() -> None:
    (beside,) = [one for one in _COMPARED if one.title == "Bits in a recurrent state"]
    more = [
        msgspec.structs.replace(one, setting="pure state 64, N=129", value=0.0)
        if one.setting == "pure state 64, N=128"
        else one
        for one in figures()
    ]
    assert _compared(beside, more).says == "contradicts"


def test_the_page_is_written_from_the_data() -> None:
    written = runpy.run_path(str(ROOT / "scripts/outside_page.py"))["PAGE"]
    assert written.read_text() == page(outside()), "make outside"


def test_an_unknown_kind_is_told() -> None:
    result = limen("outside", "--about", "hop")
    assert result.returncode == 2 and "did you mean 'hops'?" in result.stderr
