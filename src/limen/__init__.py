"""Limen tells where an attention architecture stops.

The functions of `limen/api.py` are found when they are first used, so that importing the package loads
nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.api import audit as audit
    from limen.api import bound as bound
    from limen.api import check as check
    from limen.api import check_folder as check_folder
    from limen.api import compare as compare
    from limen.api import decide as decide
    from limen.api import demo as demo
    from limen.api import depth as depth
    from limen.api import design as design
    from limen.api import experiment as experiment
    from limen.api import fool as fool
    from limen.api import list as list
    from limen.api import protocol as protocol
    from limen.api import show as show
    from limen.api import solve as solve
    from limen.api import table as table
    from limen.api import test as test
    from limen.api import train as train

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
