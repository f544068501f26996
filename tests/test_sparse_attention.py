"""Attention to chosen tokens: gathered or masked, it reads the same ones."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limen.core.highest import highest
from limen.laws.mixer import F64, generic, gradients_of_the_fast_form_are_those_of_the_definition, inputs
from limen.mixers import block_sparse, nsa, top_k
from limen.mixers._chosen import attend_chosen, block_dots, dots, leading
from limen.mixers._masked import attend
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.mixers.top_k import TopK

SPARSE = [*BlockSparse.examples(), *TopK.examples(), BlockSparse(h=2, d=3, B=4, k=9), TopK(h=2, d=3, k=50)]
SPARSE += [*Nsa.examples(), Nsa(h=4, d=3, kv_heads=2, B=4, k=9)]
each = pytest.mark.parametrize("mixer", SPARSE, ids=str)


@each
@given(
    n=st.integers(1, 70), batch=st.lists(st.integers(1, 2), max_size=2).map(tuple), rows=st.integers(1, 80)
)
def test_what_is_gathered_is_what_is_masked(
    mixer: BlockSparse | Nsa | TopK, n: int, batch: tuple[int, ...], rows: int
) -> None:
    w, x = generic(mixer), inputs(*batch, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_sparse, "_ROWS", rows)
        patch.setattr(nsa, "_ROWS", rows)
        patch.setattr(top_k, "_HELD", rows * math.prod(batch) * n)
        patch.setattr(top_k, "_READ", rows)
        found = mixer.gathered(w, x)
    torch.testing.assert_close(found, mixer.mix(w, x), rtol=0, atol=1e-10)


@each
def test_so_are_the_gradients(mixer: BlockSparse | Nsa | TopK, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (block_sparse, nsa, top_k):
        monkeypatch.setattr(module, "_GATHER", 0)
    for blocks in (block_sparse, nsa):
        monkeypatch.setattr(blocks, "_ROWS", 16)
    monkeypatch.setattr(top_k, "_HELD", 16)
    monkeypatch.setattr(top_k, "_READ", 4)
    gradients_of_the_fast_form_are_those_of_the_definition(mixer)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_gathering_takes_any_float_type(mixer: BlockSparse | Nsa | TopK, dtype: torch.dtype) -> None:
    w, x = generic(mixer, dtype=dtype), inputs(2, 40, dtype=dtype)
    y = mixer.gathered(w, x)
    assert y.dtype == dtype and bool(y.isfinite().all())


@given(st.data(), st.integers(1, 100), st.integers(1, 8))
def test_of_equals_the_leftmost_lead(data: st.DataObject, m: int, k: int) -> None:
    """In rows of every length: long ones are searched by groups."""
    row = st.lists(st.sampled_from([-math.inf, 0.0, 1.0, 2.0]), min_size=m, max_size=m)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    scores = torch.tensor(rows, dtype=F64)
    places, valid = leading(scores, k)
    for row_, where, counts in zip(rows, places.tolist(), valid.tolist(), strict=True):
        best = sorted(range(m), key=lambda j: (-row_[j], j))[:k]
        chosen = [j for j, counted in zip(where, counts, strict=True) if counted]
        assert len(where) == k and chosen == sorted(j for j in best if row_[j] > -math.inf)
    allowed = scores.isfinite()
    shown = torch.zeros_like(scores).scatter_add_(-1, places, valid.double()) > 0
    assert torch.equal(shown, highest(scores, k, among=allowed.new_ones(allowed.shape)) & allowed)


def test_a_row_with_a_score_that_is_no_number_leads_nowhere_and_its_output_is_none() -> None:
    scores = torch.tensor([[0.0, math.nan, 1.0], [0.0, 2.0, 1.0]], dtype=F64)
    places, valid = leading(scores, 2)
    assert valid.tolist() == [[False, False], [True, True]] and places[1].tolist() == [1, 2]
    q, k, v = (torch.randn(n, 2, dtype=F64, generator=torch.Generator().manual_seed(0)) for n in (2, 3, 3))
    y = attend_chosen(q, k, v, places, valid)
    assert bool(y[0].isnan().all()) and bool(y[1].isfinite().all())


@pytest.mark.parametrize("at", [0, 41, 99])
def test_nor_does_a_long_one(at: int) -> None:
    scores = torch.zeros(2, 100, dtype=F64)
    scores[0, at], scores[0, 7:12] = math.nan, math.inf
    assert leading(scores, 2)[1].tolist() == [[False, False], [True, True]]


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 40), st.integers(0, 99))
def test_products_with_chosen_rows_and_blocks_are_products(blocks: int, s: int, rows: int, seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    q, table = (torch.randn(size, generator=rng, dtype=F64) for size in ((rows, 3), (blocks, 4, 3)))
    block = torch.randint(blocks, (rows, s), generator=rng)
    wanted = torch.einsum("rd,rsbd->rsb", q, table[block])
    torch.testing.assert_close(block_dots(q, table, block), wanted)
    torch.testing.assert_close(dots(q, table[:, 0], block), wanted[..., 0])


def test_the_derivatives_of_products_with_chosen_rows() -> None:
    rng = torch.Generator().manual_seed(0)
    q, table = (torch.randn(n, 3, generator=rng, dtype=F64).requires_grad_() for n in (5, 4))
    rows = torch.randint(4, (5, 6), generator=rng)
    assert torch.autograd.gradcheck(lambda q, table: dots(q, table, rows), (q, table))


def test_a_chosen_token_is_attended_to_as_through_a_mask() -> None:
    rng = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 7, d, generator=rng, dtype=F64) for d in (3, 3, 5))
    places = torch.stack([torch.randperm(7, generator=rng)[:4] for _ in range(14)]).reshape(2, 7, 4)
    visible = torch.zeros(2, 7, 7, dtype=torch.bool).scatter_(-1, places, True)
    everything = torch.ones_like(places, dtype=torch.bool)
    torch.testing.assert_close(attend_chosen(q, k, v, places, everything), attend(q, k, v, visible))


@pytest.mark.parametrize("k", [1, 2, 50])
@pytest.mark.parametrize("damage", [math.inf, 1e300], ids=["infinite", "too large"])
def test_an_index_that_is_no_number_is_seen_in_every_form(k: int, damage: float) -> None:
    """∞ - ∞: the kernel of torch gives 0 where nothing is chosen, and 0 looks like an answer."""
    mixer = TopK(h=2, d=3, k=k, h_i=2)
    w, x = generic(mixer), inputs(40)
    w = w | {"IK": w["IK"] * damage, "IQ": w["IQ"] * damage}
    defined = mixer.mix(w, x)
    assert defined.isnan().any()
    for form in (mixer.masked, mixer.gathered):
        torch.testing.assert_close(form(w, x), defined, rtol=0, atol=1e-10, equal_nan=True)
