"""The commands as Python functions: text or objects in, typed objects out that notebooks draw.

>>> import limen
>>> verdict = limen.decide("eva(n=488)", "linear(h=1,d=16,p=16)")
>>> verdict.answer.value, verdict.flips.at
('cannot', 488)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limen.commands.stacks import stack_of
from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen.core.verdict import Verdict
from limen.errors import BadInput
from limen.files.own import admit
from limen.render import notebook

if TYPE_CHECKING:
    from limen.adversary.report import FoolReport
    from limen.audits import Audit
    from limen.bounds.bound import BoundReport
    from limen.bounds.stranger import Answering
    from limen.commands.check import CheckReport
    from limen.commands.compare import CompareReport
    from limen.commands.glances import EntryReport, StackReport, TaskReport
    from limen.conversation.play import ProtocolReport
    from limen.decisions.depths import DepthReport
    from limen.designs import Design
    from limen.model.sampler import Draws
    from limen.solutions import Solution
    from limen.tables.cell import EvidenceTable

notebook.register()


def decide(
    task: str | Task, architecture: str | Architecture, steps: int = 0, over: str | None = None
) -> Verdict:
    """CAN, CANNOT or OPEN, with its certificate."""
    from limen.decisions.decide import decide as decided

    return decided(_task(task), _stack(architecture), steps, over)


def solve(
    task: str | Task,
    by: str | None = None,
    precision: str = "float32",
    check: int | None = None,
    seed: int = 0,
) -> Solution:
    """Builds explicit weights and runs them: on all inputs where these are few, or on drawn ones."""
    from limen.model.run import runnable
    from limen.solutions import solve as run

    asked = _task(task)
    admit(by)
    return run(construct(asked, by), runnable(precision), check, seed=seed)[0]


def bound(
    task: str | Task | Answering,
    cut: int | None = None,
    *,
    alphabet: int | None = None,
    length: int | None = None,
) -> BoundReport:
    """What every architecture needs for a task, or for a function of `length` tokens, each below `alphabet`.

    >>> import limen
    >>> limen.bound(lambda tokens: tokens[tokens[-1]], alphabet=3, length=4).rows
    27
    """
    from limen.bounds.bound import bound as needed
    from limen.bounds.bound import bound_here

    if isinstance(task, str | Task):
        if (alphabet, length) != (None, None):
            raise BadInput("alphabet and length are for functions; a task has its own")
        return needed(_task(task), cut)
    return bound_here(task, cut, alphabet, length)


def audit(config: str | Path | Mapping[str, Any], **request: Any) -> Audit:
    """A config.json, its folder, a name on the hub, or a config itself; the request as `audits.Request`.

    >>> import limen
    >>> limen.audit({"model_type": "gpt_oss"}, context=4096).kv_bytes_per_token
    Fraction(73728, 1)
    """
    from limen.audits import Request, load
    from limen.audits import audit as read

    asked = Request(**request)
    admit(*asked.needs)
    return read(config, "config", asked) if isinstance(config, Mapping) else read(*load(str(config)), asked)


def design(
    tasks: Iterable[str],
    context: int,
    layers: int = 24,
    width: int = 2048,
    budget: int | None = None,
    kv_heads: int = 8,
) -> Design:
    """The stacks that no theorem rules out for the tasks, and what they cost."""
    from limen.designs import Wish
    from limen.designs import design as search

    asked = list(tasks)
    admit(*asked)
    return search(Wish.parse(asked, context, layers, width, budget, kv_heads))


def compare(*architectures: str, context: int = 131072, tasks: Iterable[str] = ()) -> CompareReport:
    """Stacks side by side, each in its text form or a config.json."""
    from limen.commands.compare import compare as beside

    asked = list(tasks)
    admit(*architectures, *asked)
    return beside(architectures, context, asked)


def depth(architecture: str | Architecture, steps: int = 0) -> DepthReport:
    """How many hops a stack chains, by which layers, and from which length on not one more."""
    from limen.decisions.depths import depth as reached

    return reached(_stack(architecture), steps)


def protocol(
    task: str, architecture: str, players: str | None = None, arithmetic: str = "integers", seed: int = 0
) -> ProtocolReport:
    """A model with random weights run as a conversation between players, its bits beside the formula's."""
    from limen.conversation.play import ProtocolRequest, play

    admit(task, architecture)
    return play(ProtocolRequest(task, architecture, players, arithmetic, None, seed)).report


def show(
    text: str, count: int = 2, hard: bool = False, seed: int = 0, context: int = 1024
) -> TaskReport | StackReport | EntryReport:
    """A task with inputs and answers, what an architecture carries past a cut, or an entry by its id."""
    from limen.commands.glances import kind_of, show_entry, show_stack, show_task

    admit(text)
    if (kind := kind_of(text)) is not None:
        return show_entry(kind, text)
    if Task.names(text):
        return show_task(Task.parse(text), count, hard, seed)
    return show_stack(stack_of(text), context)


def check(certificate: str | Path, model: str | Path | None = None) -> CheckReport:
    """Whether a certificate holds, read from its file; `model` names the model it is about."""
    from limen.commands.check import checked

    return checked(Path(certificate), model)


def fool(
    model: object,
    task: str | Task,
    budget: float = 60.0,
    *,
    claim: str | None = None,
    arithmetic: str | None = None,
    seed: int = 0,
    resume: str | Path | None = None,
    sampler: str | Draws | None = None,
) -> FoolReport:
    """Searches for an input that fools a model: a limen Model, an `nn.Module`, a function, or its name.

    A function takes tokens (batch, length) and returns logits, or its answers alone.  A search that is to
    `resume` is kept in that file: begun again, it goes on from there.  A `sampler` (rng, count) -> tokens
    draws from your own distribution in the place of the task's; `sampler.support(tokens)`, if it has one,
    tells which inputs it can draw.

    >>> import limen
    >>> found = limen.fool(lambda tokens: tokens[:, 0], "eva(n=4)", budget=5.0)
    >>> found.claim, found.random_failures > 0
    ('wrong_answer', True)
    """
    from limen.adversary.schedule import fool as attacked
    from limen.adversary.schedule import report
    from limen.model.opening import opened
    from limen.model.run import runnable
    from limen.model.sampler import Sampler
    from limen.model.target import Target

    name = model if isinstance(model, str) else type(model).__name__
    precision = None if arithmetic is None else runnable(arithmetic)
    drawn = None if sampler is None else Sampler.of(sampler)
    found = opened(model) if isinstance(model, str) else model
    target = Target(_task(task), found, precision, seed, sampler=drawn)
    kept = None if resume is None else Path(resume)
    return report(attacked(target, budget, claim, name, kept=kept))


def table(rows: Iterable[str] = (), columns: Iterable[str] = (), full: bool = False) -> EvidenceTable:
    """Architectures × tasks with evidence in every cell; by default all of them, or those with these ids."""
    from limen.tables.build import build

    return build(rows, columns, full)


def _stack(architecture: str | Architecture) -> Architecture:
    if not isinstance(architecture, str):
        return architecture
    admit(architecture)
    return stack_of(architecture)


def _task(task: str | Task) -> Task:
    if not isinstance(task, str):
        return task
    admit(task)
    return Task.parse(task)
