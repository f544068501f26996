"""What may be handed to the rule in C: sizes, strides, threads and numbers that are none."""

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from fixtures.rule_in_c import needs_c
from torch._subclasses.fake_tensor import FakeTensorMode

from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN, Loops
from limen.mixers.recurrence.rule import Tokens

C = compiled_loops()
pytestmark = needs_c
BOTH = pytest.mark.parametrize("rule", [PLAIN.rule, C.rule], ids=["torch", "C"])
GATES = pytest.mark.parametrize("gates", [0, 1, 2], ids=["lasting", "fading", "fading by rows"])
ERASES = pytest.mark.parametrize("erases", [False, True], ids=["adding", "erasing"])


def drawn(shape: Sequence[int], d: int, gates: int, erases: bool) -> list[torch.Tensor | None]:
    """q, k, v, β, g of shape (*shape, ·) in double precision."""
    rng = torch.Generator().manual_seed(0)

    def draw(size: int) -> torch.Tensor:
        return torch.randn(*shape, size, generator=rng, dtype=torch.float64)

    g = [None, -draw(1).square(), -draw(d).square()][gates]
    parts = [draw(d), draw(d) / d, draw(d), draw(1).sigmoid() if erases else None, g]
    return [None if part is None else part.requires_grad_() for part in parts]


def values_and_gradients(parts: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor, ...]:
    y = C.rule(Tokens(*parts))  # type: ignore[arg-type]
    return y, *torch.autograd.grad(y.square().sum(), [part for part in parts if part is not None])


def stepped(parts: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """S_t = (I - β k k^T) diag(e^g) S_{t-1} + β k v^T, y = q^T S."""
    q, k, v, β, g = (None if part is None else part.detach().unsqueeze(-1).unbind(-3) for part in parts)
    assert q is not None and k is not None and v is not None
    S, ys = torch.zeros_like(k[0] @ v[0].mT), []
    for t in range(len(v)):
        S = S if g is None else g[t].exp() * S
        S = S + (k[t] @ v[t].mT if β is None else β[t] * k[t] @ (v[t] - S.mT @ k[t]).mT)
        ys.append((S.mT @ q[t]).squeeze(-1))
    return torch.stack(ys, -2)


@BOTH
@GATES
@ERASES
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 5), (0, 0)], ids=str)
def test_of_nothing_there_is_nothing(
    rule: Callable[[Tokens], torch.Tensor], gates: int, erases: bool, shape: tuple[int, ...]
) -> None:
    parts = drawn(shape, 3, gates, erases)
    y = rule(Tokens(*parts))  # type: ignore[arg-type]
    assert y.shape == (*shape, 3)
    y.sum().backward()


@pytest.mark.parametrize("n", [0, 3])
def test_of_no_tokens_there_are_no_levels(n: int) -> None:
    empty, λ = torch.zeros(n, 0, 2), torch.zeros(n, 0, 1)
    for loops in (PLAIN, C):
        assert loops.levels(Tokens(empty, empty, empty), λ).shape == empty.shape


