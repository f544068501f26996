"""How tasks are taught: what is asked in a batch is what the task asks."""

import numpy as np
import pytest
import torch
from fixtures.words import is_dyck

from limen.core.catalogue import identifier, ids
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.model import Frame
from limen.tasks.dyck import Dyck
from limen.training.lesson import NOT_DUE, Lesson, lesson_for
from limen.training.lesson import lesson_of as spec_lesson
from limen.training.lessons.dyck import faultless
from limen.training.run import run
from limen.training.spec import Spec
from limen.training.start import frame_of, grown, started

TASKS = [
    "index(n=6,S=4)",
    "eva(n=5)",
    "retrieval(n=4,D=3,V=3)",
    "retrieval(n=4,D=3,V=3,absent=true)",
    "composition(m=4)",
    "composition(m=3,n1=2)",
    "composition(m=2,n1=2,n2=3)",
    "equality(n=5)",
    "disjointness(n=5)",
    "dyck(n=8,k=2,D=2)",
    "nearest_neighbor(n=4,D=2,g=3)",
    "two_sum(n=5,M=9)",
    "khop(n=7,k=2,S=3)",
    "recall(n=3,V=8,q=2)",
    "counting(n=5,S=3)",
]
each_task = pytest.mark.parametrize("text", TASKS)
hards = pytest.mark.parametrize("hard", [False, True])


def lesson_of(text: str, **more: bool) -> Lesson:
    return lesson_for(Task.parse(text), queries=3, **more)


