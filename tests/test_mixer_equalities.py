"""Where two mixers must be the same: degenerate cases, and implementations that nobody here wrote."""

import math

import pytest
import torch

from limen.core.architecture import Architecture
from limen.core.mixer import Mixer
from limen.laws.mixer import F64, WIDTH, generic, inputs
from limen.mixers._delta import unit
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.lstm import Lstm
from limen.mixers.mamba2 import Mamba2
from limen.mixers.nsa import Nsa
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7
from limen.mixers.softmax import Softmax

N = 40


def parsed(text: str) -> Mixer:
    return Architecture.parse(text).layers[0].parts[0].mixer


def assert_equal(left: torch.Tensor, right: torch.Tensor) -> None:
    torch.testing.assert_close(left, right, rtol=0, atol=1e-10)


def shared(w: dict[str, torch.Tensor], mixer: Mixer) -> dict[str, torch.Tensor]:
    """The weights that the other mixer has too."""
    return {name: w[name] for name in mixer.shapes(WIDTH)}


@pytest.mark.parametrize(
    "wide",
    [
        f"window(h=2,d=3,W={N})",
        f"masked_softmax(h=2,d=3,first=0,last={N})",
        f"masked_softmax(h=2,d=3,first={N - 5},last=5)",
        f"top_k(h=2,d=3,k={N})",
    ],
)
def test_attention_to_enough_tokens_is_full_attention(wide: str) -> None:
    mixer, full, x = parsed(wide), Softmax(h=2, d=3), inputs(2, N)
    w = generic(mixer)
    for run in (mixer.mix, mixer.fast):
        assert_equal(run(w, x), full.mix(shared(w, full), x))


def test_blocks_of_one_token_all_selected_are_full_attention_whatever_the_gate() -> None:
    mixer, full, x = BlockSparse(h=2, d=3, B=1, k=N), Softmax(h=2, d=3), inputs(2, N)
    w = generic(mixer)
    w |= {"PK": torch.ones_like(w["PK"]), "PV": torch.ones_like(w["PV"])}
    assert_equal(mixer.mix(w, x), full.mix(shared(w, full), x))


def test_three_branches_that_see_all_tokens_are_full_attention_three_times_over() -> None:
    """Every block is one token and read, the window is as long as the text, and all gates are 1/2."""
    mixer, full, x = Nsa(h=4, d=3, kv_heads=2, B=1, k=N, W=N), Softmax(h=4, d=3, kv_heads=2), inputs(2, N)
    w = generic(mixer)
    w |= {"PK": torch.ones_like(w["PK"]), "PV": torch.ones_like(w["PV"]), "G": torch.zeros_like(w["G"])}
    for run in (mixer.mix, mixer.fast, mixer.gathered):
        assert_equal(run(w, x), 1.5 * full.mix(shared(w, full), x))


