"""Attacks on a token index (R30), that reads one token or more: all hold."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, padded
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen_check import Malformed, files
from limen_check.can.state import State
from limen_check.can.tasks import spec
from limen_check.can.vectors import Format

SUM, SAME = "two_sum(n=3,M=7)", "equality(n=3)"
PRECISIONS = ["float32", "bfloat16"]


def believed(f: Forged, precision: str, tmp: Any) -> bool:
    """Whether the kernel accepts it; then its margin holds on every input."""
    try:
        sure = f.kernel(precision)
    except Malformed:
        return False
    assert sure is None or f.least(precision, tmp) >= sure > 0
    return sure is not None


def columns(task: str) -> Any:
    return construct(Task.parse(task), "top_k").columns


def scaled(name: str, factor: float) -> Callable[[Forged], None]:
    def forge(f: Forged) -> None:
        f.w[name] = f.w[name] * factor

    return forge


def at(task: str, name: str, part: str, column: Any, value: float) -> Callable[[Forged], None]:
    def forge(f: Forged) -> None:
        f.w[name][columns(task)[part], column] = value

    return forge


def shifted(f: Forged) -> None:
    """Every score of the second layer is 2 less, so ReLU makes all of them 0."""
    where = columns(SAME)
    f.w["1.0.IK"][where["flaw"]], f.w["1.0.IK"][where["first"]] = 2, -1
    f.w["1.0.IK"][where["second"]] = -2


def fading(f: Forged) -> None:
    """The query scores 0 or 1, by a digit of it: at 0 the leftmost token is read."""
    where = columns(SUM)
    f.w["0.0.IQ"][where["asks"], 7] = f.w["0.0.IQ"][where["partner0"].start, 7] = 0.5


def overflowing(f: Forged) -> None:
    """The query's own attention score is infinite, so its weight is no number."""
    for name in ("0.0.Q", "0.0.K"):
        f.w[name][columns(SUM)["asks"]] = 2.0**127


def looked(*look: Any) -> Callable[[Forged], None]:
    def forge(f: Forged) -> None:
        f.hints["looks"] = [[*old[:4], *look] for old in f.hints["looks"]]

    return forge


def chosen(k: int) -> Callable[[Forged], None]:
    def forge(f: Forged) -> None:
        f.header["architecture"] = re.sub(r",k=\d+", f",k={k}", f.header["architecture"], count=1)

    return forge


