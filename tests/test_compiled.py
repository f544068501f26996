"""The loops in C keep the laws that those by torch keep; without a compiler there is nothing to test."""

import weakref
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.laws import Law
from limen.laws.mixer import (
    a_longer_input_begins_like_a_shorter_one,
    any_float_type_goes_in_and_comes_out,
    definition_recurrence_and_fast_form_agree,
    generic,
    gradients_of_the_fast_form_are_those_of_the_definition,
    inputs,
    the_future_changes_nothing,
    they_agree_at_any_length_and_under_any_batch_axes,
)
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.recurrence import build
from limen.mixers.recurrence import compiled as module
from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN, Looped, running_by
from limen.mixers.recurrence.rule import Tokens

LOOPED = [
    m for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples() if isinstance(m, Looped)
]
LAWS = [
    definition_recurrence_and_fast_form_agree,
    they_agree_at_any_length_and_under_any_batch_axes,
    gradients_of_the_fast_form_are_those_of_the_definition,
    any_float_type_goes_in_and_comes_out,
    the_future_changes_nothing,
    a_longer_input_begins_like_a_shorter_one,
]
compiled = pytest.mark.skipif(compiled_loops() is PLAIN, reason="this machine has no compiler for C")


@pytest.mark.sampled(5)
@compiled
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mixer", LOOPED, ids=str)
def test_compiled_it_keeps(law: Law, mixer: Mixer) -> None:
    with running_by(compiled_loops()):
        law(mixer)


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


@compiled
@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 100, 256])
@pytest.mark.parametrize(("d_k", "d"), [(3, 5), (8, 16), (17, 33)])
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


def test_without_a_compiler_torch_runs_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compiler", lambda: None)
    build.library.cache_clear()
    assert compiled_loops() is PLAIN
    build.library.cache_clear()


@compiled
def test_what_does_not_compile_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "wrong.c"
    source.write_text("this is no C")
    assert build.library(source, "float") is None
    assert not list((tmp_path / "limen").iterdir())


@compiled
def test_a_library_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "one.c"
    source.write_text("REAL one(void) { return 1; }")
    assert build.library(source, "double") is not None
    [built] = (tmp_path / "limen").iterdir()
    before = built.stat().st_mtime_ns
    build.library.cache_clear()
    assert build.library(source, "double") is not None and built.stat().st_mtime_ns == before
    build.library.cache_clear()


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


@compiled
@pytest.mark.parametrize("part", ["q", "k", "v", "β", "g"])
def test_parts_of_several_types_are_read_as_the_widest(part: str) -> None:
    """C knows one type of numbers; it would take those of another for what they are not."""
    rng = torch.Generator().manual_seed(0)
    tokens = Tokens(*(-torch.rand(2, 9, size, generator=rng) for size in (3, 3, 5, 1, 1)))
    mixed = tokens._replace(**{part: getattr(tokens, part).double()})
    torch.testing.assert_close(compiled_loops().rule(mixed).float(), PLAIN.rule(tokens))


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
    monkeypatch.setattr(module, "library", lambda source, real: {"rule_forward": forward})
    module.rule(Tokens(*torch.zeros(3, 2, 5, 4)))


@pytest.mark.parametrize("mixer", ["linear", "delta", "gated_delta", "mamba2", "top_k", "block_sparse"])
@pytest.mark.parametrize("n", [5, 600])
def test_of_no_texts_there_are_no_outputs(mixer: str, n: int) -> None:
    first = lookup("mixers", mixer, Mixer).examples()[0]
    w, x = generic(first), inputs(0, n)
    assert first.fast(w, x).shape == first.mix(w, x).shape == x.shape
