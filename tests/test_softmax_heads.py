"""Softmax heads in other mixers: `mla` with room in its latent, and `gated_softmax` with open gates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction
from limen.core.heads import split
from limen.core.kernel import Accepted
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.verdict import Answer, answer_of
from limen.decisions.decide import built, ruled_out
from limen.laws.mixer import generic, inputs
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.mla import Mla
from limen.mixers.softmax import Softmax
from limen.model.model import Model

Weights = dict[str, torch.Tensor]
N = 40


def in_mla(mixer: Softmax, w: Weights, spare: int = 1) -> tuple[Mla, Weights]:
    """The same heads in an mla that is larger by so many heads, columns and latents; what is spare is 0."""
    h, d, d_k = mixer.h, mixer.d, mixer.key_size
    r = h * (d_k + d)
    big = Mla(h + spare, d + spare, d_k=d_k + 2 * spare, r=r + spare, d_r=spare)
    width = w["Q"].shape[0]
    new = {name: torch.zeros(shape, dtype=w["Q"].dtype) for name, shape in big.shapes(width).items()}
    new["C"][:, :r] = torch.cat([w["K"], w["V"]], -1)
    Q, O = new["Q"].unflatten(-1, (big.h, -1)), new["O"].unflatten(0, (big.h, -1))
    Q[:, :h, :d_k], O[:h, :d] = w["Q"].unflatten(-1, (h, -1)), w["O"].unflatten(0, (h, -1))
    for i in range(h):
        for j in range(d_k):
            new["UK"][i * d_k + j, i, j] = 1
        for j in range(d):
            new["UV"][h * d_k + i * d + j, i, j] = 1
    return big, new


@pytest.mark.parametrize("spare", [0, 1, 3])
@pytest.mark.parametrize("mixer", [Softmax(h=2, d=3), Softmax(h=1, d=3, d_k=5), Softmax(h=4, d=1)], ids=str)
def test_an_mla_with_room_in_its_latent_is_softmax(mixer: Softmax, spare: int) -> None:
    w, x = generic(mixer), inputs(2, N)
    big, new = in_mla(mixer, w, spare)
    state, rows = big.start(new, (2,)), []
    for x_t in x.unbind(-2):  # the absorbed form
        state, y = big.step(new, state, x_t)
        rows.append(y)
    for y in (big.mix(new, x), big.fast(new, x), torch.stack(rows, -2)):
        torch.testing.assert_close(y, mixer.mix(w, x), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_keys_and_values_come_out_of_the_latent_bit_by_bit(name: str) -> None:
    mixer, precision = Softmax(h=3, d=2, d_k=4), Precision.parse(name)
    w = {key: precision.round(part) for key, part in generic(mixer).items()}
    x = precision.round(inputs(2, N))
    big, new = in_mla(mixer, w)
    c, keys = big.absorb(new, x).c, mixer.h * mixer.key_size
    _, k, v = big.heads(new, x)
    latents = c[..., :keys], c[..., keys : keys + mixer.h * mixer.d]
    for part, held in zip((k, v), (split(latent, mixer.h) for latent in latents), strict=True):
        assert torch.equal(part[..., : mixer.h, :, : held.shape[-1]], held)
        assert not part[..., mixer.h :, :, :].any() and not part[..., held.shape[-1] :].any()


def test_gates_of_no_weights_are_halves_and_those_of_64_are_ones_bit_by_bit() -> None:
    mixer, gated = Softmax(h=2, d=3), GatedSoftmax(h=2, d=3)
    for name in ("float64", "float32", "bfloat16", "float16"):
        precision = Precision.parse(name)
        w = {key: precision.round(part) for key, part in generic(mixer).items()}
        x = precision.round(inputs(2, N))
        x[..., -1] = 1
        closed = torch.zeros_like(w["V"])
        halves, doubled = w | {"G": closed, "O": 2 * w["O"]}, w | {"G": closed.clone()}
        doubled["G"][-1] = 64
        plain = mixer.mix(w, x)
        assert torch.equal(gated.mix(halves, x), plain)
        assert torch.equal(gated.mix(doubled, x), plain)
        assert torch.equal(torch.tensor(64, dtype=x.dtype).sigmoid(), torch.tensor(1, dtype=x.dtype))


def test_gates_change_what_is_read() -> None:
    """So that nothing above holds for want of a gate."""
    gated, x = GatedSoftmax(h=2, d=3), inputs(2, N)
    w = generic(gated)
    assert not torch.allclose(gated.mix(w, x), Softmax(h=2, d=3).mix(w, x), atol=0.1)


CONSTRUCTIONS = [
    construction
    for name in ids("constructions")
    for construction in lookup("constructions", name, Construction).examples()[:2]
    if any(
        type(p.mixer) is Softmax for layer in construction.frame().architecture.layers for p in layer.parts
    )
    and not any(
        p.mixer.sees_future for layer in construction.frame().architecture.layers for p in layer.parts
    )
]


@pytest.mark.parametrize("construction", CONSTRUCTIONS, ids=str)
def test_every_construction_by_softmax_is_one_by_mla(construction: Construction) -> None:
    """Its weights put into mla layers, as the kernel says that they can be, give the same logits."""
    model = Model.of(construction)
    weights, layers = dict(model.weights), []
    for i, layer in enumerate(model.frame.architecture.layers):
        parts = list(layer.parts)
        for j, part in enumerate(parts):
            if isinstance(part.mixer, Softmax):
                old = {name: weights.pop(f"{i}.{j}.{name}") for name in "QKVO"}
                mixer, new = in_mla(part.mixer, old)
                parts[j] = Part(mixer)
                weights |= {f"{i}.{j}.{name}": w for name, w in new.items()}
        layers.append(Layer(tuple(parts)))
    latent = Model(replace(model.frame, architecture=Architecture(tuple(layers))), weights)
    tokens, _ = construction.task.sample(np.random.default_rng(0), 8)
    tokens = torch.from_numpy(tokens)
    torch.testing.assert_close(latent.logits(tokens), model.logits(tokens), rtol=1e-9, atol=1e-9)


def verdict(task: str, stack: str) -> Answer:
    read, architecture = Task.parse(task), Architecture.parse(stack)
    return answer_of(ruled_out(read, architecture) or built(read, architecture))


@pytest.mark.parametrize(
    ("task", "stack", "answer"),
    [
        ("eva(n=64)", "mla(h=1,d=8,r=16)", Answer.CAN),
        ("eva(n=64)", "mla(h=1,d=8,r=11)", Answer.OPEN),  # 6 digits of a place, 6 of a value
        ("eva(n=64)", "mla(h=1,d=8,d_k=7,r=16,d_r=2)", Answer.OPEN),  # keys of 5
        ("eva(n=64)", "mla(h=9,d=8,r=16)", Answer.CAN),
        ("eva(n=64)", "gated_softmax(h=4,d=6,kv_heads=1)", Answer.CAN),
        ("eva(n=64)", "gated_softmax(h=4,d=5)", Answer.OPEN),
        ("equality(n=512)", "mla(h=2,d=4,r=13)", Answer.CANNOT),  # 2·15·16 = 480 bits
        ("equality(n=512)", "mla(h=2,d=4,r=14)", Answer.OPEN),
        ("equality(n=512)", "gated_softmax(h=2,d=4)", Answer.CANNOT),
        ("composition(m=64,n1=16)", "2*mla(h=2,d=32),gated_softmax(h=2,d=32)", Answer.CAN),
        ("composition(m=64,n1=16)", "kda(h=1,d=16),mla(h=1,d=32),gated_softmax(h=1,d=32)", Answer.CAN),
    ],
)
def test_verdicts(task: str, stack: str, answer: Answer) -> None:
    assert verdict(task, stack) is answer


@pytest.mark.parametrize("full", ["mla(h={h},d={d},r={d},p={p})", "gated_softmax(h={h},d={d},p={p})"])
@pytest.mark.parametrize(
    "task", ["equality(n=96)", "disjointness(n=96)", "composition(m=4096,n1=64)", "is_tree(n=80)"]
)
def test_what_rules_softmax_out_rules_these_out_by_the_same_bits(full: str, task: str) -> None:
    for h, d, p in ((1, 2, 4), (2, 3, 8), (1, 4, 16)):
        plain, other = (
            ruled_out(Task.parse(task), Architecture.parse(text.format(h=h, d=d, p=p)))
            for text in ("softmax(h={h},d={d},p={p})", full)
        )
        assert (plain is None) == (other is None)
        if isinstance(plain, Accepted) and isinstance(other, Accepted):
            sides = [(c.certificate.has_bits, c.certificate.needs_bits) for c in (plain, other)]  # type: ignore[union-attr]
            assert sides[0] == sides[1]


def test_an_mla_keeps_one_latent_whatever_its_heads() -> None:
    assert [Mla(h, 128, r=512, d_r=64).kept(1) for h in (1, 128)] == [576, 576]
    assert {
        name: part.shape[-1] for name, part in zip("ck", Mla(2, 4).start(generic(Mla(2, 4)), ()), strict=True)
    } == {
        "c": 16,
        "k": 2,
    }
