"""The loops in C keep the laws that those by torch keep; where C cannot be had there is nothing to test."""

import weakref
from collections.abc import Callable, Iterable

import pytest
import torch
from fixtures.looped import LAWS, LOOPED
from fixtures.rule_in_c import needs_c as compiled

from limen.core.catalogue import lookup
from limen.core.mixer import Mixer
from limen.errors import BadInput
from limen.laws import Law
from limen.laws.mixer import generic, inputs
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.recurrence import compiled as module
from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.libraries import libraries
from limen.mixers.recurrence.loops import PLAIN, Loops, loops, running_by
from limen.mixers.recurrence.rule import Tokens


@compiled
def test_where_c_can_be_had_it_is_what_runs() -> None:
    """Otherwise all tests of it would compare torch with torch."""
    assert compiled_loops() is not PLAIN, libraries().why


@pytest.mark.sampled(5)
@compiled
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mixer", LOOPED, ids=str)
def test_compiled_it_keeps(law: Law, mixer: Mixer) -> None:
    """The default; test_mixer_laws.py tests it, too, where this machine has it."""
    with running_by(compiled_loops()):
        law(mixer)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mixer", LOOPED, ids=str)
def test_by_torch_it_keeps(law: Law, mixer: Mixer) -> None:
    with running_by(PLAIN):
        law(mixer)


@compiled
def test_c_is_the_default() -> None:
    used, before = [], compiled_loops()
    assert loops().rule.func is before.rule.func  # type: ignore[attr-defined]
    with running_by(PLAIN._replace(rule=lambda tokens: used.append(tokens) or PLAIN.rule(tokens))):  # type: ignore[func-returns-value]
        GatedDelta().fast(generic(GatedDelta()), inputs(5))
    assert len(used) == 1


@compiled
@pytest.mark.parametrize("loops", [PLAIN, compiled_loops()], ids=["torch", "C"])
@pytest.mark.parametrize(("n", "levels"), [(2, 1), (5, 3), (17, 5), (1, 0)])
def test_too_few_levels_are_refused(loops: Loops, n: int, levels: int) -> None:
    """C would write the gradients of levels that do not exist."""
    q, λ = torch.zeros(1, n, 2), torch.zeros(1, n, levels)
    with pytest.raises(BadInput, match=f"{n} tokens need {levels + 1} levels, got {levels}"):
        loops.levels(Tokens(q, q, q), λ)


@compiled
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_by_torch(dtype: torch.dtype) -> None:
    """A memory of 16 bits a number would have 32 in C."""
    tokens = Tokens(*torch.randn(3, 2, 40, 8, generator=torch.Generator().manual_seed(0)).to(dtype))
    assert torch.equal(compiled_loops().rule(tokens), PLAIN.rule(tokens))


@compiled
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_under_vmap_torch_runs_the_rule() -> None:
    """Its tensors are no memory that C could read."""
    parts = torch.randn(3, 4, 2, 9, 5, generator=torch.Generator().manual_seed(0))
    run = compiled_loops().rule
    y = torch.func.vmap(lambda q, k, v: run(Tokens(q, k, v)))(*parts)
    torch.testing.assert_close(y, run(Tokens(*parts)))


