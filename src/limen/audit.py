"""A real model's config -> its cache, its state, its limits.

Bytes are those of the tensors that an engine keeps (`architectures/configs/stack.py`).  The limits are about
the stack that the layers are in theory, whose states hold what crosses a cut (of a convolution over c tokens
c-1 columns, of a window W-1 tokens); the sums inside attention count 32 bits a number, as kernels take them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from limen.architectures.configs import read, stored_dtype
from limen.architectures.configs.stack import Bits, Engine, Kept, LastTokens, Stack, Use
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.errors import BadInput, unknown
from limen.core.folder import content_of
from limen.core.kernel import Accepted, accept
from limen.core.shown import html
from limen.core.strict_json import read_object
from limen.core.task import Task
from limen.core.theorem import Theorem
from limen.decide import theorems
from limen.tasks._families import FAMILIES, LEAST

BITS = {
    "float32": Fraction(32),
    "bfloat16": Fraction(16),
    "float16": Fraction(16),
    "float8": Fraction(8),
    "int8": Fraction(8),
    "int4": Fraction(4),
    "q8_0": Fraction(17, 2),  # llama.cpp: 32 numbers of 8 bits and a scale of 16
    "q4_0": Fraction(9, 2),
}
_SHORT = {"f32": "float32", "fp32": "float32", "bf16": "bfloat16", "f16": "float16", "fp16": "float16"}
_SHORT |= {"fp8": "float8", "float8_e4m3fn": "float8", "float8_e5m2": "float8", "q8": "q8_0", "q4": "q4_0"}

_MOST = 2**40  # the largest n that is looked at


@dataclass(frozen=True)
class Request:
    """What is asked about every model."""

    context: int = 131_072
    sequences: int = 1
    kv_dtype: str | None = None  # the config's own unless said, bfloat16 where it says none
    state_dtype: str = "float32"
    engine: Engine = Engine.MINIMAL

    def __post_init__(self) -> None:
        for name, value in (("context", self.context), ("number of sequences", self.sequences)):
            if value < 1:
                raise BadInput(f"the {name} must be at least 1, got {value}")


@dataclass(frozen=True)
class Limit:
    """From n on a theorem rules the task out."""

    name: str
    n: int
    bound: Bound


@dataclass(frozen=True)
class Audit:
    """One model under one request."""

    source: str
    stack: Stack
    request: Request
    kv_dtype: str
    state_dtype: str
    limits: tuple[Limit, ...]

    def _repr_html_(self) -> str | None:
        return html(self)

    @property
    def bits(self) -> Bits:
        return Bits(BITS[self.kv_dtype], BITS[self.state_dtype])

    @cached_property
    def tensors(self) -> list[tuple[Kept, int]]:
        """Each tensor, and how many layers keep one like it."""
        layers = self.stack.layers
        return [*Counter(kept for layer in layers for block in layer.blocks for kept in block.kept).items()]

    @property
    def kv_bytes_per_token(self) -> Fraction:
        """What one token more costs while no window is full."""
        windows = (k.numbers * times for k, times in self.tensors if isinstance(k.rows, LastTokens))
        return self.kv_bytes_per_late_token + sum(windows) * self.bits.kv / 8

    @property
    def kv_bytes_per_late_token(self) -> Fraction:
        """What one token more costs once all windows are full."""
        rows = (k.numbers * k.rows.late * times for k, times in self.tensors)
        return sum(rows, Fraction(0)) * self.bits.kv / 8

    def bytes_of(self, wanted: Callable[[Kept], bool], n: int | None = None) -> int:
        """Of all sequences, after n tokens (the context unless said)."""
        n = self.request.context if n is None else n
        engine = self.request.engine
        bits = (k.bits_after(n, engine, self.bits) * times for k, times in self.tensors if wanted(k))
        return -(-sum(bits, Fraction(0)) // 8) * self.request.sequences

    @property
    def kv_bytes(self) -> int:
        """Keys and values, of every token and of windows."""
        return self.bytes_of(lambda k: k.use in (Use.KV, Use.INDEX))

    @property
    def state_bytes(self) -> int:
        """Whatever does not grow with the text: recurrences, convolutions, windows."""
        return self.bytes_of(lambda k: not k.grows)

    @property
    def cache_bytes(self) -> int:
        return self.cache_bytes_after(self.request.context)

    def cache_bytes_after(self, n: int) -> int:
        return self.bytes_of(lambda _: True, n)

    def held_bits_per_token(self, n: int) -> float:
        """Bits that the part that does not grow holds of n tokens, at most, for each of them."""
        bits = (
            min(k.bits_after(n, engine, self.bits) for engine in Engine) * times  # both keep what is needed
            for k, times in self.tensors
            if not k.grows
        )
        return float(sum(bits, Fraction(0)) / n)


def audit(config: Mapping[str, Any], source: str, request: Request) -> Audit:
    """Reads a config and asks every theorem."""
    kv = dtype(request.kv_dtype or stored_dtype(config) or "bfloat16", source)
    state = dtype(request.state_dtype, source)
    stack = read(config, source, Bits(BITS[kv], BITS[state]))
    return Audit(source, stack, request, kv, state, limits(stack.architecture))


def dtype(name: str, where: str) -> str:
    name = _SHORT.get(name.removeprefix("torch."), name.removeprefix("torch."))
    if name not in BITS:
        raise unknown(f"dtype ({where})", name, BITS)
    return name


def limits(architecture: Architecture) -> tuple[Limit, ...]:
    """For each task the least n from which on some theorem rules it out, if there is one."""
    found = (_limit(name, family, architecture) for name, family in FAMILIES.items())
    return tuple(limit for limit in found if limit is not None)


def _limit(name: str, family: Callable[[int], Task], architecture: Architecture) -> Limit | None:
    """The least n at which one of the theorems rules it out; what one does at some n, it does beyond."""
    least: Limit | None = None
    for _, theorem in theorems():
        low, high = LEAST - 1, least.n - 1 if least else _MOST  # another theorem must do it earlier
        bound = _excluded(theorem, family(high), architecture)
        if bound is None:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            excluded = _excluded(theorem, family(middle), architecture)
            low, high, bound = (middle, high, bound) if excluded is None else (low, middle, excluded)
        if isinstance(accept(bound), Accepted):
            least = Limit(name, high, bound)
    return least


def _excluded(theorem: Theorem, task: Task, architecture: Architecture) -> Bound | None:
    bound = theorem.bound(task, architecture)
    return bound if isinstance(bound, Bound) and bound.excludes else None


def load(path: str) -> tuple[Mapping[str, Any], str]:
    """A config.json, a folder that has one, or the name of a model on the hub; and where it was found."""
    file = Path(path)
    if file.is_dir():
        file = file / "config.json"
        if not file.exists():
            raise BadInput(f"{path}: the folder has no config.json")
    elif not file.exists():
        file = _from_hub(path)
    return read_object(content_of(file), path, infinite=True), path


def _from_hub(name: str) -> Path:
    """The config of a model on the hub (or in the hub's cache on this machine); nothing else is fetched."""
    if name.count("/") != 1 or name.startswith((".", "/")) or name.endswith(".json"):
        raise BadInput(f"{name}: no such file or folder; expected a config.json or a folder that has one")
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        said = f"{name}: no such file or folder; a name on the hub needs the package huggingface_hub"
        raise BadInput(said) from error
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # the error says it all
    try:
        return Path(hf_hub_download(name, "config.json"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: no such file or folder, and not to be had from the hub: {error}") from error
