"""The bits that a task, of the catalogue or a user's own, requires of every architecture: `limen bound`."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import msgspec
from msgspec.structs import replace

from limen.bounds import matrix
from limen.bounds.function import Answering, Function, Replies, ask, ask_here, widest, word
from limen.bounds.matrix import Entries
from limen.core.arrays import np
from limen.core.bits import Count
from limen.core.catalogue import ids, lookup
from limen.core.quantities import plural
from limen.core.report import Report
from limen.core.task import Task
from limen.core.theorem import Need, Theorem
from limen.errors import BadInput
from limen.files import own
from limen.files.missing import LeftOut
from limen.theorems import told_apart

COUNTED = "counted"  # where a number of rows comes from, if not from a formula
_SPELT = 4096  # bits of a number that is written out
_SHOWN = 2**9  # answers of a table that is shown whole
_FEW = 2**15  # inputs of a task of the catalogue that are counted beside the closed form


class Fit(msgspec.Struct, frozen=True):
    """A fit of log₂ #rows over some lengths: read off, not proved."""

    rows: dict[int, int]  # of each length
    formula: str
    deviation: float  # the largest, in bits
    label: str = "a fit, not a bound"


@dataclass(frozen=True)
class Counted:
    """Counts on a communication matrix: rows, and rank and size of a fooling set where they were found."""

    rows: Count
    rank: int | None
    fooling: int | None
    remarks: tuple[str, ...]

    @property
    def rank_bits(self) -> int | None:
        return None if self.rank is None else _bits(self.rank)

    @property
    def fooling_bits(self) -> int | None:
        return None if self.fooling is None else _bits(self.fooling)

    @property
    def two_way(self) -> int:
        """The bits that two parties must exchange in both directions; 0 where nothing is known."""
        return max(self.rank_bits or 0, self.fooling_bits or 0)


class Asking(msgspec.Struct, frozen=True):
    """A theorem's requirement for every architecture of some kind: an inequality, and its side in bits."""

    theorem: str
    mixer: str
    inequality: str
    bits: int | None

    @classmethod
    def of(cls, theorem: str, need: Need) -> Asking:
        return cls(theorem, need.mixer, need.inequality, need.bits)


class AnswerTable(msgspec.Struct, frozen=True):
    """Prefixes of which no two have the same answers, and continuations that show it."""

    prefixes: tuple[tuple[int, ...], ...]
    suffixes: tuple[tuple[int, ...], ...]
    answers: tuple[tuple[int, ...], ...]  # codes: 0 and 1 are their own, others are numbered


class BoundReport(Report, frozen=True, kw_only=True, tag="limen/bound/1"):
    """The prefixes to tell apart at a cut, counts on the matrix where it was built, and the requirements."""

    task: str
    cut: int
    rows: int | None  # where it can be written down
    bits: int | None
    formula: str | None
    exact: bool | None
    exhaustive: bool  # every input was looked at; the fields up to `fooling_bits` say what was seen
    counted: int | None = None
    counted_exact: bool | None = None
    rank: int | None = None
    rank_bits: int | None = None
    fooling: int | None = None
    fooling_bits: int | None = None
    needs: tuple[Asking, ...]
    fit: Fit | None = None
    remarks: tuple[str, ...] = ()
    incomplete: str | None = None  # what was left out, since a package is not installed
    inputs: tuple[int, int] | None = None  # alphabet and length of a function of one's own
    table: AnswerTable | None = None  # of such a function, where it is small
    definition: str | None = None  # of a task, for a paper
    proof: str | None = None  # of its rows, for a paper; none where they were counted
    asks: int = 1  # answers that are due

    @property
    def headline(self) -> str:
        known = (
            "no closed form is known"
            if self.bits is None
            else f"{plural(self.bits, 'bit')} must cross the cut"
        )
        return f"{self.task}, cut after t = {self.cut:,} tokens: {known}"


def bound_of(
    target: str, cut: int | None, alphabet: int | None, length: int | None, seconds: float | int
) -> BoundReport:
    """The bound for a task of the catalogue or for FILE.py:NAME, as on the command line."""
    if target.endswith(".py") or (":" in target and not own.is_class(target)):
        return bound_function(Function.parse(target, alphabet, length), cut, seconds)
    if (alphabet, length) != (None, None):
        raise BadInput(
            f"{target} has its own alphabet and length; --alphabet and --length are for FILE.py:NAME"
        )
    own.admit(target)
    return bound(Task.parse(target), cut)