@compiled
@pytest.mark.parametrize(("d_k", "d"), [(1, 1), (7, 9), (16, 16), (17, 32), (32, 40), (64, 64)])
@pytest.mark.parametrize("gates", [0, 1, 2], ids=["lasting", "fading", "fading by rows"])
@pytest.mark.parametrize("erases", [False, True], ids=["adding", "erasing"])
def test_every_size_and_kind_of_rule_has_the_values_and_gradients_of_torch(
    d_k: int, d: int, gates: int, erases: bool
) -> None:
    """Two heads share queries and keys; the numbers of a value need not stand side by side."""
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=rng, dtype=torch.float64)

    q, k, v = draw(3, 1, 37, d_k), draw(3, 1, 37, d_k) / d_k, draw(3, 2, d, 37).mT
    g = [None, -draw(3, 2, 37, 1).square(), -draw(3, 2, 37, d_k).square()][gates]
    parts = [q, k, v, draw(3, 2, 37, 1) if erases else None, g]
    leaves = [part.detach().requires_grad_() for part in parts if part is not None]
    given = iter(leaves)
    tokens = Tokens(*(None if part is None else next(given) for part in parts))  # type: ignore[arg-type]
    ys = [loops.rule(tokens) for loops in (PLAIN, compiled_loops())]
    torch.testing.assert_close(ys[1], ys[0], rtol=1e-10, atol=1e-10)
    direction = draw(*ys[0].shape)
    plain, found = (torch.autograd.grad(y, leaves, direction) for y in ys)
    torch.testing.assert_close(found, plain, rtol=1e-9, atol=1e-9)


def by_a_loop(tokens: Tokens) -> torch.Tensor:
    """S_t = (I - β k k^T) diag(e^g) S_{t-1} + β k v^T, y = q^T S, written as it stands."""
    q, k, v, β, g, *_ = (None if part is None else part.unbind(-2) for part in tokens)
    assert q is not None and k is not None and v is not None
    S, ys = torch.zeros(*v[0].shape[:-1], q[0].shape[-1], v[0].shape[-1], dtype=v[0].dtype), []
    for t in range(len(v)):
        S = S if g is None else g[t].exp().unsqueeze(-1) * S
        u = v[t] if β is None else β[t] * (v[t] - (k[t].unsqueeze(-2) @ S).squeeze(-2))
        S = S + k[t].unsqueeze(-1) * u.unsqueeze(-2)
        ys.append((q[t].unsqueeze(-2) @ S).squeeze(-2))
    return torch.stack(ys, -2)


LARGE = [(n, 2, 128, 128) for n in (1, 31, 32, 33, 70)]
UNEQUAL = [(n, 2, *sizes) for n in (1, 31, 32, 33, 70) for sizes in ((128, 44), (50, 128))]


@compiled
@pytest.mark.parametrize(("n", "heads", "d_k", "d"), [*LARGE, *UNEQUAL, (777, 3, 48, 48), (777, 1, 128, 64)])
@pytest.mark.parametrize("gates", [0, 1, 2], ids=["lasting", "fading", "fading by rows"])
@pytest.mark.parametrize("erases", [False, True], ids=["adding", "erasing"])
def test_large_heads_have_the_values_and_gradients_of_a_loop_in_double_precision(
    n: int, heads: int, d_k: int, d: int, gates: int, erases: bool
) -> None:
    rng = torch.Generator().manual_seed(n)

    def draw(size: int) -> torch.Tensor:
        return torch.randn(heads, n, size, generator=rng, dtype=torch.float64)

    unit = torch.nn.functional.normalize
    g = [None, -0.1 * draw(1).exp(), -0.1 * draw(d_k).exp()][gates]
    β = draw(1).sigmoid() if erases else None
    parts = [unit(draw(d_k), dim=-1), unit(draw(d_k), dim=-1), draw(d), β, g]
    parts = [None if part is None else part.float().double() for part in parts]
    direction = draw(d).float()

    def values_and_gradients(
        rule: Callable[[Tokens], torch.Tensor], dtype: torch.dtype
    ) -> tuple[torch.Tensor, ...]:
        given = [None if part is None else part.to(dtype).requires_grad_() for part in parts]
        y = rule(Tokens(*given))  # type: ignore[arg-type]
        leaves = [part for part in given if part is not None]
        return y, *torch.autograd.grad(y, leaves, direction.to(dtype))

    exact = values_and_gradients(by_a_loop, torch.float64)
    for dtype, near in ((torch.float32, 2e-6), (torch.float64, 1e-14)):
        for x, wanted in zip(values_and_gradients(compiled_loops().rule, dtype), exact, strict=True):
            scale = max(1, wanted.abs().max())  # what is added up is of order 1, even where little is left
            assert (x - wanted).abs().max() <= near * scale


