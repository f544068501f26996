"""The kernel on heads along a machine (R24–R27): never above what all inputs show, whatever is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import Forged, forged
from fixtures.kernel_damage import (
    FORMATS,
    damaged,
    exhaustive_margin,
    kernel_margin,
    saved,
    spelled,
    with_weight,
)
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions.dyck_by_softmax import DyckBySoftmax
from limen.constructions.dyck_by_two_softmax import DyckByTwoSoftmax
from limen.tasks.dyck import Dyck
from limen_check.can.rules.automaton_memory import Followed
from limen_check.can.rules.automaton_paths import Walk
from limen_check.can.tasks import spec
from limen_check.can.vectors import Format
from limen_check.can.weights import margin
from limen_check.files import Refused

BY = {"two": DyckByTwoSoftmax, "three": DyckBySoftmax}
SIZES = ((2, 1, 1), (4, 2, 2), (4, 3, 1), (6, 1, 3), (6, 2, 3), (8, 1, 4))
HUGE = 2.0**127


def by(n: int, k: int, D: int, how: str = "two") -> DyckByTwoSoftmax | DyckBySoftmax:
    return BY[how](Dyck(n, k, D))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("how", BY)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_margin_is_derived_and_no_input_comes_nearer(size: tuple[int, int, int], how: str) -> None:
    c = by(*size, how)
    for precision in FORMATS[1:]:
        found = kernel_margin(c, precision, saved(c), c.hints())
        assert found is not None and 0.9 < found <= exhaustive_margin(c, precision, {}), precision


@pytest.mark.long
@pytest.mark.parametrize("how", BY)
def test_a_million_brackets(how: str) -> None:
    """2^20 places, shares that differ by 2^-20 of themselves, in 24 bits; in 8 bits nothing is said."""
    c = by(1 << 20, 2, 4, how)
    assert (kernel_margin(c, "float32", saved(c), c.hints()) or 0) > 0.75
    small = by(512, 2, 2, how)
    assert kernel_margin(small, "bfloat16", saved(small), small.hints()) is None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", BY)
@pytest.mark.parametrize("n", [34, 130])
def test_longer_words_show_no_smaller_margin(n: int, how: str, tmp_path: Any) -> None:
    """Right words, words with one fault anywhere, words with garbage behind it, all open, all closed."""
    rng, c, words = np.random.default_rng(n), by(n, 2, 4, how), []
    for i in range(300):
        stack, word = list[int](), list[int]()
        while len(word) < n:
            deep = len(stack) < min(4, n - len(word) - len(stack))
            if deep and (not stack or rng.random() < 0.5):
                stack.append(int(rng.integers(2)))
                word.append(stack[-1])
            else:
                word.append(2 + stack.pop())
        at = int(rng.integers(n))
        if i % 3:
            word[at] = int(rng.integers(4))
        if i % 3 == 2:
            word[at:] = rng.integers(4, size=n - at).tolist()
        words.append(word)
    words += [[0] * n, [2] * n, [0] * (n // 2) + [2] * (n // 2), [0, 2] * (n // 2), [2] + [0] * (n - 1)]
    f = forged(c)
    found = f.kernel("float32")
    assert found is not None and found <= f.least("float32", tmp_path, words)


@pytest.mark.long
@pytest.mark.parametrize("how", BY)
@pytest.mark.parametrize("size", [(4, 2, 2), (6, 1, 3)], ids=str)
def test_no_damage_that_some_input_shows_is_accepted(size: tuple[int, int, int], how: str) -> None:
    """312 of them in all."""
    c = by(*size, how)
    rng, weights, passed, refused = np.random.default_rng(7), c.weights(), 0, 0
    names = sorted(weights)
    for _ in range(52):
        at, precision = names[rng.integers(len(names))], FORMATS[rng.integers(1, len(FORMATS))]
        w = _shaken(np.asarray(weights[at]), rng)
        found = kernel_margin(c, precision, with_weight(c, at, w), c.hints())
        passed, refused = passed + (found is not None), refused + (found is None)
        if found is not None:
            assert found <= exhaustive_margin(c, precision, {at: w}), f"{at} in {precision}"
    assert passed > 5 and refused > 5


def _shaken(w: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """As others are damaged, or by a little, or by much."""
    if rng.random() < 0.4:
        return damaged(w, rng)
    w = w.copy()
    flat, used = w.reshape(-1), np.flatnonzero(w)
    at = rng.choice(used) if len(used) else rng.integers(w.size)
    factors, steps = [0.9, 1.03, 0.99, 16, 1 / 16, 1e30, 1e-30, -2], [0.5, -0.1, 0.01, 30, -64]
    flat[at] = flat[at] * rng.choice(factors) if rng.random() < 0.6 else flat[at] + rng.choice(steps)
    return w


# Forged by hand: every one of these models errs on some word, and the kernel must refuse it.


def _count_others(f: Forged, at: Any) -> None:
    """Closing brackets weigh e^-1, not e^-64."""
    f.w["0.0.Q"][at["one"], 0] = 1


def _no_anchor(f: Forged, at: Any) -> None:
    """Token 1 does not count among those that share."""
    f.w["0.0.K"][at["first"], 0] = -1


def _shared_value(f: Forged, at: Any) -> None:
    """All opening brackets have the value 1: their share is 1, whatever their number."""
    f.w["0.0.V"][at["k_opens"], 0] = 1


def _two_into_one(f: Forged, at: Any) -> None:
    """A second head writes where the share stands."""
    f.w["0.0.O"][2 * 2, at["share"]] = 1


def _threshold(f: Forged, at: Any) -> None:
    """One threshold of one place, a little on the other side of a share."""
    f.w["embedding.threshold"][2, 1] = 1 / 3 * (1 - 2.0**-20)


def _threshold_on_a_share(f: Forged, at: Any) -> None:
    """A threshold that is the share itself, as it is rounded."""
    f.w["embedding.threshold"][:, 1] = 1 / np.ceil(np.arange(2, 6) / 2 + 1)


def _coarse(f: Forged, at: Any) -> None:
    """S is too small for shares to be told apart."""
    f.w["0.local.W1"][at["share"]] /= 2**10
    f.w["0.local.W1"][at["threshold"]] /= 2**10


def _overflow(f: Forged, at: Any) -> None:
    f.w["0.local.W1"][at["share"]] *= HUGE / 2**20
    f.w["0.local.W1"][at["threshold"]] *= HUGE / 2**20


def _scores_overflow(f: Forged, at: Any) -> None:
    """Also of tokens that are masked."""
    f.w["0.0.Q"][at["one"], 0] = f.w["0.0.K"][at["k_closes"], 0] = HUGE


def _underflow(f: Forged, at: Any) -> None:
    """Products of shares with S are 0: every unit that compares says 1."""
    f.w["0.local.W1"][at["share"]] *= 2.0**-160
    f.w["0.local.W1"][at["threshold"]] *= 2.0**-160


def _same_place(f: Forged, at: Any) -> None:
    """All places score the same: an average of all brackets of the class."""
    f.w["0.0.Q"][at["one"], 5 + 3] = 0


def _earliest(f: Forged, at: Any) -> None:
    f.w["0.0.Q"][at["one"], 5 + 3] *= -1


def _place_before_class(f: Forged, at: Any) -> None:
    """Places weigh more than the class of a bracket."""
    f.w["0.0.Q"][at["one"], 5 + 3] *= 64


def _two_places(f: Forged, at: Any) -> None:
    """Two places are exchanged: the later one scores less."""
    f.w["embedding.place0"][[1, 3]] = f.w["embedding.place0"][[3, 1]]


def _tie(f: Forged, at: Any) -> None:
    """Two places score the same."""
    f.w["embedding.place0"][3] = f.w["embedding.place0"][1]


def _closing_ones_too(f: Forged, at: Any) -> None:
    """The latest bracket of the class, be it open or closed."""
    f.w["0.0.K"][at["closes"], 5 + 2] = 0


def _other_slot(f: Forged, at: Any) -> None:
    """The other class is looked for."""
    f.w["0.0.K"][:, [5, 6]] = f.w["0.0.K"][:, [6, 5]]


def _blank_ahead(f: Forged, at: Any) -> None:
    """A token without a fault is ahead of those with one."""
    f.w["1.0.K"][at["first"]] = 100


def _last_hides(f: Forged, at: Any) -> None:
    """The last token is the blank, and its own fault, if it has one, hides all others."""
    f.w["1.0.K"][at["first"]], f.w["1.0.K"][at["last"]] = 0, 40
    f.w["1.0.V"][at["first"]] = f.w["1.0.V"][at["closed1"]] = 0
    f.w["1.0.V"][at["last"]], f.w["readout.U"][at["flag"]] = -1, 0


def _negative_values(f: Forged, at: Any) -> None:
    """Behind a fault closing brackets with one may have a value below 0."""
    f.w["1.0.V"][at["flag"]] = -1


def _fault_forgotten(f: Forged, at: Any) -> None:
    """If token 1 closes, it is the blank, and says so."""
    f.w["1.0.V"][at["closed1"]] = 0
    f.w["0.local.W1"][at["fault"]] = 0


def _cancelled(f: Forged, at: Any) -> None:
    """2^30 is added to the thresholds and taken away: what they were is lost."""
    for name, sign in (("plus", 1), ("minus", -1)):
        f.w[f"embedding.{name}"] = np.full((2, 4), sign * 2.0**30)
        f.header["embedding"]["tables"].append([name, 2, 4])
    f.w["embedding.plus"] = f.w["embedding.plus"][:, :3]
    f.w["embedding.minus"] = f.w["embedding.minus"][:, :3]
    for table in f.header["embedding"]["tables"][-2:]:
        table[2] = 3
    code = {"of": "token", "div": 1, "column": at["threshold"].start}
    codes = f.header["embedding"]["segments"][1]["codes"]
    codes[:] = [code | {"table": "plus"}, *codes, code | {"table": "minus"}]


def _both_ways(f: Forged, at: Any) -> None:
    """Later brackets are counted, too."""
    f.header["architecture"] = f.header["architecture"].replace("false", "true", 1)


FORGERIES: list[Callable[[Forged, Any], None]] = [
    _count_others, _no_anchor, _shared_value, _two_into_one, _threshold, _threshold_on_a_share, _coarse,
    _overflow, _scores_overflow, _underflow, _same_place, _earliest, _place_before_class, _other_slot,
    _blank_ahead, _last_hides, _negative_values, _fault_forgotten, _cancelled, _both_ways,
]  # fmt: skip
DEEPER: list[Callable[[Forged, Any], None]] = [_two_places, _tie, _closing_ones_too]


@pytest.mark.sampled(13)
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_weights_that_err_are_refused(
    forge: Callable[[Forged, Any], None], precision: str, tmp_path: Any
) -> None:
    c = by(6, 2, 3)
    f = forged(c)
    forge(f, c.columns)
    f.sound(precision, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("forge", DEEPER, ids=lambda forge: forge.__name__)
def test_weights_that_err_on_brackets_of_level_three_are_refused(
    forge: Callable[[Forged, Any], None], tmp_path: Any
) -> None:
    c = by(8, 2, 4)
    f = forged(c)
    forge(f, c.columns)
    f.sound("float32", tmp_path)


def test_two_brackets_of_two_kinds_are_too_few_for_the_latest() -> None:
    """No token stands between the first and the last: three layers, which look for it, are refused."""
    three, two = by(2, 2, 1, "three"), by(2, 2, 1)
    assert kernel_margin(three, "float32", saved(three), three.hints()) is None
    assert kernel_margin(two, "float32", saved(two), two.hints()) is not None


def test_a_task_that_no_machine_of_few_states_decides() -> None:
    c = by(4, 2, 2)
    for task in ("eva(n=3)", "dyck(n=4,k=2,D=1)", "dyck(n=4,k=1,D=2)", "dyck(n=6,k=2,D=2)"):
        with pytest.raises(Refused):
            margin(saved(c), task, "float32", 0, {"how": "shares"})
    with pytest.raises(Refused):
        margin(saved(c), spelled(c), "float32", 1, {"how": "shares"})
    for hints in ({}, {"how": "steps"}, {"how": "pairs"}):
        assert kernel_margin(c, "float32", saved(c), hints) is None


def test_what_is_known_of_a_state_is_what_every_word_shows() -> None:
    """Sums and latest brackets along the machine, against all right words of eight brackets."""
    walk = Walk(spec("dyck(n=8,k=2,D=3)", how="shares"))
    opens = walk.sums(lambda kind: 2 * (kind[1][1] < 2) - 1)  # type: ignore[arg-type, return-value]
    latest = walk.latest(lambda kind: kind[1][1] if kind[1][1] < 2 else None)
    assert opens is not None
    seen: dict[Any, set[Any]] = {}
    frontier = [(walk.steps.start, 0, None)]
    for place in range(7):
        following = []
        for state, total, last in frontier:
            assert opens[state] == total and walk.parity[state] == place % 2
            seen.setdefault(state, set()).add(last)
            for a in range(4):
                if (new := walk.steps.turn(state, a)) is not None:
                    following.append((new, total + (1 if a < 2 else -1), a if a < 2 else last))
        frontier = following
    assert all(found <= latest[state] for state, found in seen.items())
    assert latest[0, (0, 0, 1)] == {1} and latest[0, ()] == {0, 1}


def test_a_sum_that_is_no_function_of_the_state_is_none() -> None:
    walk = Walk(spec("dyck(n=8,k=2,D=3)", how="shares"))
    assert walk.sums(lambda kind: kind[1][1] == 0) is None  # type: ignore[arg-type, return-value]


def test_a_certificate_is_checked_from_its_files() -> None:
    """Header and weights as they are saved."""
    f = forged(by(4, 2, 2))
    assert f.kernel("float32") and json.loads(f.files()[0])["locals"][0].startswith("mlp(hidden=")


def test_sums_in_two_orders_drift_apart_no_farther_than_is_allowed() -> None:
    """In 8 bits 256 + 1 is 256 and 256 + 1.01 is 258: an average of values of size 1.01 becomes 2."""
    n, (one, more) = 4096, torch.tensor([1.0, 1.0078125], dtype=torch.bfloat16)
    below, top = torch.zeros(2, dtype=torch.bfloat16)
    for _ in range(n):
        below, top = below + one, top + more
    state = SimpleNamespace(length=n)
    allowed = Followed._orders(SimpleNamespace(s=state, f=Format.named("bfloat16")))  # type: ignore[arg-type]
    assert float(top / below) == 2 <= float(allowed)
    assert Followed._orders(SimpleNamespace(s=state, f=Format.named("float32"))) < 1.1  # type: ignore[arg-type]
