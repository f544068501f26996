"""Explain an id, a task or an architecture."""

from __future__ import annotations

import platform
from dataclasses import fields, replace
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import Seed, StackLike, TaskLike, stack_of
from limen.commands.list import how_proved
from limen.core import quantities
from limen.core.architecture import Architecture, Layer, P
from limen.core.arrays import np
from limen.core.catalogue import (
    KINDS,
    beside,
    docstring,
    identifier,
    ids,
    is_folder,
    lookup,
    module_of,
    summary,
)
from limen.core.construction import Construction, constructions_for
from limen.core.features import FeatureMap
from limen.core.mixer import Mixer
from limen.core.option import Argument, Option
from limen.core.protocol import Holder
from limen.core.report import Report
from limen.core.task import Task
from limen.core.text import word
from limen.core.theorem import Theorem
from limen.designs.cost import mixing_upto
from limen.errors import BadInput, shortened

_DRAWN = 1_000_000  # tokens that `show` is willing to draw

_TRIED = 64  # values of a key that are tried for the least one
_BASES: dict[str, type] = {"tasks": Task, "mixers": Mixer, "constructions": Construction}  # with keys


@command(
    example='limen show "eva(n=8)" --hard',
    answers=(
        Shown("limen.commands.show:TaskReport", "limen.render.show:task_lines"),
        Shown("limen.commands.show:StackReport", "limen.render.show:stack_lines"),
        Shown("limen.commands.show:EntryReport", "limen.render.show:entry_lines"),
        Shown("limen.commands.show:ComputerReport", "limen.render.show:machine_lines"),
    ),
)
def show(
    text: Annotated[
        TaskLike | StackLike,
        Argument(
            "Any id of the catalogue, a task or an architecture with its sizes, a config.json, or: machine.",
            complete=_complete.everything,
            own=True,
            reads=True,
        ),
    ],
    count: Annotated[
        int | None, Option("For a task: how many inputs to draw. Default: 2.", least=1, most=1000)
    ] = None,
    hard: Annotated[bool, Option("For a task: draw near-misses.")] = False,
    seed: Seed = 0,
    context: Annotated[
        int | None,
        Option(
            "For an architecture: the position of the cut, such as 4096 or 128k. Default: 1024.",
            old="--tokens",
            parse=quantities.tokens,
            least=0,
            most=quantities.LONGEST,
        ),
    ] = None,
) -> TaskReport | StackReport | EntryReport | ComputerReport:
    """A bare id: what it is, its keys with defaults and ranges, a theorem's statement and proof.
    A task with its sizes: some inputs with their answers.
    An architecture: what it carries past a cut.
    The word machine: what runs weights here, C or torch, and why.
    """
    cut = 1024 if context is None else context
    if isinstance(text, Task):
        return show_task(text, count or 2, hard, seed)
    if isinstance(text, Architecture):
        return show_stack(text, cut)
    if not isinstance(text, str):
        raise BadInput(f'an id, a task or an architecture is expected, such as "eva", got {shortened(text)}')
    if text == "machine" and (count, hard, context) == (None, False, None):
        return show_machine()
    if (kind := kind_of(text)) is not None and (count, hard, context) == (None, False, None):
        return show_entry(kind, text)
    if Task.names(text):
        return show_task(Task.parse(text), count or 2, hard, seed)
    _meant(text)
    return show_stack(stack_of(text), cut)


def _meant(text: str) -> None:
    """Names the nearest id where a text is a slip in one of a kind that is no mixer."""
    near = get_close_matches(text, [name for kind in KINDS for name in ids(kind)], n=1)
    if near and near[0] not in ids("mixers") and text not in ids("mixers"):
        raise BadInput(f"no entry named {text!r}; did you mean {near[0]!r}? limen list shows all of them")


class ComputerReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """What runs the rule of matrix memories on this machine: C, or torch, and why."""

    rule: Literal["C", "torch"]
    why: str
    versions: dict[str, str]

    @property
    def headline(self) -> str:
        return f"the rule of matrix memories runs in {self.rule}: {self.why}"


