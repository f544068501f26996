"""Checks a run certificate: runs the model again from the task and the weights alone."""

from __future__ import annotations

from fractions import Fraction

from limen.core.certificate import Run
from limen.core.task import Task
from limen.errors import BadInput
from limen.model import exhaustive
from limen.model.files import digest
from limen.model.model import Model
from limen.model.run import batch_size, inputs, payable, run, runnable

_SLACK = Fraction(1, 10**6)  # of a margin: another machine adds up in another order


def check_run(certificate: Run, model: Model) -> str | None:
    """None if the certificate holds, otherwise the reason why not."""
    same_weights(certificate.weights, model)
    task, precision, steps = Task.parse(certificate.task), runnable(certificate.precision), certificate.steps
    margin, tried = fraction(certificate.margin), certificate.tried
    if not certificate.exhaustive and (tried < 2 or tried % 2):
        raise BadInput(
            f"the number of inputs must be even and at least 2, because half of them are hard; got {tried}"
        )
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


def same_weights(claimed: str, model: Model) -> None:
    """Raises unless the certificate is about this very model."""
    same_digest(claimed, digest(model))


def same_digest(claimed: str, digest: str) -> None:
    """Raises unless two digests are equal; for a model that need not be loaded."""
    if digest != claimed:
        raise BadInput(f"these are other weights: the certificate is about {claimed[:12]}…")


def fraction(text: str) -> Fraction:
    """A number as certificates write it: 0x1.8p+0, 2 or 3/7."""
    try:
        return Fraction(float.fromhex(text)) if text.startswith("0x") else Fraction(text)
    except (OverflowError, ZeroDivisionError) as error:
        raise BadInput(f"{text} is not a number") from error