def bound(task: Task, cut: int | None = None) -> BoundReport:
    """The bound from the closed form, the theorems and, where the inputs are few, the matrix."""
    t = task.cut if cut is None else cut
    if not 0 < t < task.length:
        raise BadInput(f"{task}: the cut must be in 1..{task.length - 1}, got {t}")
    closed, counted = task.rows(t), _counted(task, t) if _few(task) else None
    bits = None if closed is None else told_apart(task, t)
    if isinstance(counted, LeftOut):
        report = _report(str(task), t, closed, None, _stated(task))
        return _for_a_paper(replace(report, incomplete=f"the matrix of all inputs: {counted}"), task, bits)
    rows = _better(closed, counted)
    if rows is not None and rows is not closed:
        bits = rows.bits
    needs = _stated(task) if t == task.cut else ()
    if rows is not None and (t != task.cut or rows is not closed):
        needs = (*needs, _carried(rows, bits))
    if task.asks == 1:
        needs = (*needs, *_exchanged(counted, task.vocab))
    return _for_a_paper(_report(str(task), t, rows, counted, needs), task, bits)


def _for_a_paper(report: BoundReport, task: Task, bits: int | None) -> BoundReport:
    """The report of a task with what a paper says of it; counted rows are proved by counting again."""
    paper = task.in_paper(report.cut)
    return replace(
        report,
        bits=bits,
        definition=paper and f"{_sizes(task)} {paper.task}",
        proof=paper.proof if paper and report.formula != COUNTED else None,
        asks=task.asks,
    )


def bound_function(function: Function, cut: int | None, seconds: float | int) -> BoundReport:
    """The bound from the matrix alone, filled by the function in a process of its own within a time limit.

    Default cut: the one with the most rows; then smaller lengths are cut alike, and so it is asked again.
    """
    if cut is None:
        replies = ask(function, 1, seconds)
        cut = widest(replies.entries, replies.alphabet, range(1, replies.length))
    return _of_matrix(str(function), ask(function, cut, seconds))


def bound_here(
    function: Answering, cut: int | None, alphabet: int | None = None, length: int | None = None
) -> BoundReport:
    """The bound of a Python function, run in this process; default cut: the one with the most rows."""
    name = getattr(function, "__name__", type(function).__name__)
    return _of_matrix(name, ask_here(function, cut, alphabet, length))


def _sizes(task: Task) -> str:
    """The sizes as a paper begins with them: Let n = 4 and n_1 = 2."""
    sizes = [f"${name[0]}{'_' * (len(name) > 1)}{name[1:]}={value:,}$" for name, value in task.sizes.items()]
    return f"Let {', '.join(sizes[:-1])}{' and ' * (len(sizes) > 1)}{sizes[-1]}."


def _counted(task: Task, t: int) -> Counted | LeftOut:
    try:
        return counts(matrix.of_task(task, t))
    except ModuleNotFoundError as error:
        return LeftOut.of(error)


def _of_matrix(name: str, replies: Replies) -> BoundReport:
    counted = counts(replies.entries)
    lengths = {n: matrix.distinct_rows(A) for n, A in replies.smaller.items()}
    fit = fitted(lengths | {replies.length: matrix.distinct_rows(replies.entries)})
    rows = counted.rows
    needs = _carried(rows, rows.bits), _summed(rows), *_exchanged(counted, replies.alphabet)
    report = _report(name, replies.cut, rows, counted, needs, fit)
    return replace(report, inputs=(replies.alphabet, replies.length), table=_shown(replies))


def _shown(replies: Replies) -> AnswerTable | None:
    """The answers that tell all rows apart, if they are few."""
    A, t, rows = replies.alphabet, replies.cut, matrix.different(replies.entries)
    if len(rows) > _SHOWN:
        return None
    columns = matrix.telling(replies.entries[rows])
    if len(rows) * len(columns) > _SHOWN:
        return None
    return AnswerTable(
        tuple(word(int(u), A, t) for u in rows),
        tuple(word(w, A, replies.length - t) for w in columns),
        replies.answers(replies.entries[rows][:, columns]),
    )


def _report(
    task: str,
    cut: int,
    rows: Count | None,
    counted: Counted | None,
    needs: tuple[Asking, ...],
    fit: Fit | None = None,
) -> BoundReport:
    return BoundReport(
        task=task,
        cut=cut,
        rows=rows.value if rows and rows.bits <= _SPELT else None,
        bits=getattr(rows, "bits", None),
        formula=getattr(rows, "formula", None),
        exact=getattr(rows, "exact", None),
        exhaustive=counted is not None,
        counted=counted.rows.value if counted else None,
        counted_exact=counted.rows.exact if counted else None,
        rank=getattr(counted, "rank", None),
        rank_bits=getattr(counted, "rank_bits", None),
        fooling=getattr(counted, "fooling", None),
        fooling_bits=getattr(counted, "fooling_bits", None),
        needs=needs,
        fit=fit,
        remarks=counted.remarks if counted else (),
    )


