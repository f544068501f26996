"""The rules of matrix memories on the same tensors: by torch, in C, and as others wrote them.

Others are flash-linear-attention's naive functions (the rest of it needs a GPU), transformers' torch paths
(`inspect.unwrap`: with fla installed they would call its GPU kernels) and torch's own attention.  Before a
rule is timed its outputs are compared with ours: a peer that computes something else is no peer.
"""

import inspect
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import torch

from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN
from limen.mixers.recurrence.rule import Tokens, _stepping

warnings.filterwarnings("ignore")
Rule = Callable[[], torch.Tensor]


class Size(NamedTuple):
    """So many texts of n tokens, heads and numbers a head."""

    texts: int
    n: int
    H: int = 4
    D: int = 32

    def __str__(self) -> str:
        return f"n={self.n}" if self[2:] == (4, 32) else f"n={self.n}, h={self.H}, d={self.D}"


SMALL = (Size(8, 256), Size(2, 1024))
LARGE, ODD = Size(1, 2048, D=128), Size(1, 777, H=3, D=48)


def rules(size: Size) -> dict[str, Rule]:
    """Each gives (texts, H, n, D), from leaves whose gradients are wanted."""
    rng = torch.Generator().manual_seed(0)
    batch, n, H, D = size
    loops = {"torch": PLAIN} | ({} if compiled_loops() is PLAIN else {"C": compiled_loops()})

    def leaf(x: torch.Tensor) -> torch.Tensor:
        return x.detach().requires_grad_()

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(batch, n, *shape, generator=rng)

    unit = torch.nn.functional.normalize
    q, k, v = leaf(unit(draw(H, D), dim=-1)), leaf(unit(draw(H, D), dim=-1)), leaf(draw(H, D))
    β, g, rows = leaf(draw(H).sigmoid()), leaf(-0.1 * draw(H).exp()), leaf(-0.1 * draw(H, D).exp())
    B, C, levels = leaf(draw(1, D)), leaf(draw(1, D)), leaf(draw(H, n.bit_length()).exp())
    A, Δ = leaf(-torch.ones(H)), leaf(0.1 * draw(H).exp())

    def ours(name: str, tokens: Callable[[], Tokens]) -> dict[str, Rule]:
        return {
            f"{name} {by}": lambda run=run: run.rule(tokens().each(heads_first)) for by, run in loops.items()
        }

    def heads_first(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2)

    def one(x: torch.Tensor) -> torch.Tensor:
        return x.unsqueeze(-1)

    found = {
        **ours("linear", lambda: Tokens(q, k, v)),
        **ours("gated_linear", lambda: Tokens(q, k, v, g=rows)),
        **ours("mamba2", lambda: Tokens(C, B, one(Δ) * v, g=one(A * Δ))),
        **ours("delta", lambda: Tokens(q, k, v, one(β))),
        **ours("gated_delta", lambda: Tokens(q, k, v, one(β), one(g))),
        **ours("kda", lambda: Tokens(q, k, v, one(β), rows)),
        "kda by tokens": lambda: _stepping(Tokens(q, k, v, one(β), rows).each(heads_first)),
        **{
            f"log_linear {by}": lambda run=run: run.levels(
                Tokens(q, k, v, g=one(g)).each(heads_first), heads_first(levels)
            )
            for by, run in loops.items()
        },
    }
    from transformers.models.mamba2 import modeling_mamba2
    from transformers.models.qwen3_next import modeling_qwen3_next

    chunk = inspect.unwrap(modeling_qwen3_next.torch_chunk_gated_delta_rule)
    scan = inspect.unwrap(modeling_mamba2.mamba2_chunk_scan)
    found |= {
        "gated_delta transformers": lambda: heads_first(chunk(q * D**0.5, k, v, g, β, chunk_size=64)[0]),
        "mamba2 transformers": lambda: heads_first(scan(v, Δ, A, B, C, chunk_size=64)),
    }
    if find_spec("fla") is None:
        return found
    from fla.ops.delta_rule.naive import delta_rule_chunkwise
    from fla.ops.gated_delta_rule.naive import naive_chunk_gated_delta_rule
    from fla.ops.gla.naive import naive_recurrent_gla
    from fla.ops.linear_attn.naive import naive_chunk_linear_attn
    from fla.ops.log_linear_attn.naive import naive_log_linear_attn
    from fla.ops.simple_gla.naive import naive_chunk_simple_gla

    s = D**0.5  # they divide queries by it
    return found | {
        "linear fla": lambda: heads_first(_first(naive_chunk_linear_attn(q, k, v, scale=1.0))),
        "gated_linear fla": lambda: heads_first(_first(naive_recurrent_gla(s * q, k, v, rows))),
        "mamba2 fla": lambda: heads_first(
            _first(naive_chunk_simple_gla(*(x.expand_as(v) for x in (C, B)), one(Δ) * v, A * Δ, scale=1.0))
        ),
        "delta fla": lambda: _first(delta_rule_chunkwise(*map(heads_first, (s * q, k, v, β)))),
        "gated_delta fla": lambda: heads_first(_first(naive_chunk_gated_delta_rule(s * q, k, v, g, β))),
        "log_linear fla": lambda: heads_first(_first(naive_log_linear_attn(q, k, v, g, levels))),
    }


def _first(found: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return found[0] if isinstance(found, tuple) else found


def compared(found: dict[str, Rule]) -> None:
    """Raises if somebody computes another function."""
    with torch.no_grad():
        for name, run in found.items():
            rule = name.split()[0]
            wanted, y = found[f"{rule} torch"](), run()
            if y.shape != wanted.shape or not torch.allclose(y, wanted, rtol=1e-3, atol=1e-3):
                gap = (y - wanted).abs().max() if y.shape == wanted.shape else tuple(y.shape)
                raise AssertionError(f"{name} is not the rule that {rule} torch computes: {gap}")


def forward(run: Rule) -> Callable[[], object]:
    return torch.no_grad()(run)


def both(run: Rule) -> Callable[[], object]:
    return lambda: run().sum().backward()
