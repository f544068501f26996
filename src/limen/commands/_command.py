"""A command is a typed function; the command line, Python, schemas, completion and pages are read off it.

    @command(example="limen depth softmax", answers=(Shown("limen.…:DepthReport", "limen.render.depth:…"),))
    def depth(architecture: Stack, steps: Annotated[int, Option("Steps.", least=0)] = 0) -> DepthReport:

For mypy and for an editor the function stays what it was.  Called from Python, its texts are parsed and its
ranges are checked by the same `Parameter.taken` as on the command line and from a page.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from limen.commands._parameter import Parameter, parameters_of
from limen.core.renderers import Drawers, draws
from limen.errors import BadInput
from limen.files import own

if TYPE_CHECKING:
    from limen.core.report import Report, Result

P = ParamSpec("P")
M = TypeVar("M")
Q = TypeVar("Q")
R = TypeVar("R")
Tell = Callable[[str], None]  # prints a line at once: the command line's gift to a function that takes `tell`

_PYTHON = re.compile(r"\n\n(?=From Python)")  # what a docstring says to Python alone
_KNOWN: dict[str, Command] = {}  # by the module in which the function stands

draws("Certificate", Drawers(html="limen.render.notebook:certificate"))


class Shown(NamedTuple):
    """A kind of report, and who draws it; all named as module:name, so that to declare it loads nothing."""

    report: str
    lines: str
    html: str = ""  # in a notebook; default: the lines as they are
    picture: str = ""  # SVG, of --picture
    forms: Mapping[str, str] = {}  # of --format: latex, markdown, …
    page: str = ""  # what a page gets beside the report: {"says": sentences by their names}
    coloured: bool = False  # the lines come as they are to be printed, in colours of their own


class Picture(NamedTuple):
    """The option of the command line that draws the answer into a file."""

    flag: str = "--picture"
    help: str = "Draw a picture into this file: .svg, .png or .pdf."
    ready: str = "limen.render.svg:picture_ready"  # refuses, before any work, what cannot be written
    save: str = "limen.render.svg:save_picture"


class Command(NamedTuple):
    """Everything that is read off a declaration."""

    name: str  # decide; in a group: demo average
    run: Callable[..., Result]  # as it was written
    parameters: tuple[Parameter, ...]
    example: str
    answers: tuple[Shown, ...]
    picture: Picture
    request: Callable[..., Any] | None  # the class of the options that travel on as one object
    together: str  # module:Report of several answers

    @property
    def about(self) -> str:
        """What it does, in the words of its file and its function."""
        first = (inspect.getdoc(import_module(self.run.__module__)) or "").partition("\n")[0]
        more = _PYTHON.split(inspect.getdoc(self.run) or "")[0]
        return f"{first}\n\n{more}".strip()

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(form for shown in self.answers for form in shown.forms))

    @property
    def is_drawn(self) -> bool:
        return any(shown.picture for shown in self.answers)

    @property
    def tells(self) -> bool:
        """Whether the function prints lines before it is done."""
        return "tell" in inspect.signature(self.run).parameters

    def ask(self, values: Mapping[str, Any], tell: Tell | None = None) -> Result:
        """The answer to named values; a file of the person's own that a text names is run."""
        taken = {p.name: p.taken(values[p.name]) for p in self.parameters if p.name in values}
        own.admit(*(text for p in self.parameters if p.option.own for text in texts(taken, p)))
        more = {"tell": tell} if tell and self.tells else {}
        star = [value for p in self.parameters if p.star for value in taken.pop(p.name, ())]
        if self.request is None:
            return self.run(*star, **taken, **more)
        first = self.parameters[0].name
        return self.run(taken.pop(first), self.request(**taken))

    def answer(self, values: Mapping[str, Any], tell: Tell | None = None) -> Result:
        """The same; where the command line names several of what a function takes one of, all together."""
        each = next((parameter.name for parameter in self.parameters if parameter.option.each), None)
        if each is None or not isinstance(values.get(each), list | tuple):
            return self.ask(values, tell)
        if not values[each]:
            raise BadInput(f"{each}: at least one is expected, got none")
        several = tuple(self.ask({**values, each: one}, tell) for one in values[each])
        if len(several) == 1:
            return several[0]
        result: Result = load(self.together)(models=tuple(one.report for one in several))
        return result

    def shown(self, report: Report) -> Shown:
        """Who draws a report."""
        kind = type(report)
        return next(one for one in self.answers if one.report == f"{kind.__module__}:{kind.__qualname__}")


