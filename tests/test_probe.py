"""What a probe says of a language model, and what it must not be fooled into saying."""

import re

import msgspec
import numpy as np
import pytest
from fixtures import languages
from fixtures.probing import probe
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import BadInput
from limen.probes.asking import FLOOR, SIZES, Ask, asks, gate
from limen.probes.passage import Passage, tasks, told
from limen.probes.report import ProbeReport, ProbeRow
from limen.probes.statistics import blind, clopper_pearson, same, share


def row(report: ProbeReport, task: str, hops: int = 1, depth: int = 1, link: bool = False) -> ProbeRow:
    (one,) = [
        row
        for row in report.rows
        if (row.task, row.hops, row.depth, row.link, row.thinking) == (task, hops, depth, link, False)
    ]
    return one


# Models that a probe must see through


def test_a_model_that_finds_its_line_passes_the_gate_and_chains_nothing() -> None:
    report = probe(languages.finds_its_line, Ask("recall", 4), Ask("facts", 2), Ask("facts", 2, 2))
    assert row(report, "recall").accuracy == row(report, "facts").accuracy == row(report, "facts").free == 1
    assert report.gate.startswith("gate passed") and report.whole and not report.left_out
    assert row(report, "facts", 1, 2).accuracy == row(report, "facts", 1, 2, link=True).accuracy == 1
    chained = row(report, "facts", 2, 2)
    assert chained.accuracy < 0.8 and not chained.says.startswith("above") and chained.free == 0


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            languages.ignores_the_question,
            "ignores the question: 100% of a context's questions get one answer",
        ),
        (languages.copies_the_last_value, "get one answer, the value that the text names last"),
        (languages.guesses, "not shown to be above a model that ignores the question"),
    ],
)
def test_a_model_that_does_not_answer_is_called_so(rule: languages.Rule, says: str) -> None:
    report = probe(rule, Ask("recall", 4), Ask("facts", 2), Ask("facts", 2, 2))
    one = row(report, "recall")
    assert one.says.endswith(says) or one.says == says
    assert one.format == "completion" and one.count == 80 and one.blind == 0.25
    if rule is not languages.guesses:
        assert one.accuracy == 0.25 and one.same == 1 and one.low < 0.1 < 0.45 < one.high  # no width of 0
    assert (one.last == 1) is (rule is languages.copies_the_last_value)
    assert report.gate.startswith(FLOOR) and report.left_out == (f"facts n = 2, 2 hops: {FLOOR}",)


def right_for_one_key(text: str) -> str:
    """The last key's value is right, all others get the first value."""
    *lines, last = text.split("\n")
    values = [line.partition(": ")[2] for line in lines]
    key, mark, begun = last.partition(":")
    if not mark or not values:
        return ""
    whole = f" {values[-1] if lines[-1].startswith(f'{key}:') else values[0]}\n"
    return whole[len(begun) :] if whole.startswith(begun) else ""


def test_a_model_that_knows_one_key_is_not_said_to_ignore_the_question() -> None:
    report = probe(right_for_one_key, Ask("recall", 4), Ask("recall", 16))
    few, many = report.rows
    assert (few.accuracy, few.thirds, few.says) == (
        0.5,
        (0.5, 0, 1),
        "above a model that ignores the question",
    )
    assert many.accuracy == 2 / 16 and many.same == 15 / 16
    assert many.says == "hardly uses the question: 94% of a context's questions get one answer"


def test_the_gate_is_that_of_the_same_number_of_people() -> None:
    def short_sighted(text: str) -> str:
        return languages.finds_its_line(text) if len(text) < 200 else ""

    wanted = [Ask("facts", n, hops) for hops in (1, 2) for n in (2, 8)]
    report = probe(short_sighted, *wanted)
    assert report.left_out == (f"facts n = 8, 2 hops: {FLOOR}",)
    passed, floor = report.gate.split("; ")
    assert passed.startswith("gate passed: single facts, n = 2 100.0%")
    assert floor.startswith(f"{FLOOR} (single facts, n = 8 12.5%")


def test_the_gate_is_not_passed_by_luck() -> None:
    """The figures of a model that guessed, of fifty that did: the interval is above, and the gate is shut."""
    right = row(probe(languages.finds_its_line, Ask("facts", 4)), "facts")
    lucky = msgspec.structs.replace(right, accuracy=0.362, low=0.262, high=0.488)
    assert gate([right]).startswith("gate passed") and lucky.says.startswith("above")
    assert gate([lucky]).startswith(FLOOR) and gate([lucky]).endswith("; above, but not at 99.9 %)")


def test_few_contexts_allow_no_statement() -> None:
    report = probe(languages.finds_its_line, Ask("recall", 4), Ask("facts", 2), contexts=19)
    assert {one.says for one in report.rows} == {"no statement: fewer than 20 contexts"}
    assert report.gate.startswith("gate: no statement")