@compiled
@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 100, 256])
@pytest.mark.parametrize(("d_k", "d"), [(3, 5), (8, 16), (17, 33), (64, 72)])
@pytest.mark.parametrize("fades", [False, True], ids=["lasting", "fading"])
def test_levels_have_the_values_and_gradients_of_torch(n: int, d_k: int, d: int, fades: bool) -> None:
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn((2, 3, n, *shape), generator=rng, dtype=torch.float64).requires_grad_()

    q, k, v, g, λ = draw(d_k), draw(d_k), draw(d), draw(1), draw((n - 1).bit_length() + 1)
    leaves = [q, k, v, λ, *([g] if fades else [])]
    tokens = Tokens(q, k, v, g=-g.square() / 8 if fades else None)
    ys = [loops.levels(tokens, λ) for loops in (PLAIN, compiled_loops())]
    torch.testing.assert_close(ys[1], ys[0], rtol=1e-10, atol=1e-10)
    direction = torch.randn(ys[0].shape, generator=rng, dtype=torch.float64)
    plain, found = (torch.autograd.grad(y, leaves, direction, retain_graph=True) for y in ys)
    torch.testing.assert_close(found, plain, rtol=1e-9, atol=1e-9)


@compiled
def test_the_loops_are_those_that_were_asked_for_and_only_inside() -> None:
    mixer, asked = GatedDelta(), []
    counting = PLAIN._replace(rule=lambda tokens: asked.append(tokens) or PLAIN.rule(tokens))  # type: ignore[func-returns-value]
    w, x = generic(mixer), inputs(5)
    with running_by(counting):
        mixer.fast(w, x)
    mixer.fast(w, x)
    assert len(asked) == 1


