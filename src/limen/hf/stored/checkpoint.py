"""What lies beside a config.json: how its weights are quantised, their bytes, the tensors themselves.

    hf_quant_config.json             modelopt's declaration, where the config has none
    model.safetensors.index.json     metadata.total_size: the bytes of all tensors
    *.safetensors                    the name, precision and sizes of each tensor, from the header alone

Nothing behind a header is read. Every length is compared with the file before it is believed. Files of a
checkpoint that are not all there (an index or their own names say how many), or that Git LFS has not
fetched, say nothing.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from limen.errors import BadInput, shortened
from limen.files.folder import content_of
from limen.files.strict_json import read_object
from limen.hf.stored.split import Split

_FILES, _DIMENSIONS = 2**11, 8  # more are nobody's
_HEADER, _HEADERS = 2**24, 2**27  # bytes of one, of all
_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16}
_BITS |= {"U16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BOOL": 8, "F6_E2M3": 6}
_BITS |= {"F6_E3M2": 6, "F4": 4}
_KINDS = {"F16": "half", "BF16": "half", "F32": "single", "F64": "single", "I64": "single"}
# How the names of scales end: of fp8, MXFP4, compressed-tensors, modelopt; MLX; bitsandbytes; AWQ, GPTQ.
_SCALES: tuple[str, ...] = (
    "scale",
    "scales",
    "scale_inv",
    "scale_2",
    "zero_point",
    "weight_shape",
    "biases",
    "absmax",
)
_SCALES += ("quant_map", "bitsandbytes__nf4", "bitsandbytes__fp4", "SCB", "weight_format", "qzeros", "g_idx")
_POINTER = b"version https://git-lfs"


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


class ShardIndex(NamedTuple):
    """What model.safetensors.index.json says, if it is there: bytes of all tensors, files that have them."""

    total_size: int | None = None
    files: frozenset[str] = frozenset()


def with_files(config: Mapping[str, Any], folder: Path, where: str) -> Config:
    """The config with what the files of its folder say of the weights."""
    whole = Config(config)
    declared = folder / "hf_quant_config.json"
    if "quantization_config" not in whole and _there(declared):
        own = read_object(content_of(declared), str(declared)).get("quantization")
        if not isinstance(own, dict):
            raise BadInput(f"{declared}: quantization is {shortened(own)}; expected an object")
        whole["quantization_config"] = own
    index = _index(folder / "model.safetensors.index.json")
    files = _files(folder, index.files)
    whole.checkpoint = Checkpoint(index.total_size, headers(files) if files else None)
    return whole


def _there(file: Path) -> bool:
    """Whether it is; what cannot be read as a file (a pipe, a link that leads nowhere) is refused."""
    if file.is_file():
        return True
    if file.is_symlink() or file.exists():
        raise BadInput(f"{file}: cannot be read: it is no file")
    return False


def _index(file: Path) -> ShardIndex:
    if not _there(file):
        return ShardIndex()
    content = read_object(content_of(file), str(file))
    metadata, names = content.get("metadata"), content.get("weight_map")
    if not isinstance(metadata, dict | None) or not isinstance(names, dict | None):
        raise BadInput(f"{file}: expected an object metadata and an object weight_map")
    size = (metadata or {}).get("total_size")
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if size is not None and (type(size) is not int or not 0 < size < 2**60):
        raise BadInput(f"{file}: metadata.total_size is {shortened(size)}; expected a number of bytes")
    return ShardIndex(size, frozenset(name for name in (names or {}).values() if isinstance(name, str)))


def _files(folder: Path, named: frozenset[str]) -> list[Path]:
    """Those of the checkpoint: the named ones, or model.safetensors, or all; none where some are missing."""
    files = {file.name: file for file in sorted(folder.glob("*.safetensors"))}
    if len(files) > _FILES:
        raise BadInput(f"{folder}: {len(files):,} safetensors files; at most {_FILES:,} are read")
    alone = {"model.safetensors"} & files.keys()
    wanted = named or alone or _numbered(files.keys())
    if not wanted <= files.keys():
        return []
    chosen = [file for name, file in files.items() if name in wanted and _there(file)]
    return [] if any(_pointer(file) for file in chosen) else chosen


def _numbered(names: Iterable[str]) -> set[str]:
    """The names with all that "00001-of-00004" promises beside them."""
    whole = set(names)
    for name in names:
        if part := re.search(r"-\d{5}-of-(\d{5})(?=\.safetensors$)", name):
            before, after = name[: part.start()], name[part.end() :]
            count = min(int(part[1]), _FILES)
            whole |= {f"{before}-{i:05}-of-{part[1]}{after}" for i in range(1, count + 1)}
    return whole


def _pointer(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_POINTER)) == _POINTER


def headers(files: Iterable[Path]) -> Split:
    """The bytes of the tensors of all files, by their precision and name; no name may come twice."""
    sizes, owner, read = Counter[str](), dict[str, Path](), 0
    for file in files:
        content, data = _header(file)
        read += len(content)
        if read > _HEADERS:
            raise BadInput(f"{file}: headers of more than {_HEADERS:,} bytes in all; no more are read")
        for name, kind, size in _tensors(content, data, file):
            if name in owner:
                raise BadInput(f"{file}: tensor {shortened(name)} is in {owner[name].name} as well")
            owner[name] = file
            sizes[kind] += size
    return Split(**sizes, tensors=len(owner))


def _header(file: Path) -> tuple[bytes, int]:
    """The header of a file, and how many bytes follow it."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(0)
            first = opened.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else size
            if length > min(size - 8, _HEADER):
                most = f"the file has {size:,} bytes, and at most {_HEADER:,} are read"
                raise BadInput(f"{file}: no safetensors file: its header claims {length:,} bytes; {most}")
            return opened.read(length), size - 8 - length
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from error


