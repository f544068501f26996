"""An audit as plain data: layers, bytes, depth, and the lengths from which on tasks are ruled out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from limen.audits.changes import COUNTS
from limen.audits.reading import Audit
from limen.audits.serving import ByEngine, OnGpus, by_engine, on_gpus
from limen.core.catalogue import identifier
from limen.core.quantities import ASYMPTOTIC, plural
from limen.core.report import Report
from limen.decisions.depths import Certified, DepthReport, depth
from limen.decisions.thresholds import Limit
from limen.hf.gpus import gpu
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Block, ModelLayer, Use
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.top_k import TopK
from limen.mixers.window import Window
from limen.training.learned import Learned, learned

LENGTHS = tuple(2**i for i in range(10, 21, 2))  # at which bits a token are told: 1k … 1M
_DRAWN = tuple(2**i for i in range(9, 21))  # over which a card draws its curves

Size = int | UnsetType  # of a layer that has it


class BlockReport(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism in the model's own words, its sizes, and whose keys and values it reads, if not its own."""

    what: str
    sizes: dict[str, int]
    kv: int | None


class LayerAudit(msgspec.Struct, frozen=True, kw_only=True):
    """A layer; its `stages` are in sequence, the blocks of one stage side by side."""

    index: int
    mixer: str | None
    kind: str
    letter: str
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    keeps_every_token: bool
    state_bits: int | None
    state_numbers: Size = UNSET
    convolution: Size = UNSET
    window: Size = UNSET
    latent: Size = UNSET
    block: Size = UNSET
    blocks: Size = UNSET
    top_k: Size = UNSET
    stages: tuple[tuple[BlockReport, ...], ...]


class HeldPoint(msgspec.Struct, frozen=True):
    """The most bits of the fixed-size state for each of n tokens."""

    tokens: int
    bits: float


class CachePoint(msgspec.Struct, frozen=True):
    """The cache after n tokens, and the bits of its fixed-size part per token."""

    tokens: int
    cache_bytes: int
    fixed_bits: float


class LimitReport(msgspec.Struct, frozen=True, kw_only=True):
    """The size from which on a theorem rules a task out, or an asymptotic statement."""

    task: str
    theorem: str
    size: int | None
    meaning: str
    needs_bits: int | None = None
    has_bits: int | None = None


class WeightsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The weights in bytes: of the files' tensors by what they are, and on the fullest rank of the engine."""

    scheme: str
    quantised: int
    scales: int
    half: int  # in 16 bits
    single: int  # in 32 bits
    tensors: int  # bytes of all tensors
    file: int  # with an estimate of the files' headers
    stated: int | None  # as files beside the config say
    rank: int
    added: int  # of it, what the engine adds: rotary tables, copies


class ShareReport(msgspec.Struct, frozen=True):
    """A part of a GPU's memory that holds neither weights nor cache: given, assumed, or by a rule."""

    what: str
    size: int
    option: str
    assumed: str
    rule: str