@compiled
@pytest.mark.parametrize("gates", [1, 3], ids=["fading", "fading by rows"])
def test_windows_that_lie_over_each_other_are_read_as_they_are(gates: int) -> None:
    """What is like a tensor whose tokens share numbers has other strides than it."""

    def windows(size: int) -> torch.Tensor:
        return torch.linspace(-1, 1, 2 * (8 + size), dtype=torch.float64).reshape(2, -1).unfold(-1, size, 1)

    parts = windows(3), windows(3), windows(12), windows(1).sigmoid(), -windows(gates).square()
    dy = windows(12)  # more numbers than tokens

    def values_and_gradients(parts: Iterable[torch.Tensor], dy: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = [part.detach().requires_grad_() for part in parts]
        y = compiled_loops().rule(Tokens(*leaves))
        return y, *torch.autograd.grad(y, leaves, dy)

    copied = values_and_gradients((part.contiguous() for part in parts), dy.contiguous())
    torch.testing.assert_close(values_and_gradients(parts, dy), copied, rtol=0, atol=0)


BY = {"torch": PLAIN, "C": compiled_loops()}  # twice torch where C cannot be had


def parts_of(d_k: int, rule: str) -> Tokens:
    """One text of 40 tokens, values of 5 numbers, for a rule of each kind."""
    rng = torch.Generator().manual_seed(0)

    def draw(size: int) -> torch.Tensor:
        return torch.randn(2, 40, size, generator=rng, dtype=torch.float64) / 4

    q, k, v, β, e, r = draw(d_k), draw(d_k), draw(5), draw(1).sigmoid(), draw(d_k), draw(d_k)
    g, rows = -draw(1).square(), -draw(d_k).square()
    kinds: dict[str, tuple[torch.Tensor | None, ...]] = {
        "adds": (q, k, v),
        "fades": (q, k, v, None, g),
        "fades by rows": (q, k, v, None, rows),
        "erases": (q, k, v, β),
        "erases and fades": (q, k, v, β, g),
        "erases and fades by rows": (q, k, v, β, rows),
        "removes": (q, k, v, None, rows, e, r),
    }
    return Tokens(*kinds[rule])  # type: ignore[arg-type]


RULES = [
    "adds",
    "fades",
    "fades by rows",
    "erases",
    "erases and fades",
    "erases and fades by rows",
    "removes",
]


@pytest.mark.parametrize("loops", BY.values(), ids=BY.keys())
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_parts_of_several_types_are_read_as_the_widest(loops: Loops, rule: str, dtype: torch.dtype) -> None:
    """C would take numbers of another type for what they are not, torch multiplies none of two types."""
    tokens = parts_of(3, rule)
    for name, part in tokens._asdict().items():
        if part is None:
            continue
        mixed = tokens._replace(**{name: part.to(dtype)})
        wanted = PLAIN.rule(tokens._replace(**{name: part.to(dtype).double()}))
        near = {"rtol": 1e-3, "atol": 1e-3} if name == "v" else {"rtol": 1e-10, "atol": 1e-10}
        torch.testing.assert_close(loops.rule(mixed), wanted.to(mixed.v.dtype), **near)


@pytest.mark.parametrize("loops", BY.values(), ids=BY.keys())
@pytest.mark.parametrize("part", ["q", "v", "g", "λ"])
def test_levels_of_several_types_are_read_as_the_widest(loops: Loops, part: str) -> None:
    tokens, λ = parts_of(3, "fades"), torch.linspace(0, 1, 2 * 40 * 7, dtype=torch.float64).view(2, 40, 7)
    near = {"rtol": 1e-3, "atol": 1e-3} if part == "v" else {"rtol": 1e-10, "atol": 1e-10}
    half = {part: (λ if part == "λ" else getattr(tokens, part)).half()}
    exact = {part: half[part].double()}
    λ_half, λ_exact = half.pop("λ", λ), exact.pop("λ", λ)
    wanted = PLAIN.levels(tokens._replace(**exact), λ_exact)
    mixed = tokens._replace(**half)
    torch.testing.assert_close(loops.levels(mixed, λ_half), wanted.to(mixed.v.dtype), **near)


@pytest.mark.parametrize("loops", BY.values(), ids=BY.keys())
@pytest.mark.parametrize("rule", RULES)
def test_keys_without_numbers_hold_nothing(loops: Loops, rule: str) -> None:
    """d_k = 0: outputs and gradients are 0."""
    leaves = {name: x.requires_grad_() for name, x in parts_of(0, rule)._asdict().items() if x is not None}
    y = loops.rule(Tokens(**leaves))
    assert y.shape == (2, 40, 5) and not y.any()
    assert not any(x.any() for x in torch.autograd.grad(y.sum(), list(leaves.values())))


@compiled
def test_what_c_reads_outlives_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of another thread may push it out while C runs."""
    firsts, read = module._firsts, list[weakref.ref[torch.Tensor]]()

    def noted(*of: tuple[int, ...]) -> torch.Tensor:
        found = firsts(*of)
        read.append(weakref.ref(found))
        return found

    def forward(sequence: object) -> int:
        firsts.cache_clear()
        assert read and all(first() is not None for first in read)
        return 0

    monkeypatch.setattr(module, "_firsts", noted)
    loops = module.loops_of({"float": {"rule_forward": forward}})  # type: ignore[dict-item]
    loops.rule(Tokens(*torch.zeros(3, 2, 5, 4)))


@pytest.mark.parametrize("mixer", ["linear", "delta", "gated_delta", "mamba2", "top_k", "block_sparse"])
@pytest.mark.parametrize("n", [5, 600])
def test_of_no_texts_there_are_no_outputs(mixer: str, n: int) -> None:
    first = lookup("mixers", mixer, Mixer).examples()[0]
    w, x = generic(first), inputs(0, n)
    assert first.fast(w, x).shape == first.mix(w, x).shape == x.shape
