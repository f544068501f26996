"""Laws over the catalogue: a new task file is tested by existing."""

import pytest

from limen.core.catalogue import identifier, ids, lookup
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.laws import Law
from limen.laws.task import laws

TASKS = [t for name in ids("tasks") for t in lookup("tasks", name, Task).examples()]


@pytest.mark.parametrize(
    ("law", "task"),
    [pytest.param(law, task, id=f"{law.__name__}-{task}") for task in TASKS for law in laws(task)],
)
def test_it_keeps(law: Law, task: Task) -> None:
    law(task)


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