def _tensors(content: bytes, data: int, file: Path) -> list[tuple[str, str, int]]:
    """The name, kind and bytes of each tensor; they lie one behind the other in all the data."""
    described = read_object(content, f"{file}: header")
    described.pop("__metadata__", None)
    tensors, places = [], []
    for name, value in described.items():
        kind, place = _tensor(name, value, f"{file}: tensor {shortened(name)}")
        tensors.append((name, kind, place[1] - place[0]))
        places.append(place)
    for (_, end), (start, _) in pairwise([(0, 0), *sorted(places), (data, data)]):
        if start != end:
            what = "overlap" if start < end else "leave a hole"
            raise BadInput(f"{file}: its tensors {what} at byte {min(start, end):,} of {data:,} data bytes")
    return tensors


def _tensor(name: str, value: object, wrong: str) -> tuple[str, tuple[int, int]]:
    """What it is, and where its data begin and end."""
    if not isinstance(value, dict):
        raise BadInput(f"{wrong} is {shortened(value)}; expected an object")
    dtype, shape = value.get("dtype"), _sizes(value.get("shape"), _DIMENSIONS)
    ends = _sizes(value.get("data_offsets"), 2)
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise BadInput(f"{wrong}: dtype {shortened(dtype)}; known are {', '.join(_BITS)}")
    if shape is None or ends is None or len(ends) != 2:
        raise BadInput(f"{wrong}: expected a shape and two data_offsets of whole numbers")
    size = -(-prod(shape) * _BITS[dtype] // 8)
    if ends[1] - ends[0] != size:
        raise BadInput(f"{wrong}: {shortened(size)} bytes by its shape, but data_offsets {ends}")
    kind = "scales" if name.rpartition(".")[2].endswith(_SCALES) else _KINDS.get(dtype, "quantised")
    return kind, (ends[0], ends[1])


def _sizes(value: object, most: int) -> list[int] | None:
    """The list itself, where it is one of so many whole numbers at most."""
    if not isinstance(value, list) or len(value) > most:
        return None
    return value if all(type(n) is int and 0 <= n < 2**60 for n in value) else None
