"""MLX (mlx-lm, mlx-swift-lm): caches that grow by 256 tokens, in the dtype of the model.

Read in mlx-lm's models/cache.py and its models of 2026.

keys          padded to 256 tokens; of a window at most as many rows as the config says
latent types  deepseek_v2, deepseek_v3, minicpm3 keep the keys and values of every head, decompressed
states        Mamba's in the dtype of the model; those of delta rules in float32; convolutions c-1 columns
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.engine import Asked, Dtypes, Engine
from limen.hf.stack import EveryToken, Kept, LastTokens, Stack

_STEP = 256
_FLOAT32 = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "kimi_linear", "olmo_hybrid")


_EXPANDED = ("deepseek_v2", "deepseek_v3", "minicpm3")


class Mlx(Engine):
    name = "mlx"
    follows = False

    def __init__(self, expanded: bool = False) -> None:
        self.expanded = expanded

    def of(self, model_type: str) -> Engine:
        return Mlx(model_type in _EXPANDED)

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return "float32" if model_type in _FLOAT32 else model

    def rows(self, kept: Kept, n: int, asked: Asked) -> int:
        if isinstance(kept.rows, EveryToken):
            return -(-n // _STEP) * _STEP * asked.sequences
        if isinstance(kept.rows, LastTokens):
            return min(n, kept.rows.said or kept.rows.W) * asked.sequences
        return super().rows(kept, n, asked)

    def numbers(self, kept: Kept, asked: Asked) -> int:
        return kept.whole if self.expanded and kept.whole is not None else kept.numbers

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        said = [
            f"latents are kept decompressed: {kept.whole:,} numbers a token instead of {kept.numbers:,}"
            for kept, _ in stack.tensors
            if kept.whole is not None and self.expanded
        ]
        if asked.context % _STEP and any(isinstance(kept.rows, EveryToken) for kept, _ in stack.tensors):
            said.append(f"MLX's caches grow by {_STEP} tokens")
        return said


ENGINE = Mlx()
