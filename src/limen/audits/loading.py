"""A config as it lies on a disk, in a GGUF file or on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limen.errors import BadInput
from limen.files.folder import content_of
from limen.files.strict_json import read_object
from limen.hf.stored.checkpoint import with_files


def load(path: str) -> tuple[Mapping[str, Any], str]:
    """The config of a config.json, a folder with one, a GGUF file or a name on the hub, and its source."""
    file = Path(path)
    if path.endswith(".gguf"):
        from limen.hf.gguf import header

        return header(file, path), path
    if file.is_dir():
        file = file / "config.json"
        if not file.exists():
            raise BadInput(f"{path}: the folder has no config.json")
    elif not file.exists():
        file = _from_hub(path)
    config = read_object(content_of(file), path, infinite=True)
    return with_files(config, file.parent, path) if file.name == "config.json" else config, path


def _from_hub(name: str) -> Path:
    """The config of a model on the hub (or in the hub's cache on this computer); nothing else is fetched."""
    if name.count("/") != 1 or name.startswith((".", "/")) or name.endswith(".json"):
        raise BadInput(
            f"{name}: no such file or folder; expected a config.json, a folder that has one or a .gguf file"
        )
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        reason = f"{name}: no such file or folder; a name on the hub needs the package huggingface_hub"
        raise BadInput(reason) from error
    import logging

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # the error says it all
    try:
        return Path(hf_hub_download(name, "config.json"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{name}: no such file or folder, and it could not be fetched from the hub: {error}"
        ) from error
