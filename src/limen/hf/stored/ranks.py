"""What vLLM (and SGLang) hold of the weights on one rank of tensor and pipeline parallelism.

Read in vLLM's sources at a014e35 (August 2026).

linear maps    divided by T: queries, gate and up by rows, outputs and down by columns
keys, values   repeated where there are fewer heads than ranks   layers/linear.py, QKVParallelLinear
vocabulary   rows padded to a multiple of 64, then divided   layers/vocab_parallel_embedding.py
replicated     norms, routers, q_a and kv_a of latent attention, its indexer            models/deepseek_v2.py
experts        their inner size divided, whichever of tensor or expert parallelism
MXFP4   hidden and inner size padded as its kernel needs it   fused_moe/oracle/mxfp4.py
latents   W_UV and W_UK_T, copies in 16 bits of what kv_b_proj holds   attention/mla_attention.py
rotary table   positions × rotary numbers × 2 bytes, one for each kind of positions   rotary_embedding/base.py
drafter   MTP layers are loaded only for speculation   models/deepseek_v2.py, load_weights
stages   layers divided evenly, what remains to the last stages but one   distributed/utils.py, get_pp_indices
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from limen.errors import BadInput
from limen.hf.stored.matrices import Matrix
from limen.hf.stored.schemes import up
from limen.hf.weights_table import TensorKind

_VOCABULARY = 64
_REPLICATED = ("q_a_proj", "kv_a_proj_with_mqa", "f_a_proj", "g_a_proj", "eh_proj", "shared_expert_gate")
_BY_COLUMNS = ("o_proj", "out_proj", "down_proj", "dense", "dense_4h_to_h", "w2", "fc2", "wo", "Wo", "c_proj")
_BY_HEADS = ("sinks", "A_log", "dt_bias", "D")
# Experts in MXFP4 are padded to multiples of these: hidden and inner size as rows, then as columns. Hopper's
# layout of Triton: triton_kernels' hopper_value.py at 000df03; gate and up together are padded to 256 rows.
BACKENDS = {
    "marlin": (256, 128, 256, 128),
    "trtllm": (256, 128, 256, 128),
    "cutlass": (128, 128, 128, 128),
    "rocm": (256, 256, 256, 256),
    "triton": (1, 64, 1, 64),
    "triton-hopper": (256, 128, 128, 128),
}


@dataclass(frozen=True)
class Ranks:
    """T ranks of tensor parallelism, P stages, and the kernel of MXFP4 experts."""

    tensor: int = 1
    pipeline: int = 1
    backend: str | None = None

    def __post_init__(self) -> None:
        if self.backend is not None and self.backend not in BACKENDS:
            raise BadInput(f"moe backend {self.backend!r}; known are {', '.join(BACKENDS)}")

    def share(self, matrix: Matrix, kv_heads: int, padded: bool = True) -> Matrix:
        """The part of a matrix that one rank holds; `padded`: with rows that fill a vocabulary up."""
        T, unit = self.tensor, _VOCABULARY if padded else 1
        if matrix.kind in (TensorKind.EMBEDDING, TensorKind.HEAD):
            return replace(matrix, out=up(up(matrix.out, unit) * unit, T))
        if matrix.kind is TensorKind.CONV or matrix.leaf in _BY_HEADS:
            return replace(matrix, out=up(matrix.out, T))
        if matrix.kind not in (TensorKind.LINEAR, TensorKind.EXPERTS) or matrix.leaf in _REPLICATED:
            return matrix
        if ".indexer." in matrix.name:
            return matrix
        if matrix.leaf in _BY_COLUMNS:
            return replace(matrix, columns=up(matrix.columns, T))
        if matrix.leaf in ("k_proj", "v_proj") and 0 < kv_heads < T:
            return replace(matrix, out=up(matrix.out, kv_heads))
        return replace(matrix, out=up(matrix.out, T))

    def padded(self, matrix: Matrix) -> Matrix:
        """Experts as the kernel of MXFP4 wants them."""
        if self.backend is None or matrix.kind is not TensorKind.EXPERTS:
            return matrix
        hidden_rows, inner_rows, hidden, inner = BACKENDS[self.backend]
        rows, columns = (hidden_rows, inner) if matrix.leaf in _BY_COLUMNS else (inner_rows, hidden)
        return replace(matrix, out=up(matrix.out, rows) * rows, columns=up(matrix.columns, columns) * columns)

    def stages(self, layers: int) -> list[range]:
        """The layers of each stage."""
        P = self.pipeline
        if layers < P:
            raise BadInput(f"{layers} layers cannot be divided over {P} stages of pipeline parallelism")
        counts = [layers // P] * P
        for i in range(2, layers % P + 2):
            counts[-i] += 1
        ends = [sum(counts[: i + 1]) for i in range(P)]
        return [range(end - count, end) for end, count in zip(ends, counts, strict=True)]
