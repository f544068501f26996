"""The laws of a mixer: its definition, its recurrence and its fast form say the same, and it is causal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import torch

from limen.core.architecture import Architecture
from limen.core.mixer import Mixer, Streaming
from limen.core.numbers import Precision
from limen.laws.law import Broken, Law, require
from limen.model.arithmetic import computing_in

WIDTH = 6
F64 = torch.float64
LENGTHS = (1, 7, 31, 33, 64, 100, 257)  # below, at and beyond a chunk, powers of two and not
_DRAWN = 5  # more lengths and batch axes

Weights = dict[str, torch.Tensor]


def laws(mixer: Mixer) -> tuple[Law, ...]:
    """The laws of a mixer; one that sees later tokens has no recurrence."""
    if mixer.sees_future:
        return _EVERY
    return (*_EVERY, *_CAUSAL, *(_STREAMING if isinstance(mixer, Streaming) else ()))


def generic(mixer: Mixer, seed: int = 0, dtype: torch.dtype = F64) -> Weights:
    """Weights with nothing special about them: the start that the mixer itself proposes, disturbed."""
    rng = torch.Generator().manual_seed(seed)
    start = mixer.initial(WIDTH, rng, F64)
    return {k: (w + 0.3 * torch.randn(w.shape, generator=rng, dtype=F64)).to(dtype) for k, w in start.items()}


def inputs(*shape: int, seed: int = 1, dtype: torch.dtype = F64) -> torch.Tensor:
    """Random vectors."""
    return torch.randn(*shape, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def streamed(mixer: Streaming, w: Weights, x: torch.Tensor) -> torch.Tensor:
    """The outputs token by token."""
    state, ys = mixer.start(w, tuple(x.shape[:-2])), []
    for x_t in x.unbind(-2):
        state, y = mixer.step(w, state, x_t)
        ys.append(y)
    return torch.stack(ys, dim=-2)


def tensors(state: Any) -> Iterator[torch.Tensor]:
    """The tensors of a state, however nested."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, tuple | list):
        for item in state:
            yield from tensors(item)


def definition_recurrence_and_fast_form_agree(mixer: Mixer) -> None:
    """To 1e-10 in float64.  The recurrence runs once: a shorter text is the beginning of a longer one."""
    w, x = generic(mixer), inputs(2, max(LENGTHS))
    stepped = _stepped(mixer, w, x)
    for n in LENGTHS:
        _agree(mixer, w, x[:, :n], stepped if stepped is None else stepped[:, :n])


def they_agree_at_any_length_and_under_any_batch_axes(mixer: Mixer) -> None:
    """At random lengths and batch axes, other ones for each mixer."""
    w, rng = generic(mixer), np.random.default_rng(crc32(str(mixer).encode()))
    for axes in range(_DRAWN):
        x = inputs(*rng.integers(1, 3, size=axes % 4).tolist(), int(rng.integers(1, 71)))
        _agree(mixer, w, x, _stepped(mixer, w, x))


def _stepped(mixer: Mixer, w: Weights, x: torch.Tensor) -> torch.Tensor | None:
    return streamed(mixer, w, x) if isinstance(mixer, Streaming) and not mixer.sees_future else None


def _agree(mixer: Mixer, w: Weights, x: torch.Tensor, stepped: torch.Tensor | None) -> None:
    y, where = mixer.mix(w, x), f"inputs of shape {tuple(x.shape)}"
    require(y.shape == x.shape, f"{where}: mix gives shape {tuple(y.shape)}")
    require(bool(y.isfinite().all()), f"{where}: mix gives values that are not finite")
    _same(mixer.fast(w, x), y, f"{where}: fast and mix")
    _same(mixer.at_end(w, x), y[..., -1:, :], f"{where}: at_end and mix")
    if stepped is not None:
        _same(stepped, y, f"{where}: step by step and mix")


