"""The kernel's bounds: a second derivation that agrees with the producers' and accepts nothing that they forge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from limen.check import one_layer
from limen.check.bound import INEQUALITIES, stated
from limen.check.case import Case
from limen.check.composition import chain, levels_of
from limen.check.machine import machine
from limen.core.architecture import Architecture
from limen.core.bits import Count
from limen.core.certificate import Bound
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.eva import Eva
from limen.theorems import _sharp
from limen.theorems._chain import free_sizes
from limen_check import rows
from limen_check.bound import check_bound, derived
from limen_check.case import Ceiling
from limen_check.files import SCHEMA, Malformed, Refused
from limen_check.machine import check_machine

CASES = 2000


# --- certificates as producers write them -------------------------------------------------------------------------


def spelled(bound: Bound, **other: Any) -> dict[str, Any]:
    """The certificate with every size; a ceiling as the rational it is, the inputs as the kernel names them."""
    c: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "bound",
        "task": Task.parse(bound.task).spelled,
        "architecture": Architecture.parse(bound.architecture).spelled,
        "theorem": bound.theorem,
        "steps": bound.steps,
        "route": bound.route,
        "sizes": dict(bound.sizes),
        "needs_bits": bound.needs_bits,
        "has_bits": bound.has_bits,
        "ceiling": None if bound.ceiling is None else str(Fraction(bound.ceiling)),
        "distribution": None,
    }
    if bound.ceiling is not None:
        found = derived(c)
        assert isinstance(found, Ceiling)
        c["distribution"] = found.distribution
    return c | other


def reason(c: dict[str, Any]) -> str | None:
    """Why the kernel does not accept it; None if it does."""
    try:
        check_bound(c)
    except Refused as refused:
        return str(refused)
    return None


class Draw:
    """Random sizes, most of them small."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def whole(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def size(self, top: float, least: int = 1) -> int:
        return max(least, int(2 ** self.rng.uniform(0, top)))

    def one(self, *of: Any) -> Any:
        return self.rng.choice(of)

    def recurrence(self) -> str:
        h, d, p = self.whole(1, 4), self.size(6), self.one("", f",p={self.one(1, 4, 8, 32)}")
        return str(
            self.one(
                f"linear(h={h},d={d}{p})", f"linear(h={h},d={d},d_k={self.size(5)},normalise=false{p})",
                f"linear(h={h},d={min(d, 20)},phi=taylor{p})", f"gated_linear(h={h},d={d}{p})", f"delta(h={h},d={d}{p})",
                f"gated_delta(h={h},d={d},c={self.whole(1, 4)}{p})", f"mamba(d={d},s={self.whole(1, 16)}{p})",
                f"mamba2(h={h},d={d},s={self.whole(1, 32)}{p})", f"lstm(d={d}{p})", f"relu_rnn(d={d}{p})",
                f"relu_rnn(d={d},stages=2{p})", f"window(h={h},d={d},W={self.size(8)}{p})",
                f"masked_softmax(h={h},d={d},first={self.whole(0, 5)},last={self.size(6)}{p})",
                f"log_linear(h={h},d={d}{self.one('', ',over=mamba2', ',over=gated_delta')}{p})",
                f"linear(state_bits={self.size(14) - 1})",
            )
        )  # fmt: skip

    def full(self) -> str:
        h, d, p = self.whole(1, 4), self.size(6), self.one("", f",p={self.whole(1, 32)}")
        return str(
            self.one(
                f"softmax(h={h},d={d}{p})", f"softmax(h={h},d={d},d_k={self.size(5)}{p})",
                f"softmax(reply_bits={self.size(12)})", f"softmax(reply_bits={self.size(6)})",
                f"hard(h={h},d={d}{p})", f"conv_softmax(h={h},d={d},c={self.whole(1, 3)}{p})",
                f"top_k(h={h},d={d},k={self.whole(1, 4)}{p})",
            )
        )  # fmt: skip

    def stack(self, word: str) -> str:
        """A layer for each letter: F full, L linear, H both side by side."""
        layers = {"F": self.full, "L": self.recurrence, "H": lambda: f"{self.full()}|{self.recurrence()}"}
        return ",".join(layers[letter]() for letter in word)

    def composition(self) -> str:
        m, n1, n2 = self.size(self.one(4, 12, 20)), self.size(self.one(4, 16)), self.size(6)
        return str(
            self.one(f"composition(m={m})", *[f"composition(m={m},n1={n1})"] * 4, f"facts(m={m},n1={n1},n2={n2})")
        )

    def task(self) -> str:
        n, D = self.size(self.one(4, 16)), self.whole(2, 18)
        M = self.size(self.one(4, 14), least=3)
        return str(
            self.one(
                f"eva(n={n})", f"index(n={n},S={self.size(12, least=2)})", f"two_sum(n={n},M={M})",
                f"three_sum(n={n + 1},M={M})", f"two_sum_any(n={n + 1},M={M})", f"equality(n={n})", f"disjointness(n={n})",
                f"counting(n={n},S={self.size(9, least=2)})", f"sparse_average(n={n},q={self.one(1, n, self.whole(1, n))})",
                f"dyck(n={2 * n},k={self.whole(1, 6)},D={self.size(10)})", f"is_tree(n={min(n, 3000) + 3})",
                f"turing(n={n + 1})", f"turing(n={n + 1},program=increment)", f"cgram(n={n + 6},c={self.whole(2, 6)},V={M})",
                f"recall(n={n},V={2 * n + self.whole(0, 9)})", f"nearest_neighbor(n={n},D={self.whole(2, 4)},g={self.whole(1, 9)})",
                f"retrieval(n={self.whole(1, 1 << D - 1)},D={D},V={self.whole(1, 9)},absent={self.one('true', 'false')})",
                self.composition(),
            )
        )  # fmt: skip

    def case(self) -> Iterator[tuple[str, Case]]:
        """Some theorem's question, with the free sizes that a producer would choose, or any."""
        theorem = self.one(*INEQUALITIES, "composition_depth", "composition_depth", "one_layer_cut")
        steps = self.one(0, 0, 0, 1, 3)
        if theorem == "composition_depth":
            word = self.one("F", "H", "L", "LF", "LH", "FL", "LFL", "FF", "FH", "HF", "HH", "FFL", "LFF", "FLF", "LFLFL")
            yield from self._depth(Task.parse(self.composition()), Architecture.parse(self.stack(word)), steps)
            return
        task, text = self.task(), self.stack(self.one("L", "LL", "LLL"))
        route, sizes = self.one("", "", "average"), self.one({}, {}, {"t": self.size(8)})
        if theorem == "log_linear_state":
            text, sizes = text + f",log_linear(h={self.whole(1, 3)},d={self.size(5)})", {}
        if theorem == "window_global":
            text = ",".join(self.one(f"window(W={self.size(10)})", f"masked_softmax(first=1,last={self.size(8)})") for _ in "ab")
            route, sizes, steps = "", {}, 0
        if theorem in ("one_layer_cut", "separate_tokens", "three_sum_one_layer", "sparse_average_width"):
            n, steps, sizes, route = self.size(self.one(5, 12)), 0, {}, ""
            text = self.one(f"softmax(h={self.whole(1, 3)},d={self.size(5)},p={self.size(4)})", "softmax(reply_bits=40)")
            text += f"|{self.recurrence()}" if self.whole(0, 2) == 0 else ""
        if theorem == "one_layer_cut":
            route = self.one("fixed_query", "after_recurrence")
            task = self.one(
                f"equality(n={n})", f"disjointness(n={n})", f"turing(n={n + 1})", f"dyck(n={2 * n},k={self.whole(1, 5)},D=3)",
                f"two_sum_any(n={n + 1},M={self.size(16, least=3)})", f"counting(n={n},S={self.size(14, least=2)})",
                f"is_tree(n={n + 3})", f"three_sum(n={n + 1},M={self.size(16, least=3)})",
            )  # fmt: skip
            sizes = {"k": self.size(12)} if task.startswith("is_tree") and route == "fixed_query" else {}
            text = f"{self.recurrence()},{text}" if route == "after_recurrence" and self.whole(0, 1) else text
        elif theorem == "separate_tokens":
            task = self.one(f"recall(n={n},V={2 * n + 3},q={self.whole(1, n)})", f"cgram(n={n + 5},c={self.whole(2, 5)},V=4)",
                            f"nearest_neighbor(n={n},D=2,g=3)")  # fmt: skip
        elif theorem == "three_sum_one_layer":
            task = f"three_sum(n={n + 1},M={self.size(16, least=3)})"
        elif theorem == "sparse_average_width":
            task = f"sparse_average(n={n},q={self.one(1, n, self.whole(1, n))})"
        elif theorem == "block_messages":
            task, steps, sizes = f"two_sum(n={self.size(16)},M={self.size(self.one(20, 60), least=3)})", 0, {}
            layer = f"block_sparse(h={self.whole(1, 2)},d={self.size(3)},B={self.size(8)},k={self.whole(1, 4)},p={self.size(4)})"
            text, route = self.one(layer, f"2*{layer}"), self.one("positions", "depth", "average", "average")
        elif theorem == "token_index":
            task, steps, sizes, route = f"two_sum(n={self.size(16)},M={self.size(20, least=3)})", 0, {}, ""
            text = f"top_k(k={self.size(6)},d_i={self.whole(1, 6)},p={self.whole(1, 6)})"
        yield theorem, Case(Task.parse(task), Architecture.parse(text), steps, route, sizes)

    def _depth(self, task: Task, architecture: Architecture, steps: int) -> Iterator[tuple[str, Case]]:
        tables, case = chain(task), Case(task, architecture, steps)
        assert tables is not None
        found = list(_sharp.candidates(case)) if steps == 0 else []
        levels = levels_of(architecture, tables.length, tables.L, steps)
        if not isinstance(levels, NoStatement) and tables.answers > 1:
            found += [replace(case, route=route, sizes=sizes) for route, sizes in free_sizes(tables, levels)]
        yield from (("composition_depth", each) for each in found)