class BudgetReport(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of one GPU, the fullest: total = Σ shares + left, and left holds weights and cache."""

    gpu: str | None
    total: int
    shares: tuple[ShareReport, ...]
    left: int
    needed: int  # for the cache
    missing: int | None  # where it does not fit
    tokens: int | None  # that vLLM would print
    concurrency: float | None


class EngineReport(msgspec.Struct, frozen=True, kw_only=True):
    """What fits with one engine, and what makes the request fit: a change, or so many GPUs."""

    engine: str
    scheme: str
    weights_bytes: int | None
    uncounted: str | None
    room: int | None
    fits: bool | None
    missing: int | None
    longest_context: int | None
    largest_batch: int | None
    change: str | None
    gpus: int | None


class GpuReport(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU, and how many of them hold the request; None: not as many as are tried."""

    gpu: str
    total: int
    gpus: int | None
    longest_context: int | None
    largest_batch: int | None


class AuditReport(Report, frozen=True, kw_only=True, tag="limen/audit/1"):
    """One model under one request."""

    source: str
    name: str
    model_type: str
    architecture: str
    strip: str
    layers: tuple[LayerAudit, ...]
    full_layers: int
    context: int
    trained_for: int | None
    sequences: int
    engine: str
    tensor_parallel: int
    keeps: tuple[Use, ...]  # the kinds of tensors that it keeps
    kv_dtype: str
    conv_dtype: str
    state_dtype: str
    kv_bytes_per_token: int | float
    kv_bytes_per_late_token: int | float
    kv_bytes: int
    growing_bytes: int
    window_bytes: int
    recurrent_bytes: int
    convolution_bytes: int
    state_bytes: int
    padding_bytes: int
    block_tokens: int | None
    memory: int | None
    parameters: int | None
    uncounted: str | None  # why there is no number of them
    weights_bytes: int | None
    weights: WeightsReport | None
    room: int | None  # what the weights leave of the memory
    fits: bool | None
    longest_context: int | None
    largest_batch: int | None
    failures: tuple[str, ...]
    pipeline_parallel: int
    gpus: int  # that share the model
    budget: BudgetReport | None
    engines: tuple[EngineReport, ...]
    on_gpus: tuple[GpuReport, ...]  # with --find
    brief: bool
    tokens: int | None
    concurrency: float | None
    concurrency_beside_weights: float | None
    cache_bytes: int
    minimal_bytes: int
    state_bits_per_token: tuple[HeldPoint, ...]
    cache_by_length: tuple[CachePoint, ...]
    depth: DepthReport
    remarks: tuple[str, ...]
    limits: tuple[LimitReport, ...]
    learned: tuple[Learned, ...]  # beside proved thresholds; never one of the limits

    @property
    def headline(self) -> str:
        cache = f"{self.cache_bytes:,} bytes of cache for {self.context:,} tokens"
        return f"{self.source}: {self.model_type}, {len(self.layers)} layers, {cache}"

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0


class AuditsReport(Report, frozen=True, kw_only=True, tag="limen/audit/1"):
    """Several models under the same request."""

    models: tuple[AuditReport, ...]

    @property
    def headline(self) -> str:
        return ", ".join(model.name for model in self.models)

    @property
    def exit_code(self) -> int:
        return 1 if any(one.failures for one in self.models) else 0


def report(audit: Audit) -> AuditReport:
    """The report of an audit, with the stack's depth in the model's own layer numbers.

    Bytes are those of one rank: of the fullest, where stages of pipeline parallelism differ.
    """
    request, stack, rank = audit.request, audit.stack, audit.fullest
    places = _on_gpus(audit)
    numbers = [layer.index for layer in stack.layers for _ in layer.stages]
    reached = depth(stack.architecture, 0, numbers, far=False)
    layers = tuple(_layer(audit, layer) for layer in stack.layers)
    kept = {kept.use for kept, _ in stack.tensors}
    return AuditReport(
        source=audit.source,
        name=_name(audit.source),
        model_type=stack.model_type,
        architecture=str(stack.architecture),
        strip="".join(layer.letter for layer in layers),
        layers=layers,
        full_layers=sum(any(b.part.full for b in layer.blocks) for layer in stack.layers),
        context=request.context,
        trained_for=stack.positions,
        sequences=request.sequences,
        engine=audit.engine.name,
        tensor_parallel=request.tensor_parallel,
        keeps=tuple(use for use in Use if use in kept),
        kv_dtype=audit.kv_dtype,
        conv_dtype=audit.conv_dtype,
        state_dtype=audit.state_dtype,
        kv_bytes_per_token=_number(rank.kv_bytes_per_token),
        kv_bytes_per_late_token=_number(rank.kv_bytes_per_late_token),
        kv_bytes=rank.kv_bytes,
        growing_bytes=rank.bytes_of(lambda k: k.grows),
        window_bytes=rank.window_bytes,
        recurrent_bytes=rank.recurrent_bytes,
        convolution_bytes=rank.convolution_bytes,
        state_bytes=rank.state_bytes,
        padding_bytes=rank.padding_bytes,
        block_tokens=audit.block_tokens,
        memory=None if audit.budget is None else audit.budget.total,
        parameters=stack.parameters,
        uncounted=audit.uncounted,
        weights_bytes=rank.weights_bytes,
        weights=_weights(audit),
        room=audit.room,
        fits=audit.fits,
        longest_context=audit.longest_context,
        largest_batch=audit.largest_batch,
        failures=(*audit.failures, *_nowhere(places)),
        pipeline_parallel=request.pipeline_parallel,
        gpus=request.ranks,
        budget=_budget(audit),
        engines=tuple(map(_by_engine, by_engine(audit))) if audit.budget else (),
        on_gpus=places,
        brief=request.brief,
        tokens=audit.tokens,
        concurrency=audit.concurrency,
        concurrency_beside_weights=audit.concurrency_beside_weights,
        cache_bytes=rank.cache_bytes,
        minimal_bytes=rank.minimal_bytes,
        state_bits_per_token=_held(audit),
        cache_by_length=_by_length(rank),
        depth=reached,
        remarks=tuple(audit.remarks),
        limits=(*map(_limit, audit.limits), _hops(reached.certified)),
        learned=learned(stack.architecture),
    )


def _budget(audit: Audit) -> BudgetReport | None:
    """None where no GPU is given."""
    if (budget := audit.budget) is None:
        return None
    requests = audit.concurrency_beside_weights
    return BudgetReport(
        gpu=audit.request.gpu and gpu(audit.request.gpu).name,
        total=budget.total,
        shares=tuple(ShareReport(*share) for share in budget.shares),
        left=budget.left,
        needed=audit.fullest.needed,
        missing=audit.missing,
        tokens=None if requests is None else int(requests * audit.request.context),
        concurrency=requests,
    )


def _by_engine(one: ByEngine) -> EngineReport:
    audit, weights = one.audit, one.audit.fullest.weights_bytes
    return EngineReport(
        engine=audit.engine.name,
        scheme=_scheme(audit),
        weights_bytes=weights,
        uncounted=audit.uncounted,
        room=audit.room,
        fits=audit.fits,
        missing=audit.missing,
        longest_context=audit.longest_context,
        largest_batch=audit.largest_batch,
        change=one.change and one.change.flags,
        gpus=one.more and one.more.gpus,
    )


def _scheme(audit: Audit) -> str:
    """What the weights are stored in, as far as it is known."""
    if audit.given.weights is not None:
        return "as given"
    if audit.stored is not None and audit.request.weights_dtype is None:
        return "GGUF file"
    return "not counted" if isinstance(held := audit.held, NotCounted) else held.scheme


def _on_gpus(audit: Audit) -> tuple[GpuReport, ...]:
    """Empty unless the GPUs are asked for and the weights are counted."""
    if not audit.request.find or audit.fullest.weights_bytes is None:
        return ()
    return tuple(map(_on_gpu, on_gpus(audit)))


def _on_gpu(place: OnGpus) -> GpuReport:
    device, audit = place
    if audit is None:
        return GpuReport(
            gpu=device.name, total=device.total, gpus=None, longest_context=None, largest_batch=None
        )
    return GpuReport(
        gpu=device.name,
        total=device.total,
        gpus=audit.request.ranks,
        longest_context=audit.longest_context,
        largest_batch=audit.largest_batch,
    )


def _nowhere(places: tuple[GpuReport, ...]) -> list[str]:
    """The failure of a search among GPUs that found none."""
    if not places or any(place.gpus for place in places):
        return []
    return [f"it fits on none of {len(places)} kinds of GPU, {COUNTS[-1]} of them at most"]


def _weights(audit: Audit) -> WeightsReport | None:
    """None where they are given, read from a GGUF file, or not counted."""
    by_file = audit.stored is not None and audit.request.weights_dtype is None
    if audit.request.weights is not None or by_file or isinstance(held := audit.held, NotCounted):
        return None
    files, rank = held.files, held.rank
    return WeightsReport(
        scheme=held.scheme,
        quantised=files.quantised,
        scales=files.scales,
        half=files.half,
        single=files.single,
        tensors=files.total,
        file=files.file,
        stated=held.stated,
        rank=rank.total,
        added=rank.added,
    )


def _name(source: str) -> str:
    """The model's name: the folder of a config.json, or the file's own name."""
    path = Path(source)
    if path.name == "config.json" and path.parent.name:
        path = path.parent
    return path.name.removesuffix(".json")


def letter(layer: ModelLayer) -> str:
    """The letter of a layer."""
    kinds = {_kind(block) for block in layer.blocks}
    if not kinds:
        return "·"
    if "L" in kinds and kinds & {"F", "S"}:
        return "H"
    return next(kind for kind in "SFWLK" if kind in kinds)


def _kind(block: Block) -> str:
    mixer = block.part.mixer
    if isinstance(mixer, Window):
        return "W"
    if isinstance(mixer, TopK | BlockSparse):
        return "S"
    if block.part.full:
        return "F"
    return "L" if any(kept.use is Use.RECURRENT for kept in block.kept) else "K"


def _what(block: Block) -> str:
    return f"{block.what} with gated outputs" if isinstance(block.part.mixer, GatedSoftmax) else block.what


def _layer(audit: Audit, layer: ModelLayer) -> LayerAudit:
    bits = [block.part.state_bits(audit.request.context) for block in layer.blocks]
    sizes = {name: size for block in layer.blocks for name, size in block.sizes}
    return LayerAudit(
        index=layer.index,
        mixer="|".join(identifier(block.part.mixer) for block in layer.blocks) or None,
        kind=", ".join(map(_what, layer.blocks)) or layer.kind,
        letter=letter(layer),
        heads=sizes.pop("heads", None),
        kv_heads=sizes.pop("kv_heads", None),
        head_dim=sizes.pop("head_dim", None),
        keeps_every_token=None in bits,
        state_bits=sum(known) if (known := [b for b in bits if b is not None]) else None,
        stages=tuple(tuple(map(_block, stage)) for stage in layer.stages),
        **sizes,
    )


def _block(block: Block) -> BlockReport:
    return BlockReport(what=_what(block), sizes=dict(block.sizes), kv=block.part.kv)


def _held(audit: Audit) -> tuple[HeldPoint, ...]:
    lengths = sorted({*LENGTHS, audit.request.context})
    return tuple(HeldPoint(n, audit.held_bits_per_token(n)) for n in lengths)


def _by_length(audit: Audit) -> tuple[CachePoint, ...]:
    lengths = sorted({*_DRAWN, audit.request.context})
    return tuple(CachePoint(n, audit.cache_bytes_after(n), audit.held_bits_per_token(n)) for n in lengths)


def _limit(limit: Limit) -> LimitReport:
    b = limit.bound
    assert b.sides is not None  # a limit is no ceiling
    needs, has, unit = b.sides
    return LimitReport(
        task=limit.name,
        theorem=b.theorem,
        size=limit.n,
        meaning=f"{b.task} is ruled out: it needs {needs:,} {unit}, the model holds {has:,}",
        needs_bits=b.needs_bits,
        has_bits=b.has_bits,
    )


def _hops(certified: Certified) -> LimitReport:
    """The limit on hops: a certificate at a size that can be written, else an asymptotic statement."""
    if certified.reason:
        meaning = f"no bound is known: {certified.reason}"
    elif certified.n is not None:
        meaning = f"{certified.task} is ruled out, at this size and beyond"
    else:
        meaning = ASYMPTOTIC
    task = f"composition of {plural(certified.hops, 'hop')}, each depending on the question"
    return LimitReport(
        task=task, theorem=certified.theorem or "composition_depth", size=certified.n, meaning=meaning
    )


def _number(value: Fraction) -> int | float:
    return int(value) if value == int(value) else float(value)
