"""Tests an entry against the laws of its kind, one after the other: `limen test`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import isabstract
from typing import Any

import msgspec

from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction
from limen.core.mixer import Mixer
from limen.core.quantities import plural
from limen.core.report import Report
from limen.core.task import Task
from limen.core.text import build, parse_call
from limen.errors import BadInput
from limen.files import own
from limen.files.missing import package
from limen.laws.law import Broken, Law, promise

_BASES: dict[str, type[Any]] = {"task": Task, "mixer": Mixer, "construction": Construction}


class Subject(msgspec.Struct, frozen=True):
    """The entry under test: an instance, or the small ones that a class itself names."""

    entry: str
    kind: str  # of _BASES
    instances: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> Subject:
        """Reads `file.py:Name`, an id of the catalogue, or either with sizes."""
        call = parse_call(text)
        kind, found = _class(call.name)
        if isabstract(found):
            raise BadInput(f"{call.name} lacks {', '.join(sorted(found.__abstractmethods__))}")
        if not call.arguments:
            return cls(call.name, kind, _examples(call.name, found))
        if kind == "construction":
            raise BadInput(f"{call.name} is tested on its own examples: give no sizes")
        return cls(call.name, kind, (build(found, call),))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(_called, self.instances))

    def held(self) -> Iterator[HeldLaw]:
        """The results, law by law, as each is done."""
        laws = import_module(f"limen.laws.{self.kind}").laws
        kept: dict[Law, list[Any]] = {}
        for instance in self.instances:
            for law in laws(instance):
                kept.setdefault(law, []).append(instance)
        for law, instances in kept.items():
            yield _held(law, instances)


class HeldLaw(msgspec.Struct, frozen=True):
    """Whether a law holds for all instances that it applies to; else for which it does not, and why."""

    law: str
    holds: bool
    instances: int
    broken_by: str | None = None
    reason: str | None = None


class LawsReport(Report, frozen=True, kw_only=True, tag="limen/test/1"):
    """An entry, the instances that were tested, and the result of every law."""

    entry: str
    kind: str
    instances: tuple[str, ...]
    holds: bool  # every law
    laws: tuple[HeldLaw, ...]

    @classmethod
    def of(cls, subject: Subject, laws: Sequence[HeldLaw]) -> LawsReport:
        holds = all(held.holds for held in laws)
        return cls(
            entry=subject.entry, kind=subject.kind, instances=subject.names, holds=holds, laws=tuple(laws)
        )

    @property
    def broken(self) -> int:
        return sum(not held.holds for held in self.laws)

    @property
    def headline(self) -> str:
        return f"{self.entry}: {plural(len(self.laws), 'law')}, {self.broken} broken"


def _called(instance: Any) -> str:
    """An instance as people write it; a construction with its task."""
    return f"{instance} for {instance.task}" if isinstance(instance, Construction) else str(instance)


def _held(law: Law, instances: list[Any]) -> HeldLaw:
    for instance in instances:
        try:
            law(instance)
        except ModuleNotFoundError as error:
            package(error)  # of ours one is missing: no law says anything about that
            raise
        except Exception as error:  # whatever your code may raise
            said = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
            reason = " ".join(said.split())
            return HeldLaw(promise(law), False, len(instances), _called(instance), reason)
    return HeldLaw(promise(law), True, len(instances))


def _class(name: str) -> tuple[str, type[Any]]:
    if ":" in name:
        found = own.admitted(name)
        kind = next((kind for kind, base in _BASES.items() if issubclass(found, base)), None)
        if kind is None:
            raise BadInput(f"{name} is not a task, mixer or construction; only these have laws")
        return kind, found
    for kind, base in _BASES.items():
        if name in ids(f"{kind}s"):
            return kind, lookup(f"{kind}s", name, base)
    raise BadInput(f"{name} is not in the catalogue; name your own class as file.py:Name")


def _examples(name: str, found: type[Any]) -> tuple[Any, ...]:
    try:
        instances = tuple(found.examples())
    except Exception as error:
        raise BadInput(f"{name}: examples() raised {type(error).__name__}: {error}") from error
    if not instances or not all(isinstance(one, found) for one in instances):
        raise BadInput(f"{name}: examples() must return small instances of {found.__name__}")
    return instances
