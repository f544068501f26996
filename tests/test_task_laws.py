"""Laws over the catalogue: a new task file is tested by existing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.core.catalogue import identifier, ids, lookup
from limen.core.errors import BadInput
from limen.core.task import Task

TASKS = [t for name in ids("tasks") for t in lookup("tasks", name, Task).examples()]
each_task = pytest.mark.parametrize("task", TASKS, ids=str)
seeds, hards = st.integers(0, 2**32 - 1), st.booleans()


@each_task
@given(seed=seeds, hard=hards, count=st.integers(1, 40))
def test_sample_agrees_with_answer(task: Task, seed: int, hard: bool, count: int) -> None:
    tokens, answers = task.sample(np.random.default_rng(seed), count, hard)
    assert tokens.shape == (count, task.length)
    assert tokens.dtype == answers.dtype == np.int64
    assert tokens.min() >= 0 and tokens.max() < task.vocab
    assert answers.min() >= 0 and answers.max() < task.answers
    assert answers.shape == ((count,) if task.asks == 1 else (count, task.asks))
    np.testing.assert_array_equal(task.answer(tokens), answers)
    np.testing.assert_array_equal(task.checked(tokens), tokens)


@each_task
@given(seed=seeds, hard=hards)
def test_the_same_generator_gives_the_same_sample(task: Task, seed: int, hard: bool) -> None:
    first, second = (task.sample(np.random.default_rng(seed), 9, hard) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@each_task
def test_different_seeds_give_different_samples(task: Task) -> None:
    first, second = (task.sample(np.random.default_rng(seed), 50, False)[0] for seed in (0, 1))
    assert not np.array_equal(first, second)


@each_task
def test_answer_takes_any_leading_axes(task: Task) -> None:
    tokens, answers = task.sample(np.random.default_rng(3), 12)
    rest = answers.shape[1:]
    np.testing.assert_array_equal(
        task.answer(tokens.reshape(2, 3, 2, task.length)), answers.reshape(2, 3, 2, *rest)
    )
    np.testing.assert_array_equal(task.answer(tokens[5]), answers[5])


@pytest.mark.parametrize("task", [t for t in TASKS if t.answers == 2 and "index" not in str(t)], ids=str)
@pytest.mark.parametrize("hard", [False, True])
def test_yes_and_no_are_balanced(task: Task, hard: bool) -> None:
    _, answers = task.sample(np.random.default_rng(5), 2000, hard)
    assert 0.45 < answers.mean() < 0.55


@each_task
def test_queries_continue_a_prefix_and_tell_something(task: Task) -> None:
    seen = set()
    for row in task.sample(np.random.default_rng(7), 20)[0]:
        prefix = row[: task.cut]
        suffixes = task.queries(prefix)
        assert suffixes.ndim == 2 and suffixes.shape[1] == task.length - task.cut and len(suffixes) > 0
        assert suffixes.dtype == np.int64
        asked = np.concatenate([np.broadcast_to(prefix, (len(suffixes), task.cut)), suffixes], axis=1)
        task.checked(asked)
        seen |= {np.asarray(a).tobytes() for a in task.answer(asked)}
    assert len(seen) > 1


@each_task
def test_players_share_the_tokens_out_in_order(task: Task) -> None:
    players = task.players()
    assert players[0].tokens.start == 0 and players[-1].tokens.stop == task.length
    assert all(left.tokens.stop == right.tokens.start for left, right in pairwise(players))
    assert any(task.cut == p.tokens.start for p in players), "the cut is where some player begins"


@each_task
def test_tokens_from_a_stranger_are_checked(task: Task) -> None:
    tokens, _ = task.sample(np.random.default_rng(1), 3)
    np.testing.assert_array_equal(task.checked(tokens.tolist()), tokens)
    assert sum(times for _, times in task.alphabets()) == task.length
    assert max(ids.stop for ids, _ in task.alphabets()) <= task.vocab
    with pytest.raises(BadInput, match="is outside"):
        task.checked(np.where(np.arange(task.length) == 0, task.vocab, tokens))
    with pytest.raises(BadInput, match="expected integer tokens"):
        task.checked(tokens[:, :-1])
    with pytest.raises(BadInput, match="expected integer tokens"):
        task.checked(tokens + 0.5)


@each_task
def test_an_input_can_be_read_by_people(task: Task) -> None:
    tokens, _ = task.sample(np.random.default_rng(1), 1)
    assert task.render(tokens[0])


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
