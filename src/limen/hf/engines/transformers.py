"""transformers: what its caches hold between two tokens (`cache_utils.py`).  Tests run it and compare.

window of W        W-1 rows: the new one comes with the token
convolution of c   c columns
keys               in the dtype of the model, whatever a quantised checkpoint declares
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.asked import Asked
from limen.hf.engines.engine import Dtypes, Engine
from limen.hf.stack import EveryToken, Kept, LastColumns, LastTokens, Stack


class Transformers(Engine):
    name = "transformers"
    follows = False
    schemes = ("int8", "nf4")

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return None

    def remarks(self, stack: Stack, options: Asked, dtypes: Dtypes) -> list[str]:
        return []

    def rows(self, kept: Kept, n: int, options: Asked) -> int:
        if isinstance(kept.rows, LastTokens):
            return kept.rows.copies * min(n, kept.rows.W - 1) * options.sequences
        if isinstance(kept.rows, EveryToken):
            return kept.rows.copies * n * options.sequences
        if isinstance(kept.rows, LastColumns):
            return kept.rows.c * self.states(options)
        return super().rows(kept, n, options)


ENGINE = Transformers()
