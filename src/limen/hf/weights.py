"""The weights of a model, tensor by tensor: what weights.txt says of its type, at the sizes of its config."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from limen.errors import BadInput
from limen.hf.fields import Fields
from limen.hf.formulas import Scope
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Block, FixedRows, Kept, LastColumns, ModelLayer, Use
from limen.hf.weights_table import Entry, TableLine, TensorKind, entry_of, part_of, types, words

_ATTENTION = (
    "full attention",
    "sliding window",
    "chunk",
    "block-sparse attention",
    "indexed attention",
    "latent attention",
)
_LETTERS = {"heads": "h", "kv_heads": "h_kv", "head_dim": "d", "window": "W", "block": "B"}
_MOST = 1024  # tensors of one line
_UNNAMED = (
    TensorKind.EXPERTS,
    TensorKind.BIAS,
    TensorKind.RAW,
    TensorKind.BUFFER,
)  # parameters of their own, not the weight of a module


@dataclass(frozen=True)
class Tensor:
    """One tensor, under its name in transformers; `stacked`: the rows of each matrix that it holds."""

    name: str
    kind: TensorKind
    shape: tuple[int, ...]
    stacked: tuple[int, ...]
    wide: bool = False  # whether checkpoints keep it in float32

    @property
    def numbers(self) -> int:
        return prod(self.shape)

    @property
    def experts(self) -> int:
        """How many experts have such matrices; 1 where there are none."""
        return self.shape[0] if self.kind is TensorKind.EXPERTS else 1

    @property
    def columns(self) -> int:
        """Numbers in a row of a matrix: what goes in."""
        return self.numbers // (self.experts * sum(self.stacked))


def parameters(f: Fields, layers: Sequence[ModelLayer], head: bool = True) -> int | NotCounted:
    """The numbers in all tensors, or why they are not counted."""
    try:
        return sum(tensor.numbers for tensor in tensors(f, layers, head))
    except NotCounted as reason:
        return reason


def tensors(f: Fields, layers: Sequence[ModelLayer], head: bool = True) -> list[Tensor]:
    """Every parameter, layer by layer; `head`: with the one that makes words, unless it is tied."""
    return [tensor for tensor in stored(f, layers, head) if tensor.kind is not TensorKind.BUFFER]


def stored(f: Fields, layers: Sequence[ModelLayer], head: bool = True) -> list[Tensor]:
    """Every tensor of a checkpoint but those of a drafter."""
    if f.model_type not in types():
        raise NotCounted(f"the shapes of {f.model_type}'s weights are not known here")
    try:
        return [*_tensors(f, entry_of(f.model_type), layers, head)]
    except BadInput as missing:  # the cache may be read where a size of the weights is missing
        raise NotCounted(str(missing).removeprefix(f"{f.where}: {f.model_type}: ")) from missing


def drafter(f: Fields, layers: Sequence[ModelLayer]) -> list[Tensor]:
    """The tensors of the layers that draft tokens (MTP): each like the last layer, with a part of its own."""
    entry = entry_of(f.model_type)
    kinds = tuple(layer.kind for layer in layers)
    known = {"kinds": kinds, **_known(layers[-1])}
    scope = Scope(f.of_layer(layers[-1].index), entry.letters, known)
    count = scope.size(entry.letters["drafters"])
    if count > _MOST:
        raise NotCounted(f"{count:,} layers that draft; at most {_MOST:,} are read")
    tensors: list[Tensor] = []
    for j in range(count):
        each = scope.where(j)
        for tensor in _of_layer(f, entry, known, {}):
            name = each["drafter_layers"] + tensor.name.removeprefix(scope["layers"])
            tensors.append(replace(tensor, name=name))
        for line in part_of(scope["drafter"]).lines:
            tensors += _of_line(line, scope, each["drafter_path"])
    return tensors


def _tensors(f: Fields, entry: Entry, layers: Sequence[ModelLayer], head: bool) -> Iterator[Tensor]:
    if f["add_cross_attention"]:
        raise NotCounted("add_cross_attention adds weights that are not known here")
    kinds = tuple(layer.kind for layer in layers)
    model = Scope(f, entry.letters, {"head": head, "kinds": kinds})
    for condition, reason in entry.refused:
        if model.holds(condition):
            raise NotCounted(model.text(reason))
    for line in entry.of_model:
        yield from _of_line(line, model, "")
    alike: dict[object, list[Tensor]] = {}
    for layer in layers:
        yield from _of_layer(f, entry, {"kinds": kinds, **_known(layer)}, alike)


def _of_layer(
    f: Fields, entry: Entry, known: dict[str, Any], alike: dict[object, list[Tensor]]
) -> Iterator[Tensor]:
    """The tensors of a layer; `alike` has those of layers of which the same is known."""
    own = f.of_layer(known["i"])
    first = Scope(own, entry.letters, known)
    place, known = first["layers"], known | {"dense": bool(first["dense"])}
    key = tuple(value for word, value in known.items() if word != "i") if own is f else None
    made = alike.get(key)
    if made is None:
        scope = Scope(own, entry.letters, known)
        made = [tensor for line in entry.of_layer for tensor in _of_line(line, scope, "")]
        if key is not None and not scope.touched:
            alike[key] = made
    yield from (replace(tensor, name=place + tensor.name) for tensor in made)


def _of_line(line: TableLine, scope: Scope, before: str) -> Iterator[Tensor]:
    """One tensor with its bias, one for each j, or those of a part or of the lines below."""
    if not scope.holds(line.where):
        return
    if line.sizes:
        for each in _each(line, scope):
            yield from _tensor(line, each, before + each.text(line.path))
        return
    part = part_of(line.part) if line.part else Entry(lines=line.below)
    letters = {**part.letters, **line.letters}
    inner = scope.within(letters) if letters else scope
    for one in part.lines:
        yield from _of_line(one, inner, f"{before}{scope.text(line.path)}.")


def _each(line: TableLine, scope: Scope) -> Iterator[Scope]:
    if not line.each:
        yield scope
        return
    places = scope.value(line.each)
    if len(places) > _MOST:
        raise NotCounted(f"{len(places)} tensors {line.path}")
    for j in places:
        yield scope.where(j)


def _tensor(line: TableLine, scope: Scope, name: str) -> Iterator[Tensor]:
    sizes = [tuple(scope.size(piece) for piece in size.split("|")) for size in line.sizes]
    shape, kind = tuple(sum(pieces) for pieces in sizes), line.kind
    rows = 1 if kind is TensorKind.EXPERTS else 0
    if not prod(shape):
        return
    yield Tensor(name if kind in _UNNAMED else f"{name}.weight", kind, shape, sizes[rows], line.wide)
    if line.bias and scope.holds(line.bias):
        mark = "_" if kind in _UNNAMED else "."
        yield Tensor(f"{name}{mark}bias", TensorKind.BIAS, shape[: rows + 1], shape[rows : rows + 1])


def _known(layer: ModelLayer) -> dict[str, Any]:
    """What a formula may ask of a layer, from what its mixers keep."""
    blocks = layer.blocks
    sizes = {name: size for block in reversed(blocks) for name, size in block.sizes}
    known = {letter: sizes[name] for name, letter in _LETTERS.items() if name in sizes}
    return known | {
        "i": layer.index,
        "kind": layer.kind,
        "what": tuple(block.what for block in blocks),
        "attends": any(block.what in _ATTENTION for block in blocks),
        "own": not blocks or blocks[0].part.kv is None,
        "kv": _numbers(blocks, Use.KV),
        "index": _numbers(blocks, Use.INDEX),
        "state": _numbers(blocks, Use.RECURRENT),
        **_convolution(blocks),
    }


def _convolution(blocks: Sequence[Block]) -> dict[str, Any]:
    """Its numbers, their heads and sizes, and the tokens that it sees."""
    for kept in _kept(blocks, Use.CONVOLUTION):
        rows = kept.rows
        c = rows.c if isinstance(rows, LastColumns) else rows.r if isinstance(rows, FixedRows) else 0
        return {"channels": kept.numbers, "conv": kept.pieces, "c": c}
    return {}


def _numbers(blocks: Sequence[Block], use: Use) -> int:
    return next((kept.numbers for kept in _kept(blocks, use)), 0)


def _kept(blocks: Sequence[Block], use: Use) -> Iterator[Kept]:
    return (kept for block in blocks for kept in block.kept if kept.use is use)


__all__ = [
    "NotCounted",
    "Tensor",
    "TensorKind",
    "drafter",
    "parameters",
    "stored",
    "tensors",
    "types",
    "words",
]
