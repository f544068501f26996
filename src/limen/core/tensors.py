"""torch and jaxtyping, loaded when they are first used: most commands need neither."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

__all__ = ["jt", "torch"]
