"""Checks wrong answers: runs the model again, alone and in a batch, in its own precision and in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

from limen.core.arrays import np
from limen.core.certificate import SameAnswer, WrongAnswer
from limen.core.numbers import Precision
from limen.core.quantities import thought
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.arithmetic import computing_in
from limen.model.model import Model
from limen.model.opening import fingerprint, own_precision
from limen.model.predictor import NONE, calling, chosen, due
from limen.model.run import logits, payable, runnable
from limen.witness.collision import streams

_AMONG = 7  # rows of the batch in which an input is run again
_AGAIN = 8  # times that a stranger's model is run again: answers drawn by chance seldom agree so often
Given = list[list[int]]  # of each input, the answers that are due
Holds = Callable[[Given], bool]


class Recheck(NamedTuple):
    """Why a certificate does not hold (None if it does); whether it holds in every run; a summary."""

    reason: str | None
    robust: bool | None
    summary: str


def check_wrong_answer(certificate: WrongAnswer, model: object) -> Recheck:
    """Checks that the model gives the claimed answer and that it is wrong; robust: wrong in every run."""
    task = _bound(certificate.task, certificate.weights, certificate.precision, model)
    tokens = task.checked(np.array([certificate.tokens]))
    right = np.atleast_1d(task.answer(tokens[0])).tolist()
    steps = certificate.steps
    if isinstance(model, Model):
        payable(model, task, steps, 1 + _AMONG)
    elif steps:
        raise BadInput("chain of thought can be run only on a Limen model")
    (given,) = answered = _run(model, task, tokens, certificate.precision, steps)
    if (unsteady := _unsteady(model, task, tokens, answered)) is not None:
        return Recheck(unsteady, False, "")
    for name, claimed, is_ in (("answer", certificate.answer, right), ("given", certificate.given, given)):
        if np.atleast_1d(claimed).tolist() != is_:
            return Recheck(f"{name} is {is_}, the certificate says {claimed}", False, "")
    if given == right:
        return Recheck(f"the model is right: {right}", False, "")
    runs = _others(model, task, tokens, certificate.precision, steps)
    robust, seen = _every(model, runs, lambda given: given[0] != right)
    summary = f"the model answers {spoken(given)}, right is {spoken(right)}; {seen}"
    how = f"{_whose(certificate.precision, model)}{thought(steps)}"
    return Recheck(None, robust, f"{task} in {how}: {summary}")


def check_same_answer(certificate: SameAnswer, model: object) -> Recheck:
    """Checks that two inputs with different right answers get one answer; robust: in every run."""
    task = _bound(certificate.task, certificate.weights, certificate.precision, model)
    tokens = np.stack([task.checked(np.array(side)) for side in (certificate.left, certificate.right)])
    right = [np.atleast_1d(task.answer(row)).tolist() for row in tokens]
    for i in range(2):
        if np.atleast_1d(certificate.answers[i]).tolist() != right[i]:
            reason = f"answer is {right[i]}, the certificate says {certificate.answers[i]}"
            return Recheck(reason, False, "")
    if right[0] == right[1]:
        return Recheck(f"both inputs have the answer {spoken(right[0])}", False, "")
    if isinstance(model, Model):
        payable(model, task, 0, 2 * (1 + _AMONG))
    given = _run(model, task, tokens, certificate.precision, 0)
    if (unsteady := _unsteady(model, task, tokens, given)) is not None:
        return Recheck(unsteady, False, "")
    for answers in given:
        if NONE in answers:
            return Recheck("the model gave no number to one of them: that is no answer", False, "")
        if answers != np.atleast_1d(certificate.given).tolist():
            return Recheck(f"given is {answers}, the certificate says {certificate.given}", False, "")
    runs = _others(model, task, tokens, certificate.precision, 0)
    robust, seen = _every(model, runs, lambda given: given[0] == given[1])
    summary = (
        f"{task} in {_whose(certificate.precision, model)}: the model answers {spoken(given[0])} to two "
    )
    summary += f"inputs whose right answers are {spoken(right[0])} and {spoken(right[1])}"
    return Recheck(None, robust, f"{summary}; {seen}")


def _bound(task: str, weights: str | None, precision: str, model: object) -> Task:
    """The task; raises unless the certificate is about this very model in a precision it can be run in."""
    mine = fingerprint(model)
    if mine != weights:
        whose = "a function without weights" if weights is None else f"{weights[:12]}…"
        raise BadInput(f"these are other weights: the certificate is about {whose}")
    if not isinstance(model, Model) and precision != own_precision(model):
        raise BadInput(f"the model computes in {own_precision(model)}, the certificate says {precision}")
    return Task.parse(task)


def _whose(precision: str, model: object) -> str:
    """The precision in words; for a Limen model run in another than its own, also that."""
    own = own_precision(model)
    return precision if precision == own else f"{precision}, not the model's own arithmetic, {own}"


def given_by(model: object, task: Task, tokens: Tokens, how: str) -> Given:
    """The model's answers to each of these inputs, computed as the check does."""
    return _run(model, task, tokens, how, 0)


