r"""The communication matrix of a function at a cut: a row for each prefix, a column for each continuation.

    A(u, w) = f(u w),    or NOT_ALLOWED where the promise excludes u w

A recurrence that carries S bits past the cut tells different rows apart: 2^S ≥ #rows.  Two parties that talk
back and forth until one of them knows the answer cut A into at most 2^bits rectangles in which all rows (or
all columns) are alike: of rank at most 1, and with at most one pair of a fooling set.
"""

from __future__ import annotations

from typing import TypeAlias

from limen.core.arrays import NDArray, np
from limen.core.task import Answers, Task, Tokens
from limen.model import exhaustive

NOT_ALLOWED = -1
PRIME = 2**23 - 15
_PANEL = 64  # columns eliminated at a time: 64·PRIME² < 2^52, so that products of floats are exact
MOST_ENTRIES = 2**21  # of a matrix whose rank or fooling sets are asked for, equal rows and columns left out
MOST_PREFIXES = 2**12  # different rows among which pairwise distinguishable ones are looked for

Entries: TypeAlias = "NDArray[np.int32]"  # (prefixes, continuations): answers as 0, 1, …, or NOT_ALLOWED


def of_task(task: Task, t: int) -> Entries:
    """The matrix of a task: all promised inputs, cut after t tokens."""
    return cut(task, *every(task), t)


def every(task: Task) -> tuple[Tokens, Answers]:
    """All promised inputs and their answers: (count, length), (count, asks)."""
    tokens = np.concatenate(list(exhaustive.batches(task, 2**18)))
    return tokens, task.answer(tokens).reshape(len(tokens), task.asks)


def cut(task: Task, tokens: Tokens, answers: Answers, t: int) -> Entries:
    """The matrix of these inputs, cut after t tokens; several answers after the cut count as one."""
    due = answers[:, max(0, t - (task.length - task.asks)) :]
    u, w, y = (_numbered(x) for x in (tokens[:, :t], tokens[:, t:], due))
    entries = np.full((u.max() + 1, w.max() + 1), NOT_ALLOWED, dtype=np.int32)
    entries[u, w] = y
    return entries


def distinct_rows(A: Entries) -> int:
    """The number of different rows."""
    return len(different(A))


def telling(A: Entries) -> list[int]:
    """Columns that tell all rows apart, each of which tells some apart that those before it do not."""
    kept: list[int] = []
    number = np.zeros(len(A), dtype=np.int64)  # of the class of each row so far
    for j, column in enumerate(A.T):
        refined = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)[1]
        if refined.max() > number.max():
            kept, number = [*kept, j], refined
    return kept


def distinguishable(A: Entries) -> NDArray[np.int64] | None:
    """Rows of which each two differ where both are allowed: a greedy choice, None where A is too large.

    Without a promise these are all different rows.  With one the choice may not be the largest: the
    row that differs from most of those left comes first.
    """
    first = different(A)
    if (A != NOT_ALLOWED).all():
        return first
    if len(first) > MOST_PREFIXES or len(first) * A.shape[1] > 16 * MOST_ENTRIES:
        return None
    differs = _differ(A[first])
    degree, left = differs.sum(axis=1), np.ones(len(first), dtype=np.bool_)
    chosen = []
    while left.any():
        i = int(np.where(left, degree, -1).argmax())
        chosen.append(i)
        gone = left & ~differs[i]
        left &= differs[i]
        degree -= differs[:, gone].sum(axis=1)
    return first[chosen]


def rank(A: Entries) -> int | None:
    """The rank modulo PRIME, so at most the one over ℚ; None where A is too large or not all is allowed."""
    A = _essential(A)
    if A.size > MOST_ENTRIES or (A == NOT_ALLOWED).any():
        return None
    return _rank(A if len(A) >= A.shape[1] else A.T)


def _rank(A: NDArray[np.int32]) -> int:
    """The rank modulo PRIME by Gauss's elimination, a panel of columns at a time: A = L·U, and U has it."""
    M, done = A.astype(np.int64) % PRIME, 0
    for first in range(0, M.shape[1], _PANEL):
        left, width = M[done:], min(_PANEL, M.shape[1] - first)
        L, k = np.zeros((len(left), width), dtype=np.int64), 0
        for j in range(first, first + width):
            pivots = np.flatnonzero(left[k:, j])
            if not len(pivots):
                continue
            swap = [k, k + pivots[0]]
            left[swap], L[swap] = left[swap[::-1]], L[swap[::-1]]
            L[k + 1 :, k] = left[k + 1 :, j] * pow(int(left[k, j]), -1, PRIME) % PRIME
            rest = slice(j, first + width)
            left[k + 1 :, rest] = (left[k + 1 :, rest] - L[k + 1 :, k : k + 1] * left[k, rest]) % PRIME
            k += 1
        beyond = left[:, first + width :]
        for i in range(1, k):
            beyond[i] = (beyond[i] - L[i, :i] @ beyond[:i]) % PRIME
        taken = L[k:, :k].astype(np.float64) @ beyond[:k].astype(np.float64)
        beyond[k:] = (beyond[k:] - taken.astype(np.int64)) % PRIME
        done += k
    return done


def fooling_set(A: Entries, value: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Entries (u_i, w_i) of this value of which no two span a rectangle of it; None where A is too large.

    That is, A(u_i, w_j) or A(u_j, w_i) is allowed and has another value.  Greedy: where few entries of the
    row and of the column have the value or are not allowed.
    """
    rows, columns = different(A), different(A.T)
    if len(rows) * len(columns) > MOST_ENTRIES:
        return None
    A = A[np.ix_(rows, columns)]
    wanted = np.equal(A, value)
    alike = wanted | (A == NOT_ALLOWED)
    crowd = alike.sum(axis=1)[:, None] * alike.sum(axis=0)
    order = np.flatnonzero(wanted)
    order = order[np.argsort(crowd.ravel()[order], kind="stable")]
    left, chosen = wanted, []
    for i, j in zip(*(x.tolist() for x in np.divmod(order, A.shape[1])), strict=True):
        if left[i, j]:
            chosen.append((i, j))
            left[alike[:, j]] &= ~alike[i]
    entries = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return rows[entries[:, 0]], columns[entries[:, 1]]


def _numbered(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """(count, k): the number of each row among the different ones, in order."""
    number = np.zeros(len(x), dtype=np.int64)
    for column in x.T:
        number = np.unique(number * (column.max() + 1) + column, return_inverse=True)[1]
    return number


def different(A: Entries) -> NDArray[np.int64]:
    """The index of the first of each kind of equal rows."""
    small = np.ascontiguousarray(A, dtype=np.int8 if A.max(initial=0) < 2**7 else np.int32)
    whole = small.view(np.dtype((np.void, small.dtype.itemsize * small.shape[1]))).reshape(-1)
    return np.sort(np.unique(whole, return_index=True)[1])


def _essential(A: Entries) -> Entries:
    """The matrix without repeated rows and columns."""
    return A[np.ix_(different(A), different(A.T))]


def _differ(A: Entries) -> NDArray[np.bool_]:
    """(rows, rows): whether two rows differ where both are allowed, by counting where they are alike."""
    allowed = (A != NOT_ALLOWED).astype(np.float32)
    both = allowed @ allowed.T
    for value in range(A.max() + 1):
        has = np.equal(A, value).astype(np.float32)
        both -= has @ has.T
    return np.asarray(both > 0.5)
