"""What lies beside a config.json: how its weights are quantised, their bytes, the tensors themselves.

    hf_quant_config.json             modelopt's declaration, where the config has none
    model.safetensors.index.json     metadata.total_size: the bytes of all tensors
    *.safetensors                    the name, precision and sizes of each tensor, from the header alone

Nothing behind a header is read.  Every length is compared with the file before it is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from limen.errors import BadInput, shortened
from limen.files.folder import content_of
from limen.files.strict_json import LONGEST, read_object
from limen.hf.stored.split import Split

_FILES, _DIMENSIONS = 2**11, 8  # more are nobody's
_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16}
_BITS |= {"U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BOOL": 8, "F6_E2M3": 6}
_BITS |= {"F6_E3M2": 6, "F4": 4}
_SCALES: tuple[str, ...] = (
    "scale",
    "scales",
    "scale_inv",
    "scale_2",
    "absmax",
    "qzeros",
    "g_idx",
    "quant_map",
    "SCB",
    "zero_point",
)
_SCALES += (
    "biases",
    "weight_shape",
    "weight_format",
    "nested_absmax",
    "nested_quant_map",
    "bitsandbytes__nf4",
)


@dataclass(frozen=True)
class Checkpoint:
    """The bytes that files say: of the index, and of the headers; None where there are none."""

    total_size: int | None = None
    headers: Split | None = None

    @property
    def total(self) -> int | None:
        """Headers are the files themselves; the index is about them."""
        return self.total_size if self.headers is None else self.headers.total


class Config(dict[str, Any]):
    """A config.json with what lies beside it."""

    checkpoint: Checkpoint = Checkpoint()


def with_files(config: Mapping[str, Any], folder: Path, where: str) -> Config:
    """The config with what the files of its folder say of the weights."""
    whole = Config(config)
    declared = folder / "hf_quant_config.json"
    if "quantization_config" not in whole and declared.is_file():
        own = read_object(content_of(declared), str(declared)).get("quantization")
        if not isinstance(own, dict):
            raise BadInput(f"{declared}: quantization is {shortened(own)}; expected an object")
        whole["quantization_config"] = own
    whole.checkpoint = Checkpoint(_total_size(folder), _headers(folder))
    return whole


def _total_size(folder: Path) -> int | None:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return None
    metadata = read_object(content_of(index), str(index)).get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if size is not None and (type(size) is not int or not 0 < size < 2**60):
        raise BadInput(f"{index}: metadata.total_size is {shortened(size)}; expected a number of bytes")
    return size


def _headers(folder: Path) -> Split | None:
    """The tensors of all files; None if there is none, or the index names one that is not there."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        return None
    if len(files) > _FILES:
        raise BadInput(f"{folder}: {len(files):,} safetensors files; at most {_FILES:,} are read")
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = read_object(content_of(index), str(index)).get("weight_map")
        named = (
            {name for name in names.values() if isinstance(name, str)} if isinstance(names, dict) else set()
        )
        there = {file.name for file in files}
        if named - there:
            return None
        files = [file for file in files if file.name in named] or files
    return sum((header(file) for file in files), Split())


def header(file: Path) -> Split:
    """The bytes of the tensors that a safetensors file has, by their precision and name."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(0)
            first = opened.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else size
            if length > min(size - 8, LONGEST):
                most = f"the file has {size:,} bytes, and at most {LONGEST:,} are read"
                raise BadInput(f"{file}: no safetensors file: its header claims {length:,} bytes; {most}")
            content = opened.read(length)
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from error
    tensors = read_object(content, f"{file}: header")
    tensors.pop("__metadata__", None)
    split = [_tensor(name, value, size - 8 - length, file) for name, value in tensors.items()]
    total = sum(one.total for one in split)
    if total > size - 8 - length:
        raise BadInput(
            f"{file}: its tensors claim {total:,} bytes, but {size - 8 - length:,} follow the header"
        )
    return sum(split, Split())


def _tensor(name: str, value: object, most: int, file: Path) -> Split:
    wrong = f"{file}: tensor {shortened(name)}"
    if not isinstance(value, dict):
        raise BadInput(f"{wrong} is {shortened(value)}; expected an object")
    dtype, shape = value.get("dtype"), _sizes(value.get("shape"), _DIMENSIONS)
    ends = _sizes(value.get("data_offsets"), 2)
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise BadInput(f"{wrong}: dtype {shortened(dtype)}; known are {', '.join(_BITS)}")
    if shape is None or ends is None or len(ends) != 2:
        raise BadInput(f"{wrong}: expected a shape and two data_offsets of whole numbers")
    size = -(-prod(shape) * _BITS[dtype] // 8)
    if ends[1] - ends[0] != size or ends[1] > most:
        raise BadInput(f"{wrong}: {size:,} bytes by its shape, data_offsets {ends} of {most:,}")
    if name.rpartition(".")[2].endswith(_SCALES):
        return Split(scales=size, tensors=1)
    if dtype in ("F32", "F64", "I64"):
        return Split(single=size, tensors=1)
    return Split(half=size, tensors=1) if dtype in ("F16", "BF16") else Split(quantised=size, tensors=1)


def _sizes(value: object, most: int) -> list[int] | None:
    """The list itself, where it is one of so many whole numbers at most."""
    if not isinstance(value, list) or len(value) > most:
        return None
    return value if all(type(n) is int and 0 <= n < 2**60 for n in value) else None
