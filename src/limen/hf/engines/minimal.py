"""No engine: what the next token needs, and nothing else.

A window of W tokens W rows, a convolution over c tokens c-1 columns, of a recurrence its state.
"""

from __future__ import annotations

from limen.hf.engines.asked import Asked
from limen.hf.engines.engine import Dtypes, Engine
from limen.hf.stack import Stack


class Minimal(Engine):
    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        return []


ENGINE = Minimal()
