"""The kernel on nearest points (R22), opened blocks (R23), a key found by a thought, and a count of what was
fetched: never above what all inputs show, whatever is damaged; and forgeries that it must refuse.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fixtures.forged import by, forged
from fixtures.kernel_damage import damaged, exhaustive_margin, kernel_margin, saved, with_weight
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import Construction, construct
from limen.core.task import Task
from limen_check.files import Malformed

POINTS = "nearest_neighbor(n=2,D=2,g=1)"
CASES = [
    construct(Task.parse(task), name)
    for task, name in (
        (POINTS, "softmax"), (POINTS, "convolution"), (POINTS, "chain_of_thought"),
        ("eva(n=5)", "block_sparse"), ("index(n=6,S=2)", "block_sparse"),
        ("recall(n=2,V=4)", "chain_of_thought"),
        ("sparse_average(n=4,q=2)", "hybrid"),
    )
] + [replace(construct(Task.parse(POINTS), "slots"), r=1)]  # type: ignore[call-arg]  # fmt: skip


def name(c: object) -> str:
    return f"{c.task} by {c}" if isinstance(c, Construction) else str(c)


@pytest.mark.parametrize("c", CASES, ids=name)
def test_a_margin_is_derived_and_no_input_comes_nearer(c: Construction) -> None:
    found = {p: kernel_margin(c, p, saved(c), c.hints()) for p in ("float32", "bfloat16")}
    assert found["float32"]
    for precision, margin in found.items():
        if margin is not None:
            assert 0 < margin <= exhaustive_margin(c, precision, {}), precision


@pytest.mark.sampled(8)
@pytest.mark.parametrize("c", CASES, ids=name)
def test_no_damage_that_some_input_shows_is_accepted(c: Construction) -> None:
    rng, weights, passed = np.random.default_rng(3), c.weights(), 0
    names = [name for name in sorted(weights) if weights[name].any()]
    for _ in range(40):
        at, precision = names[rng.integers(len(names))], ("float32", "bfloat16")[rng.integers(2)]
        w = damaged(np.asarray(weights[at]), rng)
        found = kernel_margin(c, precision, with_weight(c, at, w), c.hints())
        if found is not None:
            passed += 1
            assert found <= exhaustive_margin(c, precision, {at: w}), f"{at} in {precision}"
    assert passed  # harmless damage passes: the test can fail


def refused(f: Any, tmp: Any, tokens: Any = None) -> None:
    f.sound("float32", tmp, tokens)
    assert f.kernel("float32") is None


# --- R22 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [-1.0, 0.0])
def test_of_equals_the_leftmost(factor: float, tmp_path: Any) -> None:
    """The rightmost wins, or nobody."""
    f = by(POINTS, "softmax")
    assert f.kernel("float32")
    f.w["0.0.K"][3:4, 2] *= factor
    refused(f, tmp_path)


def test_equal_directions_that_score_differently(tmp_path: Any) -> None:
    """(2, 2) is a little longer than (1, 1): further right it wins, though it is as near."""
    f = by("nearest_neighbor(n=2,D=2,g=2)", "softmax")
    assert f.kernel("float32")
    token = Task.parse("nearest_neighbor(n=2,D=2,g=2)").token  # type: ignore[attr-defined]
    one, two = (int(token(np.array(v))) for v in ((1, 1), (2, 2)))
    f.w["embedding.token"][two, :2] *= 1 + 2.0**-8
    refused(f, tmp_path, [[one, 25, two, 26, one], [one, 26, two, 25, one]])


def test_labels_that_may_be_taken_for_points(tmp_path: Any) -> None:
    """All points are far: a label's score is 0, and that is more."""
    f = by(POINTS, "softmax")
    f.w["0.0.K"][:, 2] *= f.w["0.0.K"][:, 2] > -1
    refused(f, tmp_path)


def test_two_points_that_are_told_alike(tmp_path: Any) -> None:
    c = replace(construct(Task.parse(POINTS), "slots"), r=1)  # type: ignore[call-arg]
    f, before = forged(c), c.columns["before"].start  # type: ignore[attr-defined]
    assert f.kernel("float32")
    f.w["1.0.K"][before] = f.w["1.0.K"][before + 1]
    refused(f, tmp_path)


# --- R23 --------------------------------------------------------------------------------------------------


def blocks(B: int = 2, k: int = 1) -> Any:
    return forged(replace(construct(Task.parse("eva(n=8)"), "block_sparse"), B=B, k=k))  # type: ignore[call-arg]


TEXTS = [[7, 6, 5, 4, 3, 2, 1, 0, x] for x in range(8)] + [[0, 1, 2, 3, 4, 5, 6, 7, x] for x in range(8)]


@pytest.mark.parametrize("B", [1, 2, 4, 8])
def test_blocks_of_every_size(B: int, tmp_path: Any) -> None:
    f = blocks(B)
    assert 0 < (f.kernel("float32") or 0) <= f.least("float32", tmp_path, TEXTS)


@pytest.mark.parametrize("pool", [(0, 1), (-1, 0), (1, 1), (1, -1)])
def test_a_message_that_is_not_the_first_token(pool: tuple[float, float], tmp_path: Any) -> None:
    """Of (0, 1) and (1, 1) the model is right, for another reason; the rule does not speak of them."""
    f = blocks()
    f.w["0.0.PK"][:] = pool
    assert f.kernel("float32") is None


def test_messages_that_are_read(tmp_path: Any) -> None:
    f = blocks()
    f.w["0.0.g"][:], f.w["0.0.PV"][:] = 200, 1
    refused(f, tmp_path, TEXTS)


def test_a_high_digit_that_is_asked_for_the_other_way_round(tmp_path: Any) -> None:
    """Another block is opened."""
    f = blocks()
    f.w["0.0.Q"][:, 2] *= -1
    refused(f, tmp_path, TEXTS)


def test_no_block_is_opened() -> None:
    f = blocks()
    f.header["architecture"] = f.header["architecture"].replace("k=1", "k=0")
    with pytest.raises(Malformed):
        f.kernel("float32")


def test_blocks_that_are_cut_across_digits(tmp_path: Any) -> None:
    f = blocks()
    f.header["architecture"] = f.header["architecture"].replace("B=2", "B=3")
    f.w["0.0.PK"], f.w["0.0.PV"] = np.array([[1.0, 0, 0]]), np.zeros((1, 3))
    refused(f, tmp_path, TEXTS)


# --- thoughts and counts ----------------------------------------------------------------------------------


def test_a_value_that_is_taken_for_the_key(tmp_path: Any) -> None:
    """The parity is not asked for: a value that is the key asked for scores as much."""
    f = by("recall(n=2,V=4)", "chain_of_thought")
    assert f.kernel("float32")
    f.w["0.0.Q"][:, 2] = 0
    refused(f, tmp_path)


def test_a_thought_that_names_another_pair(tmp_path: Any) -> None:
    f = by("recall(n=2,V=4)", "chain_of_thought")
    f.w["embedding.signs1"] *= -1
    refused(f, tmp_path)


def test_a_count_that_is_doubled_or_kept_in_part(tmp_path: Any) -> None:
    for at, factor in (("1.0.W2", 2.0), ("1.0.W1", 0.5)):
        f = by("sparse_average(n=4,q=2)", "hybrid")
        assert f.kernel("float32")
        f.w[at] *= factor
        refused(f, tmp_path)
