"""The same as the command line, from Python: text or objects in, typed objects out that notebooks draw.

>>> import limen
>>> verdict = limen.decide("eva(n=488)", "linear(h=1,d=16,p=16)")
>>> verdict.answer.value, verdict.flips.at
('cannot', 488)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limen.bound import Bounded
from limen.bound import bound as _bound
from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen.core.verdict import Verdict
from limen.decide import decide as _decide
from limen.report import notebook
from limen.report.stack import stack_of

if TYPE_CHECKING:
    from limen.audit import Audit
    from limen.design import Design
    from limen.solve import Solution
    from limen.table.cell import Table

notebook.register()


def decide(
    task: str | Task, architecture: str | Architecture, steps: int = 0, over: str | None = None
) -> Verdict:
    """CAN, CANNOT or OPEN, with its certificate."""
    stack = stack_of(architecture) if isinstance(architecture, str) else architecture
    return _decide(_task(task), stack, steps, over)


def solve(
    task: str | Task,
    by: str | None = None,
    precision: str = "float32",
    check: int | None = None,
    seed: int = 0,
) -> Solution:
    """Builds explicit weights and runs them: on all inputs where these are few, or on drawn ones."""
    from limen.check.run import runnable
    from limen.solve import solve as run

    return run(construct(_task(task), by), runnable(precision), check, seed=seed)[0]


def bound(task: str | Task, cut: int | None = None) -> Bounded:
    """What every architecture needs for a task."""
    return _bound(_task(task), cut)


def audit(config: str | Path | Mapping[str, Any], **request: Any) -> Audit:
    """A config.json, its folder, a name on the hub, or a config itself; the request as `limen.audit.Request`.

    >>> import limen
    >>> limen.audit({"model_type": "gpt_oss"}, context=4096).kv_bytes_per_token
    Fraction(73728, 1)
    """
    from limen.audit import Request, load
    from limen.audit import audit as read

    asked = Request(**request)
    return read(config, "config", asked) if isinstance(config, Mapping) else read(*load(str(config)), asked)


def design(
    tasks: Iterable[str], context: int, layers: int = 24, width: int = 2048, budget: int | None = None
) -> Design:
    """The stacks that no theorem rules out for the tasks, and what they cost."""
    from limen.design import Wish
    from limen.design import design as search

    return search(Wish.parse(list(tasks), context, layers, width, budget))


def check(certificate: str | Path, model: str | Path | None = None) -> dict[str, Any]:
    """Whether a certificate holds, read from its file; `model` is the folder of the model it is about."""
    from limen.report.check import checked

    path = Path(certificate)
    return checked(path, path.parent if model is None else Path(model))


def table(rows: Iterable[str] = (), columns: Iterable[str] = (), full: bool = False) -> Table:
    """Architectures × tasks with evidence in every cell; all of them unless some are named by their ids."""
    from limen.table.build import build

    return build(rows, columns, full)


def _task(task: str | Task) -> Task:
    return Task.parse(task) if isinstance(task, str) else task
