"""Mixers of released models beside the implementations of others: values, gradients, tokens a second.

fla's naive functions, transformers' DeepSeek-V3, Qwen3-Next and Swin V2, the time mixing of the package
`rwkv`, and the retention of torchscale, each where it is installed; S4D of its authors from a file:
`python benchmarks/outside.py [--page docs/mixers.md] [path of s4d.py]`.  The same weights and inputs in
float32; exits 1 where somebody computes another function.  With --page, that page's tables are written anew.
"""

import argparse
import importlib.util
import math
import os
import re
import sys
import types
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from timing import least_cpu_seconds

from limen.core.mixer import Mixer, Streaming
from limen.laws.mixer import tensors
from limen.mixers.dsa import Dsa
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.mla import Mla
from limen.mixers.nsa import Nsa
from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN, Looped, running_by
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7
from limen.mixers.s4d import S4d
from limen.mixers.unit_softmax import UnitSoftmax

warnings.filterwarnings("ignore")
os.environ |= {"RWKV_JIT_ON": "0", "RWKV_V7_ON": "1"}
TEXTS, N, H, D = 4, 256, 4, 32
WIDTH = H * D
NSA = Nsa(16, WIDTH // 16, kv_heads=1, B=16, k=3, W=32)  # theirs wants 16 heads or more to share a set
DSA = Dsa(
    H, D, k=32, h_i=12, d_i=16
)  # with few index heads many scores are 0, and theirs breaks ties otherwise
FULL = Mla(H, D), GatedSoftmax(H, D), UnitSoftmax(H, D), NSA, DSA
MIXERS = *FULL, Retnet(H, D), Rwkv7(H, D), S4d(WIDTH, 16)
NEAR = 2e-5  # of the largest number: float32, sums of some hundred terms in another order
Weights = dict[str, torch.Tensor]
Run = Callable[[Weights, torch.Tensor], torch.Tensor]


class Pair(NamedTuple):
    """A mixer, the same by somebody else, and what ours goes through before they are compared."""

    mixer: Mixer
    peer: str
    theirs: Run
    then: Callable[[torch.Tensor], torch.Tensor] = lambda y: y
    changed: Callable[[Weights], Weights] = lambda w: w


def heads(x: torch.Tensor) -> torch.Tensor:
    """(texts, n, h·d) -> (texts, h, n, d)."""
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def joined(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(-2)


def normed(y: torch.Tensor) -> torch.Tensor:
    """Each head by its root mean square, as behind retention."""
    y = y.unflatten(-1, (H, -1))
    return (y * (y.square().mean(-1, keepdim=True) + 1e-12).rsqrt()).flatten(-2)


def through_identity(w: Weights) -> Weights:
    return w | {"O": torch.eye(WIDTH)}


def pairs(s4d: Path | None) -> list[Pair]:
    """Those that can be had here."""
    found = []
    if find_spec("fla"):
        found += _fla()
    if find_spec("transformers"):
        found += _transformers()
    if find_spec("rwkv"):
        found.append(_rwkv())
    if find_spec("torchscale"):
        found.append(_torchscale())
    return [*found, *([] if s4d is None else [_s4d(s4d)])]


def _fla() -> list[Pair]:
    from fla.ops.generalized_delta_rule.dplr.naive import dplr_chunkwise, dplr_recurrence
    from fla.ops.retention.naive import naive_retention

    def retention(w: Weights, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (heads(x @ w[name]) for name in "QKV")
        return joined(naive_retention(D**0.5 * q, k, v)) @ w["O"]  # they divide queries by it

    def goose(rule: Callable[..., Any]) -> Run:
        def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
            k, a = x @ w["K"], (x @ w["B"] + w["b"]).sigmoid()
            κ = torch.nn.functional.normalize(heads(k * w["x"]), dim=-1)
            ln_w = -0.6065306597126334 * (x @ w["T"] + w["t"]).sigmoid()
            q, k, v, a = map(heads, (x @ w["Q"], k * (1 + (a - 1) * w["l"]), x @ w["V"], a))
            return joined(rule(D**0.5 * q, k, v, -κ, κ * a, heads(ln_w))[0]) @ w["O"]

        return run

    mixer = Rwkv7(H, D)
    return [
        Pair(NSA, "fla naive_nsa", _naive_nsa()),
        Pair(Retnet(H, D), "fla naive_retention", retention),
        Pair(mixer, "fla dplr_recurrence", goose(dplr_recurrence)),
        Pair(mixer, "fla dplr_chunkwise", goose(dplr_chunkwise)),
    ]


def _naive_nsa() -> Run:
    """Theirs, where torch stands in for two kernels for GPUs: the mean over a block, and the window."""
    from fla.ops.nsa import naive

    def mean_pooling(x: torch.Tensor, B: int, *_: object) -> torch.Tensor:
        return x.unflatten(1, (-1, B)).mean(2)

    def window(
        *qkv: torch.Tensor, causal: bool, window_size: tuple[int, int]
    ) -> torch.Tensor:  # (texts, n, heads, d)
        apart = torch.arange(N).unsqueeze(-1) - torch.arange(N)
        seen = (apart >= -window_size[1]) & (apart <= window_size[0])
        q, k, v = (part.transpose(1, 2) for part in qkv)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, seen, scale=1.0, enable_gqa=True)
        return y.transpose(1, 2)

    naive.mean_pooling, naive.flash_attn_func = mean_pooling, window

    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        q, k, v = ((x @ w[name]).unflatten(-1, (-1, NSA.d)) for name in "QKV")
        gates = (x @ w["G"]).sigmoid().chunk(3, -1)
        blocks = {"block_counts": NSA.k + 3, "block_size": NSA.B, "window_size": NSA.W}
        y = naive.naive_nsa(q, k, v, *gates, **blocks, scale=1.0)
        return torch.as_tensor(y).flatten(-2) @ w["O"]

    return run


def _transformers() -> list[Pair]:
    """Nothing is rotated, and their norms of the latent, of queries and of keys are left out."""
    from transformers import DeepseekV3Config, DeepseekV32Config, Qwen3NextConfig
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
    from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Attention
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

    mla, gated = Mla(H, D), GatedSoftmax(H, D)
    sizes = {"hidden_size": WIDTH, "num_attention_heads": H, "num_key_value_heads": H}
    latent = DeepseekV3Config(
        **sizes, q_lora_rank=None, kv_lora_rank=mla.latent, qk_rope_head_dim=mla.shared,
        qk_nope_head_dim=mla.own, v_head_dim=D, attn_implementation="sdpa",
    )  # fmt: skip
    deepseek = DeepseekV3Attention(latent, layer_idx=0)
    deepseek.kv_a_layernorm = torch.nn.Identity()
    index = DeepseekV32Config(
        **sizes, q_lora_rank=WIDTH, kv_lora_rank=mla.latent, qk_rope_head_dim=mla.shared,
        qk_nope_head_dim=mla.own, v_head_dim=D, index_n_heads=DSA.h_i, index_head_dim=DSA.d_i,
        index_topk=DSA.k, attn_implementation="sdpa",
    )  # fmt: skip
    sparse = DeepseekV32Attention(index, layer_idx=0)
    sparse.kv_a_layernorm = sparse.q_a_layernorm = sparse.indexer.k_norm = torch.nn.Identity()
    qwen = Qwen3NextAttention(Qwen3NextConfig(**sizes, head_dim=D, attn_implementation="sdpa"), layer_idx=0)
    qwen.q_norm = qwen.k_norm = torch.nn.Identity()

    def by(module: torch.nn.Module, named: Callable[[Weights], Weights], past: Any = None) -> Run:
        size = 2 if past is None else mla.shared  # their index turns a part of its keys, too
        turns = torch.ones(1, N, size), torch.zeros(1, N, size)

        def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
            given = {f"{name}.weight": part.mT for name, part in named(w).items()}
            return torch.as_tensor(torch.func.functional_call(module, given, (x, turns, past))[0])

        return run

    def of_mla(w: Weights) -> Weights:
        return {
            "q_proj": w["Q"] * mla.key_size**0.5,  # they scale scores by d_k^-½
            "kv_a_proj_with_mqa": torch.cat([w["C"], w["R"]], -1),
            "kv_b_proj": torch.cat([w["UK"], w["UV"]], -1).flatten(
                -2
            ),  # of each head the key, then the value
            "o_proj": w["O"],
        }

    def of_dsa(w: Weights) -> Weights:
        plain = {name: part for name, part in of_mla(w).items() if name != "q_proj"}
        index = {"wq_b": w["IQ"] * DSA.d_i**0.5, "wk": w["IK"], "weights_proj": w["IW"] * DSA.h_i**0.5}
        queries = {"q_a_proj": torch.eye(WIDTH), "q_b_proj": of_mla(w)["q_proj"]}
        return plain | queries | {f"indexer.{name}": part for name, part in index.items()}

    def of_gated(w: Weights) -> Weights:
        q, gate = (part.unflatten(-1, (H, D)) for part in (w["Q"] * D**0.5, w["G"]))
        both = torch.cat([q, gate], -1).flatten(-2)
        return {"q_proj": both, "k_proj": w["K"], "v_proj": w["V"], "o_proj": w["O"]}

    causal = torch.ones(N, N, dtype=torch.bool).tril().expand(TEXTS, 1, N, N)
    return [
        Pair(mla, "transformers, DeepseekV3Attention", by(deepseek, of_mla)),
        Pair(DSA, "transformers, DeepseekV32Attention", by(sparse, of_dsa, causal)),
        Pair(gated, "transformers, Qwen3NextAttention", by(qwen, of_gated)),
        Pair(UnitSoftmax(H, D), "transformers, Swinv2SelfAttention", _cosine()),
    ]


def _cosine() -> Run:
    """Theirs looks both ways and adds a bias of the distance: a mask, and a bias that is the same for all."""
    from transformers import Swinv2Config
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    square = math.isqrt(N)  # a text as a picture
    theirs = Swinv2SelfAttention(
        Swinv2Config(qkv_bias=False, attention_probs_dropout_prob=0.0), WIDTH, H, square
    )
    torch.nn.init.zeros_(theirs.continuous_position_bias_mlp[-1].weight)
    past = torch.full((1, N, N), -math.inf).triu(1)

    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        given = {
            f"{name}.weight": w[part].mT for name, part in zip(("query", "key", "value"), "QKV", strict=True)
        }
        given["logit_scale"] = w["t"][:, None, None]
        return torch.as_tensor(torch.func.functional_call(theirs, given, (x, past))[0]) @ w["O"]

    return run


def _rwkv() -> Pair:
    """Its own block, without the last token, the gate and the bonus: what is left is each head's norm."""
    from rwkv.model import RWKV_x070_TMix_seq

    zero, eye = torch.zeros(WIDTH), torch.eye(WIDTH)

    def one(w: Weights, x: torch.Tensor) -> torch.Tensor:
        gate = torch.zeros(WIDTH, 1), torch.full((1, WIDTH), 2.0)  # σ(0)·2 = 1
        rates = w["t"], torch.zeros(WIDTH, 1), torch.zeros(1, WIDTH)  # theirs go through a tanh
        shares = w["b"], eye, w["B"]
        state = torch.zeros(H, D, D)
        mixed = RWKV_x070_TMix_seq(
            *(0, H, D, x, zero, torch.empty(0), state, *[zero] * 6, *rates, *shares, *[zero] * 3, *gate),
            *(w["x"], w["l"], zero, w["Q"], w["K"], w["V"], eye, torch.ones(WIDTH), zero),
        )
        return torch.as_tensor(mixed[0])

    def group_norm(y: torch.Tensor) -> torch.Tensor:
        flat = torch.nn.functional.group_norm(y.flatten(0, 1), H, eps=64e-5)
        return flat.unflatten(0, y.shape[:2])

    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([one(w, text) for text in x])

    def changed(w: Weights) -> Weights:
        return through_identity(w) | {"T": torch.zeros(WIDTH, WIDTH)}

    return Pair(Rwkv7(H, D), "rwkv, its time mixing", run, group_norm, changed)


def _torchscale() -> Pair:
    """Its parallel form divides by sums of scores, which a norm takes away; without the rotation, as here."""
    from torchscale.component.multiscale_retention import MultiScaleRetention

    theirs = types.SimpleNamespace(num_heads=H, head_dim=D)
    h = torch.arange(H, dtype=torch.float32)
    apart = torch.arange(N).unsqueeze(-1) - torch.arange(N)
    mask = torch.exp(apart * torch.log(1 - 2 ** (-5 - h)).view(-1, 1, 1)).tril()

    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        q, k = heads(x @ w["Q"]), heads(x @ w["K"])
        y = MultiScaleRetention.parallel_forward(theirs, q, k, x @ w["V"], mask)  # type: ignore[arg-type]
        return normed(torch.as_tensor(y).flatten(-2))

    return Pair(Retnet(H, D), "torchscale, parallel", run, normed, through_identity)


def _s4d(path: Path) -> Pair:
    """The layer up to its GELU."""
    sys.modules["src.models.nn"] = stub = types.ModuleType("src.models.nn")
    stub.DropoutNd = torch.nn.Dropout  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("s4d_of_its_authors", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mixer = S4d(WIDTH, 16)
    theirs = module.S4D(WIDTH, d_state=32, transposed=False)
    theirs.output_linear = torch.nn.Identity()

    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        given = {"D": w["D"], "kernel.C": torch.stack([w["C_re"], w["C_im"]], -1), "kernel.log_dt": w["t"]}
        given |= {"kernel.log_A_real": w["A_re"], "kernel.A_imag": w["A_im"]}
        y, _ = torch.func.functional_call(theirs, given, (x @ w["X"],))
        return torch.as_tensor(y) @ w["O"]

    return Pair(mixer, "its authors' S4D", run)


def drawn(mixer: Mixer) -> tuple[Weights, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    w = mixer.initial(WIDTH, rng, torch.float32)
    return w, torch.randn(TEXTS, N, WIDTH, generator=rng)


def far(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """The largest difference, as a part of the largest number."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


def compared(pair: Pair) -> tuple[float, float]:
    """How far values and gradients are apart, those of the input and of every weight that both read."""
    w, x = drawn(pair.mixer)
    leaves = {name: part.clone().requires_grad_() for name, part in (pair.changed(w) | {"input": x}).items()}
    found = []
    for run in (pair.mixer.fast, pair.theirs):
        y = run({name: part for name, part in leaves.items() if name != "input"}, leaves["input"])
        y = pair.then(y) if run == pair.mixer.fast else y
        direction = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
        found.append((y, torch.autograd.grad(y, list(leaves.values()), direction, allow_unused=True)))
    (y, ours), (z, theirs) = found
    both = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return far(y, z), max(far(a, b) for a, b in both)


def stepped(run: Run, w: Weights, x: torch.Tensor, backward: bool) -> Callable[[], object]:
    if not backward:
        return torch.no_grad()(lambda: run(w, x))
    leaves = {name: part.clone().requires_grad_() for name, part in w.items()}
    return lambda: run(leaves, x).sum().backward()


def one_by_one(mixer: Mixer, w: Weights, x: torch.Tensor) -> Callable[[], object]:
    assert isinstance(mixer, Streaming)

    @torch.no_grad()
    def run() -> None:
        state = mixer.start(w, ())
        for x_t in x:
            state, _ = mixer.step(w, state, x_t)

    return run


def by(loops: Any, mixer: Mixer) -> Run:
    def run(w: Weights, x: torch.Tensor) -> torch.Tensor:
        with running_by(loops):
            return mixer.fast(w, x)

    return run


def carried(mixer: Mixer) -> tuple[str, str]:
    """Bits at 16 a number that a state after N tokens has, as the mixer says, and counted in its tensors."""
    assert isinstance(mixer, Streaming)
    w, x = drawn(mixer)
    with torch.no_grad():
        state = mixer.absorb(w, x[0])
    said = mixer.state_bits(N, 16)
    said = 16 * mixer.kept(N) if said is None else said
    return f"{said:,}", f"{16 * sum(part.numel() for part in tensors(state)):,}"


def told(mixer: Mixer) -> str:
    """What earlier tokens tell a later one, as the theorems count it."""
    if mixer.state_bits(1, 1) is not None:
        return "the state"
    bits = mixer.reply_bits(16)
    return "no fixed number" if bits is None else f"a reply of {bits:,} bits"


def states() -> list[str]:
    """The table of states: nothing in it depends on the machine."""
    rows = [
        f"| [`{mixer}`](../src/limen/mixers/{Path(sys.modules[type(mixer).__module__].__file__ or '').name}) "
        f"| {told(mixer)} | {' | '.join(carried(mixer))} |"
        for mixer in MIXERS
    ]
    return [
        f"| mixer | what crosses a cut | bits after {N} tokens, as said | counted |",
        "|---|---|---|---|",
        *rows,
    ]


def compared_rows(known: list[Pair]) -> tuple[list[str], int]:
    """The table of comparisons, and how many are of another function."""
    rows, wrong = ["| mixer | implementation | values apart | gradients apart |", "|---|---|---|---|"], 0
    for pair in known:
        values, gradients = compared(pair)
        wrong += not (values < NEAR and gradients < NEAR)
        rows.append(f"| `{pair.mixer}` | {pair.peer} | {values:.1e} | {gradients:.1e} |")
    return rows, wrong


def speeds(known: list[Pair]) -> list[str]:
    """The table of tokens a second."""
    runs: dict[tuple[str, str], tuple[Run, Weights, torch.Tensor]] = {}
    steps: dict[str, Callable[[], object]] = {}
    for mixer in (GatedDelta(H, D), *MIXERS):
        w, x = drawn(mixer)
        loops = {"C": compiled_loops()} if isinstance(mixer, Looped) else {}
        for name, chosen in (loops | {"torch": PLAIN}).items():
            runs[str(mixer), name] = by(chosen, mixer), w, x
        runs |= {
            (str(mixer), pair.peer): (pair.theirs, pair.changed(w), x)
            for pair in known
            if pair.mixer == mixer
        }
        steps[str(mixer)] = one_by_one(mixer, w, x[0])
    rates = [
        {
            name: TEXTS * N / seconds
            for name, seconds in least_cpu_seconds(
                {" by ".join(name): stepped(*run, backward) for name, run in runs.items()}, 5
            ).items()
        }
        for backward in (False, True)
    ]
    one = {name: N / seconds for name, seconds in least_cpu_seconds(steps, 5).items()}
    rows = ["| mixer | by | forward | forward and backward | `step` |", "|---|---|---|---|---|"]
    seen: set[str] = set()
    for name in runs:
        forward, both = (rate[" by ".join(name)] for rate in rates)
        step = "" if name[0] in seen else f"{one[name[0]]:,.0f}"
        seen.add(name[0])
        rows.append(f"| `{name[0]}` | {name[1]} | {forward:,.0f} | {both:,.0f} | {step} |")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("s4d", type=Path, nargs="?", help="S4D as its authors publish it")
    parser.add_argument("--page", type=Path, help="a page whose tables are written anew")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    known = pairs(asked.s4d)
    compared_, wrong = compared_rows(known)
    tables = {"states": states(), "compared": compared_, "speeds": speeds(known)}
    for rows in tables.values():
        print("\n".join(rows), end="\n\n")
    if asked.page is not None:
        text = asked.page.read_text()
        for name, rows in tables.items():
            between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
            text = between.sub(
                lambda ends, rows=rows: "\n".join([ends[1] + rows[0], *rows[1:], ends[2]]), text
            )
        asked.page.write_text(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
