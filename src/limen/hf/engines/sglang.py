"""SGLang: a pool of tokens for keys and values, and a pool of states, one more than are used.

Read in its sources of August 2026: mem_cache/memory_pool.py, configs/mamba_utils.py.

convolutions  c-1 columns in bfloat16 (SGLANG_MAMBA_CONV_DTYPE)
states        in --mamba-ssm-dtype, else as the config declares, else float32
slots         max_mamba_cache_size + 1: the first one is nobody's
ranks         divide heads; heads of keys are repeated where there are fewer than ranks
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.engine import Asked, Dtypes, Engine
from limen.hf.stack import Stack, Use


class SGLang(Engine):
    name = "sglang"

    def conv(self, model: str) -> str | None:
        return "bfloat16"

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return declared.state or "float32"

    def states(self, asked: Asked) -> int:
        return asked.sequences if asked.slots is None else asked.slots + 1

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        if not any(kept.use in (Use.RECURRENT, Use.CONVOLUTION) for kept, _ in stack.tensors):
            return []
        if asked.slots is None:
            return ["a state for each sequence; SGLang's pool has max_mamba_cache_size + 1 (--slots)"]
        return [f"{asked.slots:,} slots and one more, which is nobody's: {asked.slots + 1:,} states"]


ENGINE = SGLang()
