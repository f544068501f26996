"""Short integer relations between integer vectors, by lattice reduction (LLL, python-flint)."""

from __future__ import annotations

from flint import fmpz_mat

from limen.core.arrays import NDArray, np

_HEAVY = 2**24  # how much more a relation that does not hold weighs than a long one
_ADDED = 48  # of the shortest relations, whose sums and differences are looked at


def relations(vectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """(relations, count): short integer vectors z with Σ_i z_i·vector_i = 0.

    The rows [e_i | K·vector_i] span a lattice; K is so large that in a reduced basis the kernel comes first.
    """
    count, size = vectors.shape
    rows = np.zeros((count, count + size), dtype=object)
    rows[:, :count] = np.eye(count, dtype=np.int64)
    rows[:, count:] = vectors.astype(object) * _HEAVY
    reduced = fmpz_mat([[int(x) for x in row] for row in rows.tolist()]).lll()
    basis = [[int(x) for x in row] for row in reduced.tolist()]
    kernel = [row[:count] for row in basis if any(row[:count]) and not any(row[count:])]
    return np.array(kernel, dtype=np.int64).reshape(-1, count)


def with_sums(relations: NDArray[np.int64]) -> NDArray[np.int64]:
    """The relations, then the sums and differences of the shortest ones."""
    short = relations[np.argsort(np.abs(relations).sum(1), kind="stable")][:_ADDED]
    i, j = np.triu_indices(len(short), 1)
    return np.concatenate([relations, short[i] + short[j], short[i] - short[j]])
