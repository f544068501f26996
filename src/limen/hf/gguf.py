"""GGUF: the header of a model's file, as the config that its model was made from.

The header is the metadata (`general.architecture`, `llama.block_count`, …) and the name, shape and type of
each tensor.  Nothing behind it is read.  Every length is looked at before it is believed: a file that is cut
short, or that claims more than it has, is an error.

Read in llama.cpp's sources of August 2026: gguf-py/gguf/constants.py.  What the keys mean: `gguf_names.py`.
"""

from __future__ import annotations

import mmap
import re
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from limen.errors import BadInput, shortened
from limen.hf.gguf_names import config_of

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_PAIRS, _TENSORS, _STRINGS, _TEXT, _LIST = 2**12, 2**17, 2**21, 2**16, 2**12  # more are nobody's
_NUMBERS = 2**40  # of a tensor
_PARTS = 2**10  # files of a model
_TYPES = {  # numbers of a block, and its bytes
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
}


class GGUFConfig(dict[str, Any]):
    """The config; and how many numbers its tensors hold, in how many bytes, or why that is not known."""

    parameters: int | None = None
    weights: int | None = None
    unread: str | None = None


@dataclass
class _Bytes:
    data: mmap.mmap
    where: str
    at: int = 0
    strings: int = 0

    def wrong(self, what: str) -> BadInput:
        return BadInput(f"{self.where}: {what}, at byte {self.at:,} of a GGUF file of {len(self.data):,}")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.wrong(f"cut short: {size:,} bytes are missing or claimed too many")
        self.at += size
        return self.data[self.at - size : self.at]

    def one(self, kind: int) -> Any:
        form = _FIXED[kind]
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def count(self, most: int, what: str) -> int:
        count: int = self.one(10)
        if count > most:
            raise self.wrong(f"{shortened(count)} {what}, at most {most:,} are read")
        return count

    def skip_texts(self, count: int) -> None:
        """Past so many strings: a model has hundreds of thousands."""
        data, at, end, length = self.data, self.at, len(self.data), struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > end:
                raise self.wrong("cut short inside a list of strings")
            at += 8 + length(data, at)[0]
        if at > end:
            raise self.wrong("cut short inside a list of strings")
        self.at, self.strings = at, self.strings + count

    def text(self) -> str:
        return self.take(self.count(_TEXT, "letters of a name")).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """None for what no reader asks for: long lists, long texts, lists of texts."""
        if kind in _FIXED:
            return self.one(kind)
        if kind == _STRING:
            size: int = struct.unpack_from("<Q", self.take(8))[0]
            if size > len(self.data) - self.at:
                raise self.wrong("cut short inside a string")
            self.at += size
            short = size <= _TEXT
            return self.data[self.at - size : self.at].decode("utf-8", "replace") if short else None
        if kind != _ARRAY:
            raise self.wrong(f"unknown metadata type {kind}")
        return self.array()

    def array(self) -> list[Any] | None:
        kind = self.one(4)
        if kind == _STRING:
            self.skip_texts(self.count(_STRINGS - self.strings, "strings"))
            return None
        if kind not in _FIXED:
            raise self.wrong(f"a list of type {kind}")
        size, count = struct.calcsize(_FIXED[kind]), self.one(10)
        if count * size > len(self.data) - self.at:
            raise self.wrong(f"cut short inside a list of {shortened(count)}")
        if count > _LIST:
            self.at += count * size
            return None
        return [self.one(kind) for _ in range(count)]


def header(path: Path, where: str) -> GGUFConfig:
    """The config in a file whose metadata describe a decoder that the readers know."""
    metadata, numbers, size = _read(path, where)
    config = GGUFConfig(config_of(metadata, where))
    parts = metadata.get("split.count", 1)
    if parts not in (0, 1):
        others = _others(path, parts)
        if others is None:
            config.unread = f"the file is one of {shortened(parts)}, which are not all there"
            return config
        for other in others:
            _, more, bytes_more = _read(other, str(other))
            numbers, size = numbers + more, None if size is None or bytes_more is None else size + bytes_more
    config.parameters, config.weights = numbers or None, size or None
    if not config.weights:
        config.unread = "its tensors are missing, or some are of a type that is not known here"
    return config


def numbers_of(path: Path, where: str) -> int:
    """How many numbers the tensors of one file hold, whatever its metadata describe."""
    return _read(path, where)[1]


def _others(path: Path, count: object) -> list[Path] | None:
    """The other files of a model in parts, by their names; None if one is missing."""
    named = re.fullmatch(r"(.+)-(\d{5})-of-(\d{5})\.gguf", path.name)
    if named is None or int(named[3]) != count or int(named[3]) > _PARTS:
        return None
    names = (f"{named[1]}-{i:05}-of-{named[3]}.gguf" for i in range(1, int(named[3]) + 1))
    others = [path.with_name(name) for name in names if name != path.name]
    return others if all(other.is_file() for other in others) else None


def _read(path: Path, where: str) -> tuple[dict[str, Any], int, int | None]:
    """The metadata of a file, the numbers of its tensors, and their bytes where all types are known."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise BadInput(f"{where}: cannot be read as a GGUF file: it is no file")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            r = _Bytes(data, where)
            metadata, tensors = _metadata(r)
            return metadata, *_weights(r, tensors)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{where}: cannot be read as a GGUF file: {error}") from error


def _metadata(r: _Bytes) -> tuple[dict[str, Any], int]:
    """The pairs of a header, and how many tensors follow."""
    if r.take(4) != _MAGIC:
        raise r.wrong("not a GGUF file: it does not begin with GGUF")
    version = r.one(4)
    if version not in _VERSIONS:
        raise r.wrong(f"version {version}; only versions 2 and 3, little-endian, are read")
    tensors, pairs = r.count(_TENSORS, "tensors"), r.count(_PAIRS, "pairs of metadata")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = r.text()
        if key in metadata:
            raise r.wrong(f"the key {shortened(key)} is given twice")
        metadata[key] = r.value(r.one(4))
    return metadata, tensors


def _weights(r: _Bytes, tensors: int) -> tuple[int, int | None]:
    """Numbers and bytes; no bytes where a type is not known."""
    numbers, size, known = 0, 0, True
    for _ in range(tensors):
        r.text()
        dimensions = r.one(4)
        if dimensions > 8:
            raise r.wrong(f"a tensor of {dimensions} dimensions")
        count = prod(r.one(10) for _ in range(dimensions))
        if count > _NUMBERS:
            raise r.wrong(f"a tensor of {shortened(count)} numbers, at most {_NUMBERS:,} are read")
        kind = r.one(4)
        r.one(10)
        numbers += count
        if kind in _TYPES:
            block, packed = _TYPES[kind]
            size += -(-count // block) * packed
        else:
            known = False
    return numbers, size if known else None
