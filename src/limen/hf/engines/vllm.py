"""vLLM: blocks of one size for all layers, shared by groups of layers.

Read in its sources of August 2026: platforms/interface.py, v1/core/kv_cache_utils.py,
v1/kv_cache_interface.py, model_executor/layers/mamba/mamba_utils.py, model_executor/models/config.py.

block         16 tokens; beside recurrences align·⌈state/(align·token)⌉, so that a block of keys holds a state
              (align 16, with latent attention 128); a state fills a whole block; rows that do not divide the
              largest page are padded to it
groups        of as many layers as the rarest kind has; of the largest if that is less than half as many more;
              one group of all where all need the same tokens
a request     ⌈n/block⌉ blocks of a full group, ⌈min(W-1+in flight, n)/block⌉+1 of a group of windows,
              ⌈min(C+in flight, n)/block⌉ of chunks, 1 + speculative of a group of states, one more with
              prefix caching (which models without attention do not have); in flight are two batches, one
              without asynchronous scheduling (and before July 2026)
pool          blocks = memory // (block's bytes × layers of a group); one of them is nobody's
printed       concurrency = blocks / blocks of a request at full length, tokens = ⌊concurrency · length⌋
latents       one vector for all heads; MiniCPM3's decompressed, values padded to the size of keys
indexed       DeepSeek's index keys in 8 bits with scales, whatever the precision of the keys; if that is
              float8, 656 bytes a latent (`fp8_ds_mla`, on Hopper; 576 with FlashInfer on Blackwell); 64
              tokens a block; those of Qwen 4 and GLM 5 Next in a cache of its own beside the blocks, counted
              as the model needs them: how it is laid out is not known here
convolutions  c-1+speculative columns in the dtype of the model
memory        KV = ⌈total·utilization⌉ - weights - non-torch - peak activation - CUDA graphs, at a014e35
              (v0.21 and later): v1/worker/utils.py, request_memory; v1/worker/gpu_worker.py,
              determine_available_memory; config/cache.py: utilization 0.92.  Older ones: 0.90, graphs not
              subtracted.  The last three are measured at its start, and no formula predicts them: they are
              assumed, within what logs show (text models: peak 0.22 to 3.99 GiB; non-torch 0.01 to 0.46 on
              one GPU, 0.20 to 3.58 on several; graphs 0.09 to 1.85; before v0.17 peaks of 4.8 to 7.4).  The
              largest are of v0.19 on H100 (58 runs, llm-d-incubation/llm-d-planner, accuracy_report.md): with
              1024 sequences the sampler's logits are the peak, 15 to 16 bytes × 1024 × vocabulary in dense
              models (1.89 GiB for Llama 3, 3.65 for Gemma 2), and two ranks or more take 2.1 of non-torch
a step        engine/arg_utils.py, get_batch_defaults, of a server: 16384 tokens and 1024 sequences on a GPU
              with 160 GiB or more, 8192 and 1024 with 70 GiB or more but on an A100, else 2048 and 256
MXFP4         fused_moe/oracle/mxfp4.py: of gpt-oss TensorRT-LLM on Blackwell (100), Triton on Hopper (90),
              CUTLASS on 120, else Marlin; of other types TensorRT-LLM on 100, else Marlin
states        Qwen3.5, Qwen 4: mamba_ssm_dtype; Nemotron-H: mamba_ssm_cache_dtype, else float32; KDA: float32;
              others: the dtype of the model
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil

from limen.hf.dtypes import Declared
from limen.hf.engines.asked import Asked, AskedT
from limen.hf.engines.budget import GIB, Budget, Share, share
from limen.hf.engines.engine import INDEXED, PAGE_LIKE, Dtypes, Engine, indexed_width
from limen.hf.engines.plan import LayerKind, Plan
from limen.hf.gpus import Device
from limen.hf.stack import Bits, EveryBlock, Kept, LastColumns, LastTokens, Stack, Use

_LATENT, _INDEXED = 128, 64  # tokens of the least block
_FLOAT32 = ("nemotron_h", "kimi_linear", "bailing_hybrid")  # whose states are, unless declared
_FOLLOWED = {
    "qwen3_5_text": "mamba_ssm_dtype",
    "qwen3_5_moe_text": "mamba_ssm_dtype",
    "qwen4_exp_text": "mamba_ssm_dtype",
    "nemotron_h": "mamba_ssm_cache_dtype",
}
_UTILIZATION = 0.92
_ACTIVATION, _GRAPHS = 3 * GIB // 2, GIB // 2
_ALONE, _TOGETHER = GIB // 4, GIB  # non-torch memory on one GPU, and on each of several
_KERNELS = {10: "trtllm", 9: "triton-hopper", 12: "cutlass"}  # of MXFP4 experts, by capability; else Marlin
_EAGER, _FULLER = (("enforce_eager", True),), (("gpu_memory_utilization", 0.97),)
_APART = ("qwen4_exp_text", "glm5_next_text")  # types whose index has a cache of its own


class VLLM(Engine):
    name = "vllm"
    tables = True
    decompressed = ("minicpm3",)
    by_heads = True
    tighter = (_EAGER, _FULLER, _EAGER + _FULLER)
    capability = 70
    kv_dtypes = ("fp8",)
    schemes = ("fp8", "awq")

    def started(self, options: AskedT, device: Device) -> AskedT:
        backend, name = options.moe_backend, self.model_type
        if backend is None and device.capability is not None:
            kernel = _KERNELS.get(device.capability // 10, "marlin")
            backend = kernel if name == "gpt_oss" or kernel == "trtllm" else "marlin"
        return replace(options, batched=options.batched or batch(device)[0], moe_backend=backend)

    def choices(self, options: Asked, device: Device) -> list[str]:
        tokens, sequences = batch(device)
        on = f"on {device.name}" if device.name else f"with {device.total / GIB:.4g} GiB"
        remarks = []
        if options.batched is None:
            remarks.append(f"steps of {tokens:,} tokens, as a server of vLLM takes them {on} (--batched)")
        if options.sequences > sequences:
            remarks.append(f"{on} vLLM runs at most {sequences:,} sequences at a time (its --max-num-seqs)")
        return remarks

    def budget(self, device: Device, options: Asked, stack: Stack, vocabulary: int) -> Budget:
        utilization = options.gpu_memory_utilization or _UTILIZATION
        outside = device.total - ceil(device.total * utilization)
        rule = "" if options.gpu_memory_utilization else f"vLLM takes {utilization:g} of a GPU by default"
        alone = options.ranks == 1
        shares = [
            Share("not taken", outside, "--gpu-memory-utilization", rule=rule),
            share(
                "peak activation", options.activation, "--activation", _ACTIVATION, "logs: 0.22 to 3.99 GiB"
            ),
            share(
                "non-torch",
                options.overhead,
                "--overhead",
                _ALONE if alone else _TOGETHER,
                f"logs: {'0.01 to 0.46' if alone else '0.20 to 3.58'} GiB",
            ),
        ]
        if not options.enforce_eager:
            why = "logs: 0.09 to 1.85 GiB"
            shares.append(share("CUDA graphs", options.cuda_graphs, "--cuda-graphs", _GRAPHS, why))
        return Budget(device.total, tuple(shares))

    def head(self, d_k: int, d_v: int) -> int:
        return 2 * d_k

    def conv(self, model: str) -> str | None:
        return model

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        if declared.state is not None and declared.state_field == _FOLLOWED.get(model_type):
            return declared.state
        return "float32" if model_type in _FLOAT32 else model

    def plan(self, stack: Stack, options: Asked, bits: Bits) -> Plan | None:
        """None where no block of one size fits: latents beside other rows, compressed blocks."""
        if any(isinstance(kept.rows, EveryBlock) for kept, _ in stack.tensors):
            return None
        counts, least = self._counts(stack, options, bits), self._block(options)
        if all(kind.what == "state" for kind in counts):
            return _states(counts, options.context)
        if (alike := _alike(counts)) is not None:
            return Plan(least, least * alike.size, 1, ((alike, 1),))
        latent = any(kept.whole is not None for kept, _ in self.tensors(stack, options))
        most = max(kind.size for kind in counts if kind.what != "state")
        if latent and any(most % kind.size for kind in counts if kind.what != "state"):
            return None
        return _grouped(counts, most, least, latent)

    def _block(self, options: Asked) -> int:
        """Tokens of a block, at least."""
        return max(options.block, _INDEXED) if self.model_type in INDEXED else options.block

    def _counts(self, stack: Stack, options: Asked, bits: Bits) -> Counter[LayerKind]:
        """Layers of each kind, a drafter's among them."""
        counts: Counter[LayerKind] = Counter()
        for kept, times in stack.kept:
            for kind in self._kinds(kept, options, bits):
                counts[kind] += times
        if drafting := self._drafting(stack):
            counts[self._kinds(drafting, options, bits)[0]] += options.draft_layers
        return counts

    def _drafting(self, stack: Stack) -> tuple[Kept, ...]:
        """A drafter's layers keep what the last mixer of the model does that keeps every token."""
        blocks = (block for layer in reversed(stack.layers) for block in layer.blocks)
        return next((block.kept for block in blocks if any(kept.grows for kept in block.kept)), ())

    def tensors(self, stack: Stack, options: Asked) -> list[tuple[Kept, int]]:
        drafted = [self.held(kept) for kept in self._drafting(stack)] if options.draft_layers else []
        kept = super().tensors(stack, options)
        return [(one, times + options.draft_layers * (one in drafted)) for one, times in kept]

    def _kinds(self, kept: tuple[Kept, ...], options: Asked, bits: Bits) -> list[LayerKind]:
        keys = [self.held(k) for k in kept if k.use in PAGE_LIKE and not self._apart(k)]
        states = [k for k in kept if k.use not in PAGE_LIKE]
        kinds = []
        if keys:
            size = int(sum((self.width(k, options, bits) for k in keys), Fraction(0)) / 8)
            window = next((k.rows for k in keys if isinstance(k.rows, LastTokens)), None)
            what = "full" if window is None else "chunk" if window.chunk else "window"
            kinds.append(LayerKind(what, size, window.W if window else 0))
        if states:
            held = (self._columns(k, options) * self.width(k, options, bits) for k in states)
            kinds.append(LayerKind("state", int(sum(held, Fraction(0)) / 8)))
        return kinds

    def _apart(self, kept: Kept) -> bool:
        """Whether it is in no block."""
        return kept.use is Use.INDEX and self.model_type in _APART

    def width(self, kept: Kept, options: Asked, bits: Bits) -> Fraction:
        packed = indexed_width(kept, bits) if self.model_type in INDEXED else None
        return super().width(kept, options, bits) if packed is None else packed

    def _columns(self, kept: Kept, options: Asked) -> int:
        return kept.rows.needed(0) + (options.speculative if isinstance(kept.rows, LastColumns) else 0)

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        """One state a sequence; what blocks take beyond the rows themselves is padding."""
        if isinstance(kept.rows, LastColumns):
            return self._columns(kept, options) * options.sequences
        return kept.rows.needed(n) * options.sequences

    def padding(self, stack: Stack, n: int, options: Asked, bits: Bits) -> int:
        plan = self.plan(stack, options, bits)
        if plan is None:
            return 0
        blocked = [(kept, times) for kept, times in self.tensors(stack, options) if not self._apart(kept)]
        held = self.bytes_of(blocked, n, options, bits)
        return plan.request(n, options) * plan.block_bytes * options.sequences - held

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        plan, remarks = self.plan(stack, options, dtypes.bits), super().remarks(stack, options, dtypes)
        if plan is None:
            return [*remarks, "rows have several sizes, so vLLM's blocks are not counted, only their content"]
        blocks, groups = plan.request(options.context, options), sum(count for _, count in plan.groups)
        shape = f"blocks of {plan.block:,} tokens ({plan.page:,} bytes per layer)"
        remarks.append(f"{shape}, layers per group: {plan.layers}, groups: {groups}")
        remarks.append(
            f"blocks for a request of {options.context:,} tokens: {blocks:,} of {plan.block_bytes:,} bytes"
        )
        if options.prefix_caching and plan.cached and any(kind.what == "state" for kind, _ in plan.groups):
            remarks.append("prefix caching keeps a second state of each sequence, at the last full block")
        if any(self._apart(kept) for kept, _ in stack.tensors):
            remarks.append("the cache of the index is in no block: it is counted as the model needs it")
        if self.model_type in INDEXED and dtypes.kv == "float8":
            remarks.append(
                "each latent takes 656 bytes (fp8_ds_mla, on Hopper); 576 with FlashInfer on Blackwell"
            )
        if options.speculative and not options.draft_layers:
            remarks.append("the layers of a drafter (MTP, EAGLE) are not counted (--draft-layers)")
        return remarks


