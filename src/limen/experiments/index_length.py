"""How long may the text be before a position in it can no longer be looked up?

The first experiment that [bhattamishra2024] asks for.  One full layer of width 64 learns every length; one
with a state of fixed size learns short texts and loses long ones.
"""

from limen.training.experiment import Experiment, ExperimentCell
from limen.training.spec import Start

_QUERIES = {20: 16, 50: 25, 100: 50, 200: 64, 400: 64, 800: 64, 1600: 64}
_BOTH: tuple[Start, ...] = ("lookup", "random")


def _cell(
    stack: str,
    n: int,
    steps: int,
    control: str | None,
    starts: tuple[Start, ...] = ("lookup",),
    seeds: int = 1,
) -> ExperimentCell:
    settings = {"queries": _QUERIES[n], "steps": steps, "shifts": n == 20}
    return ExperimentCell(
        f"n={n}: {stack}", f"index(n={n},S=32)", stack, n, stack, control, starts, seeds, settings=settings
    )


FULL, LINEAR, DELTA = "softmax(h=1,d=64)", "linear(h=1,d=16)", "gated_delta(h=1,d=16)"

EXPERIMENT = Experiment(
    title="Index: accuracy against the length of the text",
    shows=(
        "Full attention looks up a position in a text of every length tried; linear attention and the "
        "gated delta rule with 256 numbers learn 20 symbols and lose most of 100, from both starts."
    ),
    silent=(
        "float32 states of this size hold far more bits than 100 symbols need: this is what training "
        "reaches, not what the theorem rules out. An LSTM fails even at n = 20, which is a failure of "
        "training and says nothing else."
    ),
    x="n",
    quick=(
        _cell(FULL, 20, 400, None, _BOTH),
        _cell(FULL, 100, 600, None),
        _cell(FULL, 400, 200, None),
        _cell(LINEAR, 20, 1500, None),
        _cell(LINEAR, 100, 700, f"n=100: {FULL}", _BOTH),
        _cell(DELTA, 20, 800, None),
        _cell(DELTA, 100, 700, f"n=100: {FULL}", _BOTH),
    ),
    standard=tuple(
        _cell(stack, n, 1200, None if stack == FULL else f"n={n}: {FULL}", seeds=3 if n == 20 else 1)
        for stack in (FULL, LINEAR, DELTA, "gated_delta(h=1,d=64)", "mamba2(h=1,d=16,s=16)", "lstm(d=64)")
        for n in (20, 50, 100, 200, 400)
        if n <= 100 or stack in (FULL, DELTA, "gated_delta(h=1,d=64)")
    ),
    full=tuple(
        _cell(
            f"{mixer}(h=1,d={d})",
            n,
            50000,
            None if mixer == "softmax" else f"n={n}: softmax(h=1,d={d})",
            _BOTH,
            5,
        )
        for mixer in ("softmax", "linear", "gated_delta")
        for d in (64, 256, 1024)
        for n in (20, 100, 400, 800, 1600)
    ),
)
