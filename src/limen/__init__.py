"""Limen tells where an attention architecture stops.

The functions of `limen/api.py` are found when they are first asked for, so that importing the package loads
nothing.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.api import audit as audit
    from limen.api import bound as bound
    from limen.api import check as check
    from limen.api import compare as compare
    from limen.api import decide as decide
    from limen.api import depth as depth
    from limen.api import design as design
    from limen.api import fool as fool
    from limen.api import protocol as protocol
    from limen.api import show as show
    from limen.api import solve as solve
    from limen.api import table as table

__version__ = "0.1.0"

# What chips have for products of bfloat16 (AVX512-BF16, AMX) takes subnormal numbers for 0; the arithmetic in
# which margins hold (docs/trust.md) does not.  oneDNN multiplies for torch, and reads this when first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI")

_FUNCTIONS = (
    "audit",
    "bound",
    "check",
    "compare",
    "decide",
    "depth",
    "design",
    "fool",
    "protocol",
    "show",
    "solve",
    "table",
)


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module("limen.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_FUNCTIONS]
