"""Opens a language model: a folder of transformers', a GGUF file, or a function of the person's own.

Whatever is wrong with it is an error before anything is computed: no tokenizer, missing tensors, a tokenizer
that belongs to another model, too little memory.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from limen.core.quantities import in_bytes
from limen.errors import BadInput
from limen.files.own import function
from limen.files.own import named as own_named
from limen.probes.language import Language, causal, first_line, with_tree
from limen.probes.saved import shipped

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_TRIED = "Alice: apple, 4721: bread. In 1901, Bob lived in Paris.\nQuestion: equal or different?"
_LAYER = re.compile(r"\.\d+\.")
_TOKENIZERS = "tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json"


def opened(model: str, device: str = "cpu", dtype: str = "float32", batch: int = 64) -> Language:
    """The model that a text names."""
    if dtype not in _DTYPES:
        raise BadInput(f"dtype {dtype!r}: expected one of {', '.join(_DTYPES)}")
    path = Path(model)
    if own_named(model):
        language = _made(model)
    elif path.is_file() and path.suffix == ".gguf":
        language = _loaded(path.parent, {"gguf_file": path.name}, model, dtype)
    elif path.is_dir():
        _whole(path)
        language = _loaded(path, {}, model, dtype)
    else:
        raise BadInput(
            f"{model}: no such folder or file; expected a folder with config.json, weights and tokenizer, "
            f"a .gguf file, or FILE.py:FACTORY; results are shipped of {' and '.join(shipped())}"
        )
    language = replace(language, device=_device(device), batch=batch)
    if isinstance(language.model, torch.nn.Module):
        language.model.to(language.device).eval()
    _reads(language)
    causal(language)
    return replace(with_tree(language), name=model if own_named(model) else path.absolute().name)


def _device(name: str) -> str:
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {name!r}: {str(error).partition(chr(10))[0]}") from error
    return name


def _made(name: str) -> Language:
    """What the person's function returns: a model and a tokenizer with encode and decode."""
    try:
        pair = function(name)()
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{name}: it fails: {first_line(error)}") from error
    if (
        not isinstance(pair, tuple)
        or len(pair) != 2
        or not callable(pair[0])
        or not all(hasattr(pair[1], one) for one in ("encode", "decode"))
    ):
        raise BadInput(
            f"{name}: a pair is expected, a model that maps token ids (batch, n) to logits (batch, n, V) "
            f"and a tokenizer with encode and decode; got {type(pair).__name__}"
        )
    model, tokenizer = pair
    file, _, factory = name.rpartition(":")
    source = Path(file).read_bytes() + f"\0{factory}".encode()  # a file may make several models
    return Language(name, model, tokenizer, _positions(getattr(model, "config", None)), source=source)


def _whole(folder: Path) -> None:
    """Raises if a file is missing without which nothing can be loaded, or if the weights are too many."""
    if not (folder / "config.json").is_file():
        raise BadInput(f"{folder}: the folder has no config.json")
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise BadInput(f"{folder}: the folder has no tokenizer ({', '.join(_TOKENIZERS)})")
    if not list(folder.glob("*.safetensors")):
        raise BadInput(f"{folder}: the folder has no .safetensors file; other formats are not loaded")


def _enough_memory(numbers: int, dtype: str, name: str) -> None:
    """Raises if the weights alone are more than what the machine has free."""
    needed = numbers * _DTYPES[dtype].itemsize
    free = os.sysconf("SC_PAGE_SIZE") * _available()
    if needed > free:
        raise BadInput(
            f"{name}: {numbers:,} weights in {dtype} are {in_bytes(needed)}, {in_bytes(free)} are free"
        )


