"""Checks that weights solve a task: runs them again, with the task and the weights and nothing else."""

from __future__ import annotations

from limen.check.run import batch_size, inputs, run
from limen.core.certificate import Solves
from limen.core.errors import BadInput
from limen.core.files import digest
from limen.core.model import Model
from limen.core.numbers import Precision
from limen.core.task import Task


def check_solves(certificate: Solves, model: Model) -> str | None:
    """None if the certificate holds, otherwise the reason why not."""
    if digest(model) != certificate.weights:
        raise BadInput(f"these are other weights: the certificate is about {certificate.weights[:12]}…")
    task, precision = Task.parse(certificate.task), Precision.parse(certificate.precision)
    how = None if certificate.exhaustive else certificate.tried // 2
    size = batch_size(model, task, certificate.steps)
    seen = run(model, task, precision, inputs(task, how, certificate.seed, size), certificate.steps)
    if seen.wrong:
        return f"{seen.wrong} of {seen.tried} answers are wrong"
    if seen.tried != certificate.tried:
        return f"{seen.tried} inputs were run, the certificate says {certificate.tried}"
    if seen.margin < certificate.margin * (1 - 1e-6):
        return f"the least margin seen is {seen.margin}, the certificate says {certificate.margin}"
    if certificate.certified is not None and seen.margin < certificate.certified:
        return f"the least margin seen is {seen.margin}, below the certified {certificate.certified}"
    return None
