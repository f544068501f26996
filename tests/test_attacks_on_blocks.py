"""Attacks on averages over blocks (R33): each model errs on some word, and the kernel must refuse it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, forged, wider
from fixtures.kernel_damage import FORMATS, damaged, exhaustive_margin, kernel_margin, saved, with_weight

from limen.constructions.dyck_by_encoder import DyckByEncoder
from limen.tasks.dyck import Dyck

SIZES = ((2, 1, 1, 1), (4, 2, 2, 1), (4, 3, 1, 2), (8, 1, 3, 1), (8, 1, 3, 2), (8, 2, 3, 3))


def by(n: int, k: int, D: int, bits: int) -> DyckByEncoder:
    return DyckByEncoder(Dyck(n, k, D), bits=bits)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_margin_of_one_is_derived_and_no_input_comes_nearer(size: tuple[int, int, int, int]) -> None:
    c = by(*size)
    for precision in ("float32", "float64"):
        found = kernel_margin(c, precision, saved(c), c.hints())
        assert found == 1.0 <= exhaustive_margin(c, precision, {}), precision


@pytest.mark.long
def test_a_million_brackets() -> None:
    c = by(1 << 20, 2, 4, 3)
    assert kernel_margin(c, "float32", saved(c), c.hints()) == 1.0
    assert kernel_margin(c, "bfloat16", saved(c), c.hints()) is None


@pytest.mark.long
@pytest.mark.parametrize("size", [(4, 2, 2, 1), (8, 1, 2, 2)], ids=str)
def test_no_damage_that_some_input_shows_is_accepted(size: tuple[int, int, int, int]) -> None:
    c = by(*size)
    rng, weights, passed, refused = np.random.default_rng(7), c.weights(), 0, 0
    names = sorted(name for name, w in weights.items() if w.size)
    for _ in range(60):
        at, precision = names[rng.integers(len(names))], FORMATS[rng.integers(len(FORMATS))]
        w = damaged(np.asarray(weights[at]), rng)
        found = kernel_margin(c, precision, with_weight(c, at, w), c.hints())
        passed, refused = passed + (found is not None), refused + (found is None)
        if found is not None:
            assert found <= exhaustive_margin(c, precision, {at: w}), f"{at} in {precision}"
    assert passed > 5 and refused > 5


Attack = Callable[[Any, dict[str, Any]], None]  # columns, weights


def _scores_of_brackets(at: Any, w: dict[str, Any]) -> None:
    """Opening brackets score as if their block were another."""
    w["0.0.K"][at["opens"], 0] = -2


def _another_block_is_near(at: Any, w: dict[str, Any]) -> None:
    """A place whose digit differs weighs e^-2, not 0."""
    w["0.0.Q"][:] /= 512


def _another_block_ahead(at: Any, w: dict[str, Any]) -> None:
    w["0.0.K"][:] *= -1


def _a_digit_is_not_asked_for(at: Any, w: dict[str, Any]) -> None:
    """Head 0 averages over two blocks, but its parts count as if they were one."""
    w["0.0.Q"][at["bits2"], 1] = 0


def _all_of_a_block(at: Any, w: dict[str, Any]) -> None:
    """A part is open to those that stand in it or before it."""
    w["embedding.digit0"][0, at["late0"].start - at["other0"].start] = 0


def _hardly_closed(at: Any, w: dict[str, Any]) -> None:
    """Where a part should not be seen, 1/2 is taken away."""
    W1 = w["0.local.W1"]
    W1[W1 < -1] = -0.5


def _ajar(at: Any, w: dict[str, Any]) -> None:
    """Where a part should be seen, 1 is taken away."""
    w["embedding.digit0"][1, at["late0"].start - at["other0"].start] = -1 / w["0.local.W1"].min()


def _not_where_it_is(at: Any, w: dict[str, Any]) -> None:
    """Values of head 1 stand at tokens whose digit is the other one."""
    w["embedding.signs1"][:] = np.roll(w["embedding.signs1"], 2, axis=0)


def _half_is_added(at: Any, w: dict[str, Any]) -> None:
    """What is negative counts half."""
    w["0.local.W2"][1] /= 2


def _a_part_is_missing(at: Any, w: dict[str, Any]) -> None:
    w["0.local.W2"][2:4] = 0


def _one_part_counts_twice(at: Any, w: dict[str, Any]) -> None:
    w["0.0.O"][1, at["depth"].start + 1] *= 2


def _two_heads_write_a_part(at: Any, w: dict[str, Any]) -> None:
    w["0.0.O"][0, at["depth"].start + 1] = 2


def _a_bias_opens(at: Any, w: dict[str, Any]) -> None:
    w["0.local.b1"][0] = 1


def _flags_may_be_negative(at: Any, w: dict[str, Any]) -> None:
    """Behind a fault a level that seems to be 1 takes flags away."""
    w["2.0.V"][at["level"]] = -4


def _flags_of_the_last_block_alone(at: Any, w: dict[str, Any]) -> None:
    w["2.0.Q"][at["bits2"], 0] = w["2.0.K"][at["bits2"], 0] = 512


def _few_values_behind_the_last(at: Any, w: dict[str, Any]) -> None:
    """The readout forgets that something is left open."""
    w["readout.U"][at["rest"], 0] = 0


FORGERIES: tuple[Attack, ...] = (
    _scores_of_brackets,
    _another_block_is_near,
    _another_block_ahead,
    _a_digit_is_not_asked_for,
    _all_of_a_block,
    _hardly_closed,
    _ajar,
    _not_where_it_is,
    _half_is_added,
    _a_part_is_missing,
    _one_part_counts_twice,
    _two_heads_write_a_part,
    _a_bias_opens,
    _flags_may_be_negative,
    _flags_of_the_last_block_alone,
    _few_values_behind_the_last,
)


@pytest.mark.parametrize("attack", FORGERIES, ids=lambda attack: attack.__name__)
def test_a_model_that_errs_is_refused(attack: Attack, tmp_path: Any) -> None:
    c = by(8, 1, 2, 1)
    f = forged(c)
    assert f.kernel("float32")
    attack(c.columns, f.w)
    f.sound("float32", tmp_path)


@pytest.mark.parametrize(
    ("of", "why"),
    [("place*3+token", "other ids"), ("place*2+tokens", "no code"), ("token*2+place", "no code")],
)
def test_a_code_of_both_names_the_ids_of_the_task(of: str, why: str) -> None:
    f = forged(by(8, 1, 2, 1))
    for code in f.header["embedding"]["segments"][0]["codes"]:
        code["of"] = of if code["of"].startswith("place*") else code["of"]
    assert f.kernel("float32") is None, why


def test_a_causal_model_is_not_one_that_sees_all(tmp_path: Any) -> None:
    f = forged(by(8, 1, 2, 1))
    f.header["architecture"] = f.header["architecture"].replace(",bidirectional=true", "")
    f.sound("float32", tmp_path)


def test_heads_that_nobody_uses_are_a_burden_that_is_counted() -> None:
    """Many heads of a large machine: refused, as too much to look at, and not worked through."""
    f = forged(DyckByEncoder(Dyck(4, 2, 8), bits=1))
    heads = 1000
    f.header["architecture"] = f.header["architecture"].replace("h=1,d=1", f"h={heads},d=1")
    for name in ("2.0.Q", "2.0.K", "2.0.V"):
        f.w[name] = np.repeat(f.w[name], heads, axis=1)
    f.w["2.0.O"] = np.repeat(f.w["2.0.O"], heads, axis=0)
    assert isinstance(f, Forged) and f.kernel("float32") is None


def test_scores_by_digits_of_many_values_are_not_held_pair_by_pair() -> None:
    """1,024 values a digit: a million scores for each column of 16 kB, which took 29 s and 1.1 GB at most."""
    f, rng = forged(by(4, 1, 1, 1)), np.random.default_rng(0)
    f.task, segment = "dyck(n=1048576,k=1,D=1)", f.header["embedding"]["segments"][0]
    segment["count"] = 1 << 20
    width = wider(f, 4)
    for g in range(2):
        f.w[f"embedding.many{g}"] = rng.integers(-2048, 2048, size=(1024, 2)).astype(float)
        f.header["embedding"]["tables"].append([f"many{g}", 1024, 2])
        code = {"of": "place", "div": 1024**g, "table": f"many{g}", "column": width + 2 * g}
        segment["codes"].append(code)
        f.w["0.0.Q"][:, g], f.w["0.0.K"][:, g] = 0, 0
        f.w["0.0.Q"][width + 2 * g, g] = f.w["0.0.K"][width + 2 * g + 1, g] = 1
    tracemalloc.start()
    assert f.kernel("float64") is None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 26
