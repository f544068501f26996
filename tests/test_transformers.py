"""Our mixers against transformers' torch code: the same weights, the same input, the same output.

transformers computes parts of recurrences in float32 whatever it is given: they agree to that precision;
its attention is compared in float64, with the gradients.
"""

import inspect

import pytest
import torch
from torch import Tensor

from limen.laws.mixer import F64, WIDTH, generic, inputs
from limen.mixers.dsa import Dsa
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.kda import Kda
from limen.mixers.mamba import Mamba
from limen.mixers.mamba2 import Mamba2
from limen.mixers.mla import Mla

pytestmark = [pytest.mark.hf, pytest.mark.filterwarnings("ignore")]
F32 = torch.float32
lengths = pytest.mark.parametrize("n", [1, 7, 33, 100])

pytest.importorskip("transformers", reason="the extra `hf` is not installed")


def assert_close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-5)


@lengths
@pytest.mark.parametrize("mixer", GatedDelta.examples(), ids=str)
@pytest.mark.parametrize("rule", ["torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule"])
def test_gated_delta_is_that_of_qwen3_next(mixer: GatedDelta, rule: str, n: int) -> None:
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    w, x = generic(mixer, dtype=F32), inputs(2, n, dtype=F32)
    qkv = torch.cat([x @ w[name] for name in "QKV"], -1)  # (batch, n, channels)
    if mixer.c > 1:
        convolve = inspect.unwrap(qwen.causal_conv1d_fn)
        qkv = convolve(qkv.mT, w["conv"].mT, None, activation="silu").mT
    keys, values = mixer.h * mixer.key_size, mixer.h * mixer.d
    q, k, v = (part.unflatten(-1, (mixer.h, -1)) for part in qkv.split([keys, keys, values], -1))
    g = -w["A"].exp() * torch.nn.functional.softplus(x @ w["T"] + w["t"])
    β = (x @ w["B"] + w["b"]).sigmoid()
    their_rule = inspect.unwrap(getattr(qwen, rule))  # past the dispatch to a GPU kernel
    y, _ = their_rule(q, k, v, g, β, use_qk_l2norm_in_kernel=True)  # (batch, n, h, d)
    theirs = mixer.key_size**0.5 * y.flatten(-2) @ w["O"]  # they scale q by d_k^-½
    for run in (mixer.mix, mixer.fast):
        assert_close(run(w, x), theirs)


@lengths
@pytest.mark.parametrize("mixer", Kda.examples(), ids=str)
@pytest.mark.parametrize("rule", ["chunk_kimi_delta_attention", "recurrent_kimi_delta_attention"])
def test_kda_is_that_of_kimi_linear(mixer: Kda, rule: str, n: int) -> None:
    from transformers.models.kimi_linear import modeling_kimi_linear as kimi

    w, x = generic(mixer, dtype=F32), inputs(2, n, dtype=F32)
    qkv = torch.cat([x @ w[name] for name in "QKV"], -1)  # (batch, n, channels)
    if mixer.c > 1:
        convolve = inspect.unwrap(kimi.causal_conv1d_fn)
        qkv = convolve(qkv.mT, w["conv"].mT, None, activation="silu").mT
    keys, values = mixer.h * mixer.key_size, mixer.h * mixer.d
    q, k, v = (part.unflatten(-1, (mixer.h, -1)) for part in qkv.split([keys, keys, values], -1))
    steps = torch.nn.functional.softplus(x @ w["T"] + w["t"]).unflatten(-1, (mixer.h, -1))
    g = -w["A"].exp().unsqueeze(-1) * steps  # (batch, n, h, d_k)
    β = (x @ w["B"] + w["b"]).sigmoid()
    sizes = {"initial_state": None, "output_final_state": False, "use_qk_l2norm_in_kernel": True}
    y, _ = inspect.unwrap(getattr(kimi, rule))(q, k, v, g, β, **sizes)  # (batch, n, h, d)
    assert_close(mixer.mix(w, x), mixer.key_size**0.5 * y.flatten(-2) @ w["O"])  # they scale q by d_k^-½


