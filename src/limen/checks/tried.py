"""Checks what a run shows: runs the model again, with the task and the weights and nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.arrays import np
from limen.core.certificate import Counterexample, Run
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.model import exhaustive
from limen.model.arithmetic import computing_in
from limen.model.files import digest
from limen.model.model import Model
from limen.model.run import batch_size, inputs, logits, payable, run, runnable

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_SLACK = Fraction(1, 10**6)  # of a margin: another machine adds up in another order


def check_run(certificate: Run, model: Model) -> str | None:
    """None if the certificate holds, otherwise the reason why not."""
    same_weights(certificate.weights, model)
    task, precision, steps = Task.parse(certificate.task), runnable(certificate.precision), certificate.steps
    margin, tried = fraction(certificate.margin), certificate.tried
    if not certificate.exhaustive and (tried < 2 or tried % 2):
        raise BadInput(f"half of the inputs tried are hard: their number is even, at least 2, not {tried}")
    payable(
        model, task, steps, min(exhaustive.count(task), exhaustive.MOST) if certificate.exhaustive else tried
    )
    how = None if certificate.exhaustive else tried // 2
    drawn = inputs(task, how, certificate.seed, batch_size(model, task, steps))
    seen = run(model, task, precision, drawn, steps)
    if seen.wrong:
        return f"{seen.wrong} of {seen.tried} answers are wrong"
    if seen.tried != tried:
        return f"{seen.tried} inputs were run, the certificate says {tried}"
    if seen.margin < margin * (1 - _SLACK):
        return f"the least margin seen is {seen.margin}, the certificate says {certificate.margin}"
    return None


def check_counterexample(certificate: Counterexample, model: Model) -> str | None:
    """None if the model gives what is said and something else is right, otherwise the reason why not."""
    same_weights(certificate.weights, model)
    task, precision, steps = Task.parse(certificate.task), runnable(certificate.precision), certificate.steps
    tokens = task.checked(np.array(certificate.tokens))
    payable(model, task, steps, 1)
    right = np.atleast_1d(task.answer(tokens)).tolist()
    rounded = model.to(precision)
    with torch.no_grad(), computing_in(precision):
        found = logits(rounded, task, torch.as_tensor(tokens)[None], steps)[0, :, : task.answers]
    given = found.argmax(-1).tolist()  # the first of equals
    for name, said, is_ in (("answer", certificate.answer, right), ("given", certificate.given, given)):
        if np.atleast_1d(said).tolist() != is_:
            return f"{name} is {is_}, the certificate says {said}"
    return None if given != right else f"the model is right: {right}"


def same_weights(said: str, model: Model) -> None:
    """Raises unless the certificate is about this very model."""
    if digest(model) != said:
        raise BadInput(f"these are other weights: the certificate is about {said[:12]}…")


def fraction(text: str) -> Fraction:
    """A number as certificates write it: 0x1.8p+0, 2 or 3/7."""
    try:
        return Fraction(float.fromhex(text)) if text.startswith("0x") else Fraction(text)
    except (OverflowError, ZeroDivisionError) as error:
        raise BadInput(f"{text} is no number") from error