ATTACKS: dict[str, tuple[str, Callable[[Forged], None]]] = {
    "the query scores as much as a partner": (SUM, at(SUM, "0.0.IQ", "asks", 7, 2)),
    "the query scores in both heads": (SUM, at(SUM, "0.0.IQ", "asks", 15, 1)),
    "the query scores nothing": (SUM, at(SUM, "0.0.IQ", "asks", 7, 0)),
    "the query scores nothing at times": (SUM, fading),
    "the query scores below 0": (SUM, at(SUM, "0.0.IQ", "asks", 7, -1)),
    "one wrong digit scores, too": (SUM, at(SUM, "0.0.IQ", "asks", 6, -7)),
    "two wrong digits score as much as the query": (SUM, at(SUM, "0.0.IQ", "asks", 6, -3)),
    "a partner scores nothing": (SUM, at(SUM, "0.0.IQ", "asks", 6, -12)),
    "only one of the sums is asked for": (SUM, at(SUM, "0.0.IQ", "partner1", slice(8, 14), 0)),
    "an index head counts twice": (SUM, at(SUM, "0.0.IW", "asks", 0, 2)),
    "an index head counts less than 0": (SUM, at(SUM, "0.0.IW", "asks", 1, -1)),
    "an index head does not count": (SUM, at(SUM, "0.0.IW", "asks", 1, 0)),
    "all index heads count nothing": (SUM, scaled("0.0.IW", 0)),
    "index scores overflow": (SUM, scaled("0.0.IQ", 2.0**126)),
    "index heads overflow together": (SUM, scaled("0.0.IQ", 2.0**122)),
    "an overflowing weight": (SUM, scaled("0.0.IW", 2.0**126)),
    "scores are subnormal": (SUM, scaled("0.0.IQ", 2.0**-140)),
    "attention overflows": (SUM, overflowing),
    "the data's values differ": (SUM, at(SUM, "0.0.V", "word", 0, 1)),
    "two tokens are chosen": (SUM, chosen(2)),
    "another rule is named": (SUM, looked("exists", "x", "q")),
    "one token of many is claimed": (SUM, looked("one", "x")),
    "the blank is asked for": (SUM, looked("either", "q", "x")),
    "the blank is who is asked for": (SUM, looked("either", "x", "x")),
    "the halves are not told apart": (SAME, at(SAME, "0.0.IK", "first", slice(None), 0)),
    "the second half is ahead": (SAME, at(SAME, "0.0.IK", "first", slice(None), -1)),
    "a digit of the place is not asked for": (SAME, at(SAME, "0.0.IQ", "place", 0, 0)),
    "the place is asked for in reverse": (SAME, at(SAME, "0.0.IQ", "place", slice(0, 2), -1)),
    "ReLU makes all scores alike": (SAME, shifted),
    "the first half is ahead of a flaw": (SAME, at(SAME, "1.0.IK", "first", 0, 3)),
    "the first half is as far as a flaw": (SAME, at(SAME, "1.0.IK", "first", 0, 2)),
    "who has no flaw scores, too": (SAME, at(SAME, "1.0.IK", "second", 0, 1)),
    "who has no flaw is ahead of the first half": (SAME, at(SAME, "1.0.IK", "second", 0, 2)),
    "the first half asks otherwise": (SAME, at(SAME, "0.0.IW", "first", 0, 0)),
    "a chosen token of the first layer too many": (SAME, chosen(2)),
}


def half_asked(f: Forged) -> None:
    """Both index heads ask for one residue alone: a token with the same may take the partner's place."""
    for s, first in enumerate((0, 8)):
        f.w["0.0.IQ"][columns(SUM)[f"partner{s}"], first + 3 : first + 6] = 0
        f.w["0.0.IQ"][columns(SUM)["asks"], first + 6] = -4


def near_both(f: Forged) -> None:
    """Index heads score by the digits that are right, so who is near to both sums is ahead of a partner."""
    where = columns(SUM)["asks"]
    f.w["0.0.IQ"][where, 6], f.w["0.0.IQ"][where, 14], f.w["0.0.IQ"][where, 7] = 0, 0, 64


def index_heads(many: int) -> Callable[[Forged], None]:
    """One head asks for the sum 0 alone; or a third head asks for one residue."""

    def forge(f: Forged) -> None:
        third = np.array(f.w["0.0.IQ"][:, :8])
        third[columns(SUM)["partner0"], 3:6], third[columns(SUM)["asks"], 6:] = 0, (-4, 0)
        f.w["0.0.IQ"] = np.hstack([f.w["0.0.IQ"], third])[:, : 8 * many]
        f.w["0.0.IW"] = np.hstack([f.w["0.0.IW"], f.w["0.0.IW"][:, :1]])[:, :many]
        f.header["architecture"] = f.header["architecture"].replace("h_i=2", f"h_i={many}")

    return forge


