"""Composition of L hops by any stack, thinking aloud or not: what `proofs/` says at the sizes of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from limen.coq.statement import Stated, Unstated, nat
from limen.coq.writers._composition_hops import plain
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Case, Sides
from limen.theorems.composition_depth.levels import Wires
from limen.theorems.composition_depth.stages import Stage, by_stages, logarithms


class CoqStack(NamedTuple):
    """A stack of φ layers with full heads: w bits a reply at most, s bits of all states together."""

    κ: int
    φ: int
    w: int
    s: int


def hops(case: Case) -> Composition:
    """The task, where it is a composition."""
    tables = chain(case.task)
    if tables is None:
        raise Unstated("it is stated in Coq for a composition")
    return tables


def stack(case: Case) -> CoqStack:
    """The bits of a stack in which each layer reads the one before; a convolution counts as a layer."""
    graph = plain(case)
    replies: dict[int, int] = {}
    for c in graph.components:
        if c.full:
            replies[c.layer] = replies.get(c.layer, 0) + (c.bits or 0)
    s = sum(c.bits or 0 for c in graph.components if not c.full)
    return CoqStack(graph.κ, len(replies), max(replies.values(), default=0), s)


class StageKind(NamedTuple):
    """What a theorem asks of a stack; `raw`: replies to raw queries are counted, too."""

    raw: bool
    thinks: bool

    def bits(self, case: Case) -> tuple[Composition, Wires]:
        """The task, and the bits of the stack for its theorem."""
        task, layers = hops(case), stack(case)
        if bool(case.steps) != self.thinks:
            raise Unstated("thinking aloud or not, there is another statement in Coq")
        levels = layers.κ + case.steps * layers.φ if self.raw else (1 + case.steps) * layers.φ
        if levels >= task.L:
            raise Unstated(f"it is stated in Coq for {self.words} below {task.L} hops, here {levels}")
        return task, Wires(layers.w if self.raw else 0, layers.w, layers.s)

    @property
    def words(self) -> str:
        return "κ + Tφ" if self.raw else "full layers of all passes"

    def condition(self, L: int, T: str) -> str:
        """The same in Coq, with T thoughts."""
        measure = "kappa ls" if self.raw else "phi ls"
        return f"({measure}{f' + {T} * phi ls' if self.thinks else ''} < {L})%nat"


KINDS = {
    "cannot_hop_hybrid": StageKind(raw=False, thinks=False),
    "cannot_hop": StageKind(raw=True, thinks=False),
    "cannot_hop_thinking_hybrid": StageKind(raw=False, thinks=True),
    "cannot_hop_thinking": StageKind(raw=True, thinks=True),
}


def plan_of(sizes: Mapping[str, int], L: int) -> tuple[int, list[Stage]]:
    """x_0 and the stages."""
    return sizes["x0"], [Stage(*(sizes[f"{name}{k}"] for name in "xgr")) for k in range(1, L)]


def stage_stated(name: str, case: Case) -> Stated:
    kind = KINDS[name]
    task, bits = kind.bits(case)
    L, (λ, ι), (x_0, plan) = task.L, logarithms(task), plan_of(case.sizes, task.L)
    sides = by_stages(task, bits, x_0, plan)
    parts = _listed([1, *task.n])
    T, m, ns = nat(case.steps), nat(task.m), f"(map N.to_nat {parts})"
    after = f"\n    after {case.steps} tokens of thought" if kind.thinks else ""
    names = f"H tok tok0 tokw read ls{' think' if kind.thinks else ''}"
    errs = f"thinker_errs tok tok0 tokw read ls think {T}" if kind.thinks else "errs tok tok0 tokw read ls"
    return Stated(
        f"forall (H : Type) tok tok0 tokw read (ls : list (layer H)){' think' if kind.thinks else ''},\n"
        f"  {kind.condition(L, T)} ->\n"
        f"  stack_size ls (size {m}\n    {ns})\n    {nat(bits.w)} {nat(bits.s)} ->\n"
        f"  {errs} {m}\n    {ns}",
        f"refine (fun {names} => {name} {bits.w} {bits.s} {λ} {ι} {task.m} {x_0}\n"
        f"  {parts}\n  {_listed(plan)}\n  _ {names}{f' {T}' if kind.thinks else ''})",
        f"every stack with {kind.words} below {L}, full layers of {bits.w} bits a reply and linear\n"
        f"    layers of {bits.s} bits in all anywhere, answers some composition of {L} hops wrongly{after}",
        isinstance(sides, Sides) and sides.has < sides.needs,
    )


def _listed(items: Sequence[int | Stage]) -> str:
    """A list of binary numbers, or of triples of them."""
    return f"({' :: '.join([*(str(tuple(i) if isinstance(i, Stage) else i) for i in items), 'nil'])})%N"
