"""Where rows fade each by itself and something is erased, chunks give what one token at a time gives."""

import pytest
import torch

from limen.mixers.recurrence.erasing_rows import moderate
from limen.mixers.recurrence.rule import Tokens, chunked


def drawn(n: int, gate: float) -> tuple[torch.Tensor, ...]:
    rng = torch.Generator().manual_seed(n)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(2, *shape, generator=rng, dtype=torch.float64)

    parts = draw(1, n, 5), draw(1, n, 5) / 5, draw(3, n, 7), draw(3, n, 1), -gate * draw(3, n, 5).abs()
    return tuple(part.requires_grad_() for part in parts)


def by_tokens(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, β: torch.Tensor, g: torch.Tensor
) -> torch.Tensor:
    """S_t = (I - β_tk_tk_tᵀ)diag(α_t)S_{t-1} + β_tk_tv_tᵀ, y_t = q_tᵀS_t."""
    S, y = torch.zeros(2, 3, 5, 7, dtype=v.dtype), []
    for t in range(v.shape[-2]):
        at = slice(t, t + 1)
        S = g[..., at, :].exp().mT * S
        S = S + β[..., at, :] * k[..., at, :].mT @ (v[..., at, :] - k[..., at, :] @ S)
        y.append(q[..., at, :] @ S)
    return torch.cat(y, -2)


@pytest.mark.parametrize("gate", [0, 0.1, 1, 100], ids="gate {}".format)
@pytest.mark.parametrize("n", [1, 5, 15, 16, 17, 70])
def test_values_and_gradients_are_those_of_one_token_at_a_time(n: int, gate: float) -> None:
    parts = drawn(n, gate)
    ys = by_tokens(*parts), chunked(Tokens(*parts))
    torch.testing.assert_close(ys[1], ys[0], rtol=1e-10, atol=1e-10)
    direction = torch.linspace(-1, 1, ys[0].numel(), dtype=torch.float64).reshape(ys[0].shape)
    expected, gradients = (torch.autograd.grad(y, parts, direction) for y in ys)
    torch.testing.assert_close(gradients, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("strong", [-41.0, -1e4, -torch.inf])
@pytest.mark.parametrize("t", [0, 3, 16, 39])
def test_a_strong_gate_changes_nothing_before_it_and_no_digit_after_it(t: int, strong: float) -> None:
    """It changes the way of computing, from its token on."""
    q, k, v, β, g = (part.detach() for part in drawn(40, 0.1))
    late = g.clone()
    late[1, 2, t] = strong
    y, changed = (chunked(Tokens(q, k, v, β, gates)) for gates in (g, late))
    assert torch.equal(y[..., :t, :], changed[..., :t, :])
    torch.testing.assert_close(changed, by_tokens(q, k, v, β, late), rtol=1e-10, atol=1e-10)


def test_chunks_take_gates_as_long_as_their_quotients_are_exact() -> None:
    """16 gates of -2.5 make exp(-40), which is the least."""
    g = torch.full((2, 3, 16, 5), -2.5)
    assert moderate(g.cumsum(-2)).all()
    g[1, 2, 9, 4] = -3
    G = g.cumsum(-2)
    assert moderate(G).sum() == 2 * 16 + 15 and moderate(G[:1]).all()


def test_a_memory_that_only_its_gates_hold_down_has_gradients_behind_a_strong_one() -> None:
    """Keys of squared size 18, erased at 0.9, make -15 of what is there; gates of e^-5 make it below 1."""
    n = 64
    q, k, v = (torch.full((n, size), x, requires_grad=True) for size, x in ((2, 1.0), (2, 3.0), (1, 1.0)))
    g = torch.full((n, 2), -5.0)
    g[2] = -50
    parts = (q, k, v, torch.full((n, 1), 0.9), g)
    ys = chunked(Tokens(*parts)), chunked(Tokens(*(part.double() for part in parts)))
    y, expected = (torch.autograd.grad(y.sum(), (q, k, v)) for y in ys)
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)
    assert all(torch.isfinite(part).all() for part in expected)
