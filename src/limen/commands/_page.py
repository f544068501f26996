"""A page's call: a command's name and JSON in, JSON out; no file of this machine is read, written or run."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import msgspec

from limen.commands._command import Command, texts
from limen.commands._found import find
from limen.commands._parameter import Parameter
from limen.errors import BadInput, DoesNotHold, shortened
from limen.files import own

_WHERE = "a call from a page"


def answered(name: str, body: bytes) -> bytes:
    """The report of a command on the values in a JSON object, or an object with the error."""
    try:
        known = find(name)
        values = msgspec.structs.asdict(msgspec.json.decode(body, type=wire(known)))
        for parameter in _sent(known):
            _refuse(parameter, values)
        return known.answer(values).to_json().encode()
    except (BadInput, DoesNotHold, msgspec.MsgspecError) as error:
        return msgspec.json.encode({"error": str(error)})


def wire(known: Command) -> type[msgspec.Struct]:
    """What a page may send, made when it is asked for: people who type need none."""
    rows = [(parameter.name, _type(parameter), *_default(parameter)) for parameter in _sent(known)]
    name = f"{known.name.title().replace(' ', '')}Call"
    return msgspec.defstruct(name, rows, kw_only=True, forbid_unknown_fields=True)


def _sent(known: Command) -> list[Parameter]:
    """The fields that a page has."""
    for parameter in known.parameters:
        if parameter.option.local and parameter.required:
            raise BadInput(f"{known.name} reads {parameter.name} from this machine, so a page cannot call it")
        if parameter.option.local and parameter.default is not None:
            where = f"{known.name} writes to {parameter.default} on this machine"
            raise BadInput(f"{where}, so a page cannot call it")
    return [parameter for parameter in known.parameters if not parameter.option.local]


def _default(parameter: Parameter) -> tuple[Any, ...]:
    return (
        () if parameter.required else (tuple(parameter.default) if parameter.several else parameter.default,)
    )


def _type(parameter: Parameter) -> Any:
    option = parameter.option
    kind: Any = Literal[parameter.words] if parameter.words else parameter.kind
    if option.each:
        return dict[str, Any] | list[dict[str, Any]]  # the configs themselves
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
        if parameter.option.reads and _may_be_a_file(text):
            raise BadInput(f"{parameter.name}: {_WHERE} names no file, got {shortened(text)}")


def _may_be_a_file(text: str) -> bool:
    marks = any(sign in text for sign in "/\\\0:") or text.endswith((".json", ".gguf"))  # FILE.py:NAME, too
    return marks or os.path.lexists(text)
