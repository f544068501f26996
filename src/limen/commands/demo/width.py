r"""Show how wide one softmax layer must be, and how wide two.

Numbers that a layer's heads hand to a token, H(d+2) of p bits each: for each head the sums of d columns, a
maximum and a normaliser.

    one layer, lower bound       H(d+2)·p bits tell all first halves apart (one_layer_cut, separate_tokens)
    one layer, weights           linear width: all tokens are gathered, each in columns of its place
    two layers, weights          logarithmic width: the first brings together what belongs together
                                                                              [bhattamishra2024] [sanford2023]

How far the two sides of one layer are apart is counted in bits, H(d+2)·p / bits needed.  In whole numbers the
lower bound is ⌈bits needed / p⌉, which is 1 as long as p bits suffice: measured by it, weights of linear
width seem to move away from a bound that is linear too.  In bits the ratio falls towards a constant, p times
the columns that the weights spend on one bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec

from limen.commands._command import Shown, command
from limen.core import quantities
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.construction import construct
from limen.core.option import Argument, Option
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.errors import BadInput

_P = 32  # bits of a number


class _Case(NamedTuple):
    task: str
    one: Callable[[int], str]  # the one layer, by n
    two: str  # the construction with two
    longest: int  # the kernel takes some seconds for it; more than ten for twice as much


def _heads(h: int, d: int, d_k: int) -> str:
    return f"softmax(h={h},d={d},d_k={d_k},p={_P})"


_CASES = {
    "equality": _Case("equality(n={n})", lambda n: _heads(1, -(-n // 16), 1), "softmax", 4096),
    "disjointness": _Case("disjointness(n={n})", lambda n: _heads(1, n, 1), "softmax", 4096),
    "recall": _Case(
        "recall(n={n},V={V})",
        lambda n: _heads(2, n * (2 * n - 1).bit_length(), (2 * n - 1).bit_length()),
        "softmax",
        64,
    ),
    "nearest_neighbor": _Case("nearest_neighbor(n={n},D=2,g=1)", lambda n: _heads(2, n, 3), "softmax", 256),
    "dyck": _Case("dyck(n={n},k=2,D=2)", lambda n: _heads(1, 2 * n, 1), "two_softmax", 32),
}
WidthTask = Literal["equality", "disjointness", "recall", "nearest_neighbor", "dyck"]


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that was decided: its heads, and the numbers that the widest layer hands to a token."""

    architecture: str
    numbers: int  # H(d+2)
    verdict: str
    by: str  # whose weights, or why there is no verdict


class WidthRow(msgspec.Struct, frozen=True, kw_only=True):
    """One size."""

    task: str
    n: int
    needs_bits: int  # of one layer, by the theorem
    theorem: str
    least: int  # ⌈needs_bits / p⌉: one layer with H(d+2) below this is ruled out
    ruled_out: str  # the widest single head of d ≥ 1 that is ruled out; empty if none is
    one: Layers
    two: Layers

    def factor(self, p: int) -> float:
        """The bits that one layer's weights hand over, against those that it needs."""
        return self.one.numbers * p / self.needs_bits


class WidthReport(Report, frozen=True, kw_only=True, tag="limen/demo width/1"):
    """The curve."""

    p: int
    rows: tuple[WidthRow, ...]

    @property
    def headline(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        return f"{first.task} … {last.task}: how wide one softmax layer must be, and how wide two"

    @property
    def holds(self) -> bool:
        """Whether all weights were certified."""
        return all(layers.verdict == Answer.CAN for row in self.rows for layers in (row.one, row.two))


@command(
    example="limen demo width equality --sizes 16,64,256",
    answers=(
        Shown(
            "limen.commands.demo.width:WidthReport",
            "limen.render.demo.width:lines_of",
            picture="limen.render.plots:width_picture",
        ),
    ),
)
def width(
    task: Annotated[WidthTask, Argument("The task.")] = "equality",
    sizes: Annotated[
        Sequence[int],
        Option("Sizes n, separated by commas.", parse=quantities.numbers, line="4,8,16,32"),
    ] = (4, 8, 16, 32),
) -> WidthReport:
    """For each n: the numbers that one softmax layer must hand to a token, the weights of one layer of linear
    width that do it, and those of two narrow layers. The exit code is 1 if some weights are not certified.
    """
    case = _CASES[task]
    if not sizes:
        raise BadInput("demo width: no size is given")
    for n in sizes:
        if not 1 <= n <= case.longest:
            raise BadInput(
                f"demo width: for {task} sizes are 1 to {case.longest}, which takes seconds; got {n}"
            )
    return WidthReport(p=_P, rows=tuple(_row(case, n) for n in sizes))


def _row(case: _Case, n: int) -> WidthRow:
    task = Task.parse(case.task.format(n=n, V=max(2 * n, 2)))
    narrow = decide(task, Architecture.parse(_heads(1, 1, 1)))
    bound = (
        narrow.evidence.certificate if narrow.answer == Answer.CANNOT and narrow.evidence else narrow.nearest
    )
    if not isinstance(bound, Bound) or not bound.needs_bits:
        raise BadInput(f"demo width: no lower bound is known of {task}")
    least = -(-bound.needs_bits // _P)
    widest = least - 3  # d + 2 = least - 1
    ruled = _heads(1, widest, 1) if widest >= 1 else ""
    if ruled and decide(task, Architecture.parse(ruled)).answer != Answer.CANNOT:
        raise BadInput(f"demo width: {ruled} is not ruled out")
    two = construct(task, case.two).frame().architecture
    return WidthRow(
        task=str(task),
        n=n,
        needs_bits=bound.needs_bits,
        theorem=bound.theorem,
        least=least,
        ruled_out=ruled,
        one=_layers(task, Architecture.parse(case.one(n))),
        two=_layers(task, Architecture.parse(_at_32(str(two)))),
    )


def _at_32(text: str) -> str:
    """The same heads, of p bits."""
    return text.replace(")", f",p={_P})")


def _layers(task: Task, stack: Architecture) -> Layers:
    verdict = decide(task, stack)
    numbers = max(
        sum(part.mixer.h * (part.mixer.d + 2) for part in layer.parts)  # type: ignore[attr-defined]
        for layer in stack.layers
    )
    by = verdict.construction or verdict.reason
    return Layers(architecture=str(stack), numbers=numbers, verdict=verdict.answer, by=by)
