"""MLX (mlx-swift-lm, mlx-lm): caches that grow by 256 tokens, in the dtype of the model.

Read in both sources of August 2026: mlx-lm's models/, mlx-swift-lm's MLXLLM/Models.  Where the two differ
this is mlx-swift-lm, of which figures are known, and a remark says what mlx-lm does.

keys          padded to 256 tokens; of a window at most as many rows as the config says, for the types that
              make rotating caches; the others keep every token (Mistral, Gemma 2, Phi-3, …)
latent types  deepseek_v3 keeps the keys and values of every head, decompressed (mlx-lm: the latents); so do
              deepseek_v2, minicpm3 and youtu in both
states        of delta rules in float32; Mamba's in the dtype of the model (mlx-lm: Mamba-2's in float32);
              convolutions c-1 columns
ranks         share the heads, as everywhere
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.asked import Asked
from limen.hf.engines.engine import Dtypes, Engine
from limen.hf.stack import EveryToken, Kept, LastTokens, Stack, Use

_STEP = 256
_FLOAT32 = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "kimi_linear", "olmo_hybrid")
_MAMBA2 = ("bamba", "falcon_h1", "granitemoehybrid", "mamba2", "nemotron_h", "zamba2")
_WINDOWS = (
    *("afmoe", "baichuan_m1", "cohere2", "exaone4", "exaone_moe", "gemma3_text", "gemma3n_text"),
    *("gemma4_text", "gemma4_unified_text", "gpt_oss", "laguna", "llama4_text", "mellum"),
    *("mimo_v2_flash", "ministral3", "olmo3", "recurrent_gemma", "step3p5"),
)


class Mlx(Engine):
    name = "mlx"
    follows = False
    windows = frozenset(_WINDOWS)
    decompressed = ("deepseek_v2", "deepseek_v3", "minicpm3", "youtu")
    schemes = ("mlx-8bit", "mlx-6bit", "mlx-4bit", "mlx-3bit")

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return "float32" if model_type in _FLOAT32 else model

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        if isinstance(kept.rows, EveryToken):
            return -(-n // _STEP) * _STEP * options.sequences
        if isinstance(kept.rows, LastTokens):
            return min(n, kept.rows.said or kept.rows.W) * options.sequences
        return super().rows(kept, n, options)

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        remarks = super().remarks(stack, options, dtypes)
        if self.model_type == "deepseek_v3":
            remarks.append("this is mlx-swift-lm; mlx-lm keeps the latents of deepseek_v3")
        states = any(kept.use is Use.RECURRENT for kept, _ in stack.tensors)
        if states and self.model_type in _MAMBA2 and dtypes.state != "float32":
            remarks.append("mlx-lm keeps these states in float32 (--state-dtype float32)")
        if options.context % _STEP and any(
            isinstance(k.rows, EveryToken) for k, _ in self.tensors(stack, options)
        ):
            remarks.append(f"MLX's caches grow by {_STEP} tokens")
        return remarks


ENGINE = Mlx()
