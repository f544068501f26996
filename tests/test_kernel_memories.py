"""The kernel on recurrences as memories (R14–R21): never above what all inputs show, whatever is damaged."""

import numpy as np
import pytest
from fixtures.kernel_damage import FORMATS, damaged, exhaustive_margin, kernel_margin, saved, with_weight
from fixtures.memories import CASES, LATER, composed, label
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import Construction
from limen_check.can.fits import _within
from limen_check.text import parse_stack


@pytest.mark.sampled(3)
@pytest.mark.parametrize("c", CASES, ids=label)
def test_a_margin_is_derived_and_no_input_comes_nearer(c: Construction) -> None:
    found = {p: kernel_margin(c, p, saved(c), c.hints()) for p in FORMATS}
    assert found["bfloat16"] or found["float32"], found
    for precision, margin in found.items():
        if margin is not None:
            assert 0 < margin <= exhaustive_margin(c, precision, {}), precision


@pytest.mark.sampled(9)
@pytest.mark.parametrize("c", CASES, ids=label)
def test_no_damage_that_some_input_shows_is_accepted(c: Construction) -> None:
    rng, weights = np.random.default_rng(1), c.weights()
    names = sorted(weights)
    for _ in range(12):
        at, precision = names[rng.integers(len(names))], FORMATS[rng.integers(len(FORMATS))]
        w = damaged(np.asarray(weights[at]), rng)
        found = kernel_margin(c, precision, with_weight(c, at, w), c.hints())
        if found is not None:
            assert found <= exhaustive_margin(c, precision, {at: w}), f"{at} in {precision}"


@pytest.mark.parametrize("letters", ["LF", "FLF"])
def test_a_stack_behind_it_is_derived_too(letters: str) -> None:
    """The carrying layer first, or between two layers of softmax."""
    carry = "gated_delta(h=2,d=4,c=4)"
    c = composed(carry, LATER) if letters == "LF" else composed(f"{LATER},{carry}", LATER)
    assert (kernel_margin(c, "bfloat16", saved(c), c.hints()) or 0) > 0


@pytest.mark.parametrize("size", ["h=4,d=8,s=2", "h=2,d=16,s=2"])
def test_the_norm_of_mamba2_is_over_all_channels_so_none_are_added(size: str) -> None:
    """Zeros in further channels change the norm: a layer of other sizes is not one that holds it."""
    ((mine,),), ((its,),) = parse_stack("mamba2(h=2,d=8,s=2,c=4)"), parse_stack(f"mamba2({size},c=4,p=16)")
    assert not _within(mine, its)


def test_features_of_unused_keys_are_not_taken_for_zero() -> None:
    for name, may_grow in (("over=linear", False), ("over=mamba2", True)):
        ((mine,),) = parse_stack(f"log_linear(h=1,d=4,d_k=4,{name},levels=7)")
        ((its,),) = parse_stack(f"log_linear(h=1,d=4,d_k=8,{name},levels=7,p=16)")
        assert _within(mine, its) is may_grow
