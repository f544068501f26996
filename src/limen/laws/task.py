"""The laws of a task: `sample`, `answer`, `queries`, `rows` and the text form are of one mind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from limen.bounds import matrix
from limen.bounds.matrix import Entries
from limen.core.distribution import UNDECLARED, Distribution
from limen.core.task import Answers, Task, Tokens
from limen.errors import BadInput
from limen.laws.law import Law, require
from limen.model import exhaustive

COUNTED = 2**17  # inputs that are all counted, to compare with the closed form of `rows`
COMPARED = 2**12  # inputs that are all compared with those that are drawn
_AGAIN = 8  # rounds before a text is called never drawn: some of equality(n=6) come once in 24,576
_DEVIATIONS = 5  # that chi squared may lie above its mean: with the seed fixed, a true sampler stays below


Draws = Callable[[Generator, int], tuple[Tokens, Answers]]


def laws(task: Task) -> tuple[Law, ...]:
    """The laws of a task; some only if its inputs are few, its answers yes or no, or its sampler declared."""
    yes_or_no = (yes_and_no_are_balanced,) if task.answers == 2 and task.asks == 1 else ()
    counted = (the_closed_form_counts_what_all_inputs_show,) if _countable(task) else ()
    declared = any(task.drawn(hard) is not UNDECLARED for hard in (False, True))
    compared = (texts_are_drawn_as_declared,) if declared and _few(task, COMPARED) else ()
    return (*_EVERY, *yes_or_no, *counted, *compared)


def _countable(task: Task) -> bool:
    return _few(task, COUNTED) and any(task.rows(t) is not None for t in range(task.length))


def _few(task: Task, most: int) -> bool:
    return task.length < 24 and exhaustive.count(task) <= most


def sample_agrees_with_answer(task: Task) -> None:
    """Plain and hard, for one input and for many."""
    for seed, count in enumerate((1, 2, 7, 40)):
        for hard in (False, True):
            tokens, answers = task.sample(np.random.default_rng(seed), count, hard)
            asked = (count,) if task.asks == 1 else (count, task.asks)
            require(tokens.shape == (count, task.length), f"tokens of shape {tokens.shape}")
            require(answers.shape == asked, f"answers of shape {answers.shape}, expected {asked}")
            require(tokens.dtype == answers.dtype == np.int64, "tokens and answers must be int64")
            require(answers.min() >= 0 and answers.max() < task.answers, "an answer is not below `answers`")
            task.checked(tokens)
            wrong = np.argwhere((task.answer(tokens) != answers).reshape(count, -1).any(axis=1))
            require(not len(wrong), f"seed {seed}: sample and answer differ on {tokens[wrong[:1, 0]]}")


def the_same_generator_gives_the_same_sample(task: Task) -> None:
    """And another one another."""
    for hard in (False, True):
        first, second = (task.sample(np.random.default_rng(3), 9, hard) for _ in range(2))
        same = np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])
        require(same, "seed 3 gives two different samples")
    left, right = (task.sample(np.random.default_rng(seed), 50)[0] for seed in (0, 1))
    require(not np.array_equal(left, right), "seeds 0 and 1 give the same sample of 50")


def answer_takes_any_leading_axes(task: Task) -> None:
    """(*batch, length) -> (*batch,), with an axis more where several answers are due."""
    tokens, answers = task.sample(np.random.default_rng(3), 12)
    folded = task.answer(tokens.reshape(2, 3, 2, task.length))
    require(np.array_equal(folded, answers.reshape(2, 3, 2, *answers.shape[1:])), "in the shape 2, 3, 2")
    require(np.array_equal(task.answer(tokens[5]), answers[5]), "one input without a batch")


def yes_and_no_are_balanced(task: Task) -> None:
    """45 to 55 % of 2,000 answers are yes: whoever always says the same is seen."""
    for hard in (False, True):
        share = task.sample(np.random.default_rng(5), 2000, hard)[1].mean()
        require(0.45 < share < 0.55, f"{share:.1%} of the {'hard' if hard else 'plain'} answers are 1")


def texts_are_drawn_as_declared(task: Task) -> None:
    """None outside the declared support, each inside it, and as often as declared; plain and hard."""
    for hard in (False, True):
        drawn_as(task, task.drawn(hard), partial(task.sample, hard=hard))


def drawn_as(task: Task, declared: Distribution, draws: Draws) -> None:
    """Draws many texts and holds them against all that the task allows."""
    every = np.concatenate([*exhaustive.batches(task, COMPARED)])
    inside, rng = declared.can_draw(every), np.random.default_rng(11)
    seen = np.zeros(len(every), dtype=np.int64)
    for _ in range(_AGAIN):
        drawn, _ = draws(rng, 20_000 + 40 * len(every))
        numbers = exhaustive.numbers(task, task.checked(drawn))
        seen += np.bincount(numbers, minlength=exhaustive.count(task))[exhaustive.numbers(task, every)]
        if not declared.exact or seen[inside].all():
            break
    outside, missing = np.flatnonzero(seen * ~inside), np.flatnonzero((seen == 0) & inside)
    require(not len(outside), f"{every[outside[:1]]} is drawn from outside the declared support")
    require(not declared.exact or not len(missing), f"{every[missing[:1]]} of the support is never drawn")
    if declared.given != "other":
        kinds = task.answer(every) if declared.given == "answer" else np.zeros(len(every), dtype=np.int64)
        _as_often(seen[inside], kinds[inside], declared.given)


def _as_often(seen: Tokens, kinds: Answers, given: str) -> None:
    """Each kind as often, and each text of a kind: chi squared with texts - 1 degrees of freedom."""
    _, kind, texts = np.unique(kinds, return_inverse=True, return_counts=True)
    expected = seen.sum() / len(texts) / texts[kind]
    above = ((seen - expected) ** 2 / expected).sum() - (len(seen) - 1)
    limit = _DEVIATIONS * (2 * len(seen)) ** 0.5
    require(above <= limit, f"not {given}: chi squared is {above:.0f} above its mean, at most {limit:.0f}")


def queries_continue_a_prefix_and_tell_something(task: Task) -> None:
    """Each is an input that the task is defined on; not all have the same answer."""
    seen = set()
    for row in task.sample(np.random.default_rng(7), 20)[0]:
        prefix = row[: task.cut]
        suffixes = task.queries(prefix)
        fits = suffixes.ndim == 2 and suffixes.shape[1] == task.length - task.cut and len(suffixes) > 0
        require(fits, f"queries of shape {suffixes.shape}, expected (…, {task.length - task.cut})")
        require(suffixes.dtype == np.int64, f"queries must be int64, got {suffixes.dtype}")
        asked = np.concatenate([np.broadcast_to(prefix, (len(suffixes), task.cut)), suffixes], axis=1)
        task.checked(asked)
        seen |= {np.asarray(a).tobytes() for a in task.answer(asked)}
    require(len(seen) > 1, "all queries have the same answer")


def players_share_the_tokens_out_in_order(task: Task) -> None:
    """From the first token to the last; the cut is where some player begins."""
    players = task.players()
    whole = players[0].tokens.start == 0 and players[-1].tokens.stop == task.length
    require(whole, f"the players hold tokens {players[0].tokens.start}..{players[-1].tokens.stop}")
    for left, right in pairwise(players):
        require(
            left.tokens.stop == right.tokens.start, f"{left.name} and {right.name} leave a gap or overlap"
        )
    require(any(task.cut == p.tokens.start for p in players), "no player begins at the cut")


def tokens_from_a_stranger_are_checked(task: Task) -> None:
    """What `sample` draws passes; a token too large, too few tokens and fractions do not."""
    tokens, _ = task.sample(np.random.default_rng(1), 3)
    require(np.array_equal(task.checked(tokens.tolist()), tokens), "checked changes tokens")
    require(sum(times for _, times in task.alphabets()) == task.length, "alphabets of another length")
    require(max(ids.stop for ids, _ in task.alphabets()) <= task.vocab, "alphabets beyond the vocabulary")
    for what, strange in (
        (f"the token {task.vocab}", np.where(np.arange(task.length) == 0, task.vocab, tokens)),
        (f"{task.length - 1} tokens", tokens[:, :-1]),
        ("fractions", tokens + 0.5),
    ):
        require(_refused(task, strange), f"checked accepts {what}")


def _refused(task: Task, tokens: object) -> bool:
    try:
        task.checked(tokens)
    except BadInput:
        return True
    return False


def an_input_can_be_read_by_people(task: Task) -> None:
    """`render` says something."""
    require(bool(task.render(task.sample(np.random.default_rng(1), 1)[0][0])), "render says nothing")


def its_text_form_is_read_back(task: Task) -> None:
    """What is printed, and what certificates carry, names the same task."""
    for text in (str(task), task.spelled):
        require(Task.parse(text) == task, f"{text} is read as {Task.parse(text)}")


def the_closed_form_counts_what_all_inputs_show(task: Task) -> None:
    """A bound is reached by prefixes that differ; if it is called exact, then so many states also suffice."""
    every = matrix.every(task)
    for t in range(task.length):
        rows = task.rows(t)
        if rows is None or rows.value is None:
            continue
        A = matrix.cut(task, *every, t)
        seen = told_apart(A)
        require(rows.value <= seen, f"rows({t}) claims {rows.value}, but only {seen} prefixes differ")
        if rows.exact:
            enough = cover(A)
            require(enough == rows.value, f"rows({t}) calls {rows.value} exact, but {enough} states suffice")


def cover(A: Entries) -> int:
    """Into how many groups the rows fall, greedily, no two of a group differing where both are allowed."""
    rows, groups = list(np.unique(A, axis=0)), 0
    if (A != matrix.NOT_ALLOWED).all():
        return len(rows)
    while rows:
        met, rest = np.full(A.shape[1], matrix.NOT_ALLOWED), []
        for row in rows:
            both = (row != matrix.NOT_ALLOWED) & (met != matrix.NOT_ALLOWED)
            if (row == met)[both].all():
                met = np.where(met == matrix.NOT_ALLOWED, row, met)
            else:
                rest.append(row)
        rows, groups = rest, groups + 1
    return groups


def told_apart(A: Entries) -> int:
    """The size of a set of rows of which each two are seen to differ."""
    chosen = matrix.distinguishable(A)
    if chosen is None:
        return 1
    B = A[chosen]
    if (A != matrix.NOT_ALLOWED).all():
        return len(np.unique(B, axis=0))
    for i in range(1, len(B)):
        both = (B[:i] != matrix.NOT_ALLOWED) & (B[i] != matrix.NOT_ALLOWED)
        require(bool(((B[:i] != B[i]) & both).any(axis=1).all()), f"row {chosen[i]} is not distinguished")
    return len(B)


_EVERY: tuple[Law, ...] = (
    sample_agrees_with_answer,
    the_same_generator_gives_the_same_sample,
    answer_takes_any_leading_axes,
    queries_continue_a_prefix_and_tell_something,
    players_share_the_tokens_out_in_order,
    tokens_from_a_stranger_are_checked,
    an_input_can_be_read_by_people,
    its_text_form_is_read_back,
)
