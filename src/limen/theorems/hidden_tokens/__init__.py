"""One layer of a token index reads k tokens: a task whose answer may hide at more places is out of reach."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.top_k import TopK
from limen.theorems._case import Case, read_stack, read_task
from limen.theorems._stated import stated
from limen.theorems._two_sum import alone
from limen_check import Refused
from limen_check.cannot.depth import Case as Question
from limen_check.cannot.hidden import hidden_tokens


class HiddenTokens(Theorem):
    """One inequality, k ≥ m, no free sizes; it counts tokens, not bits."""

    formal = (
        Formal("hidden_tokens.v", "hidden_tokens", "the theorem, for any groups that hide each other"),
        Formal("hidden_tokens.v", "cannot_be_equal_hidden", "equality: concrete verdicts"),
        Formal("hidden_tokens.v", "cannot_be_disjoint_hidden", "disjointness: concrete verdicts"),
        Formal("hidden_tokens.v", "cannot_recall_hidden", "recall of one key: concrete verdicts"),
        Formal("hidden_tokens.v", "cannot_count_hidden", "counting: concrete verdicts"),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """k ≥ m: each of m groups of tokens may alone decide the answer, hidden behind the others."""
        if case.steps or case.sizes or case.route:
            return NoStatement("it is about one pass without chain of thought")
        layers = case.architecture.layers
        if len(layers) != 1 or alone(layers[0], TopK) is None:
            return NoStatement(
                "it is about one layer of top_k or dsa alone, with its sizes given", elsewhere=True
            )
        return stated("hidden_tokens", hidden_tokens, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        m = needed(task)
        return () if m is None else (Need("one layer of top_k or dsa", f"k ≥ {m:,} tokens read", None),)


def needed(task: Task) -> int | None:
    """m, the number of groups of tokens that hide each other; None where none are known."""
    stack = read_stack(Architecture.parse("top_k(k=1)"))
    try:
        return hidden_tokens(Question("hidden_tokens", "", read_task(task), stack, 0, {})).needs
    except Refused:
        return None
