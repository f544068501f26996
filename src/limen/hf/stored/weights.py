"""The weights of a model in bytes: as a file has them, and as an engine holds them on each rank.

model = listed(config, "config.json")                    # every matrix; raises NotCounted with the reason
packing = model.packing("awq")                           # or None: as the config declares
in_files(model, packing).total                           # the bytes of the tensors in its files
on_ranks(model, packing, Ranks(tensor=8, pipeline=2))    # a Split for one rank of each stage
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from limen.core.quantities import in_bytes
from limen.hf.configs import decoder, read
from limen.hf.dtypes import declared as dtypes_declared
from limen.hf.fields import Fields
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Stack
from limen.hf.stored import schemes
from limen.hf.stored.checkpoint import Checkpoint
from limen.hf.stored.matrices import Matrix, matrices
from limen.hf.stored.mixtures import FILE_TYPES, Mixture
from limen.hf.stored.packing import Packed, Packing, declared, first
from limen.hf.stored.ranks import Ranks
from limen.hf.stored.schemes import Scheme, up
from limen.hf.stored.split import Split, split_of
from limen.hf.stored.towers import tower
from limen.hf.stored.wanted import wanted
from limen.hf.weights import drafter, stored
from limen.hf.weights_table import TensorKind

_QUANTISED = re.compile(
    r"(?i)(?:^|[-_./])(nvfp4|mxfp4|mxfp8|fp8|fp4|awq|gptq|int4|int8|w4a16|w8a8|w4a8|[2345678]bit|bnb|nf4)(?=[-_./]|$)"
)


@dataclass(frozen=True)
class ListedModel:
    """A model's matrices, those of its drafter (MTP), and what file types and ranks depend on."""

    config: Mapping[str, Any]
    where: str
    stack: Stack
    matrices: tuple[Matrix, ...]
    drafter: tuple[Matrix, ...]
    rotary: int  # numbers of a position in all rotary tables
    tower: tuple[Matrix, ...] = ()  # that sees, where it is known

    def packing(self, scheme: str | None = None) -> Packing:
        """How the matrices are stored: as asked, or as the config declares, else in its precision."""
        if scheme is not None:
            return self._wanted(scheme.lower())
        if (why := getattr(self.config, "unread", None)) is not None:  # of a GGUF file
            raise NotCounted(why)
        rest = schemes.plain(4 if dtypes_declared(self.config, self.where).model == "float32" else 2)
        packed = declared(self.config, self.stack.model_type, rest, self.where)
        if packed is not None:
            if all(scheme.plain for _, scheme in packed.each(self.matrices)):
                raise NotCounted(f"{packed.name} is declared, but quantises none of its matrices")
            names = {first(matrix) for matrix in self.matrices}
            for modules, _ in packed.named:
                if (strange := modules.strange(names, len(self.stack.layers))) is not None:
                    raise NotCounted(f"{modules.where} names {strange}, which is no matrix known here")
            return packed
        name = self.where.removesuffix("/").removesuffix(".json").removesuffix("/config")
        if named := _QUANTISED.search(name.rpartition("/")[2]):
            raise NotCounted(
                f"the name says {named[1]}, but neither quantization_config nor hf_quant_config.json says how"
            )
        return wanted("float32" if rest.plain == 4 else "bfloat16", False)

    def _wanted(self, scheme: str) -> Packing:
        experts = max((matrix.experts for matrix in self.matrices), default=1)
        if scheme not in FILE_TYPES:
            return wanted(scheme, experts > 1)
        heads = next((sizes for layer in self.stack.layers if "kv_heads" in (sizes := _sizes(layer))), {})
        sharing = heads.get("heads", 1) // max(heads.get("kv_heads", 1), 1)
        count = len(self.stack.layers)
        seventy = self.stack.model_type == "llama" and count == 80 and sharing > 1
        return Mixture(scheme, count, experts if experts > 1 else 0, sharing, self.tied, seventy)

    @property
    def tied(self) -> bool:
        """Whether the embedding is the head as well."""
        return not any(matrix.kind is TensorKind.HEAD for matrix in self.matrices)

    @property
    def kv_heads(self) -> dict[int, int]:
        """By layer, the heads of keys."""
        return {layer.index: _sizes(layer).get("kv_heads", 0) for layer in self.stack.layers}


def _sizes(layer: Any) -> dict[str, int]:
    return {name: size for block in layer.blocks for name, size in block.sizes}


def listed(config: Mapping[str, Any], where: str) -> ListedModel:
    """The matrices of a model; raises NotCounted where they are not known."""
    stack = read(config, where)
    inner, model_type = decoder(config, where)
    tied = config.get("tie_word_embeddings")
    if tied is not None:
        inner = {**inner, "tie_word_embeddings": tied}
    f = Fields(inner, model_type, where)
    held = matrices(stored(f, stack.layers))
    drafts = tuple(matrices(drafter(f, stack.layers)))
    return ListedModel(config, where, stack, tuple(held), drafts, _rotary(f, stack), tower(config))