def test_nsa_token_by_token_and_head_by_head() -> None:
    """By loops: the heads of a set read the same best block, beside those that are always read."""
    mixer, x = Nsa(h=4, d=3, kv_heads=2, B=3, k=1, W=2), inputs(N)
    w, B = generic(mixer), 3
    q, k, v = mixer.heads(w, x)  # (h, n, d)
    gates = (x @ w["G"]).sigmoid().unflatten(-1, (3, mixer.h))

    def read(h: int, i: int, tokens: list[int]) -> torch.Tensor:
        return (k[h, tokens] @ q[h, i]).softmax(-1) @ v[h, tokens]

    for i in (0, 2, 5, 11, N - 1):
        own, blocks = i // B, [slice(c * B, c * B + B) for c in range((i + 1) // B)]
        looks, y = torch.zeros(2, len(blocks), dtype=F64), []
        messages: list[torch.Tensor] = []
        for h in range(mixer.h):
            keys = [w["PK"][h // 2] @ k[h, block] for block in blocks]
            α = (
                torch.stack([q[h, i] @ key for key in keys]).softmax(-1)
                if blocks
                else torch.zeros(0, dtype=F64)
            )
            looks[h // 2] += α
            values = [w["PV"][h // 2] @ v[h, block] for block in blocks]
            messages.append(sum((a * u for a, u in zip(α, values, strict=True)), torch.zeros(3, dtype=F64)))
        for h in range(mixer.h):
            best = max(range(1, own - 1), key=lambda c, h=h: float(looks[h // 2, c]), default=own)
            seen = [j for j in range(i + 1) if j // B in {0, best, own - 1, own}]
            branches = messages[h], read(h, i, seen), read(h, i, [j for j in (i - 1, i) if j >= 0])
            y.append(sum(g * branch for g, branch in zip(gates[i, :, h], branches, strict=True)))
        assert_equal(mixer.mix(w, x)[i], torch.cat([torch.as_tensor(one) for one in y]) @ w["O"])


def test_a_convolution_over_one_token_with_a_kernel_of_ones_is_none() -> None:
    mixer, full, x = parsed("conv_softmax(h=2,d=3,c=1)"), Softmax(h=2, d=3), inputs(2, N)
    w = generic(mixer)
    w |= {"conv": torch.ones_like(w["conv"])}
    for run in (mixer.mix, mixer.fast):
        assert_equal(run(w, x), full.mix(shared(w, full), x))


def test_a_kernel_that_looks_one_token_back_shifts_what_is_projected() -> None:
    """Only the queries: each token asks what the token before would have asked."""
    mixer, x = parsed("conv_softmax(h=2,d=3,c=2)"), inputs(2, N)
    w = generic(mixer)
    w["conv"] = torch.cat([torch.zeros_like(w["conv"][:1]), torch.ones_like(w["conv"][:1])])
    w["conv"][:, :6] = w["conv"][:, :6].flip(0)  # the first h·d_k channels are the queries
    k, v = ((x @ w[name]).unflatten(-1, (2, 3)).transpose(1, 2) for name in "KV")
    q = (torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1] @ w["Q"]).unflatten(-1, (2, 3)).transpose(1, 2)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1)
    assert_equal(mixer.mix(w, x), y.transpose(1, 2).flatten(-2) @ w["O"])


def test_a_window_is_the_last_tokens_alone() -> None:
    window, first_none, x = (
        parsed("window(h=2,d=3,W=5)"),
        parsed("masked_softmax(h=2,d=3,first=0,last=5)"),
        inputs(N),
    )
    w = generic(window)
    assert_equal(first_none.mix(w, x), window.mix(w, x))
    assert_equal(window.mix(w, x)[-1], Softmax(h=2, d=3).mix(w, x[-5:])[-1])


@pytest.mark.parametrize("attention", ["softmax(h=2,d=3)", "window(h=2,d=3,W=7)"])
def test_hard_attention_is_the_limit_of_softmax_at_zero_temperature(attention: str) -> None:
    x = inputs(2, N)
    w = generic(Softmax(h=2, d=3))
    cold = Softmax(h=2, d=3).mix(w | {"Q": 1e6 * w["Q"]}, x)
    assert_equal(parsed("hard(h=2,d=3)").mix(w, x), cold)


def test_hard_attention_takes_the_leftmost_of_equals() -> None:
    hard = parsed("hard(h=1,d=1)")
    w = {k: torch.zeros(s, dtype=F64) for k, s in hard.shapes(WIDTH).items()}
    w["V"][0, 0] = w["O"][0, 0] = 1  # all scores are 0
    x = inputs(9)
    assert torch.equal(hard.mix(w, x)[:, 0], x[:1, 0].expand(9))


def test_a_gate_of_one_is_no_gate() -> None:
    gated, x = GatedLinear(h=2, d=3), inputs(2, N)
    plain = Linear(h=2, d=3, phi=parsed("linear(phi=identity)").phi, normalise=False)  # type: ignore[attr-defined]
    w = generic(gated)
    w |= {"A": torch.zeros_like(w["A"]), "a": torch.full_like(w["a"], 100)}  # σ(100) = 1 in float64
    for run in (gated.mix, gated.fast):
        assert_equal(run(w, x), plain.mix(shared(w, plain), x))
    gated_delta = GatedDelta(h=2, d=3, c=4)
    delta = parsed("delta(h=2,d=3,c=4)")
    w = generic(gated_delta)
    w["A"] = torch.full_like(w["A"], -1000)  # the rate exp(A) is 0
    for run in (gated_delta.mix, gated_delta.fast):
        assert_equal(run(w, x), delta.mix(shared(w, delta), x))


def test_retention_is_a_gate_that_never_moves() -> None:
    retnet, x = Retnet(h=3, d=3, d_k=5), inputs(2, N)
    gated = GatedLinear(h=3, d=3, d_k=5)
    w = generic(retnet)
    γ = torch.tensor([31 / 32, 63 / 64, 127 / 128], dtype=F64).repeat_interleave(5)
    fixed = w | {"A": torch.zeros(WIDTH, 15, dtype=F64), "a": γ.logit()}
    for run in (retnet.mix, retnet.fast):
        assert_equal(run(w, x), gated.mix(fixed, x))


def test_rwkv7_without_removal_is_gated_linear_attention_and_without_fading_linear_attention() -> None:
    rwkv7, x = Rwkv7(h=2, d=3, d_k=5), inputs(2, N)
    w = generic(rwkv7)
    w |= {"x": torch.zeros_like(w["x"]), "l": torch.zeros_like(w["l"]), "T": torch.zeros_like(w["T"])}
    gated = w | {"A": w["T"], "a": (-w["t"].sigmoid() * math.exp(-0.5)).exp().logit()}
    for run in (rwkv7.mix, rwkv7.fast):
        assert_equal(run(w, x), GatedLinear(h=2, d=3, d_k=5).mix(gated, x))
    w["t"] = torch.full_like(w["t"], -200)
    plain = Linear(h=2, d=3, d_k=5, phi=parsed("linear(phi=identity)").phi, normalise=False)  # type: ignore[attr-defined]
    for run in (rwkv7.mix, rwkv7.fast):
        assert_equal(run(w, x), plain.mix(shared(w, plain), x))


def test_rwkv7_with_keys_of_length_one_and_one_rate_for_all_rows_is_the_delta_rule() -> None:
    """Tokens are unit vectors and rows of W_K have length 1: so do keys; α = ξ = 1, and nothing fades."""
    rwkv7, delta = Rwkv7(h=2, d=3, d_k=5), parsed("delta(h=2,d=3,d_k=5)")
    w, x = generic(delta), torch.eye(WIDTH, dtype=F64).repeat(1, N // WIDTH + 1, 1)
    w["K"] = torch.nn.functional.normalize(w["K"].unflatten(-1, (2, 5)), dim=-1).flatten(-2)
    one = torch.ones(10, dtype=F64)
    same = w | {"T": torch.zeros(WIDTH, 10, dtype=F64), "t": -200 * one, "x": one, "l": one}
    same |= {name: w[name].repeat_interleave(5, -1) for name in "Bb"}
    same["Q"] = unit((x @ w["Q"]).unflatten(-1, (2, 5))).flatten(-2)[0, :WIDTH]  # `delta` scales q, too
    for run in (rwkv7.mix, rwkv7.fast):
        torch.testing.assert_close(
            run(same, x), delta.mix(w, x), rtol=0, atol=1e-5
        )  # it adds 10⁻⁶ to lengths


def test_rows_that_fade_alike_are_a_gate_of_a_head() -> None:
    rows, x = Kda(h=2, d=3, d_k=5, c=4), inputs(2, N)
    heads = GatedDelta(h=2, d=3, d_k=5, c=4)
    w = generic(heads)
    alike = w | {
        name: w[name].repeat_interleave(5, -1) for name in ("T", "t")
    }  # one number a row, all the same
    assert_equal(rows.mix(alike, x), heads.mix(w, x))


def test_a_closed_gate_forgets_everything_and_nothing_overflows() -> None:
    gated, x = GatedLinear(h=2, d=3), inputs(2, N)
    w = generic(gated)
    w |= {"A": torch.zeros_like(w["A"]), "a": torch.full_like(w["a"], -60)}  # σ(-60) ≈ 10⁻²⁶
    alone = torch.cat([gated.mix(w, x[:, t : t + 1]) for t in range(N)], dim=1)
    for run in (gated.mix, gated.fast):
        assert_equal(run(w, x), alone)


def ones(w: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Level weights λ = softplus(ln(e-1)) = 1."""
    return w | {"L": torch.zeros_like(w["L"]), "l": torch.full_like(w["l"], math.log(math.e - 1))}


def test_equal_level_weights_are_no_levels() -> None:
    x = inputs(2, N)
    levelled, plain = LogLinear(h=2, d=3), Linear(h=2, d=3)
    w = generic(levelled)
    for λ in (ones(w), w | {"L": torch.zeros_like(w["L"]), "l": torch.full_like(w["l"], 2.5)}):
        assert_equal(levelled.fast(λ, x), plain.mix(shared(w, plain), x))
    delta = GatedDelta(h=2, d=3)
    over_delta = LogLinear(h=2, d=3, over="gated_delta")
    w = generic(over_delta)
    assert_equal(over_delta.fast(ones(w), x), delta.mix(shared(w, delta), x))


def test_log_linear_keeps_as_many_states_as_its_binary_counter_has_ones() -> None:
    mixer = LogLinear(h=1, d=4)
    one = mixer.state_bits(1, 16)
    assert [mixer.state_bits(n, 16) // one for n in (1, 2, 3, 4, 5, 8, 9, 1023, 1024, 1025)] == [
        1, 2, 2, 3, 2, 4, 2, 10, 11, 2,
    ]  # fmt: skip


def test_state_bits_of_the_papers() -> None:
    """H·d(d+1)·p for linear attention; conv caches and windows are counted."""
    assert Linear(h=1, d=16).state_bits(10**6, 16) == 16 * 17 * 16
    assert parsed("window(h=8,d=64,W=512)").state_bits(10**6, 16) == 511 * 2 * 8 * 64 * 16
    assert parsed("window(h=8,d=64,W=512)").state_bits(3, 16) == 3 * 2 * 8 * 64 * 16
    assert parsed("gated_delta(h=16,d=128,c=4)").state_bits(1, 16) == (16 * 128 * 128 + 3 * 3 * 16 * 128) * 16
    assert parsed("mamba(d=8192,s=16,c=4)").state_bits(1, 16) == 8192 * (16 + 3) * 16
    assert Mamba2(h=128, d=64, s=128).state_bits(1, 32) == (128 * 64 * 128 + 3 * (128 * 64 + 256)) * 32
    assert parsed("lstm(d=64)").state_bits(1, 32) == 2 * 64 * 32


# Implementations that nobody here wrote


def test_linear_attention_is_the_recurrence_of_the_slides() -> None:
    """S_i = S_{i-1} + φ(Kx_i) ⊗ Vx_i, Z_i = Z_{i-1} + φ(Kx_i), y_i = S_iᵀφ(Qx_i) / Z_iᵀφ(Qx_i)."""
    mixer, x = Linear(h=1, d=3), inputs(2, N)
    w = generic(mixer)
    q, k, v = (x @ w[name] for name in "QKV")
    q, k = (torch.nn.functional.elu(features) + 1 for features in (q, k))
    S, Z, y = torch.zeros(2, 3, 3, dtype=F64), torch.zeros(2, 3, dtype=F64), []
    for i in range(N):
        S, Z = S + k[:, i, :, None] * v[:, i, None, :], Z + k[:, i]
        y.append(torch.einsum("bk,bkd->bd", q[:, i], S) / (q[:, i] * Z).sum(-1, keepdim=True))
    assert_equal(mixer.mix(w, x), torch.stack(y, 1) @ w["O"])


@pytest.mark.parametrize("bidirectional", [False, True])
def test_softmax_is_torchs_attention(bidirectional: bool) -> None:
    mixer, x = Softmax(h=2, d=3, bidirectional=bidirectional), inputs(2, N)
    w = generic(mixer)
    q, k, v = ((x @ w[name]).unflatten(-1, (2, 3)).transpose(1, 2) for name in "QKV")
    attention = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=not bidirectional, scale=1
    )
    assert_equal(mixer.mix(w, x), attention.transpose(1, 2).flatten(-2) @ w["O"])


def test_lstm_is_torchs_lstm() -> None:
    mixer, x = Lstm(d=5), inputs(2, N)
    w = generic(mixer)
    net = torch.nn.LSTM(WIDTH, 5, batch_first=True, dtype=F64)
    with torch.no_grad():
        net.weight_ih_l0.copy_(w["U"].T)
        net.weight_hh_l0.copy_(w["W"].T)
        net.bias_ih_l0.copy_(w["b"])
        net.bias_hh_l0.zero_()
        assert_equal(mixer.mix(w, x), net(x)[0] @ w["O"])
