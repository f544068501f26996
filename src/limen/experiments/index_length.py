"""Up to which length can a position in the text be looked up?

This is the first experiment that [bhattamishra2024] asks for. One full layer of width 64 learns every
length. One layer with a fixed-size state learns short texts and fails on long ones.
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

QUICK = (
    _cell(FULL, 20, 400, None, _BOTH),
    _cell(FULL, 100, 600, None),
    _cell(FULL, 400, 200, None),
    _cell(LINEAR, 20, 1500, None),
    _cell(LINEAR, 100, 1500, f"n=20: {LINEAR}", _BOTH),
    _cell(DELTA, 20, 800, None),
    _cell(DELTA, 100, 700, f"n=20: {DELTA}", _BOTH),
)
WIDER = "gated_delta(h=1,d=64)"

EXPERIMENT = Experiment(
    title="Index: accuracy against the length of the text",
    shows=(
        "Full attention looks up a position at every length that was tried. Linear attention and the "
        "gated delta rule with a state of 256 numbers learn 20 symbols and lose most of 100, from both "
        "starts."
    ),
    silent=(
        "A float32 state of this size holds far more bits than 100 symbols need. This is what training "
        "reaches, not what the theorem rules out. An LSTM fails even at n = 20 (`mechanisms`), which is "
        "a failure of training and says nothing more."
    ),
    x="n",
    quick=QUICK,
    standard=(
        *QUICK,
        *(_cell(FULL, n, 400, None) for n in (50, 200)),
        *(_cell(LINEAR, n, 1500, f"n=20: {LINEAR}") for n in (50, 200)),
        *(_cell(DELTA, n, 700, f"n=20: {DELTA}") for n in (50, 200)),
        _cell(WIDER, 20, 700, None),
        *(_cell(WIDER, n, 700, f"n=20: {WIDER}") for n in (100, 200)),
    ),
    full=tuple(
        _cell(
            stack,
            n,
            50000,
            None if n == 20 or stack.startswith("softmax") else f"n=20: {stack}",
            _BOTH if "h=1" in stack else ("random",),
            5,
        )
        for stack in (
            *(
                f"{mixer}(h=1,d={d})"
                for mixer in ("softmax", "linear", "gated_delta")
                for d in (64, 256, 1024)
            ),
            "mamba2(h=1,d=64,s=64)",
            "lstm(d=64)",
        )
        for n in (20, 100, 400, 800, 1600)
    ),
)
