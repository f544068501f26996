"""The laws of a mixer, as functions, so that a sabotaged mixer can be shown to break them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch

from limen.core.mixer import Mixer, Streaming

WIDTH = 6
F64 = torch.float64


def generic(mixer: Mixer, seed: int = 0, dtype: torch.dtype = F64) -> dict[str, torch.Tensor]:
    """Weights with nothing special about them: the start that the mixer itself proposes, disturbed."""
    rng = torch.Generator().manual_seed(seed)
    start = mixer.initial(WIDTH, rng, F64)
    return {k: (w + 0.3 * torch.randn(w.shape, generator=rng, dtype=F64)).to(dtype) for k, w in start.items()}


def inputs(*shape: int, seed: int = 1, dtype: torch.dtype = F64) -> torch.Tensor:
    return torch.randn(*shape, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def streamed(mixer: Streaming, w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
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


def assert_same_values(mixer: Mixer, n: int, batch: tuple[int, ...] = (2,)) -> None:
    w, x = generic(mixer), inputs(*batch, n)
    y = mixer.mix(w, x)
    assert y.shape == x.shape and bool(y.isfinite().all())
    torch.testing.assert_close(mixer.fast(w, x), y, rtol=0, atol=1e-10)
    if isinstance(mixer, Streaming) and not mixer.sees_future:
        torch.testing.assert_close(streamed(mixer, w, x), y, rtol=0, atol=1e-10)


def assert_causal(mixer: Mixer, n: int, t: int) -> None:
    """Changing tokens ≥ t changes outputs < t by exactly 0."""
    w, x = generic(mixer), inputs(2, n)
    changed = torch.cat([x[:, :t], inputs(2, n - t, seed=2)], dim=1)
    for run in (mixer.mix, mixer.fast):
        assert torch.equal(run(w, x)[:, :t], run(w, changed)[:, :t])


def assert_gradients_agree(mixer: Mixer, n: int) -> None:
    w = {k: v.requires_grad_() for k, v in generic(mixer).items()}
    x = inputs(n).requires_grad_()
    direction = inputs(n, seed=3)
    leaves = [x, *w.values()]
    by_mix, by_fast = (
        torch.autograd.grad((run(w, x) * direction).sum(), leaves, allow_unused=True)
        for run in (mixer.mix, mixer.fast)
    )
    for name, a, b in zip(["x", *w], by_mix, by_fast, strict=True):
        assert (a is None) == (b is None), name
        if a is not None:
            torch.testing.assert_close(b, a, rtol=1e-8, atol=1e-8, msg=lambda m, name=name: f"{name}: {m}")


def assert_state_bits_are_carried(mixer: Streaming) -> None:
    w, x, p = generic(mixer), inputs(3, 70), 11
    state, carried = mixer.start(w, (3,)), []
    for n, x_t in enumerate(x.unbind(-2)):
        numbers = sum(t.numel() for t in tensors(state))
        assert numbers % 3 == 0
        carried.append(numbers // 3 * p)
        if (bits := mixer.state_bits(n, p)) is not None:
            assert bits == carried[-1], f"after {n} tokens"
        state, _ = mixer.step(w, state, x_t)
    if mixer.state_bits(70, p) is None:
        assert all(a < b for a, b in pairwise(carried)), "None means that it grows"
