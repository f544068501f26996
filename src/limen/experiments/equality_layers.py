"""Can one layer compare two strings from a random start, and can two?

This is the third experiment that [bhattamishra2024] asks for, with disjointness beside equality:
fingerprints of few bits solve equality on average, but not disjointness.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

RATES = (1e-3, 3e-3, 1e-2)
LAYER = "softmax(h=4,d=16)"
_SETTINGS = {"hard": True, "batch": 64, "rate": 1e-3, "warmup": 100, "every": 100}


def _cells(
    tasks: tuple[str, ...], lengths: tuple[int, ...], seeds: int, steps: int, rates: tuple[float, ...] = ()
) -> tuple[ExperimentCell, ...]:
    return tuple(
        ExperimentCell(
            f"{task}(n={n}): {word}",
            f"{task}(n={n})",
            stack,
            n,
            f"{task}, {word}",
            None if word == "two layers" else f"{task}(n={n}): two layers",
            ("random",),
            seeds,
            settings=_SETTINGS | {"steps": steps},
            rates=rates,
        )
        for task in tasks
        for n in lengths
        for word, stack in (("two layers", f"2*{LAYER}"), ("one layer", LAYER))
    )


_BOTH = ("equality", "disjointness")

EXPERIMENT = Experiment(
    title="Equality and disjointness from random starts",
    shows=(
        Finding(
            "From random starts two layers learn equality of strings of 16 bits and disjointness of two "
            "sets of 16, with every seed.",
            learned=("equality(n=16): two layers", "disjointness(n=16): two layers"),
        ),
        Finding(
            "One layer of the same width does not learn equality in these steps ({equality(n=16): one "
            "layer}).",
            not_learned=("equality(n=16): one layer",),
        ),
    ),
    silent=(
        "One layer of this width is not ruled out at these lengths: its replies of 2,304 bits are more than "
        "the theorem asks for. Below the theorem it is trained in `below_bound`. No rate was searched, and "
        "the control is two layers: that one layer could be trained to equality is not shown. Disjointness "
        "was not tried with one."
    ),
    came_about=(
        "Tried by a second reader, who had made none of these runs (not shipped): with QK-norm "
        "(`unit_softmax`) and a rate of 3e-3 one layer is right on 97.3% of equality in the same steps, "
        "seed 0. So most of the distance between one layer and two comes from these settings. As trained "
        "here, but on seed 7, it is right on 61.3%.",
    ),
    x="n",
    quick=_cells(("disjointness",), (16,), 1, 1000)[:1],
    standard=_cells(_BOTH, (16,), 3, 1000)[:3],  # of disjointness one layer is left to `full`
    full=_cells(_BOTH, (16, 32, 64, 128), 3, 50000, RATES),
)
