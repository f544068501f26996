"""How many bits do states and weights need when they are trained, and when they are written down?

This is the first check that [bhattamishra2024] asks for. States are rounded to p bits where they cross the
cut, during training as well (straight-through gradients). So some cells lie below the proved bound: these
are the only failures of this experiment that a theorem explains.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_SETTINGS = {"queries": 12, "steps": 1000, "every": 100}
_LARGE = "linear(h=1,d=32)"


def _cell(n: int, d: int, p: int | None, seeds: int, steps: int) -> ExperimentCell:
    stack = f"linear(h=1,d={d}{'' if p is None else f',p={p}'})"
    return ExperimentCell(
        f"n={n}: {stack}",
        f"index(n={n},S=32)",
        stack,
        "float32" if p is None else str(p),
        f"n = {n}, d = {d}",
        None if stack == _LARGE else f"n={n}: {_LARGE}",
        ("random",),
        seeds,
        settings=_SETTINGS | {"steps": steps, "rate": 1e-2},  # the rate that `index_length` found
    )


def _weights(seeds: int, steps: int) -> ExperimentCell:
    """A cell of full attention, tested also with weights and every operation in fewer bits."""
    return ExperimentCell(
        "n=20: softmax",
        "index(n=20,S=32)",
        "softmax(h=4,d=16)",
        "float32",
        "n = 20, softmax",
        None,
        ("random",),
        seeds,
        settings=_SETTINGS | {"steps": steps, "precisions": True},
    )


ROUNDED = ((4, 4), (8, 4), (16, 4), (4, 2), (8, 1), (16, 1))


EXPERIMENT = Experiment(
    title="Bits per number of the state",
    shows=(
        Finding(
            "With d = 4 and 4 or 2 bits per number, and with d = 8 and one bit, the state has fewer bits "
            "than the table needs. The theorem rules these out, and none is learned.",
            not_learned=(
                "n=20: linear(h=1,d=4,p=4)",
                "n=20: linear(h=1,d=4,p=2)",
                "n=20: linear(h=1,d=8,p=1)",
            ),
        ),
        Finding(
            "In these runs accuracy rises with the count of numbers and with the bits of each: from d = 8 "
            "to d = 16 at 4 bits from {n=20: linear(h=1,d=8,p=4)} to {n=20: linear(h=1,d=16,p=4)}, from 1 "
            "bit to 4 at d = 16 from {n=20: linear(h=1,d=16,p=1)}.",
            learned=("n=20: linear(h=1,d=16,p=4)",),
            not_learned=("n=20: linear(h=1,d=8,p=4)", "n=20: linear(h=1,d=16,p=1)"),
            rising=(
                tuple(f"n=20: linear(h=1,d={d},p=4)" for d in (4, 8, 16)),
                *(tuple(f"n=20: linear(h=1,d={d},p={p})" for p in (1, 4)) for d in (8, 16)),
            ),
        ),
        Finding(
            "A trained softmax layer stays right in every precision that was tried, down to two significant "
            "bits ({n=20: softmax @ in significand(t=2)} of 300 inputs).",
            learned=("n=20: softmax",),
        ),
    ),
    silent=(
        "Above the bound a failure is one of training, in 1,000 steps at one rate. Straight-through training "
        "says nothing about rounding a model afterwards. The softmax row does: its weights and operations "
        "are rounded for the test. The last table is about constructions (`limen solve TASK --smallest "
        "precision` and `--smallest width`): the least that weights written by hand need."
    ),
    x="bits per number of the state",
    threshold=0.95,
    quick=(_cell(20, 32, None, 1, 1000), _cell(20, 4, 4, 1, 1000), _weights(1, 1000)),
    standard=(
        _cell(20, 32, None, 3, 1000),
        *(_cell(20, d, p, 3, 1000) for d, p in ROUNDED),
        _weights(3, 1000),
    ),
    full=tuple(
        _cell(n, d, p, 5, 20000) for n in (20, 40, 100) for d in (4, 8, 16, 32) for p in (1, 2, 4, 8, None)
    ),
)
