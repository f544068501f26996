"""Can a hundred linear layers take the place of a second full layer?

This is the first check that [ye2026] asks for. A stack of one full and two linear layers is trained first;
then 98 linear layers that add nothing are put behind it, and all 101 are trained on. It is the one
experiment that begins as a lookup: to train a hundred layers from a random start takes more than two cores
have.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

FULL = "softmax(h=1,d=32)"
_SETTINGS = {"hard": True, "queries": 8}
_TASK = "composition(m=8,n1=1)"


def _two(d: int, seeds: int) -> ExperimentCell:
    """One full and two linear layers."""
    return ExperimentCell(
        f"1 full + 2 linear, d = {d}",
        _TASK,
        f"{FULL},2*linear(h=1,d={d})",
        d,
        "1 full + 2 linear",
        None if d == 64 else "1 full + 2 linear, d = 64",
        ("lookup",),
        seeds,
        settings=_SETTINGS | {"steps": 600},
    )


def _hundred(d: int, seeds: int, steps: int) -> ExperimentCell:
    """A trained stack of 1 + 2 layers, grown by 98 layers that start as zero, and trained on."""
    grows = {"first": f"{FULL},2*linear(h=1,d={d})", "first_steps": 500, "every": 20, "locals": 3}
    return ExperimentCell(
        f"1 full + 100 linear, d = {d}",
        _TASK,
        f"{FULL},100*linear(h=1,d={d})",
        d,
        "1 full + 100 linear",
        None if d == 64 else "1 full + 100 linear, d = 64",
        ("lookup",),
        seeds,
        settings=_SETTINGS | grows | {"steps": steps},
    )


EXPERIMENT = Experiment(
    title="One full layer with a hundred linear layers",
    shows=(
        Finding(
            "With d = 64 one full and two linear layers learn two hops, and the stack that has grown to a "
            "hundred keeps them. With d = 2 and with d = 8 two linear layers do not learn them, and with "
            "d = 2 a hundred do not either ({1 full + 100 linear, d = 2}).",
            learned=("1 full + 2 linear, d = 64", "1 full + 100 linear, d = 64"),
            not_learned=(
                "1 full + 2 linear, d = 2",
                "1 full + 2 linear, d = 8",
                "1 full + 100 linear, d = 2",
            ),
        ),
    ),
    silent=(
        "One seed, one rate, 60 steps with all layers: that a hundred small layers cannot be trained to the "
        "task is not shown, and no theorem rules them out at these sizes."
    ),
    x="d",
    quick=(_two(64, 1),),
    standard=(*(_two(d, 1) for d in (2, 8, 64)), _hundred(64, 1, 60), _hundred(2, 1, 60)),
    full=(*(_two(d, 5) for d in (2, 8, 64)), _hundred(64, 5, 2000), _hundred(2, 5, 2000)),
)
