"""Checks that a model cannot tell two inputs apart: runs it on both and compares bit by bit."""

from __future__ import annotations

from typing import Any

from limen.conversation.converse import converse
from limen.conversation.transcript import arithmetic
from limen.core.arrays import np
from limen.core.certificate import Collision, StateCollision
from limen.core.mixer import Streaming
from limen.core.numbers import Fixed
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.arithmetic import computing_in
from limen.model.model import Model, State
from limen.model.run import payable, runnable
from limen.witness.run import same_weights


def check_collision(certificate: Collision, model: object) -> str | None:
    """None if the inputs need different answers and get the same logits, otherwise the reason why not."""
    if not isinstance(model, Model):
        raise BadInput("this certificate is about a Limen model, not about a function")
    inputs, due, reason = _different(certificate, model)
    if reason is not None:
        return reason
    how = certificate.arithmetic
    one, other = (outputs_of(model, tokens, due, how) for tokens in inputs)
    fixed = how.startswith("integers") or isinstance(runnable(how), Fixed)
    return None if _same(one, other, fixed) else "the model tells the inputs apart: its logits differ"


def check_state_collision(certificate: StateCollision, model: object) -> str | None:
    """None if the states after both prefixes and the outputs that follow are equal, bit by bit; else why not.

    The inputs need different answers; both prefixes are read, then the suffix from either state.
    """
    if not isinstance(model, Model):
        raise BadInput("this certificate is about a Limen model, not about a function")
    _, due, reason = _different(certificate, model)
    if reason is not None:
        return reason
    if not streams(model):
        return "some layer keeps every token: there is no state of a fixed size"
    precision = runnable(certificate.arithmetic)
    prefixes, rounded = (certificate.left, certificate.right), model.to(precision)
    with torch.no_grad(), computing_in(precision):
        left, right = (_after(rounded, rounded.start((1,)), prefix)[0] for prefix in prefixes)
        for i, (one, other) in enumerate(zip(left.layers, right.layers, strict=True)):
            if not _same(one, other, isinstance(precision, Fixed)):
                return f"the states of layer {i} differ"
        given, told = (_after(rounded, state, certificate.suffix)[1][-due:] for state in (left, right))
    same = _same(given, told, isinstance(precision, Fixed))
    return None if same else "the model tells the inputs apart: its logits differ"


def _same(one: Any, other: Any, fixed: bool) -> bool:
    """Whether two states, or outputs, are the same bit by bit; a fixed point has one 0, whatever its sign.

    Every field that may carry something is compared; an unknown kind is refused, since mixers can be users'.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) and (fixed or torch.equal(one.signbit(), other.signbit()))
    if isinstance(one, tuple | list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, fixed) for a, b in pairs)
    if one is None or isinstance(one, int | float | str):
        return bool(one == other)
    raise BadInput(f"a state that holds a {type(one).__name__} cannot be compared bit by bit")


def _different(certificate: Collision, model: Model) -> tuple[list[Tokens], int, str | None]:
    """The two inputs, how many answers are due after the prefixes, and why they are no collision, if so."""
    task = Task.parse(certificate.task)
    prefixes = certificate.left, certificate.right
    inputs = [task.checked(np.array([*prefix, *certificate.suffix])) for prefix in prefixes]
    due = min(task.asks, len(certificate.suffix))  # answers after the prefixes
    left, right = (np.atleast_1d(task.answer(tokens))[task.asks - due :].tolist() for tokens in inputs)
    if left == right:
        return inputs, due, f"both inputs have the answer {left}"
    same_weights(certificate.weights, model)
    payable(model, task, 0, 2)
    return inputs, due, None


def _after(model: Model, state: State, tokens: tuple[int, ...]) -> tuple[State, torch.Tensor]:
    """The state after these tokens, read one by one, and the logits at each of them."""
    logits = []
    for token in torch.as_tensor(tokens)[None].unbind(-1):
        state, y = model.step(state, token)
        logits.append(y[0])
    return state, torch.stack(logits)


def own_arithmetic(model: Model) -> str:
    """The precision in which the model's weights are stored."""
    kinds = sorted({str(w.dtype).removeprefix("torch.") for w in model.weights.values()})
    return kinds[0] if len(kinds) == 1 else "mixed"


def outputs_of(model: Model, tokens: Tokens, due: int, how: str) -> torch.Tensor:
    """(due, answers): the last logits, each input by itself; a recurrence reads one token at a time.

    In integers it is run as a conversation in which one party holds all tokens.
    """
    row = torch.as_tensor(np.ascontiguousarray(tokens))[None]
    with torch.no_grad():
        if how.startswith("integers"):
            rule = arithmetic(how)
            talk = converse(model, row, [range(row.shape[-1])], rule)
            return model.to(rule.precision).read(talk.outputs)[0, -due:]
        precision = runnable(how)
        model = model.to(precision)
        with computing_in(precision):
            if not streams(model):
                return model.logits(row)[0, -due:]
            state, logits = model.start((1,)), []
            for token in row.unbind(-1):
                state, y = model.step(state, token)
                logits.append(y[0])
            return torch.stack(logits[-due:])


def streams(model: Model) -> bool:
    """Whether it is a recurrence: all layers run one token at a time, and none keeps every token."""
    parts = [part for layer in model.frame.architecture.layers for part in layer.parts]
    return all(isinstance(part.mixer, Streaming) and not part.full for part in parts)
