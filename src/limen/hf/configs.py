"""Reads a config.json: which part of it is the decoder, which family reads it, and the stack it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from limen import hf
from limen.errors import BadInput, shortened, unknown
from limen.hf.dtypes import INSIDE
from limen.hf.fields import Fields, defaults, no_misspelling, other_names
from limen.hf.reader import Reader
from limen.hf.stack import Bits, ModelLayer, Stack, sharing
from limen.hf.weights import NotCounted, parameters

_SHOWN = 8  # strange fields that are named
_HEARS = ("moshi", "phi4_multimodal")  # models of more than text whose config has the decoder's fields itself


def families() -> dict[str, Reader]:
    """The reader of each family, by the name of its file: those of this package that have a READER."""
    names = [module.name for module in iter_modules(hf.__path__)]
    readers = {name: getattr(import_module(f"limen.hf.{name}"), "READER", None) for name in names}
    return {name: reader for name, reader in readers.items() if reader is not None}


def reader_of(model_type: str) -> Reader:
    """The reader of a type's family; no other file is loaded."""
    reader: Reader = import_module(f"limen.hf.{defaults()[model_type].family}").READER
    return reader


def read(config: Mapping[str, Any], where: str, bits: Bits = Bits()) -> Stack:  # noqa: B008 - frozen
    """The stack that a config describes; states count in `bits`."""
    whole = config
    config, model_type = decoder(config, where)
    reader, f = reader_of(model_type), Fields(config, model_type, where)
    others = f.strange(reader.fields)
    kinds, works = reader.kinds(f), reader.works_for(model_type)
    for i, kind in enumerate(kinds):
        if kind not in works:
            raise f.unknown_kind(i, kind, works)
    layers = [ModelLayer(i, kind, reader.layer(f.of_layer(i), i, kind, bits)) for i, kind in enumerate(kinds)]
    layers = _shared(layers, f)
    if not any(layer.stages for layer in layers):
        raise f.wrong("layer_types", "at least one layer that mixes tokens")
    more = "" if len(others) <= _SHOWN else f" and {len(others) - _SHOWN} more"
    named = f"ignored, because {model_type} has no such fields: {', '.join(others[:_SHOWN])}{more}"
    remarks = (named,) if others else ()
    positions = f.maybe("max_position_embeddings")
    inside = config is not whole or model_type in _HEARS
    stack = Stack(model_type, tuple(layers), positions, remarks, inside=inside)
    counted = parameters(_tied(f, whole), layers)
    if isinstance(counted, NotCounted):
        return replace(stack, uncounted=str(counted))
    return replace(stack, parameters=counted)


def _tied(f: Fields, whole: Mapping[str, Any]) -> Fields:
    """With what the model around the decoder says of the head, if it does."""
    tied = whole.get("tie_word_embeddings")
    return f if tied is None else replace(f, config={**f.config, "tie_word_embeddings": tied})


def type_of(config: Mapping[str, Any], where: str) -> str:
    """The type under which a config is read."""
    return decoder(config, where)[1]


def decoder(config: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], str]:
    """The part of the config that describes the decoder of text, and its type."""
    own, boxes = config.get("model_type"), other_names().boxes
    if isinstance(own, str) and own in defaults():
        return config, own
    for name in INSIDE:
        if (inner := config.get(name)) is not None:
            if not isinstance(inner, dict):
                raise BadInput(f"{where}: {name} is {shortened(inner)}; expected an object")
            return _inner(inner, str(own), f"{where}: {name}")
    no_misspelling(config, (key for key in config if key not in INSIDE), INSIDE, where)
    if isinstance(own, str):  # the decoder's fields without a box around them, or none at all
        for known in (boxes.get(own), f"{own}_text"):
            if known in defaults():
                return config, str(known)
    if (known := _by_class(config)) is not None:
        return config, known
    if not isinstance(own, str):
        raise BadInput(f"{where}: model_type is missing; expected one of {', '.join(sorted(defaults()))}")
    raise unknown(f"model type ({where})", own, defaults())


def _inner(inner: Mapping[str, Any], box: str, where: str) -> tuple[Mapping[str, Any], str]:
    """By its own type, by its class, or by that which the model around it has."""
    if "model_type" not in inner and "architectures" not in inner:
        inner = {**inner, "model_type": other_names().boxes.get(box, f"{box}_text")}
    try:
        return decoder(inner, where)
    except BadInput:
        known = other_names().boxes.get(box)
        if known is None:
            raise
        return inner, known


def _by_class(config: Mapping[str, Any]) -> str | None:
    """The type of a class named in `architectures`."""
    classes = config.get("architectures")
    named = [name for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    known = other_names().architectures
    return next((known[name] for name in named if name in known), None)


def _shared(layers: list[ModelLayer], f: Fields) -> list[ModelLayer]:
    """The last layers may read the keys and values of the last earlier layer of their kind."""
    first = len(layers) - f.either("num_kv_shared_layers", 0)
    if not 0 < first < len(layers):
        if first <= 0:
            raise f.wrong("num_kv_shared_layers", f"an integer below the number of layers, {len(layers)}")
        return layers
    source = {layer.kind: layer.index for layer in layers[:first]}
    for layer in layers[first:]:
        if layer.kind not in source:
            shared = f"num_kv_shared_layers is {len(layers) - first}"
            raise f.contradiction(
                shared, f"none of the first {first} layers has the kind of layer {layer.index}"
            )
    return [
        layer
        if layer.index < first
        else replace(layer, stages=((sharing(layer.blocks[0], source[layer.kind]),),))
        for layer in layers
    ]
