"""`fast` beside `mix`, and beside torch's and transformers' own code, forward and forward + backward.

One thread, float32, width 128, 4 heads of 32, batch 8, 256 tokens; the least CPU time of interleaved rounds.
The peers compute the rule alone, on tensors like those that our projections make; ours includes projections.
"""

import inspect
import warnings
from collections.abc import Callable

import torch
from timing import least_cpu_seconds

from limen.core.architecture import Architecture
from limen.core.mixer import Mixer

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
BATCH, N, WIDTH, H, D = 8, 256, 128, 4, 32

MIXERS = [
    f"softmax(h={H},d={D})",
    f"window(h={H},d={D},W=64)",
    f"block_sparse(h={H},d={D},B=16,k=4)",
    f"linear(h={H},d={D})",
    f"gated_linear(h={H},d={D})",
    f"mamba(d={H * D},s=16)",
    f"mamba2(h={H},d={D},s={D})",
    f"delta(h={H},d={D})",
    f"gated_delta(h={H},d={D})",
    f"log_linear(h={H},d={D})",
    f"log_linear(h={H},d={D},over=gated_delta)",
]


def forward(run: Callable[[], torch.Tensor]) -> Callable[[], None]:
    def call() -> None:
        with torch.no_grad():
            run()

    return call


def backward(run: Callable[[], torch.Tensor]) -> Callable[[], None]:
    return lambda: run().sum().backward()


def ours() -> dict[str, dict[str, Callable[[], torch.Tensor]]]:
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(BATCH, N, WIDTH, generator=rng)
    found = {}
    for text in MIXERS:
        mixer: Mixer = Architecture.parse(text).layers[0].parts[0].mixer
        w = {k: v.requires_grad_() for k, v in mixer.initial(WIDTH, rng, torch.float32).items()}
        found[text] = {
            "fast": lambda mixer=mixer, w=w: mixer.fast(w, x),
            "mix": lambda mixer=mixer, w=w: mixer.mix(w, x),
        }
    return found


def peers() -> dict[str, Callable[[], torch.Tensor]]:
    """Rules that others wrote, on tensors of the same sizes."""
    from transformers.models.mamba2 import modeling_mamba2
    from transformers.models.qwen3_next import modeling_qwen3_next

    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=rng).requires_grad_()

    q, k, v = (draw(BATCH, N, H, D) for _ in range(3))
    g, β = draw(BATCH, N, H), draw(BATCH, N, H)
    A, Δ, B, C = draw(H), draw(BATCH, N, H), draw(BATCH, N, 1, D), draw(BATCH, N, 1, D)
    heads = [t.transpose(1, 2) for t in (q, k, v)]
    chunk_rule = inspect.unwrap(modeling_qwen3_next.torch_chunk_gated_delta_rule)
    scan = inspect.unwrap(modeling_mamba2.mamba2_chunk_scan)
    return {
        "torch attention (softmax)": lambda: torch.nn.functional.scaled_dot_product_attention(
            *heads, is_causal=True
        ),
        "transformers qwen3_next (gated_delta)": lambda: chunk_rule(
            q, k, v, -g.exp(), β.sigmoid(), chunk_size=64, use_qk_l2norm_in_kernel=True
        )[0],
        "transformers mamba2 (mamba2)": lambda: scan(v, Δ.exp(), -A.exp(), B, C, chunk_size=64),
    }


def main() -> None:
    runs = {f"{text} {kind}": run for text, kinds in ours().items() for kind, run in kinds.items()} | peers()
    seconds = {
        way: least_cpu_seconds({name: wrap(run) for name, run in runs.items()}, rounds=5)
        for way, wrap in (("forward", forward), ("both", backward))
    }
    print(f"{'':52} {'forward ms':>11} {'and backward':>13}")
    for name in runs:
        print(f"{name:52} {1e3 * seconds['forward'][name]:11.1f} {1e3 * seconds['both'][name]:13.1f}")


if __name__ == "__main__":
    main()
