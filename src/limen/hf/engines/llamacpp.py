"""llama.cpp: cells of keys and values, and rows of recurrent states, all allocated at the start.

Read in its sources of August 2026: llama-context.cpp, llama-kv-cache-iswa.cpp, llama-memory-recurrent.cpp.

keys         float16 unless asked (-ctk, -ctv); the context padded to 256 cells, for each sequence its own, or
             with a unified pool (--kv-unified) the context once, for all sequences together
window of W  pad256(min(context, W·(sequences if unified else 1) + ubatch)) cells: a batch is written before
             the oldest tokens leave
states       R (c-1 columns of convolutions) and S in float32, for each sequence 1 + checkpoints rows
"""

from __future__ import annotations

from limen.hf.dtypes import Declared
from limen.hf.engines.engine import Asked, Dtypes, Engine
from limen.hf.stack import EveryToken, Kept, LastTokens, Stack

_PAD = 256


def padded(n: int) -> int:
    """The next multiple of 256."""
    return -(-n // _PAD) * _PAD


class LlamaCpp(Engine):
    name = "llamacpp"
    follows = False

    def kv(self, model: str) -> str:
        return "float16"

    def conv(self, model: str) -> str | None:
        return "float32"

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return "float32"

    def rows(self, kept: Kept, n: int, asked: Asked) -> int:
        pools = 1 if asked.unified else asked.sequences
        if isinstance(kept.rows, EveryToken):
            return padded(n) * pools
        if isinstance(kept.rows, LastTokens):
            return self.window(kept.rows.W, n, asked) * pools
        return super().rows(kept, n, asked)

    def window(self, W: int, n: int, asked: Asked) -> int:
        """Cells of a window."""
        return padded(min(padded(n), W * (asked.sequences if asked.unified else 1) + asked.ubatch))

    def states(self, asked: Asked) -> int:
        return asked.sequences * (1 + asked.checkpoints) if asked.slots is None else asked.slots

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        said, n = [], asked.context
        if padded(n) != n:
            said.append(f"llama.cpp pads the context to a multiple of {_PAD}: {padded(n):,} cells")
        if asked.unified and asked.sequences > 1:
            said.append(
                f"one pool of {padded(n):,} cells for all {asked.sequences:,} sequences (--kv-unified)"
            )
        for W in sorted({k.rows.W for k, _ in stack.tensors if isinstance(k.rows, LastTokens)}):
            cells = self.window(W, n, asked)
            said.append(f"a window of {W:,} takes {cells:,} cells: a batch of {asked.ubatch:,} enters whole")
        return said


ENGINE = LlamaCpp()
