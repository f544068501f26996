"""Limen tells where an attention architecture stops.

The functions of `limen/api.py` are found when they are first used, so that importing the package loads
nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.api import *  # noqa: F403 (their types stand there)

__version__ = "0.1.0"

# What chips have for products of bfloat16 (AVX512-BF16, AMX) takes subnormal numbers for 0; the arithmetic in
# which margins hold (docs/trust.md) does not.  oneDNN multiplies for torch, and reads this when first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("limen.api"), name)


def __dir__() -> tuple[str, ...]:
    return (*globals(), *import_module("limen.api").functions())