@lengths
@pytest.mark.parametrize("mixer", [Mamba(d=2 * WIDTH, s=4), Mamba(d=WIDTH, s=3, c=2, r=3)], ids=str)
def test_mamba_is_that_of_transformers(mixer: Mamba, n: int) -> None:
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    w, x = generic(mixer, dtype=F32), inputs(2, n, dtype=F32)
    config = MambaConfig(
        hidden_size=WIDTH,
        expand=mixer.d // WIDTH,
        state_size=mixer.s,
        conv_kernel=mixer.c,
        time_step_rank=mixer.rank,
        num_hidden_layers=1,
    )
    theirs = MambaMixer(config, layer_idx=0).eval()
    theirs.load_state_dict(
        {
            "in_proj.weight": torch.cat([w["X"], w["Z"]], 1).T,
            "conv1d.weight": w["conv"].T.unsqueeze(1),
            "conv1d.bias": w["conv_bias"],
            "x_proj.weight": torch.cat([w["R"], w["B"], w["C"]], 1).T,
            "dt_proj.weight": w["T"].T,
            "dt_proj.bias": w["t"],
            "A_log": w["A"],
            "D": w["D"],
            "out_proj.weight": w["O"].T,
        }
    )
    for run in (mixer.mix, mixer.fast):
        assert_close(run(w, x), theirs(x))


@lengths
@pytest.mark.parametrize("mixer", [Mamba2(h=3, d=4, s=5), Mamba2(h=2, d=3, s=4, c=2)], ids=str)
def test_mamba2_is_that_of_transformers(mixer: Mamba2, n: int) -> None:
    from transformers import Mamba2Config
    from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

    w, x = generic(mixer, dtype=F32), inputs(2, n, dtype=F32)
    config = Mamba2Config(
        hidden_size=WIDTH,
        expand=mixer.h * mixer.d // WIDTH,
        num_heads=mixer.h,
        head_dim=mixer.d,
        state_size=mixer.s,
        conv_kernel=mixer.c,
        n_groups=1,
        chunk_size=16,
        num_hidden_layers=1,
    )
    theirs = Mamba2Mixer(config, layer_idx=0).eval()
    theirs.load_state_dict(
        {
            "in_proj.weight": torch.cat([w[name] for name in "ZXBCT"], 1).T,
            "conv1d.weight": w["conv"].T.unsqueeze(1),
            "conv1d.bias": w["conv_bias"],
            "dt_bias": w["t"],
            "A_log": w["A"],
            "D": w["D"],
            "norm.weight": w["norm"],
            "out_proj.weight": w["O"].T,
        }
    )
    for run in (mixer.mix, mixer.fast):
        assert_close(run(w, x), theirs(x))


Weights = dict[str, Tensor]


def assert_same_attention(
    mixer: Mla | GatedSoftmax | Dsa, theirs: torch.nn.Module, named: Weights, w: Weights
) -> None:
    """Outputs and gradients in float64; `named` are their weights, made of ours, and nothing is rotated."""
    for n in (1, 7, 33, 100):
        x, direction = inputs(2, n).requires_grad_(), inputs(2, n, seed=3)
        turns = torch.ones(1, n, 2, dtype=F64), torch.zeros(1, n, 2, dtype=F64)
        of_theirs = {f"{name}.weight": v.T for name, v in named.items()}
        past = torch.ones(n, n, dtype=torch.bool).tril().expand(2, 1, n, n)
        z, _ = torch.func.functional_call(
            theirs, of_theirs, (x, turns, past if isinstance(mixer, Dsa) else None)
        )
        for run in (mixer.mix, mixer.fast):
            y = run(w, x)
            torch.testing.assert_close(y, z, rtol=0, atol=1e-10)
            ours, its = (
                torch.autograd.grad(
                    (out * direction).sum(), [x, *w.values()], retain_graph=True, allow_unused=True
                )
                for out in (y, z)
            )
            for name, a, b in zip(["x", *w], ours, its, strict=True):
                if name in ("IQ", "IK", "IW"):  # whom they choose has no gradient
                    assert a is None and b is None
                    continue
                torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mixer", [Mla(h=3, d=4, d_k=6, r=5, d_r=2), Mla(h=2, d=4)], ids=str)
