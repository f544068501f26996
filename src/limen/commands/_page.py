"""A page's call: the name of a command and JSON in, JSON out; no file of this machine is read or run."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import msgspec

from limen.commands._command import Command, texts
from limen.commands._field import Field
from limen.commands._found import find
from limen.errors import BadInput, DoesNotHold, shortened
from limen.files import own

_WHERE = "a call from a page"


def answered(name: str, body: bytes) -> bytes:
    """The report of a command on the values in a JSON object, or an object with the error."""
    try:
        known = find(name)
        values = msgspec.structs.asdict(msgspec.json.decode(body, type=wire(known)))
        for field in _sent(known):
            _refuse(field, values)
        return known.answer(values).to_json().encode()
    except (BadInput, DoesNotHold, msgspec.MsgspecError) as error:
        return msgspec.json.encode({"error": str(error)})


def wire(known: Command) -> type[msgspec.Struct]:
    """What a page may send, made when it is asked for: people who type need none."""
    rows = [(field.name, _type(field), *_default(field)) for field in _sent(known)]
    name = f"{known.name.title().replace(' ', '')}Call"
    return msgspec.defstruct(name, rows, kw_only=True, forbid_unknown_fields=True)


def _sent(known: Command) -> list[Field]:
    """The fields that a page has."""
    for field in known.fields:
        if field.option.local and field.required:
            raise BadInput(f"{known.name} reads {field.name} from this machine, so a page cannot call it")
    return [field for field in known.fields if not field.option.local]


def _default(field: Field) -> tuple[Any, ...]:
    return () if field.required else (tuple(field.default) if field.several else field.default,)


def _type(field: Field) -> Any:
    option = field.option
    kind: Any = Literal[field.words] if field.words else field.kind
    if option.each:
        return dict[str, Any] | list[dict[str, Any]]  # the configs themselves
    if field.kind in (int, float):
        about = msgspec.Meta(description=option.help, ge=option.least, le=option.most)
    else:
        about = msgspec.Meta(description=option.help)
    one = Annotated[kind, about]
    typed: Any = tuple[one, ...] if field.several else one
    typed = typed | str if option.parse is not None else typed
    return typed | None if field.default is None else typed


def _refuse(field: Field, values: dict[str, Any]) -> None:
    """Raises if a text names a file."""
    for text in texts(values, field):
        own.refuse(text, _WHERE)
        if field.option.reads and _may_be_a_file(text):
            raise BadInput(f"{field.name}: {_WHERE} names no file, got {shortened(text)}")


def _may_be_a_file(text: str) -> bool:
    marks = "/" in text or "\\" in text or "\0" in text or text.endswith((".json", ".gguf"))
    return marks or os.path.lexists(text)
