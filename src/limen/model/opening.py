"""Opens a model by name: a folder of Limen's, a local Hugging Face folder, or your own `file.py:factory`.

Weights are read from safetensors alone: no pickle is opened, and no code that a folder brings is run.  A file
of yours is run because you named it on the command line; what it returns, a module or a function from tokens
(batch, length) to logits, is the model.
"""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from limen.core.tensors import torch
from limen.errors import BadInput, shortened
from limen.files import own
from limen.files.paths import is_folder
from limen.model.files import HEADER, digest, load
from limen.model.model import Model
from limen.model.predictor import calling

CONFIG = "config.json"
_PASSING = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")


def opened(text: str) -> object:
    """A Limen Model, an `nn.Module` or a function; a folder is data, even one that is named `x.py:f`."""
    folder = Path(text)
    if not is_folder(folder) and own.named(text):
        return _made(text)
    if not is_folder(folder):
        raise BadInput(f"{shortened(text)} is not a model: expected a folder, or file.py:factory")
    if (folder / CONFIG).is_file() and not (folder / HEADER).is_file():
        return _hugging_face(folder)
    return load(folder)


def _made(text: str) -> object:
    with calling(f"{text}() failed"):
        model = own.function(text)()
    if isinstance(model, torch.nn.Module):
        return model.eval()
    if not callable(model) and not isinstance(model, Model):
        raise BadInput(f"{text}() returned {type(model).__name__}: expected a module or a function of tokens")
    return model


def _hugging_face(folder: Path) -> object:
    if not any(folder.glob("*.safetensors")):
        raise BadInput(
            f"{folder} has a {CONFIG} but no *.safetensors; other files may contain code and are not read"
        )
    transformers: Any = import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    how = {"local_files_only": True, "use_safetensors": True, "trust_remote_code": False, "dtype": "auto"}
    with calling(f"{folder}: transformers cannot read it"):
        model, seen = transformers.AutoModelForCausalLM.from_pretrained(
            folder, **how, output_loading_info=True
        )
    _whole(folder, seen)
    loaded: object = model.eval()
    return loaded


def _whole(folder: Path, seen: dict[str, Any]) -> None:
    """Raises unless the files hold the weights of the config, all of them and no others.

    transformers would draw missing weights at random.
    """
    for how in ("missing", "mismatched", "unexpected"):
        names = sorted(map(str, seen.get(f"{how}_keys") or ()))
        if names:
            raise BadInput(
                f"{folder}: {len(names)} weights are {how}, {names[0]} for one; expected in *.safetensors "
                f"exactly those of the model that {CONFIG} describes"
            )


def fingerprint(model: object) -> str | None:
    """SHA-256 of a model: of Limen's files, or of a module's class, config and tensors; None for a function.

    A tensor is hashed by its name, type, shape and bytes, in the order of the names.
    """
    if isinstance(model, Model):
        return digest(model)
    if not isinstance(model, torch.nn.Module):
        return None
    hashed = hashlib.sha256(f"{type(model).__name__}\n{_config(model)}\n".encode())
    with calling(f"{type(model).__name__}: its weights cannot be read"):
        for name, tensor in sorted(model.state_dict().items()):
            hashed.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            hashed.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return hashed.hexdigest()


def _config(model: torch.nn.Module) -> str:
    """The config of a transformers model as JSON: the same tensors with other heads are another model."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        return ""
    lasting = {name: value for name, value in config.to_dict().items() if name not in _PASSING}
    return json.dumps(lasting, sort_keys=True, default=str)


def own_precision(model: object) -> str:
    """The type in which the weights are stored; "unknown" for a function or a module without weights."""
    if isinstance(model, Model):
        kinds = {w.dtype for w in model.weights.values()}
    elif isinstance(model, torch.nn.Module):
        kinds = {w.dtype for w in model.parameters()}
    else:
        kinds = set()
    named = [str(kind).removeprefix("torch.") for kind in kinds] or ["unknown"]
    return named[0] if len(named) == 1 else "mixed"