def _available() -> int:
    """Pages that can be had without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
        return kilobytes * 1024 // os.sysconf("SC_PAGE_SIZE")
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES")


def _numbers(folder: Path, file: str | None) -> int:
    """How many weights the files hold, by their headers: a file that is too large cannot even be mapped."""
    if file is not None:
        from limen.hf.gguf import numbers_of

        return numbers_of(folder / file, file)
    from limen.hf.stored.checkpoint import with_files

    sizes = with_files({}, folder, str(folder)).checkpoint.headers
    return 0 if sizes is None else sizes.half // 2 + sizes.single // 4 + sizes.quantised + sizes.scales


@contextmanager
def _quietly() -> Iterator[None]:
    """Without transformers' own lines: what matters of them is raised here."""
    from transformers.utils import logging as theirs

    before, bars = theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    theirs.set_verbosity(logging.CRITICAL)
    theirs.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        theirs.set_verbosity(before)
        if bars:
            theirs.enable_progress_bar()  # type: ignore[no-untyped-call]


def _loaded(folder: Path, more: dict[str, str], name: str, dtype: str) -> Language:
    """The model and the tokenizer of a folder, every tensor there and none made up."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    if "gguf_file" in more:
        import gguf  # noqa: F401 (where it is missing the command says which extra brings it)
    _enough_memory(_numbers(folder, more.get("gguf_file")), dtype, name)
    given: dict[str, Any] = {**more, "local_files_only": True, "trust_remote_code": False}
    with _quietly():
        try:
            AutoConfig.from_pretrained(str(folder), **given)
        except Exception as error:
            raise BadInput(f"{name}: its config cannot be read: {first_line(error)}") from error
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), **given)
        except Exception as error:
            raise BadInput(f"{name}: its tokenizer cannot be loaded: {first_line(error)}") from error
        tokenizer.model_max_length = sys.maxsize  # lengths are compared with the model's positions, by `fits`
        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(folder),
                dtype=_DTYPES[dtype],
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # refused below, with the tensor's name
                **given,
            )
        except Exception as error:
            raise BadInput(f"{name}: it cannot be loaded: {first_line(error)}") from error
    model, info = loaded
    missing = sorted(info.get("missing_keys") or ())
    wrong = sorted(
        f"{key} {tuple(is_)}, expected {tuple(due)}" for key, is_, due in info.get("mismatched_keys") or ()
    )
    if missing or wrong:
        what = f"no tensor {missing[0]}" if missing else f"a tensor of another shape: {wrong[0]}"
        raise BadInput(f"{name}: {what} in its files ({len(missing) + len(wrong)} of them)")
    if further := _of_further_layers(model, info.get("unexpected_keys") or ()):
        raise BadInput(
            f"{name}: its files have layers that its config has not: {further[0]} ({len(further)} tensors)"
        )
    return Language(name, model, tokenizer, _positions(model.config))


def _of_further_layers(model: Any, names: Iterable[str]) -> list[str]:
    """The tensors that are the same of another layer as one that the model has: a part of it was cut off."""
    there = {_LAYER.sub(".", name) for name in model.state_dict()}
    return sorted(name for name in names if _LAYER.sub(".", name) in there)


def _positions(config: Any) -> int | None:
    """How many positions the model was made for, where its config says so."""
    value = getattr(config, "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 0 else None


def _reads(language: Language) -> None:
    """Raises if the tokenizer does not give a text back, or gives tokens that the model does not have."""
    ids = language.encode(_TRIED)
    rows, tokenizer = _rows(language.model), language.tokenizer
    known = tokenizer.get_vocab().values() if hasattr(tokenizer, "get_vocab") else ()
    most = max((*ids, *known), default=0)
    if not ids or (rows is not None and most >= rows):
        raise BadInput(
            f"{language.name}: the tokenizer gives the token {most:,}, the model has {rows or 0:,} of them: "
            "they do not belong together"
        )
    language.reads(_TRIED)
    if language.encode(_TRIED.replace(" ", "")) == ids:
        raise BadInput(f"{language.name}: the tokenizer drops the spaces between words")


def _rows(model: Any) -> int | None:
    """How many tokens a model can be given, where it says so."""
    if not hasattr(model, "get_input_embeddings"):
        return None
    embedding = model.get_input_embeddings()
    return int(embedding.weight.shape[0]) if hasattr(embedding, "weight") else None
