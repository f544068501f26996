"""Checks that a model cannot tell two inputs apart: runs it on both and compares bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from limen.core.certificate import Collision
from limen.core.errors import BadInput
from limen.core.files import digest
from limen.core.mixer import Streaming
from limen.core.model import Model
from limen.core.predictor import predictor
from limen.core.task import Task, Tokens
from limen.protocols._conversation import converse
from limen.protocols._transcript import arithmetic

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


def check_collision(certificate: Collision, model: object) -> str | None:
    """None if the inputs need different answers and get the same logits, otherwise the reason why not."""
    task = Task.parse(certificate.task)
    prefixes = certificate.left, certificate.right
    try:
        inputs = [task.checked(np.array([*prefix, *certificate.suffix])) for prefix in prefixes]
    except BadInput as error:
        return str(error)
    if len(certificate.left) != len(certificate.right):
        return f"the prefixes have {len(certificate.left)} and {len(certificate.right)} tokens"
    due = min(task.asks, len(certificate.suffix))  # answers after the prefixes
    left, right = (np.atleast_1d(task.answer(tokens))[task.asks - due :].tolist() for tokens in inputs)
    if left == right:
        return f"both inputs have the answer {left}"
    if certificate.weights is not None and digest(_checked(model)) != certificate.weights:
        raise BadInput(f"these are other weights: the certificate is about {certificate.weights[:12]}…")
    outputs = [outputs_of(model, tokens, due, certificate.arithmetic) for tokens in inputs]
    return None if torch.equal(*outputs) else "the model tells the inputs apart: its logits differ"


def outputs_of(model: object, tokens: Tokens, due: int, how: str | None) -> torch.Tensor:
    """(due, answers): the last logits, each input by itself; a recurrence reads one token at a time.

    In the arithmetic of a conversation, if one is said: then one party holds all tokens.
    """
    row = torch.as_tensor(np.ascontiguousarray(tokens))[None]
    with torch.no_grad():
        if how is not None:
            rule = arithmetic(how)
            talk = converse(_checked(model), row, [range(row.shape[-1])], rule)
            return _checked(model).to(rule.precision).read(talk.outputs())[0, -due:]
        if not (isinstance(model, Model) and streams(model)):
            return predictor(model).logits(row)[0, -due:]
        state, logits = model.start((1,)), []
        for token in row.unbind(-1):
            state, y = model.step(state, token)
            logits.append(y[0])
        return torch.stack(logits[-due:])


def _checked(model: object) -> Model:
    if not isinstance(model, Model):
        raise BadInput("this certificate is about a limen model, not about a function")
    return model


def streams(model: Model) -> bool:
    """Whether it is a recurrence: all layers run one token at a time, and none keeps every token."""
    parts = [part for layer in model.frame.architecture.layers for part in layer.parts]
    return all(isinstance(part.mixer, Streaming) and not part.full for part in parts)
