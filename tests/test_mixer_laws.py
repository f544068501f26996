"""Laws over the catalogue: a new mixer file is tested by existing."""

import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from laws import (
    F64,
    WIDTH,
    assert_causal,
    assert_gradients_agree,
    assert_same_values,
    assert_state_bits_are_carried,
    generic,
    inputs,
    streamed,
    tensors,
)

import limen
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer, Streaming
from limen.core.numbers import Precision
from limen.mixers.softmax import Softmax
from limen.model.arithmetic import computing_in
from limen.model.model import Place, at_once

MIXERS = [m for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples()]
CAUSAL = [m for m in MIXERS if not m.sees_future]
LENGTHS = [1, 7, 31, 33, 64, 100, 257]

each_mixer = pytest.mark.parametrize("mixer", MIXERS, ids=str)
each_causal = pytest.mark.parametrize("mixer", CAUSAL, ids=str)


@each_mixer
@pytest.mark.parametrize("n", LENGTHS)
def test_definition_recurrence_and_fast_form_agree(mixer: Mixer, n: int) -> None:
    assert_same_values(mixer, n)


@each_mixer
@given(n=st.integers(1, 70), batch=st.lists(st.integers(1, 2), max_size=3).map(tuple))
def test_they_agree_at_any_length_and_under_any_batch_axes(
    mixer: Mixer, n: int, batch: tuple[int, ...]
) -> None:
    assert_same_values(mixer, n, batch)


@each_causal
@pytest.mark.parametrize(("n", "t"), [(9, 1), (40, 31), (70, 33), (70, 64)])
def test_the_future_changes_nothing(mixer: Mixer, n: int, t: int) -> None:
    assert_causal(mixer, n, t)


@each_causal
@given(t=st.integers(0, 5), n=st.integers(6, 40))
def test_a_longer_input_begins_like_a_shorter_one(mixer: Mixer, t: int, n: int) -> None:
    w, x = generic(mixer), inputs(n)
    torch.testing.assert_close(mixer.fast(w, x)[: t + 1], mixer.fast(w, x[: t + 1]), rtol=0, atol=1e-10)


@each_mixer
@pytest.mark.parametrize("n", [5, 33])
def test_gradients_of_the_fast_form_are_those_of_the_definition(mixer: Mixer, n: int) -> None:
    assert_gradients_agree(mixer, n)


@each_causal
def test_state_bits_are_what_a_step_carries(mixer: Streaming) -> None:
    assert_state_bits_are_carried(mixer)


@each_causal
def test_the_state_is_all_that_crosses_a_cut(mixer: Streaming) -> None:
    """A state copied number by number continues exactly as the original."""
    w, x = generic(mixer), inputs(20)
    state = mixer.start(w, ())
    for x_t in x[:13].unbind(0):
        state, _ = mixer.step(w, state, x_t)
    copy = _copied(state)
    for x_t in x[13:].unbind(0):
        state, y = mixer.step(w, state, x_t)
        copy, z = mixer.step(w, copy, x_t)
        assert torch.equal(y, z)


def _copied(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.clone()
    if isinstance(state, tuple):
        items = [_copied(item) for item in state]
        return type(state)(*items) if hasattr(state, "_fields") else tuple(items)
    return state


@each_mixer
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_any_float_type_goes_in_and_comes_out(mixer: Mixer, dtype: torch.dtype) -> None:
    w, x = generic(mixer, dtype=dtype), inputs(2, 40, dtype=dtype)
    for run in (mixer.mix, mixer.fast):
        y = run(w, x)
        assert y.dtype == dtype and bool(y.isfinite().all())
    if dtype == torch.float32:
        torch.testing.assert_close(mixer.fast(w, x), mixer.mix(w, x), rtol=1e-3, atol=1e-3)


@each_mixer
@pytest.mark.parametrize(
    "name", ["significand(t=5)", "float8_e4m3", "fixed(f=24)"]
)  # 24: the ε of norms is not 0
def test_it_runs_in_a_precision_that_the_machine_does_not_have(mixer: Mixer, name: str) -> None:
    precision = Precision.parse(name)
    w = {k: precision.round(v) for k, v in generic(mixer).items()}
    with computing_in(precision):
        y = mixer.mix(w, precision.round(inputs(2, 9)))
    assert torch.equal(precision.round(y), y)


@each_mixer
@pytest.mark.parametrize("name", ["significand(t=3)", "float8_e5m2"])
def test_where_each_operation_is_rounded_the_definition_runs(mixer: Mixer, name: str) -> None:
    """A fused or chunked form would round other numbers: bit by bit it is another network."""
    precision = Precision.parse(name)
    w, x = ({k: precision.round(v) for k, v in generic(mixer).items()}, precision.round(inputs(2, 40)))
    with computing_in(precision):
        y, z = at_once(Place(0, 0, mixer, w), x), mixer.mix(w, x)
    assert torch.equal(y.nan_to_num(), z.nan_to_num())


@pytest.mark.parametrize("mixer", [m for m in MIXERS if not m.sees_future], ids=str)
def test_a_text_absorbed_at_once_leaves_the_state_of_its_tokens_one_by_one(mixer: Streaming) -> None:
    w, x = generic(mixer), inputs(2, 23)
    state = mixer.start(w, (2,))
    for x_t in x.unbind(-2):
        state, _ = mixer.step(w, state, x_t)
    for a, b in zip(tensors(mixer.absorb(w, x)), tensors(state), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


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


@each_mixer
def test_shapes_are_those_of_the_weights(mixer: Mixer) -> None:
    start = mixer.initial(WIDTH, torch.Generator().manual_seed(0), torch.float32)
    assert {k: tuple(v.shape) for k, v in start.items()} == mixer.shapes(WIDTH)


INTEGER = ["hard", "relu_rnn", "linear(h=2,d=3,phi=identity,normalise=false)"]


@pytest.mark.parametrize("text", INTEGER)
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
