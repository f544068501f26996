"""A model on disk: a folder with `model.json` (what it is) and `model.safetensors` (its weights).

Both files are data, never code: a folder from somebody else is safe to load.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.files.folder import content_of, ready_folder, refuse_foreign, write_folder
from limen.files.own import refuse
from limen.files.strict_json import read_object
from limen.model.embedding import Codes, parse_embedding
from limen.model.local import parse_local
from limen.model.model import Frame, Model
from limen.model.readout import parse_readout

if TYPE_CHECKING:
    import torch

WEIGHTS, HEADER = "model.safetensors", "model.json"
_TYPES = ("float16", "bfloat16", "float32", "float64")


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `model.json`: a frame in its text forms."""

    schema: Literal["limen/model/1"]
    architecture: str
    width: int
    answers: int
    embedding: str | Codes
    locals: list[str | None]
    norm: bool
    residual: bool
    readout: str


def digest(model: Model) -> str:
    """SHA-256 of what `save` writes: the length of model.json in eight bytes, then both files."""
    return digest_of(*_content(model))


def digest_of(header: bytes, packed: bytes) -> str:
    """The digest of a model's two files."""
    import hashlib  # it loads OpenSSL

    return hashlib.sha256(len(header).to_bytes(8, "little") + header + packed).hexdigest()


def save(model: Model, folder: str | os.PathLike[str], *more: tuple[str, bytes]) -> None:
    """Writes the model and further files about it; either all appear, whole, or none."""
    ready(folder, *(name for name, _ in more))
    write_folder(Path(folder), [*model_files(model), *more])


def model_files(model: Model) -> list[tuple[str, bytes]]:
    """The two files, name and content, the header first."""
    header, packed = _content(model)
    return [(HEADER, header), (WEIGHTS, packed)]


def written(frame: Frame, weights: Weights) -> tuple[bytes, bytes]:
    """The contents of `model.json` and `model.safetensors` for a construction, made without torch."""
    return _header(frame), packed(weights)


def packed(weights: Weights) -> bytes:
    """The numbers of a construction, in float64, as `model.safetensors` holds them."""
    described, parts, at = {}, list[bytes](), 0
    for name, w in sorted(weights.items()):
        parts.append(np.ascontiguousarray(w, dtype=np.float64).tobytes())
        described[name] = {"dtype": "F64", "shape": list(w.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    header = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([len(header).to_bytes(8, "little"), header, *parts])


def ready(folder: str | os.PathLike[str], *more: str) -> None:
    """Refuses, before any work, a folder that cannot be written or holds a model not written by Limen."""
    ready_folder(Path(folder))
    refuse_foreign(Path(folder), HEADER, HEADER, WEIGHTS)
    for name in more:
        refuse_foreign(Path(folder), name, name)


def _content(model: Model) -> tuple[bytes, bytes]:
    """The header and the packed weights."""
    from safetensors.torch import save as pack

    packed = pack({name: w.detach().contiguous() for name, w in sorted(model.weights.items())})
    return _header(model.frame), packed


def _header(frame: Frame) -> bytes:
    header = Header(
        schema="limen/model/1",
        architecture=frame.architecture.sized,
        width=frame.width,
        answers=frame.answers,
        embedding=frame.embedding if isinstance(frame.embedding, Codes) else str(frame.embedding),
        locals=[None if local is None else str(local) for local in frame.locals],
        norm=frame.norm,
        residual=frame.residual,
        readout=str(frame.readout),
    )
    return msgspec.json.format(msgspec.json.encode(header)) + b"\n"


def load(folder: str | os.PathLike[str]) -> Model:
    """Reads a model that `save` wrote, or says which file is wrong and why."""
    folder = Path(folder)
    for name in (HEADER, WEIGHTS):
        if not (folder / name).is_file():
            raise BadInput(f"{folder} is not a saved model: it has no {name}")
    return model_of(content_of(folder / HEADER), content_of(folder / WEIGHTS), folder)


def model_of(header_file: bytes, weights_file: bytes, folder: Path = Path()) -> Model:
    """The model in the two files of a folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load as unpack

    try:
        fields = read_object(header_file, str(folder / HEADER))
        header = msgspec.convert(fields, type=Header)
        weights: dict[str, torch.Tensor] = unpack(weights_file)
    except msgspec.MsgspecError as error:
        raise BadInput(f"{folder / HEADER}: {error}") from error
    except SafetensorError as error:
        raise BadInput(f"{folder / WEIGHTS}: {error}") from error
    _one_type(weights, folder / WEIGHTS)
    refuse(header.architecture, str(folder / HEADER))
    frame = Frame(
        Architecture.parse(header.architecture),
        header.width,
        header.answers,
        parse_embedding(header.embedding) if isinstance(header.embedding, str) else header.embedding,
        tuple(None if text is None else parse_local(text) for text in header.locals),
        norm=header.norm,
        residual=header.residual,
        readout=parse_readout(header.readout),
    )
    return Model(frame, weights)


def _one_type(weights: dict[str, torch.Tensor], path: Path) -> None:
    """Raises unless all weights are stored in one type that a model computes in."""
    kinds = {name: str(w.dtype).removeprefix("torch.") for name, w in sorted(weights.items())}
    for name, kind in kinds.items():
        if kind not in _TYPES or kind != next(iter(kinds.values())):
            raise BadInput(f"{path}: {name} is of {kind}; expected all weights in one of {', '.join(_TYPES)}")
