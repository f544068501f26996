"""Makes certificates from what a search found; only those that the checker accepts."""

from __future__ import annotations

from typing import Any

from limen.core.arrays import np
from limen.core.certificate import Collision, SameAnswer, StateCollision, WrongAnswer
from limen.core.task import Tokens
from limen.model.opening import fingerprint, own_precision
from limen.model.target import Questioned, Target
from limen.witness.collision import check_collision, check_state_collision
from limen.witness.wrong_answer import check_same_answer, check_wrong_answer, given_by


def arithmetic(target: Target) -> str:
    """The precision in which the model is run: its own unless another was chosen."""
    return own_precision(target.model) if target.precision is None else str(target.precision)


def one_or_several(answers: list[int]) -> int | tuple[int, ...]:
    """The answers as certificates write them: a number, or a tuple where several are due."""
    return answers[0] if len(answers) == 1 else tuple(answers)


def first_wrong(target: Target, answers: Questioned) -> WrongAnswer | None:
    """The worst of the wrong answers that the checker confirms; it runs each input by itself."""
    if not answers.wrong.any():
        return None
    order = np.argsort(np.where(answers.wrong, answers.margin, np.inf), axis=None)[: answers.wrong.sum()]
    certificates = (
        wrong_answer(target, answers.inputs.reshape(-1, target.task.length)[i]) for i in order[:8]
    )
    witness = next(filter(None, certificates), None)
    target.unrepeated += 0 if witness is not None else min(8, len(order))
    return witness


def wrong_answer(target: Target, tokens: Tokens) -> WrongAnswer | None:
    """The certificate, if the model is wrong on these tokens."""
    task, how = target.task, arithmetic(target)
    (given,) = given_by(target.model, task, tokens[None], how)
    certificate = WrongAnswer(
        task=task.spelled,
        tokens=tuple(map(int, tokens)),
        answer=one_or_several(np.atleast_1d(task.answer(tokens)).tolist()),
        given=one_or_several(given),
        precision=how,
        steps=0,
        weights=fingerprint(target.model),
    )
    return certificate if check_wrong_answer(certificate, target.model).reason is None else None


def same_answer(target: Target, left: Tokens, right: Tokens) -> SameAnswer | None:
    """The certificate, if two inputs that need different answers are given the same one."""
    task, how = target.task, arithmetic(target)
    given = given_by(target.model, task, left[None], how)[0]
    certificate = SameAnswer(
        task=task.spelled,
        left=tuple(map(int, left)),
        right=tuple(map(int, right)),
        answers=(_right(target, left), _right(target, right)),
        given=one_or_several(given),
        precision=how,
        weights=fingerprint(target.model),
    )
    return certificate if check_same_answer(certificate, target.model).reason is None else None


def state_collision(target: Target, left: Tokens, right: Tokens, suffix: Tokens) -> StateCollision | None:
    """The certificate, if the model's state after both prefixes is the same."""
    made = StateCollision(**_pair(target, left, right, suffix))
    return made if check_state_collision(made, target.model) is None else None


def collision(target: Target, left: Tokens, right: Tokens, suffix: Tokens) -> Collision | None:
    """The certificate, if both inputs get the same logits, bit by bit."""
    made = Collision(**_pair(target, left, right, suffix))
    return made if check_collision(made, target.model) is None else None


def _pair(target: Target, left: Tokens, right: Tokens, suffix: Tokens) -> dict[str, Any]:
    texts = {"left": left, "right": right, "suffix": suffix}
    sides = {name: tuple(map(int, text)) for name, text in texts.items()}
    named = {"task": target.task.spelled, "arithmetic": arithmetic(target)}
    return {**sides, **named, "weights": fingerprint(target.model)}


def _right(target: Target, tokens: Tokens) -> int | tuple[int, ...]:
    return one_or_several(np.atleast_1d(target.task.answer(tokens)).tolist())
