"""Optional packages: what needs a missing one is left out and reported, or the error says what to install."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

# What brings each: the extra `limen[…]`, or the package itself.
_BROUGHT_BY = dict.fromkeys(("torch", "jaxtyping", "flint"), "limen[run]")
_BROUGHT_BY |= dict.fromkeys(("altair", "vl_convert"), "limen[report]")
_BROUGHT_BY |= dict.fromkeys(("dask", "distributed", "duckdb"), "limen[train]")
_BROUGHT_BY |= dict.fromkeys(("accelerate", "gguf"), "limen[probe]")
_BROUGHT_BY |= {"transformers": "limen[hf]", "numpy": "numpy", "safetensors": "safetensors"}


@cache
def absent() -> tuple[str, ...]:
    """The missing packages that `decide` uses; in a browser there are some."""
    return tuple(name for name in ("numpy", "safetensors") if find_spec(name) is None)


@dataclass(frozen=True)
class LeftOut:
    """A part of the answer left out for lack of a package; without it no verdict OPEN can be given."""

    package: str

    @classmethod
    def of(cls, error: ModuleNotFoundError) -> LeftOut:
        return cls(package(error))

    def __str__(self) -> str:
        return f"left out: it needs the package {self.package}, which is not installed"


def package(error: ModuleNotFoundError) -> str:
    """The name of the package that is not installed; any other error is ours, and raised again."""
    match = re.search(r"No module named '(\w+)", str(error))
    if match is None or match[1] not in _BROUGHT_BY:
        raise error
    return match[1]


def advice(error: ModuleNotFoundError) -> str:
    """The advice on what to install."""
    name = package(error)
    return f"this needs the package {name}: pip install '{_BROUGHT_BY[name]}'"
