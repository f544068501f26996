"""How many bits do states and weights need when they are trained, and when they are written down?

This is the first check that [bhattamishra2024] asks for. States are rounded to p bits where they cross the
cut, during training as well (straight-through gradients). So some cells lie below the proved bound: these
are the only failures here that a theorem explains.
"""

from limen.training.experiment import Experiment, ExperimentCell


def _cell(n: int, d: int, p: int | None, seeds: int, steps: int) -> ExperimentCell:
    stack = f"linear(h=1,d={d}{'' if p is None else f',p={p}'})"
    control = f"n={n}: linear(h=1,d=32)"
    name = f"n={n}: {stack}"
    return ExperimentCell(
        name,
        f"index(n={n},S=32)",
        stack,
        "float32" if p is None else str(p),
        f"n = {n}, d = {d}",
        None if name == control else control,
        seeds=seeds,
        settings={"queries": 20, "steps": steps, "every": 100},
    )


def _weights(steps: int) -> ExperimentCell:
    """Full attention, judged also with its weights and every operation in fewer bits."""
    settings = {"queries": 16, "steps": steps, "precisions": True}
    return ExperimentCell(
        "n=20: softmax",
        "index(n=20,S=32)",
        "softmax(h=1,d=64)",
        "float32",
        "n = 20, softmax",
        settings=settings,
    )


ROUNDED = ((4, 8), (4, 4), (8, 4), (16, 4), (4, 2), (8, 2), (16, 2), (8, 1), (16, 1))
QUICK = (_cell(20, 32, None, 1, 700), _cell(20, 4, 4, 1, 400), _cell(20, 16, 4, 1, 400), _weights(400))

EXPERIMENT = Experiment(
    title="Bits per number of the state",
    shows=(
        "With d = 4 and 4 bits per number the state has 80 bits, but the table needs 100; with d = 8 and "
        "one bit per number it has 72. The theorem rules out both, and neither is learned. Above the "
        "bound, accuracy grows much more with the count of numbers than with the bits of each."
    ),
    silent=(
        "Above the bound a failure is a failure of training. Straight-through training says nothing "
        "about rounding a model afterwards. The softmax row does: its weights and operations are rounded "
        "for the test. The last table is about constructions (`limen solve TASK --smallest precision` "
        "and `--smallest width`): the least that weights written by hand need."
    ),
    x="bits per number of the state",
    threshold=0.95,
    quick=QUICK,
    standard=(
        QUICK[0],
        *(_cell(20, d, p, 1, 400) for d, p in ROUNDED),
        QUICK[-1],
    ),
    full=tuple(
        _cell(n, d, p, 5, 20000) for n in (20, 40, 100) for d in (4, 8, 16, 32) for p in (1, 2, 4, 8, None)
    ),
)
