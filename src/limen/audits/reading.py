"""A real model's config -> its cache, its state, its limits.

Bytes are those of the tensors that an engine keeps (`hf/engines/`).  The limits are about
the stack that the layers are in theory, whose states hold what crosses a cut (of a convolution over c tokens
c-1 columns, of a window W-1 tokens); the sums inside attention count 32 bits a number, as kernels take them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from limen.audits.loading import load
from limen.audits.model_weights import Counted, ModelWeights
from limen.audits.request import Request
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.quantities import in_bytes, plural
from limen.core.report import Result
from limen.core.task import Task
from limen.decisions.decide import ruled_out, said_of
from limen.decisions.thresholds import MOST, Limit, limits
from limen.errors import BadInput
from limen.hf.configs import read, type_of
from limen.hf.dtypes import Declared, declared
from limen.hf.engines import Budget, Dtypes, Engine, Plan, engine
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Bits, Kept, LastTokens, OpenBlock, Stack, Use
from limen.hf.stored.checkpoint import Checkpoint
from limen.hf.stored.matrices import Matrix
from limen.hf.stored.mixtures import FILE_TYPES
from limen.hf.stored.ranks import Ranks
from limen.hf.stored.wanted import PLAIN
from limen.hf.stored.weights import HeldWeights
from limen.hf.weights_table import TensorKind

if TYPE_CHECKING:
    from limen.audits.report import AuditReport


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """One model under one request."""

    source: str
    stack: Stack
    given: Request  # as it was asked
    request: Request  # as the engine starts with it
    declared: Declared
    dtypes: Dtypes
    limits: tuple[Limit, ...]
    model_weights: ModelWeights
    stage: int | None = None  # of pipeline parallelism, whose layers alone keep anything here

    @property
    def headline(self) -> str:
        cache = f"{self.cache_bytes:,} bytes of cache for {self.request.context:,} tokens"
        return f"{self.source}: {self.stack.model_type}, {len(self.stack.layers)} layers, {cache}"

    @cached_property
    def report(self) -> AuditReport:
        from limen.audits.report import report

        return report(self)

    @cached_property
    def engine(self) -> Engine:
        return engine(self.request.engine or "minimal").of(self.stack.model_type)

    @cached_property
    def plan(self) -> Plan | None:
        """How vLLM's blocks are laid out; None for other engines."""
        return self.engine.plan(self.stack, self.request, self.bits)

    @property
    def block_tokens(self) -> int | None:
        return self.plan and self.plan.block

    @property
    def block_bytes(self) -> int | None:
        """The bytes of a block in all layers that share it; None for engines without blocks."""
        return self.plan and self.plan.block_bytes

    @property
    def blocks(self) -> int | None:
        """The number of blocks of one request; None for engines without blocks."""
        return self.plan and self.plan.request(self.request.context, self.request)

    @cached_property
    def bits(self) -> Bits:
        return self.dtypes.bits

    @cached_property
    def tensors(self) -> list[tuple[Kept, int]]:
        """The tensors that the engine keeps, and in how many layers."""
        return self.engine.tensors(self.stack, self.request)

    @property
    def kv_dtype(self) -> str:
        return self.dtypes.kv

    @property
    def state_dtype(self) -> str:
        return self.dtypes.state or self._own(Use.RECURRENT)

    @property
    def conv_dtype(self) -> str:
        return self.dtypes.conv or self._own(Use.CONVOLUTION)

    def _own(self, use: Use) -> str:
        """The dtype in which the model's own code keeps a tensor."""
        wide = any(kept.wide for kept, _ in self.tensors if kept.use is use)
        return "float32" if wide else self.dtypes.model

    @property
    def kv_bytes_per_token(self) -> Fraction:
        """The bytes of one more token while no window is full."""
        windows = [(k, times) for k, times in self.tensors if isinstance(k.rows, LastTokens)]
        return self.kv_bytes_per_late_token + sum(self._row(k) * times for k, times in windows)

    @property
    def kv_bytes_per_late_token(self) -> Fraction:
        """The bytes of one more token once all windows are full."""
        rows = (self._row(k) * k.rows.late * times for k, times in self.tensors)
        return sum(rows, Fraction(0))

    def _row(self, kept: Kept) -> Fraction:
        """The bytes of one row of a tensor, on one rank."""
        return self.engine.width(kept, self.request, self.bits) / 8

    def bytes_of(self, wanted: Callable[[Kept], bool], n: int | None = None) -> int:
        """The bytes of the wanted tensors on one rank, all sequences, after n tokens (default: context)."""
        n = self.request.context if n is None else n
        tensors = [(k, times) for k, times in self.tensors if wanted(k)]
        return self.engine.bytes_of(tensors, n, self.request, self.bits)

    @property
    def kv_bytes(self) -> int:
        """The bytes of keys and values, of every token and of windows."""
        return self.bytes_of(lambda k: k.use in (Use.KV, Use.INDEX))

    @property
    def window_bytes(self) -> int:
        """The bytes of keys and values of windows."""
        return self.bytes_of(lambda k: not k.grows and k.use in (Use.KV, Use.INDEX))

    @property
    def recurrent_bytes(self) -> int:
        return self.bytes_of(lambda k: k.use is Use.RECURRENT)

    @property
    def convolution_bytes(self) -> int:
        return self.bytes_of(lambda k: k.use is Use.CONVOLUTION)

    @property
    def state_bytes(self) -> int:
        """The bytes that do not grow with the text: recurrences, convolutions, windows."""
        return self.bytes_of(lambda k: not k.grows)

    @property
    def padding_bytes(self) -> int:
        return self.engine.padding(self.stack, self.request.context, self.request, self.bits)

    @property
    def concurrency(self) -> float | None:
        """Requests of full length at a time, as vLLM prints it, if all memory were for the cache."""
        return None if (device := self.request.device) is None else self.requests_in(device.total)

    def requests_in(self, pool: int) -> float | None:
        """The requests of full length that a pool of so many bytes holds; None for engines without blocks."""
        if self.plan is None or self.blocks is None:
            return None
        return max(pool, 0) // self.plan.block_bytes / self.blocks

    @property
    def tokens(self) -> int | None:
        """ "GPU KV cache size" in vLLM's words: the concurrency in tokens."""
        return None if self.concurrency is None else int(self.concurrency * self.request.context)

    @property
    def concurrency_beside_weights(self) -> float | None:
        """Requests of full length at a time in what the weights leave: what vLLM would print."""
        return None if self.room is None else self.fullest.requests_in(self.room)

    @property
    def cache_bytes(self) -> int:
        return self.cache_bytes_after(self.request.context)

    @property
    def peak_bytes(self) -> int:
        """The most bytes of the cache at any length up to the context; an open block of r tokens is emptied.

        It is fullest at a length ≡ -1 (mod r), so the last such lengths count, of r that divide one another.
        """
        n = self.request.context
        lasts = {n - (n + 1) % k.rows.r for k, _ in self.tensors if isinstance(k.rows, OpenBlock)}
        return max(self.cache_bytes_after(m) for m in {n, *lasts} if m >= 0)

    @property
    def minimal_bytes(self) -> int:
        """The bytes that the next token needs in these precisions, nothing rounded up or kept for later."""
        request, none = replace(self.request, slots=None), engine("minimal")
        bits = (
            min(by.width(k, request, self.bits) for by in (none, self.engine))
            * none.rows(k, request.context, request)
            * times
            for k, times in self.stack.tensors
        )
        return -(-sum(bits, Fraction(0)) // 8)

    def cache_bytes_after(self, n: int) -> int:
        """The bytes of the cache after n tokens, with what the engine leaves unused."""
        return self.bytes_of(lambda _: True, n) + self.engine.padding(self.stack, n, self.request, self.bits)

    def held_bits_per_token(self, n: int) -> float:
        """The bits of the fixed-size state divided by n: the most that it can hold of each token."""
        bits = (k.crossing(n, self.bits) * times for k, times in self.stack.tensors if not k.grows)
        return float(sum(bits, Fraction(0)) / n)

    @property
    def held(self) -> Counted:
        """The weights by what they are, in files and on ranks; or why they are not counted."""
        request = self.request
        ranks = Ranks(request.tensor_parallel, request.pipeline_parallel, request.moe_backend)
        return self.model_weights.held(request.weights_dtype, ranks, request.mtp, self.engine.tables)

    @property
    def stored(self) -> int | None:
        """The bytes of the tensors in a GGUF file."""
        return self.model_weights.stored

    @property
    def checkpoint(self) -> Checkpoint:
        """What the files beside the config say."""
        return self.model_weights.checkpoint

    @property
    def weights_bytes(self) -> int | None:
        """The bytes of the weights on one rank, of this stage or the fullest; None if not counted."""
        request, total = self.request, self.checkpoint.total
        if request.weights is not None:
            return -(-request.weights // request.ranks)
        if self.stored is not None and request.weights_dtype is None:
            return -(-self.stored // request.ranks)
        if isinstance(self.held, NotCounted):
            return None if total is None or request.weights_dtype else -(-total // request.ranks)
        return (self.held.rank if self.stage is None else self.held.stages[self.stage]).total

    @property
    def uncounted(self) -> str | None:
        """Why there is no figure of the weights."""
        return str(self.held) if self.weights_bytes is None else None

    @cached_property
    def budget(self) -> Budget | None:
        """What the engine keeps free on each GPU; None if no GPU is given."""
        if (device := self.request.device) is None:
            return None
        return self.engine.budget(device, self.request, self.stack, self.model_weights.vocabulary)

    @cached_property
    def fullest(self) -> Audit:
        """One rank of the stage of pipeline parallelism that needs the most; itself with one stage."""
        P = self.request.pipeline_parallel
        if P == 1:
            return self
        layers = enumerate(Ranks(pipeline=P).stages(len(self.stack.layers)))
        ranks = [replace(self, stack=self.stack.keeping(own), stage=stage) for stage, own in layers]
        return max(ranks, key=lambda rank: (rank.weights_bytes or 0) + rank.needed)

    @property
    def needed(self) -> int:
        """The bytes of the cache at its fullest; vLLM keeps one block unused."""
        return self.peak_bytes + (self.block_bytes or 0)

    @property
    def room(self) -> int | None:
        """The bytes of a GPU that the engine and the weights leave to the cache."""
        if self.budget is None or (weights := self.fullest.weights_bytes) is None:
            return None
        return self.budget.left - weights

    @property
    def fits(self) -> bool | None:
        """Whether the cache fits beside the weights, on every rank."""
        return None if self.room is None else self.fullest.needed <= self.room

    @property
    def starts(self) -> bool:
        """Whether it fits, and the engine starts so; weights that fill a GPU by themselves end it early."""
        if self.budget is not None and (self.weights_bytes or 0) > self.budget.left:
            return False
        return bool(self.fits) and self.refusal is None

    @property
    def missing(self) -> int | None:
        """Bytes that the cache lacks beside the weights, on the fullest rank; None where it fits."""
        return None if self.room is None or self.fits else self.fullest.needed - self.room

    @cached_property
    def enough(self) -> int | None:
        """Bytes of a device's memory that would do, where it does not fit: with one byte less it does not."""
        if self.given.memory is None or self.missing is None:
            return None
        low = high = self.given.memory
        while not self.asking(memory=high).fits:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.asking(memory=middle).fits else (middle, high)
        return high

    @property
    def refusal(self) -> str | None:
        """Why the engine does not start so, whatever the memory; None if it does."""
        request, scheme = self.request, (self.request.weights_dtype or "f16").lower()
        if self.engine.name == "llamacpp" and request.weights is None and scheme not in (*FILE_TYPES, *PLAIN):
            return f"llamacpp loads no weights in {scheme}; expected a type of its own, such as q4_k_m"
        if (why := self.engine.refuses(request.dtypes.kv, request.device)) is not None:
            return why
        return self.unshared(request.tensor_parallel) if self.engine.by_heads else None

    def shared_by(self, ranks: int) -> bool:
        """Whether so many GPUs can share the model, by heads or by layers as the engine does it."""
        return self.unshared(ranks) is None if self.engine.by_heads else ranks <= len(self.stack.layers)

    def unshared(self, ranks: int) -> str | None:
        """Why so many ranks of tensor parallelism cannot share the model, as vLLM and SGLang see it.

        Heads are whole, and so are blocks of fp8 (vLLM's validate_fp8_block_shape), but for those of experts:
        expert parallelism keeps these whole.
        """
        over = f"over {ranks} ranks of tensor parallelism"
        sizes = (dict(block.sizes) for layer in self.stack.layers for block in layer.blocks)
        heads = [own["heads"] for own in sizes if own.get("heads", ranks) % ranks]
        heads += [few for kept, _ in self.stack.tensors if (few := kept.undivided(ranks)) is not None]
        if heads:
            return f"{heads[0]} heads cannot be divided {over}"
        if dense := [matrix for matrix in self._torn(ranks) if matrix.kind is not TensorKind.EXPERTS]:
            name, out, columns = dense[0].name, dense[0].out, dense[0].columns
            other = "; fp8-channel has none" if self.request.weights_dtype else ""
            return f"{name} ({out:,} × {columns:,}, in blocks of fp8) cannot be divided {over}{other}"
        return None

    def _torn(self, ranks: int) -> tuple[Matrix, ...]:
        return self.model_weights.torn(self.request.weights_dtype, Ranks(ranks))

    @cached_property
    def longest_context(self) -> int | None:
        """The most tokens of a sequence whose cache fits beside the weights."""
        return self._most(lambda n: self.asking(context=n))

    @cached_property
    def largest_batch(self) -> int | None:
        """The most sequences of the requested context that fit at once."""
        n = self.given.context if self.request.unified and self.engine.name == "llamacpp" else 0
        return self._most(
            lambda count: self.asking(sequences=count, context=n * count or self.request.context)
        )

    def asking(self, **other: Any) -> Audit:
        """The audit of the same model with some options changed; its limits stay those of this one."""
        given = replace(self.given, **other)
        request, dtypes = _started(given, self.model_weights, self.declared)
        return replace(self, given=given, request=request, dtypes=dtypes)

    def _most(self, asking: Callable[[int], Audit]) -> int | None:
        """The largest number up to 2**40 with which the cache fits."""
        if self.room is None:
            return None
        low, high = 0, MOST + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if asking(middle).fits else (low, middle)
        return low

    @cached_property
    def failures(self) -> list[str]:
        """The requirements that do not hold, in words."""
        reasons, request, peak = [], self.request, self.fullest.peak_bytes
        if request.max_cache is not None and peak > request.max_cache:
            reasons.append(f"the cache takes {peak:,} bytes; at most {request.max_cache:,} are allowed")
        if (missing := self.missing) is not None:
            reasons.append(self._short_by(missing))
        for text in request.needs:
            task = Task.parse(text)
            if (evidence := ruled_out(task, self.stack.architecture)) is not None:
                bound = evidence.certificate
                assert isinstance(bound, Bound)  # nothing else rules out
                reasons.append(f"{task} is ruled out by {bound.theorem}: {said_of(bound)}")
        return reasons

    def _short_by(self, missing: int) -> str:
        """What does not fit, what would fit in this memory, and how much memory would do, in words."""
        rank, context = self.fullest, self.request.context
        fullest = " at its fullest" if rank.peak_bytes > rank.cache_bytes else ""
        cache = f"a cache of {in_bytes(rank.peak_bytes)}{fullest}"
        took = f"weights of {in_bytes(rank.weights_bytes or 0)} and {cache}"
        if most := self.longest_context:
            many = self.request.sequences
            together = "" if many == 1 else f" with {many:,} sequences"
            inside = f"a context of at most {most:,} tokens{together} does"
        else:
            inside = "the weights alone do not" if (self.room or 0) < 0 else "no context does"
        if batch := self.largest_batch:
            verb, fewer = "does" if batch == 1 else "do", f"{plural(batch, 'sequence')} of {context:,} tokens"
            inside += f", and so {verb} {fewer}" if most else f", but {fewer} {verb}"
        short = f"{in_bytes(missing)} short: {took} do not fit into {self._place}; {inside}"
        if (enough := self.enough) is None:
            return short
        return f"{short}; {enough:,} bytes of memory would do (about {in_bytes(enough)})"

    @property
    def _place(self) -> str:
        """The memory for weights and cache, in words."""
        assert self.budget is not None  # nothing is short of memory that is not given
        total = in_bytes(self.budget.total)
        each = f" on each of {self.request.ranks} GPUs" if self.request.ranks > 1 else ""
        if not self.budget.shares:
            return total + each
        return f"the {in_bytes(max(self.budget.left, 0))} that {self.engine.name} leaves of {total}{each}"

    @cached_property
    def remarks(self) -> list[str]:
        """Remarks for a reader of the figures."""
        request, lines = self.request, [*self.stack.remarks]
        positions = self.stack.positions
        if positions is not None and request.context > positions:
            lines.append(f"{request.context:,} tokens are more than max_position_embeddings = {positions:,}")
        dtypes, declared = request.dtypes, self.declared
        for what, wanted, own, taken, where in (
            ("keys and values", dtypes.kv, declared.kv, self.dtypes.kv, declared.kv_field),
            ("recurrent states", dtypes.state, declared.state, self.dtypes.state, declared.state_field),
        ):
            if own is not None and wanted is None:
                how = f"as {where} declares" if taken == own else f"though {where} declares {own}"
                lines.append(f"{what} in {taken}, {how}")
        if request.device is not None and request.weights is None and self.weights_bytes is not None:
            lines += self._of_weights()
        if request.device is not None:
            lines += self.engine.choices(self.given, request.device)
        return lines + self.engine.remarks(self.stack, request, self.dtypes)

    def _of_weights(self) -> list[str]:
        """Remarks on what the count of the weights leaves out."""
        lines = []
        if self.stack.inside and not (isinstance(self.held, HeldWeights) and self.held.whole):
            lines.append("weights of the text decoder alone; vision and audio towers come on top (--weights)")
        if self.request.weights_dtype is None and self.model_weights.unnamed:
            lines.append(
                "weights are counted in bfloat16: the config names neither a dtype nor a quantisation "
                "(--weights-dtype says another)"
            )
        if isinstance(self.held, HeldWeights):
            lines += self.held.remarks
            if "MXFP4" in self.held.scheme and self.engine.tables:
                backend, by = self.request.moe_backend, self.given.moe_backend
                chosen = "--moe-backend" if by else f"as {self.engine.name} chooses it here (--moe-backend)"
                padded = f"padded for {backend}, {chosen}" if backend else "not padded (--moe-backend, --gpu)"
                lines.append(f"experts in MXFP4 are {padded}")
        if self.engine.by_heads and (experts := self._torn(self.request.tensor_parallel)):
            sizes = f"experts of {min(experts[0].out, experts[0].columns):,} in blocks of fp8"
            over = f"cannot be divided over {self.request.tensor_parallel} ranks"
            lines.append(f"{sizes} {over}: start {self.engine.name} with expert parallelism (the same bytes)")
        return lines


def audit(config: Mapping[str, Any], source: str, request: Request) -> Audit:
    """The audit of a config, with the limits of every theorem."""
    stated, model_weights = declared(config, source), ModelWeights(config, source)
    started, dtypes = _started(request, model_weights, stated)
    stack = _stack(config, source, dtypes)
    read = Audit(source, stack, request, started, stated, dtypes, limits(stack.architecture), model_weights)
    if (why := read.refusal) is not None:
        raise BadInput(why)
    return read


def architecture_of(path: str) -> Architecture:
    """The stack of a model's config, with the audit's default options."""
    config, source = load(path)
    stated = declared(config, source)
    _, dtypes = _started(Request(), ModelWeights(config, source), stated)
    return _stack(config, source, dtypes).architecture


def _started(request: Request, model_weights: ModelWeights, stated: Declared) -> tuple[Request, Dtypes]:
    """The request as an engine starts with it, and the precisions that it takes."""
    model_type = type_of(model_weights.config, model_weights.source)
    name = _engine_of(request, model_weights) if request.engine is None else request.engine
    if request.mtp and not request.draft_layers:
        request = replace(request, draft_layers=model_weights.draft_layers)
    by = engine(name).of(model_type)
    started = replace(request.started(name, by), weights_dtype=_loaded_as(request, model_weights, name))
    return started, by.dtypes(request.dtypes, stated, model_type)


def _loaded_as(request: Request, model_weights: ModelWeights, name: str) -> str | None:
    """The scheme in which an engine loads the weights; None: as they are."""
    own = request.weights is None and model_weights.stored is None and request.weights_dtype is None
    if not own or name != "llamacpp" or (scheme := file_type(model_weights)) is None:
        return request.weights_dtype
    return None if model_weights.plain else scheme


def file_type(model_weights: ModelWeights) -> str | None:
    """What llama.cpp makes of a checkpoint at first: experts in MXFP4 as they are, else all in 16 bits."""
    if isinstance(own := model_weights.own, NotCounted):
        return None
    return "mxfp4_moe" if own.scheme.startswith("MXFP4") else "f16"


def _engine_of(request: Request, model_weights: ModelWeights) -> str:
    """The engine that people run such weights with on a GPU by name; `minimal` where none is given."""
    if request.gpu is None and not request.find:
        return "minimal"
    scheme, device = (request.weights_dtype or "").lower(), request.device
    if scheme in FILE_TYPES or model_weights.stored is not None or engine("vllm").refuses(None, device):
        return "llamacpp"
    return "mlx" if scheme.startswith("mlx-") else "vllm"


def _stack(config: Mapping[str, Any], source: str, dtypes: Dtypes) -> Stack:
    stack = read(config, source, dtypes.bits)
    if (counted := getattr(config, "parameters", None)) is not None:  # the header of a file with its tensors
        return replace(stack, parameters=counted, uncounted=None)
    return stack
