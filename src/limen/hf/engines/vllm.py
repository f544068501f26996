"""vLLM: blocks of one size for all layers, shared by groups of layers.

Read in its sources of August 2026: platforms/interface.py, v1/core/kv_cache_utils.py,
v1/kv_cache_interface.py, model_executor/layers/mamba/mamba_utils.py, model_executor/models/config.py.

block         16 tokens; beside recurrences align·⌈state/(align·token)⌉, so that a block of keys holds a state
              (align 16, with latent attention 128); a state fills a whole block
groups        of as many layers as the rarest kind has; of the largest if that is less than half as many more
a request     ⌈n/block⌉ blocks of a full group, ⌈min(W-1+batched, n)/block⌉+1 of a group of windows,
              1 + speculative of a group of states, one more with prefix caching
pool          blocks = memory // (block's bytes × layers of a group)
printed       concurrency = blocks / blocks of a request at full length, tokens = ⌊concurrency · length⌋
convolutions  c-1+speculative columns in the dtype of the model; states as the config declares, else by family
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from limen.hf.dtypes import Declared
from limen.hf.engines.engine import PAGE_LIKE, Asked, Dtypes, Engine, Kind, Plan
from limen.hf.stack import Bits, Block, Columns, Kept, LastTokens, Stack, Use

_BLOCK, _LATENT = 16, 128
_FLOAT32 = ("nemotron_h", "kimi_linear", "bailing_hybrid")  # whose states are, unless declared


class VLLM(Engine):
    name = "vllm"

    def conv(self, model: str) -> str | None:
        return model

    def state(self, declared: Declared, model: str, model_type: str) -> str | None:
        return declared.state or ("float32" if model_type in _FLOAT32 else model)

    def plan(self, stack: Stack, asked: Asked, bits: Bits) -> Plan | None:
        """None where layers have rows that no block of one size fits: each is then counted by itself."""
        found = [kind for layer in stack.layers for b in layer.blocks for kind in self._kinds(b, asked, bits)]
        counts = Counter(found)
        attention = [kind for kind in counts if kind.what != "state"]
        state = max((kind.size for kind in counts if kind.what == "state"), default=0)
        if not attention:
            return (
                Plan(asked.context, state, len(found), tuple((kind, 1) for kind in counts)) if state else None
            )
        most = max(kind.size for kind in attention)
        if any(most % kind.size for kind in attention):
            return None
        latent = any(kept.whole is not None for kept, _ in stack.tensors)
        align = _LATENT if latent and state else _BLOCK
        block = max(align * -(-state // (align * most)), _BLOCK)
        least, largest = min(counts.values()), max(counts.values())
        layers = largest if 2 * largest < 3 * least else least
        groups = tuple((kind, -(-count // layers)) for kind, count in counts.items())
        return Plan(block, block * most, layers, groups)

    def _kinds(self, block: Block, asked: Asked, bits: Bits) -> list[Kind]:
        keys = [k for k in block.kept if k.use in PAGE_LIKE]
        states = [k for k in block.kept if k.use not in PAGE_LIKE]
        found = []
        if keys:
            size = int(sum((self.numbers(k, asked) * bits.of(k) for k in keys), Fraction(0)) / 8)
            W = next((k.rows.W for k in keys if isinstance(k.rows, LastTokens)), 0)
            found.append(Kind("window" if W else "full", size, W))
        if states:
            held = (self._columns(k, asked) * self.numbers(k, asked) * bits.of(k) for k in states)
            found.append(Kind("state", int(sum(held, Fraction(0)) / 8)))
        return found

    def _columns(self, kept: Kept, asked: Asked) -> int:
        return kept.rows.needed(0) + (asked.speculative if isinstance(kept.rows, Columns) else 0)

    def rows(self, kept: Kept, n: int, asked: Asked) -> int:
        """One state a sequence; what blocks take beyond the rows themselves is padding."""
        if isinstance(kept.rows, Columns):
            return self._columns(kept, asked) * asked.sequences
        return kept.rows.needed(n) * asked.sequences

    def padding(self, stack: Stack, n: int, asked: Asked, bits: Bits) -> int:
        plan = self.plan(stack, asked, bits)
        if plan is None:
            return 0
        held = self.bytes_of(stack.tensors, n, asked, bits)
        return plan.request(n, asked) * plan.block_bytes * asked.sequences - held

    def remarks(self, stack: Stack, asked: Asked, dtypes: Dtypes) -> list[str]:
        plan = self.plan(stack, asked, dtypes.bits)
        if plan is None:
            return ["layers with rows of several sizes: vLLM's blocks are not counted, only what they hold"]
        blocks, groups = plan.request(asked.context, asked), sum(count for _, count in plan.groups)
        said = [
            f"blocks of {plan.block:,} tokens ({plan.page:,} bytes a layer), {plan.layers} layers a group, "
            f"groups: {groups}",
            f"a request of {asked.context:,} tokens takes {blocks:,} blocks of {plan.block_bytes:,} bytes",
        ]
        if any(kept.use is Use.RECURRENT for kept, _ in stack.tensors) and asked.prefix_caching:
            said.append("with prefix caching a second state of each sequence, at the last whole block")
        return said


ENGINE = VLLM()