def test_thinking_is_what_the_model_writes_itself() -> None:
    wanted = Ask("facts", 2), Ask("facts", 2, 2)
    written = probe(languages.writes_the_chain, *wanted, thinking=True)
    thought = [one for one in written.rows if one.thinking]
    assert [(one.hops, one.accuracy, one.free) for one in thought] == [(1, 1.0, None), (2, 1.0, None)]
    silent = probe(languages.finds_its_line, *wanted, thinking=True)
    unread = next(one for one in silent.rows if one.thinking and one.hops == 2)
    assert unread.accuracy == 0 and unread.says == "100% of what it wrote names none of the choices"


# The texts


def solved(passage: Passage, stem: str) -> str:
    """The end of a chain, by the sentences of the text alone."""
    lived = dict(re.findall(r"In (19\d\d, \w+) lived in (\w+)\.", passage.text))
    mayors = {
        f"{year}, {city}": who
        for year, city, who in re.findall(r"In (19\d\d), the mayor of (\w+) was (\w+)\.", passage.text)
    }
    years = sorted(int(year) for year in re.findall(r"19\d\d", stem))
    names = [word for word in re.findall(r"[A-Z]\w+", stem) if word not in ("In", "The")]
    (at,) = names
    for year in years:
        at = lived.get(f"{year}, {at}") or mayors[f"{year}, {at}"]
    return at


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 12))
def test_chains_of_facts_end_where_the_sentences_lead(seed: int, n: int, hops: int) -> None:
    passage = told("facts", n, hops).draw(np.random.default_rng(seed))
    assert len(passage.text.splitlines()) == n * hops
    assert len(passage.questions) == n * hops + n * (hops - 1)
    for question in passage.questions:
        assert solved(passage, question.stem) == question.right


@pytest.mark.parametrize("task", tasks())
def test_one_answer_to_all_questions_gets_its_share_and_no_more(task: str) -> None:
    for ask in [one for one in asks([task], None, (1, 2)) if one.task == task]:
        for i in range(5):
            passage = ask.passage(0, i)
            assert passage == ask.passage(0, i) != ask.passage(1, i)
            assert passage.text != ask.passage(0, i, choosing=True).text
            kinds = {(one.hops, one.link) for one in passage.questions}
            for kind in kinds:
                part = [one for one in passage.questions if (one.hops, one.link) == kind]
                assert all(len(set(one.choices)) == len(one.choices) for one in part)
                least = {"equality": 1 / 2, "copying": 1 / (ask.n - 1)}.get(task, 1 / ask.n)
                assert blind([[one.answer for one in part]]) == least


def test_every_text_has_a_size_and_the_answers_are_what_they_say() -> None:
    assert set(SIZES) == set(tasks())
    counted = told("counting", 4).draw(np.random.default_rng(0))
    listed = counted.text.removeprefix("List: ").rstrip(".").split(", ")
    for question in counted.questions:
        assert listed.count(question.stem.split()[-2]) == int(question.right)
    numbered = told("index", 8).draw(np.random.default_rng(0))
    assert numbered.questions[4].right == numbered.text.removeprefix("List: ").rstrip(".").split(", ")[4]
    equal = told("equality", 3).draw(np.random.default_rng(0))
    for question, line in zip(equal.questions, equal.text.splitlines(), strict=True):
        left, right = line.partition(": ")[2].split(" / ")
        assert (left == right) is (question.right == "equal")
    near = re.findall(r"Box (\d{5})", told("needle", 32).draw(np.random.default_rng(0)).text)
    apart = [sum(a != b for a, b in zip(x, y, strict=True)) for x in near for y in near if x != y]
    assert len(set(near)) == 32 and set(apart) == {1, 2}
    with pytest.raises(BadInput, match="needle of n = 46: 46 different words are wanted, there are 44"):
        told("needle", 46).draw(np.random.default_rng(0))


# Statistics


def test_intervals_know_that_questions_of_a_context_go_together() -> None:
    together = share([[1] * 10] * 10 + [[0] * 10] * 10)
    apart = share([[1, 0] * 5] * 19 + [[1] * 10])
    assert together.mean == 0.5 and together.high - together.low > 0.4
    assert apart.high - apart.low < 0.1 and apart.questions == 200
    assert clopper_pearson(1.0, 20) == pytest.approx((0.025 ** (1 / 20), 1))
    assert clopper_pearson(0.0, 20) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert clopper_pearson(0.25, 20) == pytest.approx((0.0866, 0.4910), abs=1e-4)  # 5 of 20, tables
    assert share([[1, 0, 0, 0]] * 20)[1:3] == clopper_pearson(0.25, 20)
    assert same([[0, 0, 1, 0], [2, 2, 2, 2]]) == 0.875
