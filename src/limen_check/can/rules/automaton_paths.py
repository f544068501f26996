"""All ways of a text along a machine of few states, up to the first step that it does not know."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from limen_check.can.tasks import Decision, Spec, Steps
from limen_check.can.vectors import ZERO, Interval
from limen_check.files import Model, Refused, need
from limen_check.text import Call

Logits = Sequence[Interval]  # the ends of both
Kind = tuple[str, Any]  # a class and a step, (the state before it, its id); or None: behind a strange one
_STATES = 1 << 10


class Walk:
    """The steps of all classes of tokens: all that occur, perhaps more."""

    def __init__(self, spec: Spec) -> None:
        if spec.steps is None:
            raise Refused("no machine of few states is known for this task")
        self.steps: Steps = spec.steps
        self.classes = [c for c in spec.classes if c.count and not c.view]
        self.n = sum(c.count for c in self.classes)
        self.parity, now = {self.steps.start: 0}, {self.steps.start}  # of the number of tokens before
        self.kinds, self.edges = list[Kind](), list[tuple[Any, Kind, Any]]()
        for c in self.classes:
            here, now = self._met(now, c.count)
            here = [state for state in here if c.count > 1 or self.parity[state] == c.first % 2]
            self.kinds += [(c.name, (state, a)) for state in here for a in range(self.steps.ids)]
        for kind in self.kinds:
            if self.good(kind) and kind[0] != self.classes[-1].name:
                self.edges.append((kind[1][0], kind, self.steps.turn(*kind[1])))

    def good(self, kind: Kind) -> bool:
        return kind[1] is not None and self.steps.turn(*kind[1]) is not None

    def _after(self, states: Iterable[Any]) -> set[Any]:
        """The states that a step leads to; the parity of the number of tokens is known in each."""
        reached = set()
        for state in states:
            for new in (self.steps.turn(state, a) for a in range(self.steps.ids)):
                if new is not None:
                    odd = 1 - self.parity[state]
                    need(self.parity.setdefault(new, odd) == odd, "a state after odd and even numbers")
                    reached.add(new)
        need(len(self.parity) <= _STATES, "too many states to follow")
        return reached

    def _met(self, now: set[Any], count: int) -> tuple[list[Any], set[Any]]:
        """The states before the tokens of a class, and behind them."""
        met, layer = dict.fromkeys(sorted(now, key=repr)), now
        for left in range(count - 1, 0, -1):
            layer = self._after(layer)
            fresh = layer - met.keys()
            met |= dict.fromkeys(sorted(fresh, key=repr))
            if left > _STATES:  # further steps than there are states: all that can be met
                while fresh:
                    fresh = self._after(met) - met.keys()
                    met |= dict.fromkeys(sorted(fresh, key=repr))
                return list(met), self._after(met)
        return list(met), self._after(layer)

    def sums(self, w: Callable[[Kind], Fraction]) -> dict[Any, Fraction] | None:
        """Σ w over the tokens before a state, if that is a function of it."""
        totals, fresh = {self.steps.start: ZERO}, [self.steps.start]
        out: dict[Any, list[tuple[Kind, Any]]] = {}
        for state, kind, new in self.edges:
            out.setdefault(state, []).append((kind, new))
        while fresh:
            state = fresh.pop()
            for kind, new in out.get(state, []):
                total = totals[state] + w(kind)
                if new not in totals:
                    fresh.append(new)
                if totals.setdefault(new, total) != total:
                    return None
        return totals

    def latest(self, told: Callable[[Kind], Hashable]) -> dict[Any, frozenset[Any]]:
        """Per state: what `told` may give for the latest token before it with something told; None: none."""
        last: dict[Any, frozenset[Any]] = {self.steps.start: frozenset({None})}
        changed = True
        while changed:
            changed = False
            for state, kind, new in self.edges:
                here, old = told(kind), last.get(new, frozenset())
                new_set = old | (last.get(state, frozenset()) if here is None else {here})
                changed, last[new] = changed or new_set != old, new_set
        return last


def looked_at(model: Model, spec: Spec, layers: Iterable[tuple[Call, ...]], both: bool) -> None:
    """Layers of one softmax mixer each, which see later tokens or do not; a task of a machine; two logits."""
    need(spec.steps is not None, "a task that is no machine of few states")
    for layer in layers:
        need(len(layer) == 1, "several mixers side by side")
        sees = layer[0].arguments.get("bidirectional", False)
        alone = layer[0].name == "softmax" and (sees is True if both else not sees)
        need(alone, f"no {'bidirectional' if both else 'causal'} softmax")
    linear = model.header["readout"] == "linear" and model.header["answers"] == spec.answers == 2
    need(linear, "no such readout")


def least(walk: Walk, spec: Spec, logits: Mapping[Kind, Logits]) -> Fraction:
    """The right logit less the wrong one, for every kind that the last token may be; a wild one answers 0."""
    (answer,), number, margins = spec.answer, {step: i for i, step in enumerate(walk.steps.all)}, []
    assert isinstance(answer, Decision)
    for (_, step), ends in logits.items():
        right = 0 if step is None else answer.right((number[step],))
        margins.append(ends[right][0] - ends[1 - right][1])
    need(min(margins) > 0, "no positive margin")
    return min(margins)
