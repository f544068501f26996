"""A model from its name: a folder of limen's, a local Hugging Face folder, or your own `file.py:factory`.

Weights are read from safetensors alone: no pickle is opened, and no code that a folder brings is run.  A file
of yours is run because you named it on the command line; what it returns, a module or a function from tokens
(batch, length) to logits, is the model.
"""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader

from limen.core import own
from limen.core.errors import BadInput
from limen.model.files import HEADER, digest, load
from limen.model.model import Model

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_CONFIG = "config.json"
_PASSING = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")


def opened(text: str) -> object:
    """A limen Model, an `nn.Module` or a function; a folder is data, even one that is named `x.py:f`."""
    folder = Path(text)
    if not folder.is_dir() and own.named(text):
        return _made(text)
    if not folder.is_dir():
        raise BadInput(f"{text} is not a model: expected a folder, or file.py:factory")
    if (folder / _CONFIG).is_file() and not (folder / HEADER).is_file():
        return _hugging_face(folder)
    return load(folder)


def _made(text: str) -> object:
    made = own.function(text)
    try:
        model = made()
    except Exception as error:
        raise BadInput(f"{text}() failed: {type(error).__name__}: {error}") from error
    if isinstance(model, torch.nn.Module):
        return model.eval()
    if not callable(model) and not isinstance(model, Model):
        raise BadInput(f"{text}() returned {type(model).__name__}: expected a module or a function of tokens")
    return model


def _hugging_face(folder: Path) -> object:
    if not any(folder.glob("*.safetensors")):
        raise BadInput(
            f"{folder} has a {_CONFIG} but no *.safetensors; other files may contain code and are not read"
        )
    transformers: Any = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype="auto"
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{folder}: transformers cannot read it: {error}") from error
    found: object = model.eval()
    return found


def fingerprint(model: object) -> str | None:
    """SHA-256 of a model: of limen's files, or of a module's class, config and tensors; a function has none.

    A tensor is hashed by its name, type, shape and bytes, in the order of the names.
    """
    if isinstance(model, Model):
        return digest(model)
    if not isinstance(model, torch.nn.Module):
        return None
    found = hashlib.sha256(f"{type(model).__name__}\n{_config(model)}\n".encode())
    for name, tensor in sorted(model.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _config(model: torch.nn.Module) -> str:
    """What a transformers model says of its sizes: the same tensors with other heads are another model."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        return ""
    said = {name: value for name, value in config.to_dict().items() if name not in _PASSING}
    return json.dumps(said, sort_keys=True, default=str)


def own_precision(model: object) -> str:
    """The type that its weights are stored in; of a function nobody knows it."""
    if isinstance(model, Model):
        kinds = {w.dtype for w in model.weights.values()}
    elif isinstance(model, torch.nn.Module):
        kinds = {w.dtype for w in model.parameters()}
    else:
        return "unknown"
    return str(kinds.pop()).removeprefix("torch.") if len(kinds) == 1 else "mixed"
