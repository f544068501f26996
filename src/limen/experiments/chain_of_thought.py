"""Does thinking aloud close the gap between hybrids and full attention?

This is the third open question of [ye2026]. The model writes the chain i_0, i_1, … token by token. It is
trained with the correct chain as input and tested on the chain that it writes itself.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_FULL = "softmax(h=1,d=64)"


def _cells(L: int, m: int, seeds: int, steps: int, small: tuple[int, ...]) -> tuple[ExperimentCell, ...]:
    task = f"composition(m={m}{''.join(f',n{l}=1' for l in range(1, L))})"
    large = "2*linear(h=1,d=64)"
    stacks = {
        "one full": _FULL,
        "full, linear": f"{_FULL},linear(h=1,d=8)",
        "linear, full": f"linear(h=1,d=8),{_FULL}",
        **{f"two linear, d = {d}": f"2*linear(h=1,d={d})" for d in small},
        "two linear, d = 64": large,
    }
    controls = {True: f"L={L}, thinks: {large}", False: f"L={L}, thinks: {_FULL}"}
    cells = []
    for thinks in (True, False):
        for x, stack in stacks.items():
            name = f"L={L}, {'thinks' if thinks else 'one pass'}: {stack}"
            settings = {
                "hard": True,
                "steps": steps,
                "thought": thinks,
                "batch": 64 if thinks else 16,
                "queries": 8,
            }
            series = f"L = {L}, {'thinks aloud' if thinks else 'one pass'}"
            control = controls[thinks]
            if thinks or "linear" not in stack or "softmax" in stack:
                cells.append(
                    ExperimentCell(
                        name,
                        task,
                        stack,
                        x,
                        series,
                        None if control == name else control,
                        seeds=seeds,
                        settings=settings,
                    )
                )
    return tuple(cells)


EXPERIMENT = Experiment(
    title="Chains of thought, full and hybrid",
    shows=(
        Finding(
            "One full layer that thinks aloud learns three hops and five, and so do hybrids with one full "
            "layer.",
            learned=tuple(
                f"L={L}, thinks: {stack}"
                for L in (3, 5)
                for stack in (_FULL, f"{_FULL},linear(h=1,d=8)", f"linear(h=1,d=8),{_FULL}")
            ),
        ),
        Finding(
            "In one pass the same stacks do not learn them in this budget.",
            not_learned=tuple(
                f"L={L}, one pass: {stack}"
                for L in (3, 5)
                for stack in (_FULL, f"{_FULL},linear(h=1,d=8)", f"linear(h=1,d=8),{_FULL}")
            ),
        ),
        Finding(
            "Two linear layers that think aloud learn three hops with d = 64 and not with d = 8 "
            "({L=3, thinks: 2*linear(h=1,d=8)}).",
            learned=("L=3, thinks: 2*linear(h=1,d=64)",),
            not_learned=("L=3, thinks: 2*linear(h=1,d=8)",),
        ),
        Finding(
            "On five hops d = 64 misses the threshold, so nothing is said about d = 8.",
            no_statement=("L=5, thinks: 2*linear(h=1,d=64)", "L=5, thinks: 2*linear(h=1,d=8)"),
        ),
    ),
    silent=(
        "Each step of the chain is a single lookup here (W = 1), because the next hop depends only on "
        "the last one. The small linear state is above the proved bound, so no theorem explains its "
        "failure. The control of all runs in one pass is one full layer thinking aloud, with other batches "
        "and labels: no stack was shown to learn these hops in one pass."
    ),
    x="stack",
    quick=_cells(3, 8, 1, 400, (8,)),
    standard=(*_cells(3, 8, 1, 400, (8,)), *_cells(5, 8, 1, 400, (8,))),
    full=(*_cells(3, 16, 5, 20000, (4, 8, 16)), *_cells(8, 16, 5, 50000, (8, 16))),
)
