"""Statements of sources about a task and a kind of stack, and how Limen's results compare with them.

Data alone: the place in the source, what stands there in a few words, and what holds here.  `decide`, the
cells of the table and docs/theory.md show the entries that speak of their case; nothing else reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from limen.core.architecture import Architecture, Part
from limen.core.catalogue import identifier
from limen.core.task import Task


class Relation(StrEnum):
    """How a source's statement and ours compare."""

    EQUAL = "equal"
    SHARPER = "sharper"
    WEAKER = "weaker"
    CORRECTED = "corrected"
    OTHER_FORM = "other form"
    CONJECTURE = "conjecture"


class Difference(msgspec.Struct, frozen=True):
    """A statement of a source and what holds here; `stacks` (a key of STACKS) names the architectures."""

    kind: Relation
    source: str  # a key of papers.bib
    place: str
    says: str  # the source, in at most ten words
    here: str
    tasks: tuple[str, ...]
    stacks: str

    def __str__(self) -> str:
        return f"[{self.source}], {self.place}, “{self.says}”: {self.kind}. {self.here}"


def _mixer(name: str) -> Callable[[Architecture], bool]:
    return lambda stack: any(identifier(part.mixer) == name for part in _parts(stack))


def _parts(stack: Architecture) -> list[Part]:
    return [part for layer in stack.layers for part in layer.parts]


def _kinds(stack: Architecture) -> set[bool]:
    """{True} if all mixers keep every token, {False} if all keep a state, both if both occur."""
    return {part.full for part in _parts(stack)}


def _softmax(stack: Architecture) -> bool:
    return all(part.full and part.mixer.reply_is_all for part in _parts(stack))


STACKS: dict[str, Callable[[Architecture], bool]] = {
    "any": lambda stack: True,
    "full layers": _softmax,
    "one full layer": lambda stack: _softmax(stack) and len(stack.layers) == 1,
    "several full layers": lambda stack: _softmax(stack) and len(stack.layers) > 1,
    "a recurrence": lambda stack: _kinds(stack) == {False} and not _mixer("log_linear")(stack),
    "full and recurrent layers": lambda stack: _kinds(stack) == {True, False},
    "log-linear layers": lambda stack: _kinds(stack) == {False} and _mixer("log_linear")(stack),
    "block-sparse layers": _mixer("block_sparse"),
    "a token index": lambda stack: _mixer("top_k")(stack) or _mixer("dsa")(stack),
}

