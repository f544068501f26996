"""What proofs/log_linear_state.v, rows.v and trees.v say of log-linear attention."""

from __future__ import annotations

from functools import partial

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat, nothing_free
from limen.coq.writers._lookups import LookupSizes, comparison, has, spread, values
from limen.coq.writers._trees import trees
from limen.coq.writers._words import MODULES, NAMES, average, form
from limen.core.catalogue import identifier
from limen.theorems import Case, power_of_two


def merging(case: Case) -> LookupSizes:
    """A lookup by log-linear attention: cut after the last 2^r tokens."""
    lookup, t = values(case.task), power_of_two(case.task)
    if lookup is None or t > lookup[0]:
        raise Unstated(f"{identifier(case.task)} is not stated in Coq for log-linear attention")
    return LookupSizes(has("log_linear_state", case), *lookup, t)


def _evaluate_log_linear(case: Case) -> Stated:
    s, n, V, t = merging(case)
    r, a, b = t.bit_length() - 1, case.sizes["a"], case.sizes["b"]
    return Stated(
        "forall M : log_linear nat,\n"
        f"  merged_bits M {nat(r)} {nat(s)} -> ~ evaluates (machine_of M) {nat(n)} {nat(V)}",
        f"apply (cannot_evaluate_log_linear {s} {n} {V} {r} {a} {b})",
        f"no log-linear stack whose one matrix a head and other states have {s} bits after\n"
        f"    2^{r} tokens can say which of {V} values stood at any of {n} places",
        exceeds(s, t, V, a, b),
    )


def _compare(case: Case) -> Stated:
    n, name, question, either = comparison(case.task)
    s, t = has("log_linear_state", case), power_of_two(case.task)
    r = t.bit_length() - 1
    return Stated(
        f"forall M : log_linear bool,\n  merged_bits M {nat(r)} {nat(s)} ->\n"
        f"  ~ compares {name} (machine_of M) {nat(n)}",
        f"apply (cannot_compare_log_linear {name} {s} {n} {r} {either})",
        f"no log-linear stack whose one matrix a head and other states have {s} bits after\n"
        f"    2^{r} tokens can say {question}, of {n} bits each",
        s < t <= n,
    )


def _chosen(case: Case) -> Sizes:
    lookup = merging(case)
    return spread(lookup.s, lookup.t, lookup.V)


FORMS = (
    {
        "cannot_compare_log_linear": Form("log_linear_state", MODULES, (), _compare, nothing_free),
        "cannot_average_log_linear": Form(
            "log_linear_state", MODULES, (), partial(average, True), nothing_free
        ),
        "cannot_tell_trees_log_linear": trees("cannot_tell_trees_log_linear"),
    }
    | {f"cannot_{name}_log_linear": form(name, merging=True) for name in NAMES}
    | {
        "cannot_evaluate_log_linear": Form(
            "log_linear_state",
            "streaming_state log_linear_state",
            ("a", "b"),
            _evaluate_log_linear,
            _chosen,
        ),
    }
)