@pytest.mark.parametrize("n", [1, 2, 15, 33])
@pytest.mark.parametrize("d", [1, 3, 129])
@GATES
@ERASES
def test_odd_sizes_have_the_values_of_one_token_at_a_time(n: int, d: int, gates: int, erases: bool) -> None:
    parts = drawn((2, n), d, gates, erases)
    torch.testing.assert_close(C.rule(Tokens(*parts)), stepped(parts), rtol=1e-10, atol=1e-10)  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [4, 64], ids=["token by token", "in chunks"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("part", [0, 1, 2], ids=["q", "k", "v"])
@GATES
@ERASES
def test_what_is_no_number_stays_none_and_in_its_text(
    d: int, bad: float, part: int, gates: int, erases: bool
) -> None:
    """A gate of 0 makes no number of it, either; inside a chunk it may reach earlier tokens."""
    parts = [None if x is None else x.detach() for x in drawn((2, 100), d, gates, erases)]
    parts[part][0, 37, 0] = bad  # type: ignore[index]
    if parts[4] is not None:
        parts[4][0, 70] = -math.inf
    y, wanted = C.rule(Tokens(*parts)), stepped(parts)  # type: ignore[arg-type]
    assert not wanted[0, 37].isfinite().all()
    assert not y[~wanted.isfinite()].isfinite().any()
    assert y[1].isfinite().all() and y[0, :32].isfinite().all()


def test_tokens_may_stand_more_than_2_31_numbers_apart(tmp_path: Path) -> None:
    """Of 17 GB of addresses a few pages are touched: a file with holes needs no memory for the rest."""
    far = torch.from_file(str(tmp_path / "far"), shared=True, size=2**32 + 2**16)
    parts, place = [x.detach().float() for x in drawn((2, 2), 5, 1, True) if x is not None], 0
    spread = []
    for part in parts:
        there = far.as_strided(part.shape, (100, 2**31 + 7, 1), place)
        place += 200
        spread.append(there.copy_(part))
    assert torch.equal(C.rule(Tokens(*spread)), C.rule(Tokens(*parts)))


@GATES
@ERASES
def test_strides_change_nothing(gates: int, erases: bool) -> None:
    """Tokens last, every third number, one head for all, one token for all."""
    parts = drawn((2, 3, 40), 6, gates, erases)
    plain = [None if x is None else x.detach() for x in parts]
    q, k, v, β, g = plain
    assert q is not None and k is not None and v is not None
    k, v = k[:, :1].expand(2, 3, 40, 6), v[..., :1, :].expand(2, 3, 40, 6)
    given = [q.mT.contiguous().mT, k, v, β, None if g is None else g.repeat_interleave(3, -1)[..., ::3]]
    same = [None if x is None else x.clone(memory_format=torch.contiguous_format) for x in given]
    leaves = [[None if x is None else x.detach().requires_grad_() for x in xs] for xs in (given, same)]
    torch.testing.assert_close(*map(values_and_gradients, leaves), rtol=0, atol=0)


def test_threads_of_python_find_what_one_finds() -> None:
    """C runs while others hold the lock."""
    parts = drawn((3, 100), 33, 1, True)
    alone, unequal = values_and_gradients(parts), []

    def often() -> None:
        for _ in range(20):
            unequal.extend(
                x for x, y in zip(values_and_gradients(parts), alone, strict=True) if not x.equal(y)
            )

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not unequal


@pytest.mark.parametrize(
    ("part", "shape"),
    [
        ("q", (2, 5, 3)),
        ("k", (2, 7, 2)),
        ("k", (2, 6, 3)),
        ("β", (2, 7, 3)),
        ("g", (2, 7, 2)),
        ("g", (2, 6, 1)),
    ],
)
def test_parts_of_other_sizes_are_refused(part: str, shape: tuple[int, ...]) -> None:
    """C would read beyond them."""
    q, v = torch.zeros(2, 7, 3), torch.zeros(2, 7, 4)
    with pytest.raises(ValueError, match=rf"{part} is \({shape[-2]}, {shape[-1]}\) on cpu, not \(7, "):
        C.rule(Tokens(q, q, v, q[..., :1], q[..., :1])._replace(**{part: torch.zeros(shape)}))


def test_parts_in_another_memory_are_refused() -> None:
    v = torch.zeros(2, 7, 3)
    with pytest.raises(ValueError, match=r"k is .* on meta, not .* on cpu"):
        C.rule(Tokens(v, v.to("meta"), v))
    with pytest.raises(ValueError, match=r"λ is \(6, 4\)"):
        C.levels(Tokens(v, v, v), torch.zeros(2, 6, 4))


@pytest.mark.parametrize("loops", [PLAIN, C], ids=["torch", "C"])
@pytest.mark.parametrize("gates", [0, 1], ids=["lasting", "fading"])
def test_levels_may_share_queries_and_keys(loops: Loops, gates: int) -> None:
    q, k, v, _, g = (None if x is None else x.detach() for x in drawn((2, 3, 70), 4, gates, False))
    assert q is not None and k is not None and v is not None
    λ, one, three = torch.rand(2, 3, 70, 8, dtype=v.dtype), [q[:, :1], k[:, :1]], (2, 3, 70, 4)
    each = [x.expand(three).contiguous() for x in one]
    ys = [loops.levels(Tokens(*qk, v, None, g), λ) for qk in (one, each)]
    torch.testing.assert_close(*ys)


def test_levels_have_one_gate_a_token() -> None:
    """With one a row C would write beyond the states that it keeps."""
    v = torch.zeros(2, 20, 3, requires_grad=True)
    with pytest.raises(ValueError, match=r"g is \(20, 3\) on cpu, not \(20, 1\)"):
        C.levels(Tokens(v, v, v, None, v), torch.zeros(2, 20, 6))


def test_the_default_device_changes_nothing() -> None:
    """Where the texts begin is read by C as well; a batch of this size is met here first."""
    parts = [None if x is None else x.detach() for x in drawn((2, 1, 13), 3, 1, True)]
    with torch.device("meta"):
        y = C.rule(Tokens(*parts))  # type: ignore[arg-type]
    torch.testing.assert_close(y, stepped(parts))


def test_a_sign_that_is_a_flag_counts() -> None:
    parts = [None if x is None else x.detach() for x in drawn((2, 9), 3, 1, True)]
    given = [None if x is None else torch._neg_view(-x) for x in parts]
    assert torch.equal(C.rule(Tokens(*given)), C.rule(Tokens(*parts)))  # type: ignore[arg-type]


def test_tensors_without_memory_are_not_read() -> None:
    v = torch.zeros(2, 7, 3)
    with FakeTensorMode() as fake:
        w = fake.from_tensor(v)
        assert C.rule(Tokens(w, w, w)).shape == v.shape
    with pytest.raises(ValueError, match=r"k is .* on meta, not .* on cpu"):
        C.rule(Tokens(v, w, v))


def test_a_second_derivative_is_refused() -> None:
    parts = drawn((2, 5), 3, 1, True)
    y = C.rule(Tokens(*parts)).square().sum()  # type: ignore[arg-type]
    (first,) = torch.autograd.grad(y, parts[2], create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable|does not require grad"):
        first.sum().backward()
