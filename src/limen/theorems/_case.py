"""What a theorem is asked about, in our words and in the kernel's, and what its inequality says there.

The kernel reads the texts of the task and the architecture, as a certificate has them.  A task or a mixer of
one's own has no text that the kernel knows.  It is put to the kernel by its numbers, and what comes of it is
argued: a certificate that names it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import counted
from limen.tasks.facts import chain
from limen_check import Malformed, Refused
from limen_check.cannot import architecture as stacks
from limen_check.cannot import depth, logs, rows
from limen_check.cannot.depth import Sides as Sides  # has and needs, in bits: cannot if has < needs


@dataclass(frozen=True)
class Case:
    """A task, an architecture with steps of chain of thought, and the free sizes of a proof."""

    task: Task
    architecture: Architecture
    steps: int = 0
    route: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counted(self.steps)


class Accuracy(NamedTuple):
    """No weights are right on more than this share of inputs that are so drawn: cannot if < 1; rounded up."""

    ceiling: float
    distribution: str


class Unread(rows.Task):
    """A task that the kernel cannot read."""

    task: Task

    def rows(self, t: int) -> logs.Count:
        """The prefixes of t tokens that are told apart, by the task's own count."""
        count = self.task.rows(t)
        if count is None:
            raise Refused(rows_unknown(self.task, t).reason)
        return logs.Count(count.powers, exact=count.exact)


class UnreadPart(stacks.Part):
    """A mixer that the kernel cannot read."""

    part: Part

    @property
    def full(self) -> bool:
        return self.part.full

    def bits(self, n: int = 0) -> int:
        """Bits of its state after n tokens; of a full mixer, bits of a reply."""
        bits = self.part.reply_bits if self.full else self.part.state_bits(n)
        if bits is None:
            raise Refused(f"the replies of {identifier(self.part.mixer)} have no fixed size")
        return bits

    def shift(self) -> int:
        """Bits of the convolution that a full mixer's queries pass first."""
        return self.part.query_state_bits or 0


def question(theorem: str, case: Case) -> depth.Case:
    """The case in the kernel's words."""
    task, stack = read_task(case.task), read_stack(case.architecture)
    return depth.Case(theorem, case.route, task, stack, case.steps, dict(case.sizes))


def read_task(task: Task) -> rows.Task:
    try:
        return rows.read(task.spelled)
    except Malformed:
        tables, sizes = chain(task), {name: size for name, size in task.sizes.items() if type(size) is int}
        N = () if tables is None else tuple(map(tables.N, range(tables.L)))
        unread = Unread(identifier(task), sizes, N, task.cut, task.length, task.vocab, task.asks)
        unread.task = task
        return unread


def read_stack(architecture: Architecture) -> stacks.Architecture:
    try:
        return stacks.read(architecture.spelled)
    except Malformed:
        made = {layer: _layer(layer) for layer in architecture.counted}
        layers = tuple(made[layer] for layer in architecture.layers)
        counted = [(part, times) for layer, times in architecture.counted.items() for part in made[layer]]
        end = architecture.end
        affine = None if end is None else stacks.End(end.norm, end.bias, end.inner)
        return stacks.Architecture(layers, counted, affine)


def _layer(layer: Layer) -> tuple[stacks.Part, ...]:
    return tuple(map(_part, layer.parts))


def _part(part: Part) -> stacks.Part:
    try:
        return stacks.read(part.spelled).layers[0][0]._replace(kv=part.kv, times=part.times)
    except Malformed:
        later = {"bidirectional": part.mixer.sees_future}
        unread = UnreadPart(identifier(part.mixer), later, None, part.kv, part.times)
        unread.part = part
        return unread


def rows_unknown(task: Task, t: int) -> NoStatement:
    return NoStatement(f"how many prefixes of {t} tokens {identifier(task)} must tell apart is not known")
