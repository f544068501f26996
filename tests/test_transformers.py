"""Our recurrences against transformers' torch code: the same weights, the same input, the same output.

transformers computes parts in float32 whatever it is given, so these agree to float32's precision.
"""

import inspect

import pytest
import torch
from torch import Tensor

from limen.laws.mixer import WIDTH, generic, inputs
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.kda import Kda
from limen.mixers.mamba import Mamba
from limen.mixers.mamba2 import Mamba2

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