def command(
    *,
    example: str,
    answers: tuple[Shown, ...],
    picture: Picture = Picture(),  # noqa: B008 (frozen)
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares a function by its own signature."""

    def declared(run: Callable[P, R]) -> Callable[P, R]:
        known = _known(run, parameters_of(run), example, answers, picture, None, "")
        signature = inspect.signature(run)

        @wraps(run)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            values = signature.bind(*args, **kwargs).arguments
            return known.ask(values, values.get("tell"))  # type: ignore[return-value]

        return _explained(call, known, signature)

    return declared


def command_of(
    request: Callable[P, Q],
    *,
    example: str,
    answers: tuple[Shown, ...],
    together: str,
    picture: Picture = Picture(),  # noqa: B008 (frozen)
) -> Callable[[Callable[[M, Q], R]], Callable[Concatenate[M, P], R]]:
    """Declares a function of one thing and a request; the fields of the request's class are its keywords."""

    def declared(run: Callable[[M, Q], R]) -> Callable[Concatenate[M, P], R]:
        first = parameters_of(run)[0]
        known = _known(run, (first, *parameters_of(request)), example, answers, picture, request, together)
        whole = _together(inspect.signature(run), inspect.signature(request))

        @wraps(run)
        def call(*args: Any, **kwargs: Any) -> R:
            return known.ask(whole.bind(*args, **kwargs).arguments)  # type: ignore[return-value]

        return _explained(call, known, whole)

    return declared


def _explained(call: Callable[P, R], known: Command, signature: inspect.Signature) -> Callable[P, R]:
    """The function with what `help` shows of it: plain types, and a line for each parameter."""
    declared = {parameter.name: parameter for parameter in known.parameters}
    plain = [
        one.replace(annotation=declared[one.name].hint) if one.name in declared else one
        for one in signature.parameters.values()
    ]
    call.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
    first = (sys.modules[known.run.__module__].__doc__ or "").partition("\n")[0]
    lines = "\n".join(f"{parameter.name}: {parameter.option.help}" for parameter in known.parameters)
    call.__doc__ = "\n\n".join(filter(None, (first, inspect.getdoc(known.run), lines)))
    return call


def _together(run: inspect.Signature, request: inspect.Signature) -> inspect.Signature:
    """The thing that a function takes first, and the fields of its request."""
    first = next(iter(run.parameters.values()))
    return run.replace(parameters=[first, *request.parameters.values()])


def _known(run: Callable[..., Any], parameters: tuple[Parameter, ...], *rest: Any) -> Command:
    name = run.__module__.partition("commands.")[2].replace(".", " ")
    known = _KNOWN[run.__module__] = Command(name, run, parameters, *rest)
    for shown in known.answers:
        drawers = Drawers(shown.lines, shown.html, shown.forms.get("latex", ""))
        draws(shown.report.partition(":")[2], drawers)
    return known


def declared_in(module: str) -> Command:
    """The command whose function stands in a module."""
    import_module(module)
    return _KNOWN[module]


def texts(values: Mapping[str, Any], parameter: Parameter) -> list[str]:
    """The texts that a parameter has: none, one, or several."""
    value = values.get(parameter.name)
    return [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str)]


def load(name: str) -> Any:
    """What module:name names."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)