def _rotary(f: Fields, stack: Stack) -> int:
    """Rotary numbers of a head, once for each kind of positions."""
    if all(f[key] is None for key in ("rope_theta", "rope_parameters", "rope_scaling")):
        return 0
    if (latent := f.maybe("qk_rope_head_dim")) is not None:
        return latent
    share = f["partial_rotary_factor"]
    nested = f["rope_parameters"]
    if share is None and isinstance(nested, dict):
        share = nested.get("partial_rotary_factor")
    share = share if isinstance(share, int | float) and 0 < share <= 1 else 1
    several = f.model_type.startswith(("gemma3", "gemma4"))
    dims = {
        (sizes["head_dim"], layer.kind if several else "")
        for layer in stack.layers
        if "head_dim" in (sizes := _sizes(layer))
    }
    return sum(int(d * share) for d, _ in dims)


def in_files(model: ListedModel, packing: Packing) -> Split:
    """The bytes of the tensors in a checkpoint's files, a drafter's and a vision tower's among them."""
    return split_of([*packing.each((*model.matrices, *model.drafter)), *_seeing(model, packing)])


def _seeing(model: ListedModel, packing: Packing) -> list[tuple[Matrix, Scheme]]:
    """The vision tower, which is not quantised; llama.cpp has it in a file of its own."""
    return [(matrix, packing.rest) for matrix in model.tower] if isinstance(packing, Packed) else []


def on_ranks(
    model: ListedModel, packing: Packing, ranks: Ranks, mtp: bool = False, tables: bool = True
) -> tuple[Split, ...]:
    """The bytes on one rank of each stage; `mtp`: with the drafter; `tables`: with what vLLM adds."""
    layers, kv_heads = len(model.stack.layers), model.kv_heads
    stages = ranks.stages(layers)
    split, stage_of = [Split() for _ in stages], {layer: i for i, own in enumerate(stages) for layer in own}
    for matrix, scheme in packing.each((*model.matrices, *(model.drafter if mtp else ()))):
        share = ranks.share(matrix, kv_heads.get(matrix.layer or 0, 0), padded=tables)
        size = split_of([(ranks.padded(share) if scheme.name == "MXFP4" else share, scheme)])
        if tables and matrix.leaf == "kv_b_proj":
            size += Split(added=2 * share.numbers)
        for stage in _places(matrix, stage_of, len(stages) - 1, model.tied):
            split[stage] += size
    for matrix, scheme in _seeing(model, packing):
        split[0] += split_of([(ranks.share(matrix, 0), scheme)])
    table = Split(added=2 * (model.stack.positions or 0) * model.rotary if tables else 0)
    return tuple(one + table for one in split)


def torn(model: ListedModel, packing: Packing, ranks: Ranks) -> Iterator[Matrix]:
    """The matrices that ranks divide inside a block of fp8: neither vLLM nor SGLang loads such a share."""
    kv_heads = model.kv_heads
    for matrix, scheme in packing.each(model.matrices):
        share = ranks.share(matrix, kv_heads.get(matrix.layer or 0, 0))
        sizes = zip((matrix.out, matrix.columns), (share.out, share.columns), scheme.block, strict=True)
        if any(own != whole and own % block for whole, own, block in sizes):
            yield matrix


def _places(matrix: Matrix, stage_of: Mapping[int, int], last: int, tied: bool) -> tuple[int, ...]:
    """The stages that hold a matrix: that of its layer; the first has embeddings, the last all else."""
    if matrix.layer is not None:
        return (stage_of.get(matrix.layer, last),)
    if matrix.kind is not TensorKind.EMBEDDING:
        return (last,)
    return (0, last) if tied and last else (0,)


@dataclass(frozen=True)
class HeldWeights:
    """The weights of a model under one scheme."""

    scheme: str
    files: Split  # the tensors of the checkpoint, counted
    stages: tuple[Split, ...]  # one rank of each stage
    stated: int | None = None  # bytes of the tensors, where files beside the config say it
    remarks: tuple[str, ...] = ()
    whole: bool = False  # whether a vision tower is in it, where the model has one

    @property
    def rank(self) -> Split:
        """The fullest of the ranks."""
        return max(self.stages, key=lambda split: split.total)


def held(
    model: ListedModel,
    packing: Packing,
    ranks: Ranks,
    beside: Checkpoint = Checkpoint(),  # noqa: B008 - frozen
    mtp: bool = False,
    tables: bool = True,
) -> HeldWeights:
    """In files and on ranks; what files have beyond the count is added to each rank."""
    files, stages = in_files(model, packing), on_ranks(model, packing, ranks, mtp, tables)
    remarks, seeing = [], _seeing(model, packing)
    if seeing:
        remarks.append(f"with its vision tower, {in_bytes(split_of(seeing).total)}")
    if model.drafter and not mtp:
        size = split_of(packing.each(model.drafter)).total
        remarks.append(f"the layers that draft (MTP, {in_bytes(size)}) are in files, and not loaded")
    stated = beside.total
    if stated is not None:
        rest = up(stated - files.total, ranks.tensor)
        stages = tuple(one + Split(half=rest) for one in stages)
        by = "the headers say" if beside.headers is not None else "total_size is"
        remarks.append(f"{by} {stated:,} bytes, the count is {files.total:,} ({stated - files.total:+,})")
    if beside.total_size not in (None, stated):
        remarks.append(f"total_size of the index is {beside.total_size:,}, which the headers do not say")
    whole = stated is not None or bool(seeing)
    return HeldWeights(packing.name, files, stages, stated, tuple(remarks), whole)