def _same(a: torch.Tensor, b: torch.Tensor, what: str, atol: float = 1e-10, rtol: float = 0) -> None:
    require(a.shape == b.shape, f"{what} have the shapes {tuple(a.shape)} and {tuple(b.shape)}")
    gap, most = (a - b).abs(), atol + rtol * b.abs()
    if not bool((gap <= most).all()):
        raise Broken(f"{what} differ by {float(gap.max()):.3g}")


def the_future_changes_nothing(mixer: Mixer) -> None:
    """Changing tokens ≥ t changes outputs < t by exactly 0."""
    for n, t in ((9, 1), (40, 31), (70, 33), (70, 64)):
        w, x = generic(mixer), inputs(2, n)
        changed = torch.cat([x[:, :t], inputs(2, n - t, seed=2)], dim=1)
        for form in ("mix", "fast"):
            run = getattr(mixer, form)
            same = torch.equal(run(w, x)[:, :t], run(w, changed)[:, :t])
            require(same, f"{form} of {n} tokens is not causal: tokens from {t} on change earlier outputs")


def a_longer_input_begins_like_a_shorter_one(mixer: Mixer) -> None:
    """In the fast form, too."""
    w, x = generic(mixer), inputs(40)
    for n, t in ((6, 1), (13, 5), (33, 4), (40, 6)):
        whole = mixer.fast(w, x[:n])
        _same(mixer.fast(w, x[:t]), whole[:t], f"outputs of {t} tokens alone and among {n}")


def gradients_of_the_fast_form_are_those_of_the_definition(mixer: Mixer) -> None:
    """With respect to the inputs and to every weight, to 1e-8."""
    for n in (5, 33):
        w = {k: v.requires_grad_() for k, v in generic(mixer).items()}
        x, direction = inputs(n).requires_grad_(), inputs(n, seed=3)
        by_mix, by_fast = (
            torch.autograd.grad((run(w, x) * direction).sum(), [x, *w.values()], allow_unused=True)
            for run in (mixer.mix, mixer.fast)
        )
        for name, a, b in zip(["x", *w], by_mix, by_fast, strict=True):
            require((a is None) == (b is None), f"only one of mix and fast depends on {name}")
            if a is not None:
                _same(b, a, f"the gradients of {name}", 1e-8, 1e-8)


