"""Laws over the catalogue: a new task file is tested by existing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.random import Generator

from limen.core.catalogue import identifier, ids, lookup
from limen.core.distribution import BY_ANSWER, UNDECLARED, Distribution
from limen.core.task import Answers, Task, Tokens
from limen.errors import BadInput
from limen.laws import Broken, Law
from limen.laws.task import drawn_as, laws, texts_are_drawn_as_declared
from limen.tasks.equality import Equality
from limen.tasks.recall import Recall
from limen.tasks.two_sum import TwoSum

TASKS = [t for name in ids("tasks") for t in lookup("tasks", name, Task).examples()]
# of every task what is small enough to compare all texts with those drawn
SMALL = """
eva(n=3) index(n=1,S=3) index(n=2,S=3) index(n=4,S=3) retrieval(n=3,D=2,V=2)
retrieval(n=2,D=2,V=1,absent=true)
retrieval(n=2,D=2,V=2,absent=true) recall(n=2,V=4) recall(n=2,V=4,q=2) recall(n=2,V=5) two_sum(n=3,M=5)
two_sum(n=4,M=4) two_sum_any(n=4,M=6) two_sum_any(n=3,M=7) two_sum_any(n=5,M=4) three_sum(n=3,M=6)
three_sum(n=3,M=5) three_sum(n=4,M=4) sparse_average(n=5,q=2) sparse_average(n=4,q=3) dyck(n=2,k=2,D=1)
dyck(n=4,k=2,D=1) dyck(n=6,k=2,D=2) dyck(n=6,k=2,D=3) dyck(n=4,k=3,D=2) dyck(n=10,k=1,D=3) dyck(n=2,k=1,D=5)
equality(n=2) equality(n=3) equality(n=5) equality(n=6) disjointness(n=2) disjointness(n=3) disjointness(n=5)
inner_product(n=2) inner_product(n=3) inner_product(n=5)
nearest_neighbor(n=2,D=2,g=1) cgram(n=4,c=2,V=3) cgram(n=6,c=3,V=2) counting(n=4,S=3) counting(n=5,S=2)
is_tree(n=4) composition(m=3) composition(m=2,n1=2) facts(m=2,n1=2) khop(n=4,k=2,S=3) match3(n=3,M=9)
match3(n=4,M=7) turing(n=4) turing(n=5) turing(n=10) turing(n=5,program=increment)
"""


@pytest.mark.parametrize(
    ("law", "task"),
    [pytest.param(law, task, id=f"{law.__name__}-{task}") for task in TASKS for law in laws(task)],
)
def test_it_keeps(law: Law, task: Task) -> None:
    law(task)


@pytest.mark.parametrize("text", SMALL.split())
def test_texts_are_drawn_as_the_task_declares(text: str) -> None:
    assert texts_are_drawn_as_declared in laws(Task.parse(text))
    texts_are_drawn_as_declared(Task.parse(text))


def test_every_task_declares_how_it_draws() -> None:
    assert sorted({text.partition("(")[0] for text in SMALL.split()}) == ids("tasks")
    assert all(task.drawn(hard) is not UNDECLARED for task in TASKS for hard in (False, True))


@dataclass(frozen=True)
class InHalves(Recall):
    """As recall was drawn once, and called plain."""

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        return super().sample(rng, count, hard) if hard else self.halves(rng, count)


@dataclass(frozen=True)
class CalledUniform(Equality):
    """Strings that differ in many places are drawn more often."""

    def drawn(self, hard: bool = False) -> Distribution:
        return super().drawn(hard) if hard else BY_ANSWER


@dataclass(frozen=True)
class CalledAll(TwoSum):
    """Two partners of q are never drawn."""

    def drawn(self, hard: bool = False) -> Distribution:
        return BY_ANSWER


@dataclass(frozen=True)
class CalledFew(Recall):
    def drawn(self, hard: bool = False) -> Distribution:
        return self.drawn_in_halves()


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (InHalves(2, 4), "of the support is never drawn"),
        (CalledAll(3, 5), "of the support is never drawn"),
        (CalledFew(2, 4), "from outside the declared support"),
        (CalledUniform(4), "not answer: chi squared"),
    ],
)
def test_a_sampler_that_draws_otherwise_is_found_out(task: Task, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        texts_are_drawn_as_declared(task)


@pytest.mark.parametrize("task", [Recall(2, 5), Recall(2, 4, q=2)])
def test_recall_in_halves_is_drawn_as_it_says(task: Recall) -> None:
    drawn, answers = task.halves(np.random.default_rng(0), 500)
    np.testing.assert_array_equal(task.answer(drawn), answers)
    drawn_as(task, task.drawn_in_halves(), task.halves)
    uniform = task.sample(np.random.default_rng(0), 5_000)[0]
    assert task.drawn_in_halves().can_draw(uniform).mean() < 0.1


@pytest.mark.parametrize("text", ["recall(n=8,V=16)", "dyck(n=32,k=2,D=4)", "nearest_neighbor(n=16,D=3,g=4)"])
@pytest.mark.parametrize("hard", [False, True])
def test_what_is_drawn_at_larger_sizes_is_in_the_support(text: str, hard: bool) -> None:
    task = Task.parse(text)
    assert task.drawn(hard).can_draw(task.sample(np.random.default_rng(1), 500, hard)[0]).all()


def shares(task: Task, holds: Callable[[Tokens], np.ndarray]) -> list[float]:
    """How many of the texts drawn for no, and for yes, are so."""
    texts, answers = task.sample(np.random.default_rng(2), 20_000)
    return [float(holds(texts[answers == answer]).mean()) for answer in (0, 1)]


def test_what_a_sentence_says_of_plain_texts_is_so() -> None:
    """Each was once said otherwise: pairs put into uniform texts, counts uniform, sets uniform."""
    pairs, triples, counts, sets = map(
        Task.parse,
        ("two_sum_any(n=4,M=101)", "three_sum(n=4,M=101)", "counting(n=4,S=3)", "disjointness(n=2)"),
    )
    assert "and each v that is its own negative in half of them" in pairs.drawn().says
    no, yes = shares(pairs, lambda x: (x == 0).any(axis=1))
    assert 0.48 < no < 0.52 and yes < 0.05
    assert "and each v that is -q-v in half of them" in triples.drawn().says
    no, yes = shares(triples, lambda x: ((2 * x[:, :-1] + x[:, -1:]) % 101 == 0).any(axis=1))
    assert 0.48 < no < 0.52 and yes < 0.05
    assert "a uniform number of times given the answer" in counts.drawn().says
    for c in range(5):
        shown = shares(counts, lambda x, c=c: (x[:, :4] == x[:, 4:5]).sum(axis=1) == c)
        np.testing.assert_allclose(shown, [0.25 * (c < 4), 0.25 * (c > 0)], atol=0.02)
    assert "one element in a, one in b, and each other in a, b or none as likely" in sets.drawn().says
    assert shares(sets, lambda x: x.sum(axis=1) == 2) == [1, 1]  # none of two elements is in no set


@pytest.mark.parametrize("kind", ["tasks", "mixers"])
def test_a_class_is_called_as_its_file(kind: str) -> None:
    from limen.core.mixer import Mixer

    for name in ids(kind):
        cls = lookup(kind, name, {"tasks": Task, "mixers": Mixer}[kind])
        assert cls.__name__ == "".join(word.capitalize() for word in name.split("_"))
        assert identifier(cls) == name and cls.__doc__


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("index(n=3,S=2)", [0, 2, 1, 0]),  # a symbol beyond S
        ("composition(m=2,n1=2)", [3, 0, 2, 1, 2, 0, 0, 1]),  # z_1 leads outside 0..m-1
        ("composition(m=2,n1=2)", [3, 0, 2, 1, 1, 0, 0, 2]),  # w beyond n_1
        ("retrieval(n=2,D=2,V=2)", [5, 4, 8 + 2]),  # a key twice
        ("retrieval(n=2,D=2,V=2)", [5, 0, 8 + 1]),  # a query that is no key
        ("recall(n=2,V=4)", [0, 2, 1, 3, 2]),  # the same
        ("sparse_average(n=4,q=2)", [0, 1, 0, 1, 2, 2]),  # a position twice
        ("counting(n=3,S=2)", [0, 1, 0, 1, 0]),  # k = 0
        ("khop(n=3,k=1,S=2)", [1, 2, 2, 3]),  # equal neighbours
        ("cgram(n=4,c=2,V=3)", [0, 1, 0, 2, 0]),  # a gram that stands twice
        ("cgram(n=4,c=2,V=3)", [0, 1, 0, 2, 2]),  # a gram that nothing follows
        ("is_tree(n=4)", [1, 4, 2]),  # an edge twice
        ("nearest_neighbor(n=1,D=2,g=1)", [4, 9, 0]),  # the vector 0
    ],
)
def test_an_input_outside_the_promise_is_refused(text: str, tokens: list[int]) -> None:
    with pytest.raises(BadInput, match=r"is outside|is not defined on"):
        Task.parse(text).checked(tokens)
