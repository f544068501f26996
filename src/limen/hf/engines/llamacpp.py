"""llama.cpp: cells of keys and values, and rows of recurrent states, all allocated at the start.

Read in its sources of August 2026: llama-context.cpp, llama-kv-cache-iswa.cpp, llama-kv-cache-msa.cpp,
llama-memory-recurrent.cpp, and `swa_type` in models/; of October: llama-memory-hybrid-idx.cpp.

keys         float16 unless asked (-ctk, -ctv); the context padded to 256 cells, for each sequence its own, or
             with a unified pool (--kv-unified) the context once, for all sequences together
window of W  pad256(min(context, W·(sequences if unified else 1) + ubatch)) cells: a batch is written before
             the oldest tokens leave; as many as the context with --swa-full, and for types whose window
             llama.cpp does not know (Mistral 7B v0.1, Phi-3, StarCoder2, …)
latents      one vector for all heads, and no values; MiniCPM3's decompressed
index keys   a cache of their own in the precision of the keys, only in layers that have an index; of MiniMax
             M3 with values beside them, which nobody reads; of Qwen 4 with the key of its block in the same
             row (2·d_i), of GLM 5 Next with a gate as well (3·d_i)
memory       a compute buffer of 4·ubatch·V bytes of logits and 2·ubatch·n of the mask, and a tenth more for
             the rest (one figure: 741 MiB counted, 808 printed), at b21e4de: llama-context.cpp,
             sched_reserve; llama-graph.cpp, build_attn_inp_kq_mask.  --fit leaves 1024 MiB free (common.h,
             fit_params_target)
ranks        several GPUs share the layers (--split-mode layer)
states       R (c-1 columns of convolutions) and S in float32, for each sequence 1 + checkpoints rows
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.asked import Asked
from limen.hf.engines.budget import GIB, Budget, Share, share
from limen.hf.engines.engine import Dtypes, Engine
from limen.hf.gpus import Device
from limen.hf.stack import EveryToken, Kept, LastTokens, Stack, Use

_PAD = 256
_TWICE = ("minimax_m3", "minimax_m3_vl_text", "qwen4_exp_text")  # two vectors in a row of the index
_WINDOWS = (
    *("afmoe", "cohere2", "cohere2_moe", "deepseek_v4", "exaone4", "exaone_moe", "gemma2"),
    *("gemma3_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text", "gpt_oss", "granite_swa"),
    *("granitemoe_swa", "laguna", "llama4_text", "mellum", "mimo_v2_flash", "olmo3", "step3p5"),
)


def padded(n: int) -> int:
    """The next multiple of 256."""
    return -(-n // _PAD) * _PAD


class LlamaCpp(Engine):
    name = "llamacpp"
    follows = False
    windows = frozenset(_WINDOWS)
    decompressed = ("minicpm3",)
    kv_dtypes = ("q8_0", "q4_0")
    schemes = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")

    def budget(self, device: Device, options: Asked, stack: Stack, vocabulary: int) -> Budget:
        attends = any(kept.use is Use.KV for kept, _ in stack.tensors)
        mask = 2 * padded(options.context) if attends else 0
        buffer = options.ubatch * (4 * vocabulary + mask) * 11 // 10
        why = "logits, mask and a tenth more; one log: 808 MiB, counted 815"
        margin = Share("margin", GIB, "--overhead", rule="llama.cpp's --fit leaves so much free")
        if options.overhead is not None:
            margin = Share("margin", options.overhead, "--overhead")
        compute = share("compute buffer", options.activation, "--activation", buffer, why)
        return Budget(device.total, (compute, margin))

    def kv(self, model: str) -> str:
        return "float16"

    def conv(self, model: str) -> str | None:
        return "float32"

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return "float32"

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        pools = 1 if options.unified else options.sequences
        if isinstance(kept.rows, EveryToken):
            return padded(n) * pools
        if isinstance(kept.rows, LastTokens):
            return self.window(kept.rows, n, options) * pools
        return super().rows(kept, n, options)

    def window(self, rows: LastTokens, n: int, options: Asked) -> int:
        """Cells of a window."""
        if options.swa_full:
            return padded(n)
        W = rows.said or rows.W
        return padded(min(padded(n), W * (options.sequences if options.unified else 1) + options.ubatch))

    def numbers(self, kept: Kept, options: Asked) -> int:
        """All numbers in a row of an index; GLM 5 Next's is read as 2·d_i + 1 numbers."""
        if kept.use is not Use.INDEX:
            return super().numbers(kept, options)
        if self.model_type == "glm5_next_text":
            return 3 * (kept.numbers // 2)
        return kept.numbers * (2 if self.model_type in _TWICE else 1)

    def states(self, options: Asked) -> int:
        return options.sequences * (1 + options.checkpoints) if options.slots is None else options.slots

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        remarks, n = super().remarks(stack, options, dtypes), options.context
        if padded(n) != n:
            remarks.append(f"llama.cpp pads the context to a multiple of {_PAD}: {padded(n):,} cells")
        if options.unified and options.sequences > 1:
            remarks.append(
                f"one pool of {padded(n):,} cells for all {options.sequences:,} sequences (--kv-unified)"
            )
        windows = [k.rows for k, _ in self.tensors(stack, options) if isinstance(k.rows, LastTokens)]
        for W, cells in sorted({(rows.said or rows.W, self.window(rows, n, options)) for rows in windows}):
            why = "--swa-full" if options.swa_full else f"a batch of {options.ubatch:,} is stored whole"
            remarks.append(f"a window of {W:,} takes {cells:,} cells: {why}")
        return remarks


ENGINE = LlamaCpp()