DIFFERENCES = (
    Difference(
        Relation.EQUAL,
        "ye2026",
        "slide “Linear Attention Lower Bound”",
        "requires LHd(d+1)p ≥ n log n",
        "The same inequality. It holds for any recurrence and counts the bits of its state.",
        ("eva",),
        "a recurrence",
    ),
    Difference(
        Relation.SHARPER,
        "ye2026",
        "slide “Log-Linear Attention Lower Bounds”",
        "LHd²p < Θ(n) ⟹ cannot solve",
        "After 2^r tokens each head keeps one matrix, so it needs as many bits as linear attention, up "
        "to a factor of two.",
        ("eva", "two_sum"),
        "log-linear layers",
    ),
    Difference(
        Relation.CORRECTED,
        "ye2026",
        "slide “Table of Results”, Linear + CoT, 2-Sum",
        "Ω(n log n)",
        "That holds for M = n^{1+Ω(1)}. For M = O(n), a recurrence with order n bits exists.",
        ("two_sum",),
        "a recurrence",
    ),
    Difference(
        Relation.OTHER_FORM,
        "ye2026",
        "slide “2-Sum Task”",
        "there exist two positions i ≠ j",
        "Here the last token asks for its partner, as in the proofs of the slides; `two_sum_any` "
        "asks for any pair.",
        ("two_sum",),
        "any",
    ),
    Difference(
        Relation.CORRECTED,
        "sanford2023",
        "slide “Theorem (Sanford et al. 2023)” on that task",
        "single-layer full attention … can solve 2-Sum",
        "That holds where the last token asks (`two_sum`); over any pair one layer must carry order "
        "n log n bits.",
        ("two_sum_any",),
        "one full layer",
    ),
    Difference(
        Relation.CORRECTED,
        "sanford2023",
        "slide “Theorem (Sanford et al. 2023)” on that task",
        "single-layer full attention … can solve 2-Sum",
        "The slides ask for any pair. There, with H = 1, d = 3, p = O(log n), one layer CANNOT: limen decide "
        "two_sum_any. The theorem holds for the form here, in which the last token asks.",
        ("two_sum",),
        "full layers",
    ),
    Difference(
        Relation.EQUAL,
        "sanford2023",
        "slide “Trigonometric Construction”",
        "H = 1, d = 3, p = O(log n)",
        "The same head, with a blank token whose score lies between a match and a mismatch: limen solve"
        " … --by trigonometry.",
        ("two_sum",),
        "one full layer",
    ),
    Difference(
        Relation.SHARPER,
        "ye2026",
        "slide “Lower Bound: Sparse Attention Cannot Solve 2-Sum”",
        "If 2^{Hdp} < C(n,B)",
        "Here blocks may have different maps. For more than one layer only a weaker inequality is proved; "
        "whether the limit itself holds there is open. A message is a key and a value, h(d_k+d)p bits; the "
        "slide writes Hdp.",
        ("two_sum",),
        "block-sparse layers",
    ),
    Difference(
        Relation.SHARPER,
        "ye2026",
        "review, Mechanism 1",
        "limiting reasoning depth to the count of full",
        "A stack with φ full layers chains φ hops if a recurrence comes before the second full layer, "
        "and φ − 1 otherwise.",
        ("composition", "facts"),
        "full and recurrent layers",
    ),
    Difference(
        Relation.EQUAL,
        "chen2025",
        "slide “Full Attention”",
        "L-layer full attention Ω(poly n)",
        "The same, with the smallest certified sizes. A reply counts as h(d+2)p bits per token, not 2Hdp.",
        ("composition", "facts"),
        "several full layers",
    ),
    Difference(
        Relation.SHARPER,
        "sanford2023",
        "slide “Triple Detection”",
        "unless mpH = Ω(N / log log N)",
        "About n·log₂(M/n) bits are needed, because one layer must pass on a set of n − 1 values, "
        "or of n − 2 where any triple counts (match3).",
        ("three_sum", "match3"),
        "one full layer",
    ),
    Difference(
        Relation.OTHER_FORM,
        "sanford2023",
        "slide “Triple Detection”",
        "Triple Detection: 3-Sum",
        "Here the last token belongs to the triple; `match3` asks for any triple.",
        ("three_sum",),
        "any",
    ),
    Difference(
        Relation.CONJECTURE,
        "sanford2023",
        "slide “Triple Detection”",
        "multi-layer transformers cannot solve 3-Sum efficiently",
        "A conjecture about any three tokens: neither proved nor refuted here.",
        ("match3",),
        "several full layers",
    ),
    Difference(
        Relation.OTHER_FORM,
        "sanford2023",
        "slide “Sparse Averaging (qSA)”",
        "y_i ∈ ([M] choose q), z_i ∈ R^{d'}",
        "Here z is ±1 and there is one set, whose positions take q tokens; one layer does not suffice "
        "for this form. For real vectors and one set per token, see limen demo average.",
        ("sparse_average",),
        "any",
    ),
    Difference(
        Relation.EQUAL,
        "bhattamishra2024",
        "review, Key Results",
        "one-layer Transformers require linear width",
        "The same inequality with exact numbers: H(d+2)p bits against the number of prefixes that must "
        "be distinguished.",
        ("dyck", "equality", "disjointness"),
        "one full layer",
    ),
    Difference(
        Relation.OTHER_FORM,
        "wen2025",
        "slide “Wen et al. (2025)”",
        "RNN < RNN + CoT",
        "In bits the two are equal. Steps add computation (limen demo hierarchy).",
        ("index", "recall", "cgram", "counting", "is_tree"),
        "a recurrence",
    ),
    Difference(
        Relation.OTHER_FORM,
        "ye2026",
        "slide “Limitations”",
        "not learnable sparse patterns (e.g., DSA)",
        "Limen has bounds for selection by index keys (token_index, hidden_tokens), and weights: one layer "
        "does 2-Sum.",
        ("two_sum",),
        "a token index",
    ),
)


def differences(task: Task, stack: Architecture) -> tuple[Difference, ...]:
    """The entries about this task and stack."""
    name = identifier(task)
    return tuple(d for d in DIFFERENCES if name in d.tasks and STACKS[d.stacks](stack))
