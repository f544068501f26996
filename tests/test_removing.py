"""A rule that removes under other keys than it writes: C and chunks give what one token at a time gives."""

import math
from collections.abc import Callable

import pytest
import torch
from fixtures.rule_in_c import needs_c

from limen.core.architecture import Architecture
from limen.core.mixer import Streaming
from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN
from limen.mixers.recurrence.rule import Tokens
from limen_check.cannot.architecture import read

Rule = Callable[[Tokens], torch.Tensor]
RULES = pytest.mark.parametrize(
    "rule", [PLAIN.rule, pytest.param(compiled_loops().rule, marks=needs_c)], ids=["torch", "C"]
)


def drawn(n: int, d_k: int, d: int, gate: float = 0.6) -> list[torch.Tensor]:
    """q, k, v, g, e and r of two texts and three heads, which share q and k."""
    rng = torch.Generator().manual_seed(n)

    def draw(heads: int, size: int) -> torch.Tensor:
        return torch.randn(2, heads, n, size, generator=rng, dtype=torch.float64)

    e = torch.nn.functional.normalize(draw(3, d_k), dim=-1)
    parts = [
        draw(1, d_k),
        draw(1, d_k),
        draw(3, d),
        -gate * draw(3, d_k).sigmoid(),
        e,
        e * draw(3, d_k).sigmoid(),
    ]
    return [part.requires_grad_() for part in parts]


def tokens(parts: list[torch.Tensor]) -> Tokens:
    q, k, v, g, e, r = parts
    return Tokens(q, k, v, g=g, e=e, r=r)


def by_tokens(parts: list[torch.Tensor]) -> torch.Tensor:
    """S_t = diag(e^g)S_{t-1} - r_te_tᵀS_{t-1} + k_tv_tᵀ, y_t = q_tᵀS_t."""
    S, y = torch.zeros(2, 3, parts[0].shape[-1], parts[2].shape[-1], dtype=torch.float64), []
    for q, k, v, g, e, r in zip(*(part.split(1, -2) for part in parts), strict=True):
        S = g.exp().mT * S - r.mT @ (e @ S) + k.mT @ v
        y.append(q @ S)
    return torch.cat(y, -2)


@RULES
@pytest.mark.parametrize(("d_k", "d"), [(1, 1), (1, 9), (7, 9), (16, 5), (33, 40), (64, 64)])
@pytest.mark.parametrize("n", [1, 5, 16, 17, 33, 70])
def test_values_and_gradients_are_those_of_one_token_at_a_time(n: int, d_k: int, d: int, rule: Rule) -> None:
    parts = drawn(n, d_k, d)
    ys = by_tokens(parts), rule(tokens(parts))
    torch.testing.assert_close(ys[1], ys[0], rtol=1e-10, atol=1e-10)
    direction = torch.linspace(-1, 1, ys[0].numel(), dtype=torch.float64).reshape(ys[0].shape)
    expected, gradients = (torch.autograd.grad(y, parts, direction) for y in ys)
    torch.testing.assert_close(gradients, expected, rtol=1e-9, atol=1e-9)


@RULES
@pytest.mark.parametrize("strong", [-41.0, -1e4, -math.inf])
@pytest.mark.parametrize("t", [0, 3, 16, 39])
def test_a_strong_gate_changes_nothing_before_it_and_no_digit_after_it(
    t: int, strong: float, rule: Rule
) -> None:
    parts = [part.detach() for part in drawn(40, 5, 7)]
    late = parts[3].clone()
    late[1, 2, t] = strong
    changed = [*parts[:3], late, *parts[4:]]
    y, other = rule(tokens(parts)), rule(tokens(changed))
    assert torch.equal(y[..., :t, :], other[..., :t, :])
    torch.testing.assert_close(other, by_tokens(changed), rtol=1e-10, atol=1e-10)


@RULES
def test_in_single_precision_it_is_as_near_as_its_digits(rule: Rule) -> None:
    parts = drawn(300, 32, 32)
    y = rule(tokens([part.float() for part in parts]))
    assert (y - by_tokens(parts)).abs().max() < 2e-5 * by_tokens(parts).abs().max()


@RULES
@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5)], ids=str)
def test_of_nothing_there_is_nothing(shape: tuple[int, ...], rule: Rule) -> None:
    x = torch.zeros(shape)
    assert rule(Tokens(x, x, x, g=x, e=x, r=x)).shape == shape


@needs_c
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("part", range(6), ids=["q", "k", "v", "g", "e", "r"])
def test_what_is_no_number_stays_none_and_in_its_text(part: int, bad: float) -> None:
    parts = [x.detach() for x in drawn(40, 4, 4)]
    parts[part] = parts[part].clone()
    parts[part][0, 0, 17, 0] = bad
    y, wanted = compiled_loops().rule(tokens(parts)), by_tokens(parts)
    assert not wanted[0, 0].isfinite().all()
    assert torch.equal(y.isfinite(), wanted.isfinite())


@needs_c
def test_parts_that_do_not_fit_are_refused() -> None:
    """C would read beyond them."""
    q, k, v, g, e, r = (x.detach() for x in drawn(6, 4, 4))
    rule, β = compiled_loops().rule, torch.ones(2, 3, 6, 1, dtype=torch.float64)
    for wrong in (
        Tokens(q, k, v, g=g, e=e),
        Tokens(q, k, v, g=g, r=r),
        Tokens(q, k, v, e=e, r=r),
        Tokens(q, k, v, β, g, e, r),
        Tokens(q, k, v, g=g[..., :1], e=e, r=r),
        Tokens(q, k, v, g=g, e=e[..., :3], r=r),
        Tokens(q, k, v, g=g, e=e, r=r[..., :5, :]),
    ):
        with pytest.raises(ValueError):
            rule(wrong)


@pytest.mark.parametrize(
    "text", ["retnet(h=3,d=5,d_k=7,p=8)", "rwkv7(h=3,d=5,d_k=7,p=8)", "s4d(d=5,s=7,p=8)"]
)
def test_the_kernel_counts_the_bits_that_a_step_carries(text: str) -> None:
    (part,) = Architecture.parse(text).layers[0].parts
    assert isinstance(part.mixer, Streaming) and part.p == 8
    w = part.mixer.initial(6, torch.Generator().manual_seed(0), torch.float64)
    state, _ = part.mixer.step(w, part.mixer.start(w, ()), torch.ones(6, dtype=torch.float64))
    ((kept, _),) = read(Architecture.parse(text).spelled).counted
    assert kept.bits(9) == 8 * sum(x.numel() for x in state) == part.mixer.state_bits(9, 8)