def _run(model: object, task: Task, tokens: Tokens, how: str, steps: int) -> Given:
    """The answers to each input, each run by itself."""
    return [_answers(model, task, row[None], how, steps)[0] for row in tokens]


def _unsteady(model: object, task: Task, tokens: Tokens, given: Given) -> str | None:
    """Why a user's model cannot be judged: run again on the same input, it answers something else."""
    if isinstance(model, Model):
        return None  # limen's own have no chance in them
    for _ in range(_AGAIN):
        again = _run(model, task, tokens, "", 0)
        if again != given:
            both = " and ".join(map(spoken, given)), " and ".join(map(spoken, again))
            return f"its answers cannot be repeated: run alone it gave {both[0]}, and then {both[1]}"
    return None


def _others(
    model: object, task: Task, tokens: Tokens, how: str, steps: int
) -> Iterator[tuple[str, Given | str]]:
    """The answers of other runs by name (in a batch, in float64), or why such a run is impossible."""
    among = [_answers(model, task, np.repeat(row[None], _AMONG, 0), how, steps) for row in tokens]
    for i in (0, _AMONG - 1):
        yield "in a batch", [rows[i] for rows in among]
    if isinstance(model, Model):
        yield "in float64", _run(model, task, tokens, "float64", steps)
    elif isinstance(model, torch.nn.Module):
        yield "in float64", _doubled(model, task, tokens)
    else:
        yield "in float64", "a function has no weights"


def _doubled(model: torch.nn.Module, task: Task, tokens: Tokens) -> Given | str:
    """The answers of a float64 copy of the module, or why its code does not allow one."""
    try:
        with calling("no copy of it could be made"):
            wide = copy.deepcopy(model).double()
        return _run(wide, task, tokens, "float64", 0)
    except BadInput as error:
        return str(error)


def _every(model: object, runs: Iterator[tuple[str, Given | str]], holds: Holds) -> tuple[bool | None, str]:
    """Whether the claim holds in all runs (None if some could not be made), and in words."""
    results = list(runs)
    missing = [f"{name}: {given}" for name, given in results if isinstance(given, str)]
    failed = [name for name, given in results if not isinstance(given, str) and not holds(given)]
    if failed:
        own = isinstance(model, Model) or failed[0] != "in a batch"
        why = "it depends on rounding" if own else "its answer depends on what else is in the batch"
        return False, f"but not {failed[0]}, so {why}"
    if missing:
        return None, f"alone and in a batch alike; it could not be run {missing[0]}"
    return True, "alone, in a batch and in float64 alike"


def _answers(model: object, task: Task, tokens: Tokens, how: str, steps: int) -> Given:
    """(rows, asks): the answers; where operations are rounded, a recurrence reads token by token."""
    rows = torch.as_tensor(np.ascontiguousarray(tokens))
    with torch.no_grad():
        if isinstance(model, Model):
            logits = _limen(model, task, rows, runnable(how), steps)
        else:
            logits = due(model, task, rows)
    if logits.shape[-1] < task.answers:
        raise BadInput(f"the model gives {logits.shape[-1]} logits; {task} has {task.answers} answers")
    given: Given = chosen(logits[..., : task.answers]).tolist()
    return given


def _limen(model: Model, task: Task, rows: torch.Tensor, precision: Precision, steps: int) -> torch.Tensor:
    model = model.to(precision)
    with computing_in(precision):
        if precision.native or steps or not streams(model):
            return logits(model, task, rows, steps)
        state, after = model.start((len(rows),)), []
        for token in rows.unbind(-1):
            state, y = model.step(state, token)
            after.append(y)
        return torch.stack(after[-task.asks :], -2)


def spoken(answers: list[int]) -> str:
    """The answers in words; where a logit was not a number, that the model gave none."""
    words = ["no number" if answer == NONE else str(answer) for answer in answers]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"
