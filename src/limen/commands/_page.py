"""A page's call: a command's name and JSON in, JSON out; no file of this machine is read, written or run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from limen.commands._command import Command, Picture, load, texts
from limen.commands._found import find
from limen.commands._parameter import Parameter
from limen.errors import BadInput, DoesNotHold, shortened
from limen.files import own
from limen.files.missing import advice, package

if TYPE_CHECKING:
    from limen.core.report import Report

_WHERE = "a call from a page"
Lacks = Callable[[ModuleNotFoundError], str]
_SAFE = 2**53  # JavaScript rounds larger integers: they travel as text


def answered(name: str, body: bytes) -> bytes:
    """The report of a command on the values in a JSON object, or an object with the error."""
    try:
        known = find(name)
        return known.answer(_values(known, body)).to_json().encode()
    except (BadInput, DoesNotHold, ModuleNotFoundError, msgspec.MsgspecError) as error:
        return _failed(error)


def drawn(name: str, body: bytes, lacks: Lacks = advice) -> bytes:
    """The report with all that a page shows of it: sentences, lines, a picture, and the command line.

    `lacks` words what is missing here.
    """
    try:
        known = find(name)
        values = _values(known, body)
        try:
            return msgspec.json.encode(shown(known, values, known.answer(values).report))
        except ModuleNotFoundError as error:
            return msgspec.json.encode({"error": lacks(error), "command": line_of(known, values)})
    except (BadInput, DoesNotHold, msgspec.MsgspecError) as error:
        return _failed(error)


def called(name: str, text: str) -> str:
    """What Python in a page answers, whatever it is asked."""
    try:
        return drawn(name, text.encode(), _elsewhere).decode()
    except Exception as failure:
        return msgspec.json.encode({"error": stopped(name, failure)}).decode()


def stopped(name: str, failure: Exception) -> str:
    """One line about an error of ours."""
    return f"{name} stopped: {type(failure).__name__}; please report it with what was asked"


def _elsewhere(error: ModuleNotFoundError) -> str:
    return f"A browser has no {package(error)}. The command line answers this:"


def shown(known: Command, values: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """What `drawn` answers of a report that is there."""
    by = known.shown(report)
    page: dict[str, Any] = {"report": msgspec.to_builtins(report), "command": line_of(known, values)}
    if not by.coloured:
        page["lines"] = load(by.lines)(report)
    if by.picture and known.picture == Picture():  # others draw several reports into one
        page["picture"] = load(by.picture)(report)
    if by.page:
        page |= load(by.page)(report)
    return _exact(page)  # type: ignore[no-any-return]


def _failed(error: Exception) -> bytes:
    says = advice(error) if isinstance(error, ModuleNotFoundError) else str(error)
    return msgspec.json.encode({"error": says})


def _exact(value: Any) -> Any:
    """The same with integers that JavaScript would round as text."""
    if isinstance(value, dict):
        return {key: _exact(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    return str(value) if type(value) is int and abs(value) > _SAFE else value


def line_of(known: Command, values: Mapping[str, Any]) -> str:
    """The command line that gives the same answer; an object that was sent stands in a file there."""
    words = ["limen", *known.name.split()]
    for parameter in known.parameters:
        value = values.get(parameter.name, parameter.default)
        here = parameter.option.local and not parameter.option.shipped
        if here or (not parameter.required and value == _default(parameter)[0]):
            continue
        for one in value if isinstance(value, tuple | list) else [value]:
            words += _word(parameter, f"{parameter.name}.json" if isinstance(one, dict) else one)
    return shlex.join(words)


def _word(parameter: Parameter, value: Any) -> list[str]:
    if parameter.is_argument:
        return [str(value)]
    yes, _, no = parameter.flag.partition("/")
    return [yes if value else no] if parameter.kind is bool else [yes, str(value)]


def _values(known: Command, body: bytes) -> dict[str, Any]:
    """What a page sent, refused where it names a file; a large integer comes as text, as it goes."""
    values = msgspec.structs.asdict(msgspec.json.decode(body, type=wire(known), strict=False))
    for parameter in _sent(known):
        _refuse(parameter, values)
    return values


def wire(known: Command) -> type[msgspec.Struct]:
    """What a page may send, made when it is asked for: people who type need none."""
    rows = [(parameter.name, _type(parameter), *_default(parameter)) for parameter in _sent(known)]
    name = f"{known.name.title().replace(' ', '')}Call"
    return msgspec.defstruct(name, rows, kw_only=True, forbid_unknown_fields=True)


def _sent(known: Command) -> list[Parameter]:
    """The fields that a page has; of a command with shipped answers no field of this machine is used."""
    if any(parameter.option.shipped for parameter in known.parameters):
        return [one for one in known.parameters if one.option.shipped or not one.option.local]
    for parameter in known.parameters:
        if parameter.option.local and parameter.required:
            raise BadInput(f"{known.name} reads {parameter.name} from this machine, so a page cannot call it")
        if parameter.option.local and parameter.default is not None:
            where = f"{known.name} writes to {parameter.default} on this machine"
            raise BadInput(f"{where}, so a page cannot call it")
    return [parameter for parameter in known.parameters if not parameter.option.local]


def _default(parameter: Parameter) -> tuple[Any, ...]:
    several = parameter.several and parameter.default is not None
    return () if parameter.required else (tuple(parameter.default) if several else parameter.default,)


def _type(parameter: Parameter) -> Any:
    option = parameter.option
    words = option.shipped() if option.shipped else parameter.words
    kind: Any = Literal[words] if words else parameter.kind
    if option.each:
        return dict[str, Any] | list[dict[str, Any]]  # the configs themselves
    if option.itself:
        return dict[str, Any]
    if parameter.kind in (int, float):
        most = option.most if option.most is None or option.most < 2**63 else None  # msgspec takes no more
        about = msgspec.Meta(description=option.help, ge=option.least, le=most)
    else:
        about = msgspec.Meta(description=option.help)
    one = Annotated[kind, about]
    typed: Any = tuple[one, ...] if parameter.several else one
    typed = typed | str if option.parse is not None else typed
    return typed | None if parameter.default is None else typed


def _refuse(parameter: Parameter, values: dict[str, Any]) -> None:
    """Raises if a text names a file."""
    for text in texts(values, parameter):
        own.refuse(text, _WHERE)
        if (parameter.option.reads or parameter.option.shipped) and _may_be_a_file(text):
            raise BadInput(f"{parameter.name}: {_WHERE} names no file, got {shortened(text)}")


def _may_be_a_file(text: str) -> bool:
    marks = any(sign in text for sign in "/\\\0:") or text.endswith((".json", ".gguf"))  # FILE.py:NAME, too
    return marks or os.path.lexists(text)