def drawn(seed: int) -> Iterator[tuple[Case, Bound]]:
    """Cases of which the producers' theorems say something."""
    draw = Draw(random.Random(seed))
    while True:
        try:
            for theorem, case in draw.case():
                said = stated(theorem, case)
                if not isinstance(said, NoStatement):
                    yield case, said
        except BadInput:  # there is no such task
            continue


def test_the_kernel_accepts_what_the_theorems_say_and_no_bit_more() -> None:
    """Accepted where the producer says cannot; one bit less, one bit more, other sizes, steps or routes are not.

    Exceptions are true: where the kernel counts a few rows more than the producer, needs + 1 holds, too.
    """
    tally: Counter[tuple[str, str]] = Counter()
    for (case, said), _ in zip(drawn(12), range(CASES), strict=False):
        assert case.steps == said.steps
        c, key = spelled(said), f"{said.theorem}/{said.route}"
        assert (reason(c) is None) == said.excludes, (c, reason(c))
        tally[key, "cannot" if said.excludes else "open"] += 1
        if not said.excludes:
            continue
        for forged in forgeries(c):
            true = forged["needs_bits"] is not None and forged["needs_bits"] <= derived(forged).needs  # type: ignore[union-attr]
            assert (reason(forged) is None) == (true and forged["has_bits"] == c["has_bits"]), (forged, c)
            tally[key, "forged"] += 1
    print(tally)
    assert {key for key, verdict in tally if verdict == "cannot"} >= ROUTES


ROUTES: set[str] = set()


def forgeries(c: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if c["ceiling"] is None:
        yield c | {"has_bits": c["has_bits"] - 1}
        yield c | {"needs_bits": c["needs_bits"] + 1}


__all__ = ["Count", "Eva", "Malformed", "check_machine", "machine", "one_layer", "pytest", "rows"]
