r"""Is this graph a tree: n vertices, and n-1 edges in any order [wen2025]?

    n = 5:   0-1  3-1  4-0  2-3   ->   1          0-1  3-1  3-0  2-4   ->   0    (a cycle, and 2-4 apart)

n-1 edges are a tree when they connect everything, and when they close no cycle.  After e edges a
recurrence must know what is connected: Stirling₂(n, n-e) cases, about n·log n bits half way, and no
chain of thought helps.  With retrieval or one attention layer, log n bits and a chain of thought do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, different, distinct
from limen.errors import at_least
from limen.tasks._counts import partitions
from limen.tasks._shape import InputShape, Shaped

_WRITTEN = 1000  # vertices up to which the number of rows is written out


@dataclass(frozen=True)
class IsTree(Shaped):
    """n-1 tokens u·n + v, the edges, with u ≠ v in 0..n-1 and none twice; n ≥ 4, smaller ones are all trees.

    >>> IsTree(n=5).answer(np.array([[1, 16, 20, 13], [1, 16, 15, 14]])).tolist()
    [1, 0]
    """

    question: ClassVar[str] = "tell whether a graph of {n} vertices is a tree"

    n: int = 5

    def __post_init__(self) -> None:
        at_least(self, n=4)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.n**2, length=self.n - 1, answers=2, cut=(self.n - 1) // 2)

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        u, v = np.divmod(tokens, self.n)
        edges = np.minimum(u, v) * self.n + np.maximum(u, v)
        return np.asarray((u != v).all(axis=-1) & different(edges))

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Yes: each vertex hangs on a random earlier one.  No: one edge is moved so that it closes a cycle.

        Hard: each vertex hangs on one of the two before it, so that paths and cycles are long, and
        every vertex keeps an edge (which is impossible for n = 4).
        """
        n, rows, yes = self.n, np.arange(count), balanced(rng, count)
        v = np.arange(1, n)
        parent = rng.integers(np.maximum(v - 2, 0) if hard else 0, v, size=(count, n - 1))
        edges = np.stack([np.broadcast_to(v, parent.shape), parent], axis=-1)  # (count, n-1, 2)
        no = np.flatnonzero(yes == 0)
        edges[no] = self._moved(rng, edges[no], 2 if hard and n > 4 else 1)
        edges = distinct(rng, count, n, n)[rows[:, None, None], edges]
        u, v = np.moveaxis(edges, -1, 0)
        tokens = np.where(rng.integers(2, size=u.shape) == 1, u * n + v, v * n + u)
        return rng.permuted(tokens, axis=1), yes

    def _moved(self, rng: Generator, edges: Tokens, least: int) -> Tokens:
        """Moves one edge of each tree into one of the parts it joined, both of at least `least` vertices."""
        count, rows = len(edges), np.arange(len(edges))
        parent = np.hstack([np.zeros((count, 1), dtype=np.int64), edges[..., 1]])
        size = np.ones((count, self.n), dtype=np.int64)  # of the subtree that hangs on a vertex
        for v in range(self.n - 1, 0, -1):
            size[rows, parent[:, v]] += size[:, v]
        small, large = np.minimum(size, self.n - size)[:, 1:], np.maximum(size, self.n - size)[:, 1:]
        # a part of two vertices has no room for another edge
        cut = np.where((small >= least) & (large >= 3), rng.random(small.shape), -1).argmax(axis=1)
        below = np.arange(self.n) == 1 + cut[:, None]  # (count, n): whether a vertex hangs on that edge
        for v in range(1, self.n):
            below[:, v] |= below[rows, parent[:, v]]
        roomy = np.stack([(~below).sum(axis=1), below.sum(axis=1)]) >= 3
        part = below == np.where(roomy.all(axis=0), rng.integers(2, size=count), roomy[1])[:, None]
        while len(rows):
            u, v = np.where(part[rows], rng.random((2, len(rows), self.n)), -1).argmax(axis=-1)
            edges[rows, cut[rows]] = np.column_stack([u, v])
            rows = rows[(u == v) | (parent[rows, u] == v) | (parent[rows, v] == u)]
        return edges

    def _connected(self, tokens: Tokens) -> Tokens:
        """(*batch, edges) -> (*batch, n): for each vertex one that stands for all it is connected with."""
        u, v = np.divmod(tokens, self.n)
        part = np.broadcast_to(np.arange(self.n), (*tokens.shape[:-1], self.n))
        for i in range(tokens.shape[-1]):
            p, q = (np.take_along_axis(part, x[..., i : i + 1], axis=-1) for x in (u, v))
            part = np.where(part == q, p, part)
        return part

    def drawn(self, hard: bool = False) -> Distribution:
        moved = "for no one edge is moved so that it closes a cycle"
        if not hard:
            says = f"of edges by which each vertex hangs on a random one before it, shuffled; {moved}"
            return Distribution(says, support=lambda tokens: self._parts(tokens) <= 2)
        says = f"of edges by which each vertex hangs on one of the two before it, shuffled; {moved}"
        return Distribution(says, support=self._long, exact=False)

    def _parts(self, tokens: Tokens) -> NDArray[np.int64]:
        """(*batch, n-1) -> (*batch,): how many parts the edges leave, each counted at one vertex."""
        return np.asarray((self._connected(tokens) == np.arange(self.n)).sum(axis=-1))

    def _long(self, tokens: Tokens) -> NDArray[np.bool_]:
        """One part in which no vertex has more than three edges, or two with an edge at every vertex."""
        ends = np.concatenate(np.divmod(tokens, self.n), axis=-1)
        edges = (ends[..., None] == np.arange(self.n)).sum(axis=-2)
        parts, least = self._parts(tokens), 1 if self.n > 4 else 0
        tree = (parts == 1) & (edges <= 3).all(axis=-1)
        return np.asarray(tree | ((parts == 2) & (edges >= least).all(axis=-1)))

    def answer(self, tokens: Tokens) -> Answers:
        part = self._connected(tokens)
        return np.asarray((part == part[..., :1]).all(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """For each pair a, b that is no edge yet: a-b, then edges that join what is still apart.

        The answer is whether a and b were apart, so these tell any two forests apart.  The first one
        comes also with each of its edges moved so that it closes a cycle, where there is room.
        """
        n, rest = self.n, self.length - self.cut
        a, b = np.triu_indices(n, 1)
        free = ~self._present(prefix)[a * n + b]
        pairs = a[free], b[free]
        part = self._connected(prefix)
        a, b = (x[:, None] for x in pairs)
        joined = np.where(part == part[b], part[a], part)  # (pairs, n)
        apart = np.argsort(joined != np.arange(n), axis=1, kind="stable")[:, :rest]
        ends = np.hstack([a * n + b, apart[:, :-1] * n + apart[:, 1:]])
        return np.vstack([ends, self._cyclic(prefix, ends[0])])

    def _cyclic(self, prefix: Tokens, end: Tokens) -> Tokens:
        """The end with each edge in turn replaced by a new one that closes a cycle, if there is one."""
        a, b = np.triu_indices(self.n, 1)
        ends = []
        for j in range(len(end)):
            others = np.concatenate([prefix, np.delete(end, j)])
            part = self._connected(others)
            closing = np.flatnonzero((part[a] == part[b]) & ~self._present(others)[a * self.n + b])
            if len(closing):
                ends.append(np.where(np.arange(len(end)) == j, (a * self.n + b)[closing[0]], end))
        return np.array(ends, dtype=np.int64).reshape(-1, len(end))

    def _present(self, tokens: Tokens) -> NDArray[np.bool_]:
        """(n²,): which u·n + v are edges, whichever way they were written."""
        u, v = np.divmod(tokens, self.n)
        return np.isin(np.arange(self.n**2), np.concatenate([u * self.n + v, v * self.n + u]))

    def rows(self, t: int) -> Count:
        """What is connected with what, n-t parts; and, from three edges on, that there is a cycle.

        Let F, F' be forests that connect differently, and call an edge free if it is in neither.  If a free
        edge joins two parts of F inside a part of F', it and free edges that make a tree of F tell them
        apart.  (There are such edges: F and F' leave every cut of the graph open, for a star of n-1 edges
        at least would close one; nor does a cyclic prefix.)  Otherwise each part of F' that meets two of F
        is a star in F', its centre a in one part of F and the rest, with b, in another; with three
        parts of F there is a z in the third, and a-z, b-z do it.  With two parts, t = n-2, let every
        forest be made of paths, which are stars only up to three vertices: for n ≥ 7 the large part of F'
        lies then in one of F, which is larger or has the same vertices, and in the first case that part of F
        is a path that meets two of F'.  (n ≤ 6 by trial: all but n = 4, where five of seven are told apart.)
        """
        n, cycle = self.n, int(t >= 3)
        if n > _WRITTEN:
            return Count(((n - t, t),), "S₂(n,n-t) ≥ (n-t)^t", exact=False)
        if (n, t) == (4, 2):
            return Count.of(5, "5", exact=False)
        return Count.of(partitions(n, n - t) + cycle, "S₂(n,n-t) + [t ≥ 3]")

    def in_paper(self, t: int) -> Paper:
        n = self.n
        task = (
            r"An input has $n-1$ tokens, different edges of a graph on the vertices $0,\dots,n-1$, in any "
            r"order; $f=1$ if the graph is a tree, and $f=0$ otherwise."
        )
        if (n, t) == (4, 2):
            return Paper(
                task,
                r"Take the five prefixes with the edges $\{01,02\}$, $\{01,13\}$, $\{01,23\}$, $\{03,23\}$ "
                r"and $\{12,23\}$. One goes through the ten pairs: for each of them there is an edge in "
                r"neither prefix that makes a tree of one of them and a cycle in the other.",
            )
        forests = (
            r"$S_2(n,n-t)\geq(n-t)^t$ is the number of partitions of the vertices into $n-t$ parts. Take "
            r"for each of them a forest of $t$ edges whose components are these parts"
        )
        cuts = r"every cut of the complete graph has at least $n-1>t$ edges"
        cyclic = (
            r" One more prefix has a cycle: the answer after it is 0 always, while edges outside it and the "
            r"forest "
            rf"complete each forest to a tree, for {cuts}."
            if t >= 3
            else ""
        )
        if t == n - 2 and n <= 6:
            return Paper(
                task,
                rf"{forests}. For $n\leq 6$ and $t=n-2$ they can be chosen, as was found by going through "
                rf"all pairs of "
                r"forests, so that for each two of them some edge that is in neither makes a tree of one "
                r"and closes a "
                rf"cycle in the other.{cyclic}",
            )
        if t == n - 2:
            return Paper(
                task,
                rf"{forests}, a path in each part. Let $F$ and $F'$ be two of them, with parts $P,Q$ and "
                rf"$P',Q'$. An edge "
                r"between $X=(P\cap P')\cup(Q\cap Q')$ and $Y=(P\cap Q')\cup(Q\cap P')$ that is in neither "
                r"makes a tree of one of them and closes a cycle in the other. Suppose there is none. "
                r"Neither $X$ nor $Y$ is empty, so each vertex of one is joined in $F$ or $F'$ to all of "
                r"the other. In paths it has at most two edges, so $|X|,|Y|\leq 4$. As $n\geq 7$, one of "
                r"the two sizes is 4 and the other 3 or 4, which makes 12 or 16 edges. "
                rf"But $F$ and $F'$ have $2(n-2)$ together, 10 or 12: a contradiction.{cyclic}",
            )
        return Paper(
            task,
            rf"{forests}. Let $F$ and $F'$ be two of them. As {cuts}, edges outside $F'$ complete any "
            rf"forest that "
            r"contains $F$ to a tree. As both have as many parts, some part $P$ of $F'$ meets two parts of "
            r"$F$. If $a,b\in P$ are in different parts of $F$ and $ab$ is no edge of $F'$, then $ab$ and "
            r"such edges complete $F$ to a tree, while $ab$ closes a cycle in $F'$. Otherwise $F'$ has all "
            r"edges between the vertices of $P$ in different parts of $F$. There are two such parts only, "
            r"for three would give a triangle. Let $a$ and $b$ be vertices of $P$, one in each, and $z$ one "
            r"in a third part of $F$; there is one, for $n-t\geq 3$. It is not in $P$, so $az$ and $bz$ are "
            r"in neither forest. They and edges outside $F'$ complete "
            rf"$F$ to a tree, and with $ab$ they make a cycle in $F'$.{cyclic}",
        )

    @classmethod
    def examples(cls) -> tuple[IsTree, ...]:
        return cls(), cls(n=4), cls(n=8)
