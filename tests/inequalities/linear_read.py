"""The inequality of `linear_read`."""

from __future__ import annotations

from limen.core.architecture import Layer, Part
from limen.core.theorem import NoStatement
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba import Mamba
from limen.mixers.window import Window
from limen.tasks.facts import chain
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """Σ d_k ≥ v, with the last ρ tokens before the cut fixed."""
    *before, last = case.architecture.layers
    if case.architecture.end is None or any(
        _silent(part) for layer in (*before, last) for part in layer.parts
    ):
        return NoStatement("it is about sizes that are given, and an affine readout")
    if any(not isinstance(part.mixer, Window) for layer in before for part in layer.parts):
        return NoStatement("only windows may stand before the last layer")
    ρ = sum(_reach(layer) for layer in before) + _reach(last)
    v = case.task.free(ρ)
    if not v:
        return NoStatement("no free questions are known")
    tables = chain(case.task)
    t = case.task.cut if tables is None else tables.N(tables.L - 1)
    numbers = [
        _numbers(part, len(last.parts), t) for part in last.parts if not isinstance(part.mixer, Window)
    ]
    if not numbers or None in numbers:
        return NoStatement("the last layer is no recurrence that an affine map reads")
    return Sides(sum(filter(None, numbers)), v, "questions")


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
        case GatedLinear() | Delta() | GatedDelta() | Kda() as m:
            return m.h * m.key_size
        case Mamba() as m:
            return m.d * m.s
        case LogLinear() as m if m.over != "linear":
            return m.h * m.key_size * bin(t).count("1")
    return None
