"""SGLang: a pool of tokens for keys and values, one for windows, and a pool of states.

Read in its sources of August 2026: mem_cache/memory_pool.py, model_executor/pool_configurator.py,
configs/model_config.py (is_hybrid_swa_model), configs/mamba_utils.py.

keys          a row for each token of the pool, in whole pages (--page-size: 1, with an index 64), and one
              page more, which is nobody's
windows       a pool of their own with swa_full_tokens_ratio (0.8; 0.1 for DeepSeek V4 and Inkling) tokens for
              each of the full pool, in the types that have one; the others keep every token
shared        layers that read the keys of an earlier one have rows of their own all the same (Gemma 3n, 4)
indexed       DeepSeek's index keys in 8 bits with scales, whatever the precision of the keys; if that is
              float8, 656 bytes a latent (576 with TensorRT-LLM's kernels on Blackwell)
convolutions  c-1 columns in bfloat16 (SGLANG_MAMBA_CONV_DTYPE)
states        in --mamba-ssm-dtype, else as mamba_ssm_dtype declares, else float32
slots         max_mamba_cache_size + 1: the first one is nobody's
ranks         divide heads; heads of keys are repeated where there are fewer than ranks
memory        weights + KV = (total - overhead)·f, at cce0a12: server_args.py, _handle_gpu_memory_settings and
              reserve_for_graph_mb: f = round((total - reserved)/total, 3), reserved MiB = 512 + 1.5·tokens of
              a chunk + 1024·ranks/8 + 2·largest graph + 8·graphs of prefill (1536 with latent attention), at
              least 10 GiB above 60; chunk and graph by the GPU's memory.  Before weights are loaded CUDA and
              NCCL have taken 0.4 to 3 GiB in logs
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from limen.hf.dtypes import Declared
from limen.hf.engines.asked import Asked
from limen.hf.engines.budget import GIB, MIB, Budget, Share, share
from limen.hf.engines.engine import INDEXED, PAGE_LIKE, Dtypes, Engine, indexed_width
from limen.hf.gpus import Device
from limen.hf.stack import Bits, Kept, LastTokens, Stack, Use

_WINDOWS = (
    *("deepseek_v4", "gemma4_text", "gemma4_unified_text", "gpt_oss", "inkling_text", "laguna"),
    *("llama4_text", "mellum", "mimo_v2_flash", "step3p5"),
)
_INDEXED = 64  # tokens of a page
_ALONE, _TOGETHER = GIB // 2, 2 * GIB  # what CUDA and NCCL take on one GPU, and on each of several
# Below so many GiB: tokens of a chunk, sequences of the largest graph on fewer than four ranks, and on more.
_CHUNKS = ((20, 2048, 8, 8), (35, 2048, 24, 80), (60, 4096, 32, 160), (160, 8192, 256, 512))
_LARGEST = (16384, 512, 512)
_FLOOR = 10 * 1024  # MiB reserved at least above 60 GiB
_RATIO, _SMALL = 0.8, {"deepseek_v4": 0.1, "inkling_text": 0.1}


class SGLang(Engine):
    name = "sglang"
    tables = True
    windows = frozenset(_WINDOWS)
    by_heads = True
    tighter = ((("enforce_eager", True),),)
    capability = 70
    kv_dtypes = ("fp8",)
    schemes = ("fp8", "awq")

    def budget(self, device: Device, options: Asked, stack: Stack, vocabulary: int) -> Budget:
        several = options.ranks > 1
        why = f"logs: {'0.4 to 3' if several else 'about 0.5'} GiB"
        taken = share("CUDA and NCCL", options.overhead, "--overhead", _TOGETHER if several else _ALONE, why)
        f, rule = options.mem_fraction_static, ""
        if f is None:
            latent = any(kept.whole is not None for kept, _ in stack.tensors)
            f = max(round((device.total - _reserved(device, options, latent)) / device.total, 3), 0.0)
            rule = f"SGLang takes {f:g} of such a GPU by default"
        static = int(max(device.total - taken.size, 0) * f)
        outside = Share(
            "activations, graphs", device.total - taken.size - static, "--mem-fraction-static", rule=rule
        )
        return Budget(device.total, (outside, taken))

    def conv(self, model: str) -> str | None:
        return "bfloat16"

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return (declared.state if declared.state_field == "mamba_ssm_dtype" else None) or "float32"

    def tensors(self, stack: Stack, options: Asked) -> list[tuple[Kept, int]]:
        counts = Counter(dict(super().tensors(stack, options)))
        for kept in _again(stack):
            counts[self.held(kept)] += 1
        return [*counts.items()]

    def states(self, options: Asked) -> int:
        return options.sequences if options.slots is None else options.slots + 1

    def ratio(self, options: Asked) -> float:
        """Tokens of a window layer for each token of a full one."""
        return _SMALL.get(self.model_type, _RATIO) if options.swa_ratio is None else options.swa_ratio

    def page(self, options: Asked) -> int:
        """Tokens of a page."""
        return options.page or (_INDEXED if self.model_type in INDEXED else 1)

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        rows, page = super().rows(kept, n, options), self.page(options)
        if isinstance(kept.rows, LastTokens):
            rows = max(int(n * options.sequences * self.ratio(options)), rows)
        return (-(-rows // page) + 1) * page if kept.use in PAGE_LIKE else rows

    def width(self, kept: Kept, options: Asked, bits: Bits) -> Fraction:
        packed = indexed_width(kept, bits) if self.model_type in INDEXED else None
        return super().width(kept, options, bits) if packed is None else packed

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        remarks, tensors = super().remarks(stack, options, dtypes), self.tensors(stack, options)
        if again := len(_again(stack)):
            remarks.append(f"rows for {again} layers, too, that read the keys of earlier ones")
        if self.model_type in INDEXED and dtypes.kv == "float8":
            remarks.append("a latent takes 656 bytes; 576 with TensorRT-LLM's kernels on Blackwell")
        if any(isinstance(kept.rows, LastTokens) for kept, _ in tensors):
            ratio = self.ratio(options)
            remarks.append(
                f"window layers have a pool of {ratio:g} tokens per token of the full one (--swa-ratio)"
            )
        if not any(kept.use in (Use.RECURRENT, Use.CONVOLUTION) for kept, _ in tensors):
            return remarks
        if options.slots is None:
            return [
                *remarks,
                "one state per sequence is counted; SGLang's pool has max_mamba_cache_size + 1 (--slots)",
            ]
        return [*remarks, f"{options.slots:,} slots and one spare: {options.slots + 1:,} states"]


def _reserved(device: Device, options: Asked, latent: bool) -> float:
    """The bytes that SGLang keeps for activations and CUDA graphs."""
    gib = device.total / GIB
    chunk, few, many = next((row for least, *row in _CHUNKS if gib < least), _LARGEST)
    graphs = 0 if options.enforce_eager else 2 * (few if options.tensor_parallel < 4 else many)
    if not options.enforce_eager:
        graphs += 1536 if latent else 8 * len(_prefill(chunk))
    activation = 512 + 1.5 * chunk if options.activation is None else options.activation / MIB
    graphs = graphs if options.cuda_graphs is None else options.cuda_graphs // MIB
    reserved = activation + 1024 * options.ranks / 8 + graphs
    return MIB * (max(reserved, _FLOOR) if gib > 60 else reserved)


def _prefill(most: int) -> list[int]:
    """The tokens of each graph of prefill (_generate_prefill_cuda_graph_batch_sizes)."""
    steps = (
        (4, 33, 4),
        (48, 257, 16),
        (288, 513, 32),
        (576, 1025, 64),
        (1280, 4097, 256),
        (4608, most + 1, 512),
    )
    return [size for step in steps for size in range(*step) if size <= most]


def _again(stack: Stack) -> list[Kept]:
    """What the layers would keep whose keys and values are an earlier layer's."""
    sources = (b.part.kv for layer in stack.layers for b in layer.blocks if not b.kept)
    return [kept for i in sources if i is not None for kept in stack.layers[i].blocks[0].kept]


ENGINE = SGLang()