def counts(A: Entries) -> Counted:
    """Rows, rank and fooling sets, and what was left out."""
    total = bool((A != matrix.NOT_ALLOWED).all())
    chosen = matrix.distinguishable(A)
    remarks = (
        [] if total else ["the task allows only some inputs, so distinguishable rows were chosen greedily"]
    )
    if chosen is None:
        remarks = [f"{len(A):,} prefixes are too many to choose rows from, so one row is counted"]
    rows = Count.of(1 if chosen is None else len(chosen), COUNTED, exact=total)
    if A.max() > 1:
        remarks.append("rank and fooling sets are computed only for functions with the values 0 and 1")
        return Counted(rows, None, None, tuple(remarks))
    rank = matrix.rank(A)
    sets = [matrix.fooling_set(A, value) for value in (0, 1)]
    fooling = max((len(pairs[0]) for pairs in sets if pairs is not None), default=None)
    if fooling is None:
        remarks.append(
            f"more than {matrix.MOST_ENTRIES:,} distinct entries, so rank and fooling set were not computed"
        )
    elif rank is None:
        remarks.append("no rank is computed, because the task allows only some inputs")
    return Counted(rows, rank, fooling, tuple(remarks))


def fitted(rows: dict[int, int]) -> Fit | None:
    """log₂ #rows as a·n + b, or as a·n·log₂n where that is nearer, from at least three lengths."""
    if len(rows) < 3:
        return None
    n, bits = np.array(sorted(rows), dtype=float), np.array([log2(rows[k]) for k in sorted(rows)])
    x = n * np.log2(n)
    a, b = (round(float(a), 9) + 0.0 for a in np.polyfit(n, bits, 1))
    c = x @ bits / (x @ x)
    straight, steeper = (float(np.abs(y - bits).max()) for y in (a * n + b, c * x))
    near = straight <= steeper
    formula = f"{a:.4g}·n {b:+.4g}" if near else f"{c:.4g}·n·log₂n"
    return Fit(dict(sorted(rows.items())), formula, straight if near else steeper)


def _stated(task: Task) -> tuple[Asking, ...]:
    """The requirements of each theorem of the catalogue."""
    needed = ((name, lookup("theorems", name, Theorem)().needs(task)) for name in ids("theorems"))
    return tuple(Asking.of(name, need) for name, needs in needed for need in needs)


def _carried(rows: Count, bits: int | None) -> Asking:
    """The requirement for recurrences: the state names the row."""
    return Asking("streaming_state", "any recurrence", f"state bits ≥ {_log(rows)}", bits)


def _summed(rows: Count) -> Asking:
    """The requirement for a softmax layer read at a fixed token: its sums name the row."""
    reader = "one softmax layer, read at a token that is the same in all inputs"
    return Asking("one_layer_cut", reader, f"h(d+2)p ≥ {_log(rows)}", rows.bits)


def _exchanged(counted: Counted | None, vocab: int) -> tuple[Asking, ...]:
    """The requirement for a softmax layer whose last token asks and gets sums in reply; none if vacuous."""
    asking = _bits(vocab)
    if counted is None or counted.two_way <= asking:
        return ()
    inequality = f"h(d+2)p + {asking} ≥ max(log₂ rank, log₂ fooling set)"
    asker = "one softmax layer, the last token asks"
    return (Asking("one_layer_cut", asker, inequality, counted.two_way),)


def _log(rows: Count) -> str:
    return f"log₂ {rows.value:,}" if rows.formula == COUNTED else f"log₂({rows.formula})"


def _few(task: Task) -> bool:
    """Whether the inputs are few enough to be counted at once; no large number is written down."""
    if task.length > _FEW.bit_length() * 2:
        return False
    inputs = 1
    for tokens, times in task.alphabets():
        for _ in range(times):
            inputs *= tokens.stop - tokens.start
            if inputs > _FEW:
                return False
    return True


def _better(closed: Count | None, counted: Counted | None) -> Count | None:
    """The closed form, unless counting shows more or is the only way."""
    if counted is None:
        return closed
    if closed is None:
        return counted.rows
    value, seen = closed.value, counted.rows.value
    exceeds = value is not None and seen is not None and seen > value
    return counted.rows if exceeds and not closed.exact else closed


def _bits(cases: int) -> int:
    """⌈log₂ cases⌉, 0 for none."""
    return max(cases - 1, 0).bit_length()
