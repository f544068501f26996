"""Up to which length can a position in the text be looked up?

This is the first experiment that [bhattamishra2024] asks for: one full layer of width 64, and one layer with
a state of fixed size, on texts of growing length.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding
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
        Finding(
            "From the lookup start full attention looks up a position at every length that was tried. From a "
            "random start it stands at {n=20: softmax(h=1,d=64) @ random} on 20 symbols after 400 steps.",
            learned=tuple(f"n={n}: {FULL}" for n in (20, 50, 100, 200, 400)),
        ),
        Finding(
            "Linear attention with a state of 272 numbers and the gated delta rule with 256 learn 20 symbols "
            "and lose most of 100 ({n=100: linear(h=1,d=16)} and {n=100: gated_delta(h=1,d=16)} from the "
            "better of two starts).",
            learned=(f"n=20: {LINEAR}", f"n=20: {DELTA}"),
            not_learned=tuple(f"n={n}: {stack}" for stack in (LINEAR, DELTA) for n in (50, 100, 200)),
            rising=tuple(tuple(f"n={n}: {stack}" for n in (200, 100, 50, 20)) for stack in (LINEAR, DELTA)),
        ),
        Finding(
            "With 4,096 numbers the gated delta rule keeps more: {n=100: gated_delta(h=1,d=64)} of 100 "
            "symbols.",
            learned=(f"n=20: {WIDER}",),
            not_learned=(f"n=100: {WIDER}", f"n=200: {WIDER}"),
            rising=((f"n=100: {DELTA}", f"n=100: {WIDER}"), (f"n=200: {DELTA}", f"n=200: {WIDER}")),
        ),
    ),
    silent=(
        "A float32 state of this size holds far more bits than 100 symbols need. This is what training "
        "reaches in this budget, not what the theorem rules out. No LSTM was trained here. In `mechanisms` "
        "one with d = 64 had 300 steps, in which it does not learn four symbols either: that is no statement "
        "about LSTMs."
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
