"""An audit as plain data: layers, bytes, depth, and the lengths from which on tasks are ruled out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from limen.audits.reading import Audit, Limit
from limen.core.catalogue import identifier
from limen.core.quantities import ASYMPTOTIC, plural
from limen.core.report import Report
from limen.decisions.depths import Certified, DepthReport, depth
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Block, ModelLayer, Use
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.top_k import TopK
from limen.mixers.window import Window

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
    """The report of an audit, with the stack's depth in the model's own layer numbers."""
    request, stack = audit.request, audit.stack
    numbers = [layer.index for layer in stack.layers for _ in layer.stages]
    reached = depth(stack.architecture, 0, numbers, far=False)
    layers = tuple(_layer(audit, layer) for layer in stack.layers)
    kept = {kept.use for kept, _ in stack.tensors}
    room = audit.room
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
        engine=request.engine,
        tensor_parallel=request.tensor_parallel,
        keeps=tuple(use for use in Use if use in kept),
        kv_dtype=audit.kv_dtype,
        conv_dtype=audit.conv_dtype,
        state_dtype=audit.state_dtype,
        kv_bytes_per_token=_number(audit.kv_bytes_per_token),
        kv_bytes_per_late_token=_number(audit.kv_bytes_per_late_token),
        kv_bytes=audit.kv_bytes,
        growing_bytes=audit.bytes_of(lambda k: k.grows),
        window_bytes=audit.window_bytes,
        recurrent_bytes=audit.recurrent_bytes,
        convolution_bytes=audit.convolution_bytes,
        state_bytes=audit.state_bytes,
        padding_bytes=audit.padding_bytes,
        block_tokens=audit.block_tokens,
        memory=request.memory,
        parameters=stack.parameters,
        uncounted=audit.uncounted,
        weights_bytes=audit.weights_bytes,
        weights=_weights(audit),
        room=room,
        fits=audit.fits,
        longest_context=audit.longest_context,
        largest_batch=audit.largest_batch,
        failures=tuple(audit.failures),
        tokens=audit.tokens,
        concurrency=audit.concurrency,
        concurrency_beside_weights=None if room is None else audit.requests_in(room),
        cache_bytes=audit.cache_bytes,
        minimal_bytes=audit.minimal_bytes,
        state_bits_per_token=_held(audit),
        cache_by_length=_by_length(audit),
        depth=reached,
        remarks=tuple(audit.remarks),
        limits=(*map(_limit, audit.limits), _hops(reached.certified)),
    )


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


def _layer(audit: Audit, layer: ModelLayer) -> LayerAudit:
    bits = [block.part.state_bits(audit.request.context) for block in layer.blocks]
    sizes = {name: size for block in layer.blocks for name, size in block.sizes}
    return LayerAudit(
        index=layer.index,
        mixer="|".join(identifier(block.part.mixer) for block in layer.blocks) or None,
        kind=", ".join(block.what for block in layer.blocks) or layer.kind,
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
    return BlockReport(what=block.what, sizes=dict(block.sizes), kv=block.part.kv)


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
