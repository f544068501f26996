"""Can one layer of attention compare two strings, and can two?

This is the third experiment that [bhattamishra2024] asks for, with disjointness beside equality. Random
fingerprints solve equality on average with few bits, while disjointness stays hard even with randomness and
errors [sanford2023].
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding
from limen.training.spec import Start

_SETTINGS = {"hard": True, "width": 32, "hidden": 64, "batch": 64}
_BOTH: tuple[Start, ...] = ("lookup", "random")


def _cell(
    task: str, stack: str, x: str, seeds: int, steps: int, starts: tuple[Start, ...] = ("lookup",)
) -> ExperimentCell:
    """A cell whose control is two softmax layers from one of its own starts."""
    what = f"{task}: {stack}"
    where = "" if "lookup" in starts else _RANDOM
    control = None if stack == TWO else f"{task}: {TWO}{where}"
    return ExperimentCell(
        what + where if stack == TWO else what,
        task,
        stack,
        x,
        task,
        control,
        starts,
        seeds,
        settings=_SETTINGS | {"steps": steps},
    )


ONE, TWO, _RANDOM = "softmax(h=1,d=32)", "2*softmax(h=1,d=32)", ", random start"


def _cells(n: int, seeds: int, steps: int, more: tuple[str, ...]) -> tuple[ExperimentCell, ...]:
    cells = []
    for task in (f"disjointness(n={n})", f"equality(n={n})"):
        cells.append(_cell(task, TWO, "two softmax", seeds, steps))
        cells.append(_cell(task, ONE, "one softmax", 1, steps, _BOTH))
        if more:
            cells.append(_cell(task, TWO, f"two softmax{_RANDOM}", 1, steps, ("random",)))
        cells += [_cell(task, stack, stack, 1, steps, ("random",)) for stack in more]
    return tuple(cells)


EXPERIMENT = Experiment(
    title="Equality and disjointness by one layer and by two",
    shows=(
        Finding(
            "From the lookup start two softmax layers learn both tasks with every seed.",
            learned=tuple(f"{task}(n={n}): {TWO}" for n in (16, 32) for task in ("disjointness", "equality")),
        ),
        Finding(
            "One layer stays close to guessing, from both starts.",
            not_learned=tuple(
                f"{task}(n={n}): {ONE}" for n in (16, 32) for task in ("disjointness", "equality")
            ),
        ),
        Finding(
            "From a random start nothing reaches the threshold, and two recurrences get further than two "
            "softmax layers: on equality {equality(n=16): 2*gated_delta(h=1,d=32)} against "
            "{equality(n=16): 2*softmax(h=1,d=32), random start}, on disjointness "
            "{disjointness(n=16): 2*gated_delta(h=1,d=32)} against "
            "{disjointness(n=16): 2*softmax(h=1,d=32), random start}. So the first "
            "sentence is about the lookup start alone; no order of softmax and recurrence follows.",
            no_statement=tuple(
                f"{task}(n=16): {stack}"
                for task in ("disjointness", "equality")
                for stack in (f"{TWO}{_RANDOM}", "2*gated_delta(h=1,d=32)", "softmax(h=1,d=128)")
            ),
            rising=tuple(
                (f"{task}(n=16): {TWO}{_RANDOM}", f"{task}(n=16): 2*gated_delta(h=1,d=32)")
                for task in ("disjointness", "equality")
            ),
        ),
    ),
    silent=(
        "One layer of this width is not ruled out at these lengths: its 32 channels of 32 bits are more "
        "than the theorem requires. Only the first layer begins as a lookup; recurrences were trained from a "
        "random start alone, with one seed and one rate."
    ),
    x="stack",
    quick=_cells(16, 3, 600, ()),
    standard=(
        *_cells(16, 3, 600, ("2*gated_delta(h=1,d=32)", "softmax(h=1,d=128)")),
        *_cells(32, 1, 600, ()),
    ),
    full=_cells(64, 5, 50000, ("2*linear(h=1,d=64)", "2*gated_delta(h=1,d=64)", "lstm(d=256)")),
)
