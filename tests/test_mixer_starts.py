"""Where training begins: scores and outputs of order one, a gradient everywhere, a past that is seen."""

import pytest
import torch

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier, ids
from limen.core.heads import Headed
from limen.core.mixer import Mixer
from limen.core.weights import random_weights
from limen.mixers.dsa import Dsa
from limen.mixers.mla import Mla

WIDTH, N = 64, 16

# Sizes as experiments have them; the catalogue's examples are too small for a variance.
STARTS = [
    "softmax(h=2,d=16)",
    "softmax(h=1,d=64)",
    "softmax(h=4,d=16,d_k=8,kv_heads=2)",
    "softmax(h=1,d=16,bidirectional=true)",
    "unit_softmax(h=2,d=16)",
    "unit_softmax(h=1,d=8,d_k=64)",
    "hard(h=2,d=16)",
    "fetch(d=16,a=3)",
    "window(h=2,d=16,W=12)",
    "masked_softmax(h=2,d=16,first=2,last=12)",
    "mla(h=2,d=16)",
    "mla(h=1,d=16,d_k=32,r=24,d_r=8)",
    "gated_softmax(h=2,d=16)",
    "conv_softmax(h=2,d=16)",
    "top_k(h=2,d=16)",
    "block_sparse(h=2,d=16)",
    "nsa(h=2,d=16)",
    "dsa(h=2,d=16)",
    "linear(h=2,d=16)",
    "linear(h=2,d=16,phi=relu)",
    "linear(h=2,d=16,phi=exp)",
    "linear(h=2,d=8,phi=taylor)",
    "linear(h=2,d=16,phi=identity,normalise=false)",
    "gated_linear(h=2,d=16)",
    "delta(h=2,d=16)",
    "delta(h=2,d=16,c=4)",
    "gated_delta(h=2,d=16)",
    "gated_delta(h=2,d=16,c=4)",
    "kda(h=2,d=16)",
    "retnet(h=2,d=16)",
    "rwkv7(h=2,d=16)",
    "s4d(d=32,s=16)",
    "log_linear(h=2,d=16,levels=5)",
    "log_linear(h=2,d=16,over=mamba2,levels=5)",
    "log_linear(h=2,d=16,over=gated_delta,levels=5)",
    "mamba(d=32,s=16)",
    "mamba2(h=2,d=16,s=16)",
    "mamba2(h=1,d=64,s=64)",
    "lstm(d=32)",
    "relu_rnn(d=32)",
    "relu_rnn(d=4)",
    "relu_rnn(d=16,stages=2,inner=32)",
    "relu_rnn(d=4,stages=3)",
]
STEPS = {
    "hard": {"Q", "K"},
    "fetch": {"Q"},
    "top_k": {"IQ", "IK", "IW"},
    "dsa": {"IQ", "IK", "IW"},
}  # a choice is a step function: no gradient reaches it


def mixer_of(text: str) -> Mixer:
    return Architecture.parse(text).layers[0].parts[0].mixer


def start(mixer: Mixer) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Its own weights, and tokens as a norm leaves them: numbers of variance 1."""
    rng = torch.Generator().manual_seed(0)
    return mixer.initial(WIDTH, rng, torch.float64), torch.randn(
        8, N, WIDTH, generator=rng, dtype=torch.float64
    )


each = pytest.mark.parametrize("text", STARTS)


def test_every_mixer_of_the_catalogue_is_tried() -> None:
    assert {identifier(mixer_of(text)) for text in STARTS} == set(ids("mixers"))


@pytest.mark.parametrize(
    "text",
    [
        t
        for t in STARTS
        if isinstance(mixer_of(t), Headed) and t.split("(")[0] not in ("linear", "log_linear")
    ],
)
def test_scores_begin_of_order_one(text: str) -> None:
    """Where φ does not make them positive; a softmax over scores of variance d is saturated."""
    mixer = mixer_of(text)
    assert isinstance(mixer, Headed)
    w, x = start(mixer)
    if isinstance(mixer, Mla | Dsa):  # as if its keys were projected at once
        shared = w["R"].unsqueeze(-2).expand(-1, mixer.h, -1)
        w["K"] = torch.cat([torch.tensordot(w["C"], w["UK"], 1), shared], -1).flatten(-2)
    q = (x @ w["Q"]).unflatten(-1, (-1, mixer.key_size))[:, :, 0]
    k = (x @ w["K"]).unflatten(-1, (-1, mixer.key_size))[:, :, 0]
    assert 0.5 < float((q @ k.mT).var()) < 2


@each
def test_outputs_begin_of_order_one(text: str) -> None:
    mixer = mixer_of(text)
    w, x = start(mixer)
    square = mixer.fast(w, x).square().mean((0, 2))  # at each position
    assert float(square.min()) > 1e-3 and float(square.max()) < 30, square


@each
def test_every_weight_begins_with_a_gradient(text: str) -> None:
    """Every number of it: no unit is dead, no gate shut."""
    mixer = mixer_of(text)
    w, x = start(mixer)
    leaves = {name: t.requires_grad_() for name, t in w.items()}
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    loss = (mixer.fast(w, x) * direction).sum()
    for name, g in zip(
        leaves, torch.autograd.grad(loss, list(leaves.values()), allow_unused=True), strict=True
    ):
        if name in STEPS.get(identifier(mixer), ()):
            assert g is None
        else:
            assert g is not None and bool((g != 0).all()), f"{name}: a gradient of 0"


@each
def test_a_token_of_the_past_leaves_a_trace(text: str) -> None:
    """Six tokens later, a thousandth of the output's power; `hard` and `fetch` read one token alone."""
    mixer = mixer_of(text)
    w, x = start(mixer)
    other = x.clone()
    other[:, 4] = torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y, z = (mixer.fast(w, rows)[:, 4:11] for rows in (x, other))
    trace = (
        ((z - y)[:, slice(None) if identifier(mixer) in ("hard", "fetch") else -1]).square().mean()
        / y[:, -1].square().mean()
    )
    assert float(trace) > 1e-3


def test_a_start_that_saturates_or_is_dead_is_found_out() -> None:
    softmax, rnn = mixer_of("softmax(h=1,d=64)"), mixer_of("relu_rnn(d=4,stages=3)")
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(8, N, WIDTH, generator=rng, dtype=torch.float64)
    w = random_weights(softmax.shapes(WIDTH), rng, torch.float64)
    assert float(((x @ w["Q"]) @ (x @ w["K"]).mT).var()) > 30
    v = {k: t.requires_grad_() for k, t in random_weights(rnn.shapes(WIDTH), rng, torch.float64).items()}
    grads = torch.autograd.grad(rnn.mix(v, x).sum(), list(v.values()))
    assert any(bool((g == 0).any()) for g in grads)