def batch(device: Device) -> tuple[int, int]:
    """The most tokens of a step and sequences at a time of a server on such a GPU, if nothing is asked."""
    if device.total >= 160 * GIB:
        return 16384, 1024
    return (8192, 1024) if device.total >= 70 * GIB and "A100" not in device.name else (2048, 256)


def _states(counts: Counter[LayerKind], n: int) -> Plan | None:
    """Without attention a block is a state, however long the text."""
    size = max((kind.size for kind in counts), default=0)
    return Plan(n, size, counts.total(), tuple((kind, 1) for kind in counts)) if size else None


def _grouped(counts: Counter[LayerKind], most: int, least_block: int, latent: bool) -> Plan:
    """A block of keys holds a state; a group has the layers of the rarest kind, or of the largest if near."""
    state = max((kind.size for kind in counts if kind.what == "state"), default=0)
    align = max(least_block, _LATENT) if latent and state else least_block
    block = max(align * -(-state // (align * most)), least_block)
    least, largest = min(counts.values()), max(counts.values())
    layers = largest if 2 * largest < 3 * least else least
    groups = tuple((kind, -(-count // layers)) for kind, count in counts.items())
    return Plan(block, block * most, layers, groups)


def _alike(counts: Counter[LayerKind]) -> LayerKind | None:
    """All layers as one, where all need the same tokens but rows of several sizes."""
    if len(counts) == 1 or len({(kind.what, kind.W) for kind in counts}) > 1:
        return None
    first = next(iter(counts))
    return first._replace(size=sum(kind.size * count for kind, count in counts.items()))


ENGINE = VLLM()