def state_bits_are_what_a_step_carries(mixer: Streaming) -> None:
    """Number by number, after each token; None says that it grows with every one."""
    w, x, p, carried = generic(mixer), inputs(3, 70), 11, []
    state = mixer.start(w, (3,))
    for n, x_t in enumerate(x.unbind(-2)):
        numbers = sum(t.numel() for t in tensors(state))
        require(
            numbers % 3 == 0, f"after {n} tokens the state does not have one entry per sequence of the batch"
        )
        carried.append(numbers // 3 * p)
        bits = mixer.state_bits(n, p)
        require(
            bits in (None, carried[-1]), f"after {n} tokens it has {carried[-1]} bits, state_bits says {bits}"
        )
        state, _ = mixer.step(w, state, x_t)
    if mixer.state_bits(70, p) is None:
        require(all(a < b for a, b in pairwise(carried)), "state_bits is None, but the state does not grow")
        for n, bits in enumerate(carried if type(mixer).kept is not Mixer.kept else ()):
            kept = mixer.kept(n) * p
            require(kept == bits, f"after {n} tokens it has {bits} bits, kept says {kept}")


def the_state_is_all_that_crosses_a_cut(mixer: Streaming) -> None:
    """A state copied number by number continues exactly as the original."""
    w, x = generic(mixer), inputs(20)
    state = mixer.start(w, ())
    for x_t in x[:13].unbind(0):
        state, _ = mixer.step(w, state, x_t)
    copy = _copied(state)
    for t, x_t in enumerate(x[13:].unbind(0), 13):
        state, y = mixer.step(w, state, x_t)
        copy, z = mixer.step(w, copy, x_t)
        require(torch.equal(y, z), f"a copy of the state after 13 tokens continues differently at token {t}")


def _copied(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.clone()
    if isinstance(state, tuple):
        items = [_copied(item) for item in state]
        return type(state)(*items) if hasattr(state, "_fields") else tuple(items)
    return state


def a_text_absorbed_at_once_leaves_the_state_of_its_tokens_one_by_one(mixer: Streaming) -> None:
    """`absorb` is many a `step`."""
    w, x = generic(mixer), inputs(2, 23)
    state = mixer.start(w, (2,))
    for x_t in x.unbind(-2):
        state, _ = mixer.step(w, state, x_t)
    for a, b in zip(tensors(mixer.absorb(w, x)), tensors(state), strict=True):
        _same(a, b, "the states absorbed and stepped")


def some_tokens_read_from_a_state_on_are_its_steps(mixer: Streaming) -> None:
    """`advance` is many a `step`, from any state."""
    w, x = generic(mixer), inputs(2, 23)
    state, y = mixer.start(w, (2,)), []
    for at in (slice(9), slice(9, 10), slice(10, 23)):
        state, written = mixer.advance(w, state, x[..., at, :])
        y.append(written)
    _same(torch.cat(y, -2), mixer.mix(w, x), "outputs from states on and mix")
    for a, b in zip(tensors(mixer.absorb(w, x)), tensors(state), strict=True):
        _same(a, b, "the states absorbed and advanced")


def any_float_type_goes_in_and_comes_out(mixer: Mixer) -> None:
    """Float32, float16, bfloat16; in float32 `fast` is near to `mix`."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        w, x = generic(mixer, dtype=dtype), inputs(2, 40, dtype=dtype)
        for form in ("mix", "fast"):
            y = getattr(mixer, form)(w, x)
            require(y.dtype == dtype, f"{form}: {dtype} goes in and {y.dtype} comes out")
            require(bool(y.isfinite().all()), f"{form} gives values that are not finite in {dtype}")
        if dtype == torch.float32:
            _same(mixer.fast(w, x), mixer.mix(w, x), "fast and mix in float32", 1e-3, 1e-3)


def it_runs_in_a_precision_that_the_machine_does_not_have(mixer: Mixer) -> None:
    """Every output is a number of the format.  24 bits: so that the ε of norms is not 0."""
    for name in ("significand(t=5)", "float8_e4m3", "fixed(f=24)"):
        precision = Precision.parse(name)
        w = {k: precision.round(v) for k, v in generic(mixer).items()}
        with computing_in(precision):
            y = mixer.mix(w, precision.round(inputs(2, 6)))
        require(torch.equal(precision.round(y), y), f"{name}: an output is not a number of this format")


def shapes_are_those_of_the_weights(mixer: Mixer) -> None:
    """`initial` starts with what `shapes` says."""
    start = mixer.initial(WIDTH, torch.Generator().manual_seed(0), torch.float32)
    found = {k: tuple(v.shape) for k, v in start.items()}
    require(found == mixer.shapes(WIDTH), f"shapes says {mixer.shapes(WIDTH)}, initial gives {found}")


def its_text_form_is_read_back(mixer: Mixer) -> None:
    """What is printed names the same mixer."""
    again = Architecture.parse(str(mixer)).layers[0].parts[0].mixer
    require(again == mixer, f"{mixer} is read as {again}")


_EVERY: tuple[Law, ...] = (
    definition_recurrence_and_fast_form_agree,
    they_agree_at_any_length_and_under_any_batch_axes,
    gradients_of_the_fast_form_are_those_of_the_definition,
    any_float_type_goes_in_and_comes_out,
    it_runs_in_a_precision_that_the_machine_does_not_have,
    shapes_are_those_of_the_weights,
    its_text_form_is_read_back,
)
_CAUSAL: tuple[Law, ...] = (
    the_future_changes_nothing,
    a_longer_input_begins_like_a_shorter_one,
)
_STREAMING: tuple[Law, ...] = (
    state_bits_are_what_a_step_carries,
    the_state_is_all_that_crosses_a_cut,
    a_text_absorbed_at_once_leaves_the_state_of_its_tokens_one_by_one,
    some_tokens_read_from_a_state_on_are_its_steps,
)