MANY: dict[str, Callable[[Forged], None]] = {  # k = 2: the query and one more
    "one token is chosen": chosen(1),
    "partners are ahead of the query": at(SUM, "0.0.IQ", "asks", 7, 1),
    "the query is as far as a partner": at(SUM, "0.0.IQ", "asks", 7, 2),
    "the query is as far in the other head": at(SUM, "0.0.IQ", "asks", slice(7, 16, 8), (2, 2)),
    "a partner scores nothing": at(SUM, "0.0.IQ", "asks", 6, -12),
    "one wrong digit scores, too": at(SUM, "0.0.IQ", "asks", 6, -7),
    "who is near to both sums scores more": near_both,
    "the index asks for one residue": half_asked,
    "the index asks for one sum": index_heads(1),
    "a third index head asks for one residue": index_heads(3),
    "an index head counts twice": at(SUM, "0.0.IW", "asks", 0, 2),
    "an index head counts less than 0": at(SUM, "0.0.IW", "asks", 1, -1),
    "attention asks for one sum": at(SUM, "0.0.Q", "partner1", slice(7, 13), 0),
    "the query keeps its value to itself": at(SUM, "0.0.Q", "asks", slice(6, 14, 7), 256),
    "who is not asked for is as far as the query": at(SUM, "0.0.Q", "asks", slice(6, 14, 7), 64),
    "attention is blurred": scaled("0.0.Q", 2.0**-8),
    "the data's values differ": at(SUM, "0.0.V", "word", 0, 1),
    "the rule for one token is named": looked("either", "x", "q"),
    "one token of many is claimed": looked("one", "x"),
    "the blank is asked for": looked("exists", "q", "x"),
}
HARMLESS = {"scores are subnormal"}  # in bfloat16, whose least numbers are as small as float32's


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", MANY)
def test_a_damaged_index_that_reads_two_tokens_is_refused(name: str, precision: str, tmp_path: Any) -> None:
    f = Forged.of(SUM, "top_k(k=2)")
    assert (f.kernel(precision) or 0) > 0.9
    MANY[name](f)
    assert not believed(f, precision, tmp_path)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_damaged_index_is_refused(name: str, precision: str, tmp_path: Any) -> None:
    task, forge = ATTACKS[name]
    f = Forged.of(task, "top_k")
    assert f.kernel(precision) == 1
    forge(f)
    assert not believed(f, precision, tmp_path) or name in HARMLESS


def test_most_of_these_are_really_wrong(tmp_path: Any) -> None:
    for many, by in (
        (list(ATTACKS.values()), "top_k"),
        ([(SUM, forge) for forge in MANY.values()], "top_k(k=2)"),
    ):
        wrong = 0
        for task, forge in many:
            f = Forged.of(task, by)
            forge(f)
            wrong += f.least("bfloat16", tmp_path) <= 0
        assert wrong > len(many) // 2


@pytest.mark.parametrize(
    ("task", "by"), [*((task, "top_k") for task in (SUM, SAME, "disjointness(n=2)")), (SUM, "top_k(k=2)")]
)
def test_small_whole_numbers_in_the_place_of_some_weights(task: str, by: str, tmp_path: Any) -> None:
    """Where the kernel accepts, every input is answered right, by its margin."""
    rng, seen = random.Random(task), {True: 0, False: 0}
    for _ in range(120):
        f = Forged.of(task, by)
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(
                [n for n in f.w if n.split(".")[-1] in ("IQ", "IK", "IW", "V", "O", "W1", "b1")]
            )
            place = tuple(rng.randrange(size) for size in f.w[name].shape)
            f.w[name] = np.array(f.w[name])
            f.w[name][place] = rng.choice([-2, -1, 0, 0.5, 1, 2, 3])
        seen[believed(f, "bfloat16", tmp_path)] += 1
    assert min(seen.values()) > 10, seen


