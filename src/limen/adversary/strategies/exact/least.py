"""The least margin over all inputs and its verdict: right, wrong or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from limen.adversary.strategies.exact.cases import Cases, cases
from limen.adversary.strategies.exact.layer import OneLayer, layer
from limen.adversary.strategies.exact.proof import certificate, refused
from limen.adversary.strategies.exact.search import Bracket, Search, search
from limen.core.arrays import np
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.model.model import Model
from limen.model.predictor import Predictor


@dataclass(frozen=True)
class Worst:
    """low ≤ the least margin ≤ high; behind a final norm both are of ρ·margin, which has its sign."""

    low: float
    high: float
    tokens: Tokens | None  # with the margin `high`
    verdict: Literal["right", "wrong", "undecided"]
    certificate: dict[str, object] | None  # of kind correct_everywhere
    reason: str  # why it is undecided; empty otherwise
    nodes: int
    seconds: float
    met: Tokens  # inputs with small margins that the search came across


def uncovered(model: Predictor, task: Task) -> str | None:
    """Why there is no exact procedure for this model and task; None if there is one."""
    read = _read(model, task)
    return read if isinstance(read, str) else None


def worst(model: Predictor, task: Task, *, seconds: float, incumbent: Tokens | None = None) -> Worst | None:
    """The least margin over all inputs of the task, as far as `seconds` reach; None: see `uncovered`."""
    read = _read(model, task)
    if isinstance(read, str):
        return None
    assert isinstance(model, Model)
    form, known = read
    state = Search(form, known)
    if incumbent is not None:
        _start(state, task, np.atleast_2d(task.checked(incumbent)))
    bracket = search(state, seconds)
    met = sorted(state.low_margin, key=lambda one: one[0])
    tokens = np.array([tokens for _, tokens in met], dtype=np.int64).reshape(-1, task.length)
    tokens = tokens[task.promised(tokens)] if len(tokens) else tokens
    verdict, proof, reason = _judged(model, task, form, bracket)
    return Worst(
        bracket.low,
        bracket.high,
        bracket.tokens,
        verdict,
        proof,
        reason,
        bracket.nodes,
        bracket.seconds,
        tokens,
    )


def _read(model: Predictor, task: Task) -> tuple[OneLayer, Cases] | str:
    if not isinstance(model, Model):
        return "the model is not a Limen model, so its weights cannot be read"
    known = cases(task)
    if isinstance(known, str):
        return known
    form = layer(model, task, sorted({case.question for case in known.cases}))
    return form if isinstance(form, str) else (form, known)


def _start(state: Search, task: Task, tokens: Tokens) -> None:
    """Enters the inputs of an attack as the first ones to beat."""
    answers = task.answer(tokens)
    place = {(case.question, case.answer): i for i, case in enumerate(state.cases.cases)}
    numbers = np.array([place[int(row[-1]), int(a)] for row, a in zip(tokens, answers, strict=True)])
    state.try_inputs(numbers, tokens)


def _judged(
    model: Model, task: Task, form: OneLayer, bracket: Bracket
) -> tuple[Literal["right", "wrong", "undecided"], dict[str, object] | None, str]:
    if bracket.tokens is not None and bracket.high <= 0:
        given = answered(model, bracket.tokens)
        if given != int(task.answer(bracket.tokens)):
            return "wrong", None, ""
        return (
            "undecided",
            None,
            "the proved margin is not positive, although the model is right in its own arithmetic",
        )
    if bracket.low <= 0:
        return "undecided", None, f"the least margin is between {bracket.low:.6g} and {bracket.high:.6g}"
    proof = certificate(model, task, form, bracket)
    why = proof if isinstance(proof, str) else refused(proof, model)
    if why is None:
        assert not isinstance(proof, str)
        return "right", proof, ""
    return "undecided", None, why


def answered(model: Model, tokens: Tokens) -> int:
    """The model's answer, in its own arithmetic."""
    with torch.no_grad():
        return int(model.logits(torch.as_tensor(tokens)[None])[0, -1].argmax())
