"""The theorems' inequalities, written a second time, in balls: `Theorem.at` and the kernel must say the same.

Nothing here is read by `limen` or by `limen_check`: `test_inequalities.py` compares both versions.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from inequalities import (
    block_cut,
    block_labels,
    block_messages,
    composition_depth,
    hidden_tokens,
    last_read,
    linear_read,
    log_linear_state,
    one_layer_cut,
    one_sum,
    relu_read,
    separate_tokens,
    softmax_read,
    sparse_average_width,
    streaming_state,
    three_sum_one_layer,
    token_index,
    window_global,
)
from limen.core.catalogue import lookup
from limen.core.certificate import Bound
from limen.core.theorem import NoStatement, Theorem
from limen.theorems import Accuracy, Case, Sides
from limen.theorems._stated import as_certificate

INEQUALITIES: dict[str, Callable[[Case], Sides | Accuracy | NoStatement]] = {
    "block_cut": block_cut.inequality,
    "block_labels": block_labels.inequality,
    "block_messages": block_messages.inequality,
    "composition_depth": composition_depth.inequality,
    "hidden_tokens": hidden_tokens.inequality,
    "log_linear_state": log_linear_state.inequality,
    "one_layer_cut": one_layer_cut.inequality,
    "separate_tokens": separate_tokens.inequality,
    "sparse_average_width": sparse_average_width.inequality,
    "streaming_state": streaming_state.inequality,
    "three_sum_one_layer": three_sum_one_layer.inequality,
    "token_index": token_index.inequality,
    "window_global": window_global.inequality,
}


EXACT_INEQUALITIES: dict[str, Callable[[Case], Sides | NoStatement]] = {
    "last_read": last_read.inequality,
    "linear_read": linear_read.inequality,
    "biased_read": relu_read.biased,
    "one_sum": one_sum.inequality,
    "relu_read": relu_read.inequality,
    "softmax_read": softmax_read.inequality,
}  # of theorems about exact arithmetic, whose bounds are of another kind


def stated(theorem: str, case: Case) -> Bound | NoStatement:
    """The second version at these sizes, as a certificate; it need not say cannot."""
    sides = INEQUALITIES[theorem](case)
    return sides if isinstance(sides, NoStatement) else as_certificate(theorem, case, sides)


def at(theorem: str, case: Case) -> Bound | NoStatement:
    """What the theorem itself says, by the kernel's version."""
    kind: Any = lookup("theorems", theorem, Theorem)
    said: Bound | NoStatement = kind.at(case)
    return said


def both(theorem: str, case: Case) -> Sides | Accuracy | NoStatement:
    """The second version, after both were compared."""
    agree(at(theorem, case), stated(theorem, case))
    return INEQUALITIES[theorem](case)


def agree(first: Bound | NoStatement, second: Bound | NoStatement) -> None:
    """Both are silent, or has alike; the kernel may count a few rows more that balls round away."""
    if isinstance(first, NoStatement) or isinstance(second, NoStatement):
        assert isinstance(first, NoStatement) and isinstance(second, NoStatement), (first, second)
        return
    assert first.distribution == second.distribution and first.has_bits == second.has_bits, (first, second)
    if first.ceiling is not None and second.ceiling is not None:
        assert abs(Fraction(first.ceiling) - Fraction(second.ceiling)) < CLOSE, (first, second)
    else:
        needs, balls = first.needs_bits or 0, second.needs_bits or 0
        assert balls <= needs <= balls + 1, (first, second)


CLOSE = Fraction(1, 1 << 36)  # a ceiling within a ceiling is rounded up once by the one, twice by the other
