"""numpy, loaded when it is first used: most of what is decided needs none, and a browser may have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray
else:
    np = lazy_loader.load("numpy")
    Generator = NDArray = Any  # stand in annotations alone, which nobody evaluates

__all__ = ["Generator", "NDArray", "np"]