def led(task: str) -> Forged:
    """Hard attention told to an index: its queries and keys choose, and attention itself scores all alike."""
    f = Forged.of(task, "hard")
    width = f.header["width"]
    f.header["architecture"] = re.sub(
        r"hard\(h=1,d=(\d+),d_k=(\d+)[^)]*\)",
        r"top_k(h=1,d=\1,d_k=\2,k=1,h_i=1,d_i=\2)",
        f.header["architecture"],
    )
    for name in [name for name in f.w if name.split(".")[-1] in ("Q", "K")]:
        at, side = name[:-1], name[-1]
        f.w[f"{at}I{side}"], f.w[name] = np.array(f.w[name]), np.zeros_like(f.w[name])
        f.w[f"{at}IW"] = np.zeros((width, 1))
    wide = {"Q": 0, "K": 0, "V": 0, "IQ": 0, "IK": 0, "IW": 0, "O": 1, "W1": 0, "W2": 1, "b2": 0, "U": 0}
    for name, w in f.w.items():
        if not name.startswith("embedding") and name.split(".")[-1] in wide:
            f.w[name] = padded(w, wide[name.split(".")[-1]], 1)
    for name in f.w:
        if name.endswith(".IW"):
            f.w[name][width] = 1  # the column in which every token has a 1
    f.header["width"] = f.header["embedding"]["width"] = width + 1
    f.header["embedding"]["tables"].append(["unit", 1, 1])
    f.w["embedding.unit"] = np.ones((1, 1))
    for segment in f.header["embedding"]["segments"]:
        segment["codes"].append({"of": "place", "div": 1, "table": "unit", "column": width})
    return f


@pytest.mark.parametrize("task", ["eva(n=4)", "retrieval(n=2,D=2,V=2,absent=false)", "composition(m=2,n1=2)"])
def test_one_token_asked_for_by_its_place_or_by_a_promise(task: str, tmp_path: Any) -> None:
    """Equal scores, scores of 0 or below, another count, rounded scores: an accepted model is right."""
    rng, seen = random.Random(task), {True: 0, False: 0}
    assert led(task).kernel("bfloat16") == 2
    for _ in range(60):
        f = led(task)
        name = rng.choice([name for name in f.w if name.split(".")[-1] in ("IQ", "IK", "IW")])
        if rng.random() < 0.3:
            f.w[name] = f.w[name] * rng.choice([-1, 0, 0.5, 257, 2.0**-130, 2.0**100])
        else:
            filled = np.argwhere(f.w[name])
            f.w[name][tuple(rng.choice(filled))] = rng.choice([-1, 0, 0.5, 1.5, 257, 2.0**-130, 2.0**127])
        seen[believed(f, "bfloat16", tmp_path)] += 1
    assert min(seen.values()) > 5, seen


def test_who_leads_with_nothing_or_in_one_of_two_heads_is_not_read(tmp_path: Any) -> None:
    """The leader at exactly 0 is as good as any other; a second index head may ask for somebody else."""
    for precision in PRECISIONS:
        nothing, two = led("eva(n=4)"), led("eva(n=4)")
        best = np.abs(two.w["0.0.IQ"]).sum()  # both signs are right
        ask, key = (np.zeros((len(nothing.w["0.0.IQ"]), 1)) for _ in range(2))
        ask[-1], key[-1] = -best, 1
        nothing.w["0.0.IQ"] = np.hstack([nothing.w["0.0.IQ"], ask])
        nothing.w["0.0.IK"] = np.hstack([nothing.w["0.0.IK"], key])
        nothing.header["architecture"] = nothing.header["architecture"].replace("d_i=2", "d_i=3")
        nothing.sound(precision, tmp_path)
        two.w["0.0.IQ"] = np.hstack([two.w["0.0.IQ"], -3 * two.w["0.0.IQ"]])
        two.w["0.0.IW"] = np.hstack([two.w["0.0.IW"]] * 2)
        two.header["architecture"] = two.header["architecture"].replace("h_i=1", "h_i=2")
        two.sound(precision, tmp_path)


def test_a_sum_over_the_chosen_loses_what_so_few_tokens_can_lose() -> None:
    """What is subnormal, and the growth of a sum, go with the k tokens, not with the text."""
    f = Forged.of("two_sum(n=4,M=9)", "top_k")
    text = State(files.model(*f.files()), spec(f.task), Format.named("float32"), f.hints)
    few = text.of_length(1)
    assert few.length == 1 and few.grown < text.grown
    assert text.length * few.dust < text.dust < 2 * text.length * few.dust
