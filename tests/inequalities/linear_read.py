"""The inequality of `linear_read`."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from inequalities.states import by_spheres, lookup
from limen.core.architecture import Layer, Part
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba import Mamba
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7
from limen.mixers.window import Window
from limen.tasks.facts import chain
from limen.tasks.recall import Recall
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """Σ d_k ≥ v, with the last ρ tokens before the cut fixed."""
    *before, last = case.architecture.layers
    if (
        case.architecture.end is None
        or not case.architecture.end.plain
        or any(_silent(part) for layer in (*before, last) for part in layer.parts)
    ):
        return NoStatement("it is about sizes that are given, and an affine readout")
    if any(not isinstance(part.mixer, Window) for layer in before for part in layer.parts):
        return NoStatement("only windows may stand before the last layer")
    ρ = sum(_reach(layer) for layer in before) + _reach(last)
    v = case.task.free(ρ)
    if not v:
        return NoStatement("no free questions are known")
    t = _after(case.task)
    numbers = [
        _numbers(part, len(last.parts), t) for part in last.parts if not isinstance(part.mixer, Window)
    ]
    if not numbers or None in numbers:
        return NoStatement("the last layer is no recurrence that an affine map reads")
    return Sides(sum(filter(None, numbers)), v, "questions")


def ceiling(case: Case) -> Fraction | NoStatement:
    """1 - wrong guesses of Σ_{i≤K} C(m·C(A,2),i) words with their spheres; K by pairs of A answers."""
    worst, found = inequality(case), lookup(case.task, _after(case.task))
    if isinstance(worst, NoStatement) or found is None:
        return NoStatement("no ceiling")
    *before, last = case.architecture.layers
    ρ = sum(_reach(layer) for layer in before) + _reach(last)
    m, n, A, _ = found
    m -= -(-ρ // 2) if isinstance(case.task, Recall) else ρ
    if A < 2 or m * (A - 1).bit_length() > 2**13:
        return NoStatement("it is too long, or has one answer")
    K = numbers_after(last, A - 1, _after(case.task))
    pairs = m * comb(A, 2)
    words = 2**pairs if pairs < K else sum(comb(pairs, i) for i in range(K + 1))
    return 1 - Fraction(m, n) * (1 - by_spheres(m, A, 0, min(words, A**m)))


def numbers_after(last: Layer, columns: int, t: int) -> int:
    """All numbers that are read of so many columns of the states; a normaliser is one more."""
    total = 0
    for part in last.parts:
        match part.mixer:
            case Window():
                continue
            case Mamba() as m:
                total += m.d * m.s
            case Linear(normalise=True) as m:
                total += m.phi.size(m.key_size) * (1 + min(m.d, columns))
            case m:
                total += (_numbers(part, len(last.parts), t) or 0) * min(m.d, columns)
    return total


def _after(task: Task) -> int:
    tables = chain(task)
    return task.cut if tables is None else tables.N(tables.L - 1)


def _silent(part: Part) -> bool:
    return part.bits is not None or part.kv is not None or part.times > 1


def _reach(layer: Layer) -> int:
    """How many tokens before the present one a layer's windows and convolutions see."""
    seen = (getattr(part.mixer, "W", getattr(part.mixer, "c", 1)) for part in layer.parts)
    return max(seen) - 1


def _numbers(part: Part, parts: int, t: int) -> int | None:
    match part.mixer:
        case Linear(normalise=False) as m:
            return m.h * m.phi.size(m.key_size)
        case Linear(h=1) as m if parts == 1 and m.phi.name in ("elu1", "exp", "taylor"):
            return 2 * m.phi.size(m.key_size)
        case GatedLinear() | Delta() | GatedDelta() | Kda() | Retnet() | Rwkv7() as m:
            return m.h * m.key_size
        case Mamba() as m:
            return m.d * m.s
        case LogLinear() as m if m.over != "linear":
            return m.h * m.key_size * bin(t).count("1")
    return None