def test_mla_is_that_of_deepseek_v3(mixer: Mla) -> None:
    """With nothing in place of the norm of the latent, which our mixer leaves out, as it does rotations."""
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

    config = DeepseekV3Config(
        hidden_size=WIDTH, num_attention_heads=mixer.h, num_key_value_heads=mixer.h, q_lora_rank=None,
        kv_lora_rank=mixer.latent, qk_rope_head_dim=mixer.shared, qk_nope_head_dim=mixer.own,
        v_head_dim=mixer.d, attn_implementation="sdpa",
    )  # fmt: skip
    theirs = DeepseekV3Attention(config, layer_idx=0).double()
    theirs.kv_a_layernorm = torch.nn.Identity()
    w = {name: part.requires_grad_() for name, part in generic(mixer).items()}
    named = {
        "q_proj": w["Q"] * mixer.key_size**0.5,  # they scale scores by d_k^-½
        "kv_a_proj_with_mqa": torch.cat([w["C"], w["R"]], -1),
        "kv_b_proj": torch.cat([w["UK"], w["UV"]], -1).flatten(-2),  # of each head the key, then the value
        "o_proj": w["O"],
    }
    assert_same_attention(mixer, theirs, named, w)


@pytest.mark.parametrize(
    "mixer",
    [Dsa(h=3, d=4, k=5, d_k=6, r=5, d_r=2, h_i=12, d_i=4), Dsa(h=2, d=4, k=40, h_i=12, d_i=6)],
    ids=str,
)
def test_dsa_is_that_of_deepseek_v32(mixer: Dsa) -> None:
    """Theirs reads some k tokens where scores are equal; with many index heads few are."""
    from transformers import DeepseekV32Config
    from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Attention

    mla = mixer.mla
    config = DeepseekV32Config(
        hidden_size=WIDTH, num_attention_heads=mixer.h, num_key_value_heads=mixer.h, q_lora_rank=WIDTH,
        kv_lora_rank=mla.latent, qk_rope_head_dim=mla.shared, qk_nope_head_dim=mla.own, v_head_dim=mixer.d,
        index_n_heads=mixer.h_i, index_head_dim=mixer.d_i, index_topk=mixer.k, attn_implementation="sdpa",
    )  # fmt: skip
    theirs = DeepseekV32Attention(config, layer_idx=0).double()
    theirs.kv_a_layernorm = theirs.q_a_layernorm = theirs.indexer.k_norm = torch.nn.Identity()
    w = {name: part.requires_grad_() for name, part in generic(mixer).items()}
    named = {
        "q_a_proj": torch.eye(WIDTH, dtype=F64),
        "q_b_proj": w["Q"] * mixer.key_size**0.5,
        "kv_a_proj_with_mqa": torch.cat([w["C"], w["R"]], -1),
        "kv_b_proj": torch.cat([w["UK"], w["UV"]], -1).flatten(-2),
        "o_proj": w["O"],
        "indexer.wq_b": w["IQ"] * mixer.d_i**0.5,
        "indexer.wk": w["IK"],
        "indexer.weights_proj": w["IW"] * mixer.h_i**0.5,
    }
    assert_same_attention(mixer, theirs, named, w)


@pytest.mark.parametrize("mixer", [GatedSoftmax(h=2, d=2), GatedSoftmax(h=6, d=2, kv_heads=2)], ids=str)
def test_gated_softmax_is_that_of_qwen3_next(mixer: GatedSoftmax) -> None:
    """With nothing in place of the norms of queries and keys."""
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

    config = Qwen3NextConfig(
        hidden_size=WIDTH, num_attention_heads=mixer.h, num_key_value_heads=mixer.kv_sets, head_dim=mixer.d,
        attn_implementation="sdpa",
    )  # fmt: skip
    theirs = Qwen3NextAttention(config, layer_idx=0).double()
    theirs.q_norm = theirs.k_norm = torch.nn.Identity()
    w = {name: part.requires_grad_() for name, part in generic(mixer).items()}
    q, gate = (part.unflatten(-1, (mixer.h, mixer.d)) for part in (w["Q"] * mixer.d**0.5, w["G"]))
    named = {
        "q_proj": torch.cat([q, gate], -1).flatten(-2),
        "k_proj": w["K"],
        "v_proj": w["V"],
        "o_proj": w["O"],
    }
    assert_same_attention(mixer, theirs, named, w)
