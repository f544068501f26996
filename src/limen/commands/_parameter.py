"""The parameters of a command's function, read from its signature, and how a value is taken for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from limen.core.option import Argument, Option
from limen.errors import BadInput, shortened, unknown

REQUIRED = inspect.Parameter.empty
_SEVERAL = tuple, Sequence, Iterable
_NUMBERS: dict[type, tuple[Any, str]] = {int: (Integral, "an integer"), float: (Real, "a number")}


class Parameter(NamedTuple):
    """One parameter."""

    name: str
    hint: Any  # the type as it is declared
    kind: type  # of one value: str, int, float, bool, Path or dict
    default: Any
    option: Option
    several: bool  # a tuple; on the command line the flag may be repeated
    star: bool  # *names
    words: tuple[str, ...]  # of a Literal: nothing else is allowed

    @property
    def is_argument(self) -> bool:
        return isinstance(self.option, Argument)

    @property
    def flag(self) -> str:
        """What the command line calls it: --kv-dtype, or the name of an argument."""
        name = self.name.rstrip("_")
        return name if self.is_argument else self.option.flag or f"--{name.replace('_', '-')}"

    @property
    def required(self) -> bool:
        return self.default is REQUIRED and self.option.line is None

    def taken(self, value: Any) -> Any:
        """The value, checked; a text is parsed, and an object that is none of a page's passes as it is."""
        if not self.several or value is None or self._whole(value):
            return self._one(value)
        if isinstance(value, str) and not self.star:  # one text, not its letters
            return (self._one(value),)
        if not isinstance(value, Iterable):
            raise BadInput(f"{self.name}: several values are expected, got {shortened(value)}")
        return tuple(map(self._one, value))

    def _whole(self, value: Any) -> bool:
        """Whether a text stands for all the values at once: 4,16,64."""
        return isinstance(value, str) and self.option.parse is not None

    def _one(self, value: Any) -> Any:
        if isinstance(value, str):
            value = self._read(value)
        if self.words and isinstance(value, str) and value not in self.words:
            raise unknown(self.option.noun or self.name, value, self.words)
        if self.kind in _NUMBERS and not (value is None and self.default is None):
            self._numeric(value)
        return value

    def _numeric(self, value: Any) -> None:
        """Raises unless the value is a number, or several that one text held, of the right type and range."""
        if isinstance(value, list):
            for one in value:
                self._numeric(one)
            return
        kind, called = _NUMBERS[self.kind]
        if isinstance(value, bool) or not isinstance(value, kind) or value != value:
            raise BadInput(f"{self.name} must be {called}, got {shortened(value)}")
        self._in_range(value)

    def _read(self, text: str) -> Any:
        if self.option.parse is not None:
            return self.option.parse(text)
        return Path(text) if self.kind is Path else text

    def _in_range(self, value: float | int) -> None:
        least, most = self.option.least, self.option.most
        if least is not None and value < least:
            raise BadInput(f"{self.name} must be at least {least:,}, got {value:,}")
        if most is not None and value > most:
            raise BadInput(f"{self.name} must be at most {most:,}, got {value:,}")

    def completed(self, incomplete: str) -> list[str]:
        """The words that go on from an incomplete one; none where the shell should offer files."""
        known = self.option.complete(incomplete) if self.option.complete else self.words
        return [word for word in known if word.startswith(incomplete)]


def parameters_of(declaration: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a function, or the fields of a class of requests, that carry an Option."""
    hints, parameters = _hints(declaration), list[Parameter]()
    for name, declared in inspect.signature(declaration).parameters.items():
        option = next((one for one in get_args(hints.get(name)) if isinstance(one, Option)), None)
        if option is not None:
            star = declared.kind is declared.VAR_POSITIONAL
            hint = get_args(hints[name])[0]
            kind, several, words = _kind(hint)
            default = () if star else declared.default
            parameters.append(Parameter(name, hint, kind, default, option, several or star, star, words))
    return tuple(parameters)


def _hints(declaration: Callable[..., Any]) -> Mapping[str, Any]:
    """The annotations; of a function without the type it returns, which would load what computes it."""
    if isinstance(declaration, type):
        return get_type_hints(declaration, include_extras=True)
    space = declaration.__globals__
    written = {name: hint for name, hint in declaration.__annotations__.items() if name != "return"}
    return {name: _evaluated(hint, space) for name, hint in written.items()}


def _evaluated(hint: Any, space: dict[str, Any]) -> Any:
    """What an annotation stands for; one that only mypy can read belongs to Python alone."""
    try:
        return eval(hint, space) if isinstance(hint, str) else hint
    except NameError:
        return None


def _kind(hint: Any) -> tuple[type, bool, tuple[str, ...]]:
    """The type of one value, whether there are several, and the words that are allowed."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _kind(get_args(hint)[0])
    if origin in (Union, UnionType):
        return _kind(next(part for part in get_args(hint) if part is not NoneType))
    if origin is Literal:
        return str, False, get_args(hint)
    if origin in _SEVERAL:
        kind, _, words = _kind(get_args(hint)[0])
        return kind, True, words
    return origin or hint, False, ()
