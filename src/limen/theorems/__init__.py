"""What is limited, one folder a theorem: proof.md, its free sizes, its refutation; limen_check evaluates it.

The words below are what a theorem is written in; they are loaded when they are first asked for, since the
catalogue looks at this folder whenever it lists what there is.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.theorems._case import Accuracy as Accuracy
    from limen.theorems._case import Case as Case
    from limen.theorems._case import Sides as Sides
    from limen.theorems._stated import stated as stated
    from limen.theorems._states import power_of_two as power_of_two
    from limen.theorems._states import told_apart as told_apart

_WORDS = dict.fromkeys(("Accuracy", "Case", "Sides"), "_case") | {
    "stated": "_stated",
    "power_of_two": "_states",
    "told_apart": "_states",
}


def __getattr__(name: str) -> Any:
    if name in _WORDS:
        return getattr(import_module(f"limen.theorems.{_WORDS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