@each_task
@hards
def test_what_is_due_is_the_tasks_answer(text: str, hard: bool) -> None:
    """Of each question after the cut; of a dense lesson, at the last position."""
    lesson = lesson_of(text)
    task, batch = lesson.task, lesson.batch(np.random.default_rng(0), 50, hard)
    assert batch.labels.shape == (50, len(batch.due)) and batch.labels.max() < task.answers
    s = task.length - task.cut
    for j in range(batch.tokens.shape[1] // s if lesson.queries > 1 else 1):
        end = task.cut + (j + 1) * s
        if end > batch.tokens.shape[1]:
            break
        own = np.hstack([batch.tokens[:, : task.cut], batch.tokens[:, end - s : end]])
        at = np.flatnonzero(np.isin(batch.due, np.arange(end - task.asks, end)))
        labels = batch.labels[:, at]
        assert labels.shape == (50, task.asks) and (labels != NOT_DUE).any()
        right = task.answer(task.checked(own)).reshape(50, -1)
        np.testing.assert_array_equal(np.where(labels == NOT_DUE, right, labels), right)


@each_task
def test_a_model_of_several_questions_takes_the_tasks_own_inputs(text: str) -> None:
    lesson, spec = lesson_of(text), Spec(task=text, architecture="softmax(h=1,d=4)", width=8, hidden=8)
    model = started(spec, lesson, frame_of(spec, lesson, spec.architecture))
    batch = lesson.batch(np.random.default_rng(0), 4, False)
    whole = model.logits(torch.as_tensor(batch.tokens))
    own = model.logits(torch.as_tensor(lesson.task.sample(np.random.default_rng(0), 4)[0]))
    assert whole.shape[:2] == batch.tokens.shape and own.shape == (4, lesson.task.length, lesson.task.answers)


def test_every_lesson_is_of_a_task() -> None:
    from limen.training import lessons

    named = {
        path.stem
        for folder in lessons.__path__
        for path in __import__("pathlib").Path(folder).glob("[a-z]*.py")
    }
    assert named <= set(ids("tasks")) and named <= {identifier(Task.parse(text)) for text in TASKS}


def test_the_answer_so_far_is_that_of_the_prefix() -> None:
    rng = np.random.default_rng(1)
    for name, so_far in (("equality", lambda a, b: a == b), ("disjointness", lambda a, b: not (a & b).any())):
        lesson = lesson_of(f"{name}(n=5)")
        batch = lesson.batch(rng, 40, True)
        a, b = batch.tokens[:, :5], batch.tokens[:, 5:]
        for i in range(5):
            said = [bool(np.all(so_far(x[: i + 1], y[: i + 1]))) for x, y in zip(a, b, strict=True)]
            np.testing.assert_array_equal(batch.labels[:, i], said)


@hards
def test_brackets_are_faultless_while_they_can_still_be_closed(hard: bool) -> None:
    task = Dyck(n=8, k=2, D=2)
    tokens, answers = task.sample(np.random.default_rng(2), 60, hard)
    labels = faultless(task, tokens)
    for row, said in zip(tokens.tolist(), labels.tolist(), strict=True):
        for t in range(1, 9):
            stack = _open(row[:t])
            word = None if stack is None else (*row[:t], *(c + 2 for c in reversed(stack)))
            assert said[t - 1] == (word is not None and is_dyck(word, 2, 2))
    assert ((labels[:, -1] == 1) >= (answers == 1)).all()


def _open(row: list[int]) -> list[int] | None:
    """The kinds that are open, or None where a closing bracket was wrong."""
    stack: list[int] = []
    for c in row:
        if c < 2:
            stack.append(c)
        elif not stack or stack.pop() != c - 2:
            return None
    return stack


def test_a_chain_of_thought_is_the_chain_of_hops() -> None:
    lesson = lesson_of("composition(m=3,n1=2)", thought=True)
    batch = lesson.thinking(np.random.default_rng(0), 20, True)
    tokens = batch.tokens[:, : lesson.task.length]
    hops = lesson.task.hops(tokens)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(batch.tokens[:, lesson.task.length :], hops[:, :-1])
    np.testing.assert_array_equal(batch.labels, hops)
    with pytest.raises(BadInput, match="not taught with a chain of thought"):
        lesson_of("eva(n=4)").thoughts(tokens)


@pytest.mark.parametrize("mixer", ["softmax(h=1,d=32)", "softmax(h=2,d=16)", "hard(h=1,d=32)"])
def test_a_lookup_begins_by_finding_what_is_asked_for_and_knows_no_answer(mixer: str) -> None:
    """The place that a question names gets the highest score; the accuracy is still chance."""
    spec = Spec(task="index(n=12,S=8)", architecture=mixer, start="lookup", queries=12)
    lesson = lesson_for(Task.parse(spec.task), 12)
    model = started(spec, lesson, frame_of(spec, lesson, mixer))
    tokens = np.hstack([np.random.default_rng(0).integers(8, size=(20, 12)), np.tile(np.arange(12), (20, 1))])
    seen = model.seen(0, model.embedded(torch.as_tensor(tokens)))
    w = model.parts["0.0"]
    q, k = seen[:, 12:] @ w["Q"], seen[:, :12] @ w["K"]
    found = (q @ k.mT).argmax(-1)
    assert float((found == torch.arange(12)).double().mean()) > 0.95
    answers = model.logits(torch.as_tensor(tokens))[:, 12:].argmax(-1).numpy()
    assert (answers == np.take_along_axis(tokens, tokens[:, 12:], axis=1)).mean() < 0.35


def test_a_lookup_needs_a_layout() -> None:
    with pytest.raises(BadInput, match="cannot start as a lookup"):
        run(Spec(task="dyck(n=4,k=2,D=2)", architecture="softmax(h=1,d=4)", start="lookup", steps=1))


def test_many_sizes_are_taught_at_once_and_each_is_judged_by_itself() -> None:
    lesson, rng = lesson_of("recall(n=8,V=32,q=8)", mixed=True), np.random.default_rng(0)
    batches = [lesson.batch(rng, 6, False) for _ in range(20)]
    assert {batch.tokens.shape for batch in batches} == {(12, 12), (6, 24)}, "4 and 8 pairs, as many tokens"
    for batch in batches:
        task = lesson.read_as(batch.tokens)
        np.testing.assert_array_equal(task.answer(task.checked(batch.tokens)), batch.labels)
    assert {name: x.shape for name, x in lesson.shifted(rng, 5).items()} == {
        "4 pairs": (5, 12),
        "8 pairs": (5, 24),
    }
    assert (
        lesson.embedding(8).positions is None
        and lesson_of("recall(n=8,V=32,q=8)").embedding(8).positions == 24
    )
    for text in ("recall(n=8,V=32,q=3)", "index(n=6,S=4)"):
        with pytest.raises(BadInput, match=r"q must be n|not taught in several sizes"):
            lesson_of(text, mixed=True)


def test_recall_is_taught_and_judged_as_it_is_drawn_uniformly_or_in_halves_where_that_is_named() -> None:
    text, rng = "recall(n=4,V=16,q=4)", np.random.default_rng(0)
    for distribution, share in ((None, 0.0), ("halves", 1.0)):
        for mixed in (False, True):
            lesson = spec_lesson(
                Spec(task=text, architecture="softmax", distribution=distribution, mixed=mixed)
            )
            batches = lesson.batch(rng, 50, False).tokens, lesson.sample(rng, 50, False)[0]
            for tokens in (*batches, *(lesson.shifted(rng, 50).values() if mixed else ())):
                in_halves = (tokens[:, :8:2] < 8).all(axis=1) & (tokens[:, 1:8:2] >= 8).all(axis=1)
                assert in_halves.mean() == pytest.approx(share, abs=0.05)
                assert lesson.drawn(False).can_draw(tokens).all()
    assert "lower half" in lesson.drawn(False).says
    for spec in (
        Spec(task=text, architecture="softmax", distribution="halves", hard=True),
        Spec(task=text, architecture="softmax", distribution="thirds"),
        Spec(task="eva(n=4)", architecture="softmax", distribution="halves"),
    ):
        with pytest.raises(BadInput, match=r"leave out hard|no distribution '(thirds|halves)'"):
            spec_lesson(spec)


def test_a_stack_that_grows_is_the_same_function() -> None:
    lesson = lesson_of("index(n=6,S=4)")
    spec = Spec(task="index(n=6,S=4)", architecture="softmax(h=1,d=4)", width=8, hidden=8)
    small = started(spec, lesson, frame_of(spec, lesson, spec.architecture))
    stack = "softmax(h=1,d=4),3*gated_delta(h=1,d=2),mamba2(h=1,d=4,s=4)"
    large = grown(small, frame_of(spec, lesson, stack), torch.Generator().manual_seed(1))
    tokens = torch.as_tensor(lesson.batch(np.random.default_rng(0), 5, False).tokens)
    assert torch.equal(small.logits(tokens), large.logits(tokens))
    with pytest.raises(BadInput, match="does not begin with the stack"):
        grown(small, frame_of(spec, lesson, "linear(h=1,d=4)"), torch.Generator())


def test_a_frame_has_per_position_functions_as_far_as_they_are_asked_for() -> None:
    spec = Spec(task="index(n=6,S=4)", architecture="3*softmax(h=1,d=4)", locals=1, width=8)
    frame: Frame = frame_of(spec, lesson_of(spec.task), spec.architecture)
    assert [local is not None for local in frame.locals] == [True, False, False]
