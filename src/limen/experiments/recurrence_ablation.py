"""Does a recurrent layer lack structure or capacity?

This is the third experiment that [ye2026] asks for. The recurrent layers after one full layer are replaced
by "fake" full attention that is masked to what a recurrence could hold, by hard attention, and by the same
recurrence with a larger state.
"""

from limen.experiments.depth import FULL, PLAIN
from limen.training.experiment import Experiment, ExperimentCell


def _cell(series: str, behind: str, x: int, seeds: int, steps: int) -> ExperimentCell:
    """Two hops behind one full layer; x: the numbers that each further layer holds."""
    name = f"{FULL},2*{behind}"
    control = None if series == "gated delta" and x == 1024 else f"{FULL},2*gated_delta(h=1,d=32)"
    return ExperimentCell(
        name,
        "composition(m=16,n1=1)",
        name,
        x,
        series,
        control,
        seeds=seeds,
        settings=PLAIN | {"steps": steps},
    )


def _cells(
    delta: tuple[int, ...], pairs: tuple[int, ...], seeds: int, steps: int
) -> tuple[ExperimentCell, ...]:
    masked = (
        _cell("masked softmax", f"masked_softmax(h=1,d=32,first=1,last={p})", 64 * p, seeds, steps)
        for p in pairs
    )
    return (
        *(_cell("gated delta", f"gated_delta(h=1,d={d})", d * d, seeds, steps) for d in (*delta, 32)),
        *masked,
        _cell("hard attention, all tokens", "hard(h=1,d=32)", 2048, seeds, steps),
        _cell("softmax, all tokens", FULL, 2048, seeds, steps),
    )


EXPERIMENT = Experiment(
    title="Recurrent layers, masked attention of equal capacity, and hard attention",
    shows=(
        "The recurrence with a larger state learns what the small one does not. Attention that is masked "
        "to a few tokens fails, although its structure is that of attention. Here capacity decides, not "
        "structure."
    ),
    silent=(
        "Masked attention sees fixed positions, so it cannot hold the table at all, whereas a recurrence "
        "could choose what to hold. Hard attention has no gradient into its keys and queries, so it can "
        "only complete what it starts with."
    ),
    x="numbers that a layer holds",
    quick=_cells((2, 4), (8,), 1, 600),  # the recurrences are runs of `depth`
    standard=_cells((2, 4, 8, 16), (2, 8, 16), 1, 600),
    full=_cells((2, 4, 8, 16), (1, 2, 4, 8, 16), 5, 20000),
)
