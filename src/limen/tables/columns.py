"""The columns: tasks, at the sizes of a verdict, at one where every input is run, and as they grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.core.task import Task


@dataclass(frozen=True)
class Column:
    """A task with its sizes: `at` for the verdict (the first decided one), `every` to run every input.

    `confused` is the size on which two inputs are looked for that a small model takes for each other, `run`
    one at which weights are run on drawn inputs, `large` the one for a full table.  `grows` gives the task at
    the scale 2^k, to see how a bound grows; `upper`, where a construction is certified only for other shapes.
    `ways`: constructions that are run on every input besides those that `decide` thinks of.  `also`: a task
    and a smaller stack that does it, as a source has it, shown beside what full attention can.
    """

    id: str
    title: str
    asks: str
    at: tuple[str, ...]
    every: str
    confused: str
    run: str
    large: str
    grows: Callable[[int], str]
    upper: Callable[[int], str] | None = None
    ways: tuple[str, ...] = ()
    also: tuple[str, str] | None = None
    papers: bool = False  # whether it is one of the three columns of [ye2026]

    def grown(self, k: int, upper: bool = False) -> Task:
        return Task.parse((self.upper if upper and self.upper else self.grows)(k))


COLUMNS: dict[str, Column] = {
    column.id: column
    for column in (
        Column(
            "eva",
            "Eva",
            "A table of n values is read, then a position: which value is there?",
            ("eva(n=2^20)",),
            "eva(n=4)",
            "eva(n=4)",
            "eva(n=4096)",
            "eva(n=131072)",
            lambda k: f"eva(n=2^{k})",
            papers=True,
        ),
        Column(
            "two_sum",
            "2-Sum",
            "n numbers are read, then one more: do it and one of them add up to 0?",
            ("two_sum(n=2^20,M=2^24)", "two_sum(n=2^20,M=2^40)"),
            "two_sum(n=4,M=7)",
            "two_sum(n=16,M=9)",
            "two_sum(n=4096,M=2^24)",
            "two_sum(n=16384,M=2^24)",
            lambda k: f"two_sum(n=2^{k},M=2^{2 * k})",
            upper=lambda k: f"two_sum(n=2^{k},M=2^{k + 2})",
            also=("two_sum(n=64,M=256)", "softmax(h=1,d=3,p=32)"),
            papers=True,
        ),
        Column(
            "composition",
            "L-SeqComp",
            "L lookups must be chained, and the last token says which ones. Here L = 2.",
            ("composition(m=2^16,n1=16)",),
            "composition(m=2,n1=2)",
            "composition(m=2,n1=2)",
            "composition(m=32,n1=8)",
            "composition(m=64,n1=64)",
            lambda k: f"composition(m=2^{k},n1=16)",
            ways=("stack(stack=F)",),
            papers=True,
        ),
        Column(
            "index",
            "Index",
            "A string of n symbols is read, then a position: which symbol is there?",
            ("index(n=2^20,S=2^16)",),
            "index(n=6,S=2)",
            "index(n=8,S=2)",
            "index(n=4096,S=256)",
            "index(n=65536,S=256)",
            lambda k: f"index(n=2^{k},S=2)",
        ),
        Column(
            "dyck",
            "Dyck",
            "Brackets of k kinds: are all closed in the right order, never more than D open?",
            ("dyck(n=2^20,k=2,D=4)",),
            "dyck(n=4,k=2,D=2)",
            "dyck(n=8,k=2,D=2)",
            "dyck(n=1024,k=2,D=4)",
            "dyck(n=16384,k=2,D=4)",
            lambda k: f"dyck(n=2^{k},k=2,D=4)",
        ),
        Column(
            "equality",
            "Equality",
            "Two strings of n bits: are they the same?",
            ("equality(n=2^20)",),
            "equality(n=4)",
            "equality(n=5)",
            "equality(n=512)",
            "equality(n=4096)",
            lambda k: f"equality(n=2^{k})",
        ),
        Column(
            "disjointness",
            "Disjoint",
            "Two sets: do they have no element in common?",
            ("disjointness(n=2^20)",),
            "disjointness(n=4)",
            "disjointness(n=5)",
            "disjointness(n=512)",
            "disjointness(n=4096)",
            lambda k: f"disjointness(n=2^{k})",
        ),
        Column(
            "nearest_neighbor",
            "Nearest neighbour",
            "n points with labels are read, then one more point: what is the label of the nearest?",
            ("nearest_neighbor(n=2^20,D=2,g=1000)", "nearest_neighbor(n=256,D=2,g=2)"),
            "nearest_neighbor(n=2,D=2,g=1)",
            "nearest_neighbor(n=4,D=2,g=2)",
            "nearest_neighbor(n=256,D=2,g=2)",
            "nearest_neighbor(n=4096,D=2,g=2)",
            lambda k: f"nearest_neighbor(n=2^{k},D=39,g=1)",
            upper=lambda k: f"nearest_neighbor(n=2^{k},D=2,g=2)",
        ),
        Column(
            "recall",
            "Recall",
            "Pairs of a key and a value are read, then a key: which value belongs to it?",
            ("recall(n=2^20,V=2^22)", "recall(n=256,V=2^10)"),
            "recall(n=2,V=4)",
            "recall(n=4,V=16)",
            "recall(n=256,V=1024)",
            "recall(n=2048,V=8192)",
            lambda k: f"recall(n=2^{k},V=2^{k + 2})",
        ),
        Column(
            "cgram",
            "c-gram",
            "A text is read, then c - 1 symbols that stood in it once: which symbol followed them?",
            ("cgram(n=2^20,c=3,V=2^18)", "cgram(n=2^18,c=3,V=2^18)", "cgram(n=256,c=3,V=2^10)"),
            "cgram(n=5,c=2,V=3)",
            "cgram(n=6,c=2,V=4)",
            "cgram(n=512,c=3,V=64)",
            "cgram(n=4096,c=3,V=256)",
            lambda k: f"cgram(n=2^{k},c=3,V=2^{k})",
        ),
        Column(
            "three_sum",
            "3-Sum",
            "n numbers are read, then one more: do it and two of them add up to 0?",
            ("three_sum(n=2^20,M=2^40)",),
            "three_sum(n=3,M=7)",
            "three_sum(n=4,M=9)",
            "three_sum(n=16,M=2^10)",
            "three_sum(n=32,M=2^12)",
            lambda k: f"three_sum(n=2^{k},M=2^{2 * k})",
        ),
        Column(
            "sparse_average",
            "Sparse averages",
            "n signs are read, then q positions: what is the average of the signs there?",
            ("sparse_average(n=2^20,q=4)", "sparse_average(n=2^16,q=4)"),
            "sparse_average(n=5,q=2)",
            "sparse_average(n=6,q=2)",
            "sparse_average(n=1024,q=4)",
            "sparse_average(n=8192,q=4)",
            lambda k: f"sparse_average(n=2^{k},q=4)",
        ),
        Column(
            "counting",
            "Counting",
            "n symbols are read, then a symbol and a number: does it occur at least so often?",
            ("counting(n=2^20,S=2^20)", "counting(n=512,S=512)"),
            "counting(n=5,S=3)",
            "counting(n=5,S=3)",
            "counting(n=1024,S=16)",
            "counting(n=4096,S=64)",
            lambda k: f"counting(n=2^{k},S=2^{k})",
        ),
        Column(
            "is_tree",
            "Is it a tree",
            "The edges of a graph are read in any order: is it a tree?",
            ("is_tree(n=2^20)", "is_tree(n=2^10)"),
            "is_tree(n=4)",
            "is_tree(n=6)",
            "is_tree(n=8)",
            "is_tree(n=12)",
            lambda k: f"is_tree(n=2^{k})",
        ),
    )
}
