"""Laws over the catalogue: a new mixer file is tested by existing."""

import math
import re
import time
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import limen
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer, Streaming
from limen.core.numbers import Precision
from limen.laws import Law
from limen.laws.mixer import (
    F64,
    WIDTH,
    a_text_absorbed_at_once_leaves_the_state_of_its_tokens_one_by_one,
    any_float_type_goes_in_and_comes_out,
    generic,
    gradients_of_the_fast_form_are_those_of_the_definition,
    inputs,
    laws,
    streamed,
    the_state_is_all_that_crosses_a_cut,
)
from limen.mixers.softmax import Softmax
from limen.model.arithmetic import computing_in
from limen.model.model import Place, at_once

MIXERS = [m for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples()]

each_mixer = pytest.mark.parametrize("mixer", MIXERS, ids=str)


# Called few times and with small sizes, together these call all that a mixer is made of.
SHAPED = {
    gradients_of_the_fast_form_are_those_of_the_definition,
    any_float_type_goes_in_and_comes_out,
    the_state_is_all_that_crosses_a_cut,
    a_text_absorbed_at_once_leaves_the_state_of_its_tokens_one_by_one,
}


@pytest.mark.parametrize(
    ("law", "mixer"),
    [
        pytest.param(law, m, id=f"{law.__name__}-{m}", marks=[pytest.mark.shapes] if law in SHAPED else [])
        for m in MIXERS
        for law in laws(m)
    ],
)
def test_it_keeps(law: Law, mixer: Mixer) -> None:
    law(mixer)


@each_mixer
@pytest.mark.parametrize("name", ["significand(t=3)", "float8_e5m2"])
def test_where_each_operation_is_rounded_the_definition_runs(
    mixer: Mixer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fused or chunked form would round other numbers: bit by bit it is another network."""
    precision = Precision.parse(name)
    w, x = ({k: precision.round(v) for k, v in generic(mixer).items()}, precision.round(inputs(5)))

    def another(*_: object) -> NoReturn:
        raise AssertionError("the fast form was run")

    monkeypatch.setattr(type(mixer), "fast", another)
    with computing_in(precision):
        y, z = at_once(Place(0, 0, mixer, w), x), mixer.mix(w, x)
    assert torch.equal(y.nan_to_num(), z.nan_to_num())


@pytest.mark.alone
def test_keys_and_values_of_unequal_sizes_cost_no_more_than_the_larger_of_both() -> None:
    """Torch's fused kernel takes equal sizes alone; what else it does took 14 to 21 times as long."""
    unequal, equal = (Softmax(h=4, d=16, d_k=32), Softmax(h=4, d=32))
    x = inputs(1, 2048, dtype=torch.float32)
    cost = {}
    for mixer in (unequal, equal) * 3:
        w = generic(mixer, dtype=torch.float32)
        start = time.process_time()
        mixer.fast(w, x)
        cost[mixer] = min(cost.get(mixer, math.inf), time.process_time() - start)
    assert cost[unequal] < 3 * cost[equal]


INTEGER = ["hard", "relu_rnn", "linear(h=2,d=3,phi=identity,normalise=false)"]


@pytest.mark.shapes
@pytest.mark.parametrize("text", INTEGER)
@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_integers_stay_exact(text: str, seed: int) -> None:
    from limen.core.architecture import Architecture

    mixer = Architecture.parse(text).layers[0].parts[0].mixer
    rng = torch.Generator().manual_seed(seed)
    w = {k: torch.randint(-2, 3, s, generator=rng) for k, s in mixer.shapes(WIDTH).items()}
    x = torch.randint(-2, 3, (2, 6, WIDTH), generator=rng)
    y = mixer.mix(w, x)
    assert y.dtype == torch.int64
    assert torch.equal(mixer.fast(w, x), y)
    assert isinstance(mixer, Streaming) and torch.equal(streamed(mixer, w, x), y)
    floats = mixer.mix({k: v.to(F64) for k, v in w.items()}, x.to(F64))
    assert torch.equal(floats, y.to(F64)), "small integers are exact in float64 too"


def test_every_module_that_annotates_shapes_is_checked_while_tests_run(pytestconfig: pytest.Config) -> None:
    *hooked, _checker = pytestconfig.getoption("--jaxtyping-packages").split(",")
    source = Path(limen.__file__).parent
    shaped = [path for path in source.rglob("*.py") if re.search(r"\bjt\.[A-Z]", path.read_text())]
    modules = [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in shaped]
    assert len(modules) > 20
    assert not [m for m in modules if not any(m == h or m.startswith(f"{h}.") for h in hooked)]
