"""Packages that may not be installed: what needs one is left out, and said to be; or what to install."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

# What brings each: the extra `limen[…]`, or the package itself.
_BROUGHT_BY = dict.fromkeys(("torch", "jaxtyping"), "limen[run]")
_BROUGHT_BY |= dict.fromkeys(("altair", "jinja2", "vl_convert"), "limen[report]")
_BROUGHT_BY |= dict.fromkeys(("dask", "distributed", "duckdb"), "limen[train]")
_BROUGHT_BY |= {"transformers": "limen[hf]", "numpy": "numpy", "safetensors": "safetensors"}


@cache
def absent() -> tuple[str, ...]:
    """Packages that deciding makes use of and that are not here: in a browser, for example."""
    return tuple(name for name in ("numpy", "safetensors") if find_spec(name) is None)


@dataclass(frozen=True)
class LeftOut:
    """A part of the answer that needs a package which is not here: without it nothing is known to be OPEN."""

    package: str

    @classmethod
    def of(cls, error: ModuleNotFoundError) -> LeftOut:
        return cls(package(error))

    def __str__(self) -> str:
        return f"left out: it needs the package {self.package}, which is not installed"


def package(error: ModuleNotFoundError) -> str:
    """The one that is not installed; any other error is ours, and raised again."""
    match = re.search(r"No module named '(\w+)", str(error))
    if match is None or match[1] not in _BROUGHT_BY:
        raise error
    return match[1]


def advice(error: ModuleNotFoundError) -> str:
    """What to install."""
    name = package(error)
    return f"this needs the package {name}: pip install '{_BROUGHT_BY[name]}'"
