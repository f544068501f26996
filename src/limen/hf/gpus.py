"""GPUs by name, with the memory that CUDA reports of one: less than its label says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from limen.errors import unknown


@dataclass(frozen=True)
class Device:
    """A GPU, or a device of which only the memory is given."""

    total: int  # bytes that it reports
    name: str = ""
    capability: int | None = None  # CUDA's: 90 is Hopper
    source: str = ""


@cache
def gpus() -> dict[str, Device]:
    """Those that are known, the smallest first."""
    rows = json.loads(files("limen.hf").joinpath("gpus.json").read_bytes())
    return {
        row["name"]: Device(int(row["gib"] * 2**30), row["name"], row["capability"], row["source"])
        for row in rows
    }


def gpu(name: str) -> Device:
    """By its name, however it is spelled: rtx4090, "RTX 4090", h100-80gb.

    >>> gpu("rtx4090").name, gpu("H100-80GB").name, gpu("a100 40gb").name
    ('RTX 4090', 'H100', 'A100-40GB')
    """
    by_key = {_key(known): device for known, device in gpus().items()}
    key = _key(name)
    for word in (key, key.removesuffix("80gb"), f"rtx{key}"):
        if word in by_key:
            return by_key[word]
    raise unknown("GPU", name, list(gpus()))


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia").removeprefix("geforce")
