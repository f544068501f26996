"""numpy, loaded when it is first used; where there is none, as in a browser, lists write the weights."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray
else:
    if find_spec("numpy"):
        np = lazy_loader.load("numpy")
    else:
        from limen.core.plain import Lists

        np = Lists()
    Generator = NDArray = Any  # stand in annotations alone, which nobody evaluates

__all__ = ["Generator", "NDArray", "np"]