def show_machine() -> ComputerReport:
    """Looks for the libraries in C as a run does, and builds them if they are missing."""
    from limen.mixers.recurrence.libraries import libraries

    by_real, why = libraries()
    names = {name: _version(name) for name in ("limen", "torch", "numpy")}
    return ComputerReport(
        rule="C" if by_real else "torch",
        why=why,
        versions={"python": platform.python_version(), **names, "machine": platform.platform()},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


class Example(msgspec.Struct, frozen=True):
    """An input, what is right on it, and the input as people read it."""

    tokens: tuple[int, ...]
    answer: int | tuple[int, ...]
    text: str
    told_answer: str  # for people: of facts the name, and those on the way to it
    steps: tuple[str, ...] = ()  # to the answer, as people take them


class TaskReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """The sizes of a task and some of its inputs with their answers."""

    task: str
    summary: str
    length: int
    vocab: int
    answers: int
    asks: int
    cut: int
    players: tuple[Holder, ...]
    drawn: str  # how, as `Distribution` says it
    inputs: tuple[Example, ...]

    @property
    def headline(self) -> str:
        return f"{self.task}: {self.length} tokens, {len(self.inputs)} inputs drawn"


def show_task(task: Task, count: int = 2, hard: bool = False, seed: int = 0) -> TaskReport:
    """Draws inputs."""
    if task.length * count > _DRAWN:
        raise BadInput(f"{task} has {task.length} tokens; show draws at most {_DRAWN} in all")
    task.drawable()
    tokens, answers = task.sample(np.random.default_rng(seed), count, hard)
    drawn = zip(tokens, answers.tolist(), strict=True)
    return TaskReport(
        task=str(task),
        summary=summary("tasks", identifier(task)),
        length=task.length,
        vocab=task.vocab,
        answers=task.answers,
        asks=task.asks,
        cut=task.cut,
        players=tuple(Holder(p.name, len(p.tokens)) for p in task.players()),
        drawn=task.drawn(hard).says,
        inputs=tuple(
            Example(
                tuple(row.tolist()),
                _plain(right),
                task.render(row),
                task.render_answer(row),
                tuple(task.told_steps(row)),
            )
            for row, right in drawn
        ),
    )


def _plain(answer: int | list[int]) -> int | tuple[int, ...]:
    return tuple(answer) if isinstance(answer, list) else answer


class LayerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A layer and the bits that it carries past the cut; all that grows is left out of `fixed_bits`."""

    index: int
    layer: str
    letter: str
    state_bits: int | None
    fixed_bits: int


class StackReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """The layers of an architecture and what each carries past a cut after so many tokens."""

    architecture: str
    tokens: int
    strip: str
    layers: tuple[LayerReport, ...]
    state_bits: int | None
    fixed_bits: int
    mixing: tuple[int, int] | None  # FLOPs for so many tokens, and for twice as many

    @property
    def headline(self) -> str:
        return f"{self.architecture}: {self.fixed_bits:,} bits of state after {self.tokens:,} tokens"


def show_stack(architecture: Architecture, tokens: int = 1024) -> StackReport:
    """Adds up what crosses."""
    layers = tuple(_layer(i, layer, tokens) for i, layer in enumerate(architecture.layers))
    return StackReport(
        architecture=str(architecture),
        tokens=tokens,
        strip="".join(layer.letter for layer in layers),
        layers=layers,
        state_bits=architecture.state_bits(tokens),
        fixed_bits=sum(layer.fixed_bits for layer in layers),
        mixing=_mixing(architecture, tokens),
    )


def _mixing(architecture: Architecture, tokens: int) -> tuple[int, int] | None:
    """What mixing costs as the text doubles; of some mixers it is not written down."""
    try:
        return mixing_upto(architecture, tokens), mixing_upto(architecture, 2 * tokens)
    except BadInput:
        return None


def _layer(index: int, layer: Layer, tokens: int) -> LayerReport:
    bits = [part.state_bits(tokens) for part in layer.parts]
    letters = "".join("F" if b is None else "L" for b in bits)
    fixed = sum(b for b in bits if b is not None)
    return LayerReport(
        index=index,
        layer=str(layer),
        letter=letters if len(letters) == 1 else f"[{letters}]",
        state_bits=None if None in bits else fixed,
        fixed_bits=fixed,
    )


class Key(msgspec.Struct, frozen=True):
    """A key of the text form, what it takes, and its value where the text leaves it out."""

    name: str
    takes: str
    default: str


class EntryReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """All about one entry of the catalogue; what a kind does not have is empty."""

    kind: str
    entry: str
    summary: str
    about: str  # the rest of what its file says of itself
    keys: tuple[Key, ...] = ()
    sizes: str = ""  # what the keys mean
    drawn: str = ""  # how plain texts of a task are drawn
    hard: str = ""  # and near-misses
    statement: str = ""
    hypotheses: str = ""
    proved: str = ""
    proofs: tuple[str, ...] = ()  # file, name and what it covers
    beside: tuple[str, ...] = ()  # entries that belong to it: the constructions of a task, and its task
    file: str
    example: str

    @property
    def headline(self) -> str:
        return f"{self.entry}: {self.summary}"


def kind_of(name: str) -> str | None:
    """The kind of an entry that is named by its id alone; None: it is no id."""
    return next((kind for kind in KINDS if name in ids(kind)), None)


def show_entry(kind: str, name: str) -> EntryReport:
    """Everything that its file and its class say."""
    head, _, rest = docstring(kind, name).partition("\n\n")
    more: dict[str, Any] = {"example": _example(kind, name)}
    if kind in _BASES:
        more |= {"keys": keys_of(kind, name), "sizes": _sizes(lookup(kind, name, _BASES[kind]))}
    if kind == "theorems":
        more |= _proved(name)
    if kind == "tasks":
        task = Task.parse(name)
        more["beside"] = tuple(constructions_for(task))
        more |= {"drawn": task.drawn().says, "hard": task.drawn(hard=True).says}
    if kind == "constructions":
        more["beside"] = (name.split("_by_")[0],)
    path = f"src/{module_of(kind, name).replace('.', '/')}"
    folder = "/proof.md" if kind == "theorems" else "/__init__.py" if is_folder(kind, name) else ".py"
    return EntryReport(
        kind=kind,
        entry=name,
        summary=" ".join(head.split()),
        about=rest,
        file=f"{path}{folder}",
        **more,
    )


def keys_of(kind: str, name: str) -> tuple[Key, ...]:
    """The keys of the text form.  What each takes is found by trying: the class itself refuses the rest."""
    made: Any = Task.parse(name) if kind == "tasks" else lookup(kind, name, cast(type[Any], _BASES[kind]))()
    hints, keys = get_type_hints(type(made)), []
    for field in fields(made):
        if kind == "constructions" and field.name == "task":
            continue
        takes = _takes(made, field.name, hints[field.name])
        if isinstance(getattr(made, field.name), tuple):
            keys.append(Key(f"{field.name}1, {field.name}2, …", f"each {takes}", "none"))
        else:
            keys.append(Key(field.name, takes, _default(made, field.name)))
    return (*keys, Key("p", "an integer ≥ 1: bits per number", str(P))) if kind == "mixers" else tuple(keys)


def _default(made: object, name: str) -> str:
    value = getattr(made, name)
    if value is not None:
        return word(value)
    resolved = getattr(made, "resolved", {})
    return f"{resolved[name]}, from the others" if name in resolved else "from the others"


def _takes(made: Any, name: str, hint: Any) -> str:
    options = [o for o in get_args(hint) if o not in (type(None), ...)]
    kind = options[0] if get_origin(hint) in (Union, UnionType, tuple) else hint
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if kind is FeatureMap:
        return f"one of {', '.join(FeatureMap.names())}"
    if kind is int:
        return f"an integer{_range(made, name)}"
    return "true or false" if kind is bool else "a word"


def _range(made: Any, name: str) -> str:
    """Which integers the class takes, the other sizes being as they are."""
    accepted = [value for value in range(_TRIED + 1) if _accepts(made, name, value)]
    if not accepted:  # another size must change, too
        return ""
    least, most, gaps = accepted[0], accepted[-1], len(accepted) <= accepted[-1] - accepted[0]
    if most == _TRIED:
        return f": {', '.join(map(str, accepted[:3]))}, …" if gaps else f" ≥ {least}"
    return f": {', '.join(map(str, accepted))}" if gaps or least == most else f", {least} to {most}"


def _accepts(made: Any, name: str, value: int) -> bool:
    try:
        replace(made, **{name: (value,) if isinstance(getattr(made, name), tuple) else value})
    except BadInput:
        return False
    return True


def _sizes(cls: type) -> str:
    """The first paragraph about the class, and what becomes of sizes that a text leaves out."""
    sentences = [(cls.__doc__ or "").split("\n\n")[0]]
    if issubclass(cls, Task) and cls.completed.__func__ is not Task.completed.__func__:  # type: ignore[attr-defined]
        sentences.append(f"Sizes that are left out: {(cls.completed.__doc__ or '').split(chr(10) * 2)[0]}")
    return " ".join(" ".join(sentences).split())


def _proved(name: str) -> dict[str, Any]:
    """Statement and hypotheses of the proof in prose, and what of it Coq has checked."""
    sections = beside("theorems", name, "proof.md").read_text(encoding="utf-8").split("\n## ")
    titled = {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in sections[1:]}
    _, _, statement = sections[0].strip("\n").split("\n\n", 2)  # after the title and the summary
    formal = lookup("theorems", name, Theorem).formal
    return {
        "statement": statement,
        "hypotheses": titled.get("Hypotheses", ""),
        "proved": str(how_proved(name)),
        "proofs": tuple(f"proofs/{one.file} {one.theorem}: {one.covers}" for one in formal),
    }


def _example(kind: str, name: str) -> str:
    """A command to try it with."""
    match kind:
        case "tasks":
            return f'limen show "{Task.parse(name)}" --hard'
        case "mixers":
            return f'limen show "{lookup(kind, name, Mixer)()}" --context 128k'
        case "constructions":
            task, _, means = name.partition("_by_")
            return f"limen solve {task} --by {means}"
        case "experiments":
            return f"limen experiment show {name}"
        case "protocols":
            return f'limen protocol "composition(m=4,n1=2)" "{_SPEAKS.get(name, "softmax")}" --players {name}'
        case _:
            return f"limen list {kind}"


_SPEAKS = {"hand_over": "linear,softmax", "blocks": "block_sparse"}  # who can follow a protocol
