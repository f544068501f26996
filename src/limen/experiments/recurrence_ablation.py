"""Does a recurrent layer lack structure or capacity?

This is the third experiment that [ye2026] asks for. The recurrent layers after one full layer are replaced
by "fake" full attention that is masked to what a recurrence could hold, by hard attention, and by the same
recurrence with a larger state.
"""

from limen.experiments.depth import FULL, PLAIN
from limen.training.experiment import Experiment, ExperimentCell, Finding

CONTROLS = {  # the same mixer with a larger state or without its mask; hard attention has none
    "gated delta": f"{FULL},2*gated_delta(h=1,d=32)",
    "masked softmax": f"{FULL},2*{FULL}",
}


def _cell(series: str, behind: str, x: int, seeds: int, steps: int) -> ExperimentCell:
    """A cell with two hops and layers after one full layer; x: the numbers that each of these holds."""
    name = f"{FULL},2*{behind}"
    control = None if name == CONTROLS.get(series) else CONTROLS.get(series)
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
    title="Recurrent layers, masked attention and hard attention",
    shows=(
        Finding(
            "The recurrence with a larger state learns what the small one does not: 64 numbers in each layer "
            "are enough ({softmax(h=1,d=32),2*gated_delta(h=1,d=8)}), 16 are not "
            "({softmax(h=1,d=32),2*gated_delta(h=1,d=4)}).",
            learned=tuple(f"{FULL},2*gated_delta(h=1,d={d})" for d in (8, 16, 32)),
            not_learned=tuple(f"{FULL},2*gated_delta(h=1,d={d})" for d in (2, 4)),
        ),
        Finding(
            "Attention that sees the first token and the last 2, 8 and 16, so 128, 512 and 1,024 numbers of "
            "the latter, does not learn it ({softmax(h=1,d=32),2*masked_softmax(h=1,d=32,first=1,last=2)}, "
            "{softmax(h=1,d=32),2*masked_softmax(h=1,d=32,first=1,last=8)} and "
            "{softmax(h=1,d=32),2*masked_softmax(h=1,d=32,first=1,last=16)}), and without a mask it does.",
            learned=(f"{FULL},2*{FULL}",),
            not_learned=tuple(
                f"{FULL},2*masked_softmax(h=1,d=32,first=1,last={last})" for last in (2, 8, 16)
            ),
        ),
        Finding(
            "So the count of numbers does not decide: a recurrence of 64 learns what masked attention of "
            "1,024 does not. That capacity decides and not structure, as this page said before, is "
            "withdrawn.",
            learned=(f"{FULL},2*gated_delta(h=1,d=8)",),
            not_learned=(f"{FULL},2*masked_softmax(h=1,d=32,first=1,last=16)",),
        ),
        Finding(
            "Hard attention has no control of its own kind, so its {softmax(h=1,d=32),2*hard(h=1,d=32)} is "
            "no statement.",
            no_statement=(f"{FULL},2*hard(h=1,d=32)",),
        ),
    ),
    silent=(
        "Masked attention sees fixed positions, whereas a recurrence can choose what to hold: the two differ "
        "in more than the count of numbers, and this does not tell which difference matters. The last 16 "
        "tokens leave two of the 16 entries of z_1 out of sight; and in training, where eight questions of "
        "two tokens stand one behind the other, the last of them sees the first token and "
        "questions. Hard attention "
        "has no gradient into its keys and queries, so it can only complete what it starts with. Each cell "
        "is one seed from the lookup start."
    ),
    x="numbers that a layer holds",
    quick=_cells((2, 4), (8,), 1, 600),  # the recurrences are runs of `depth`
    standard=_cells((2, 4, 8, 16), (2, 8, 16), 1, 600),
    full=_cells((2, 4, 8, 16), (1, 2, 4, 8, 16), 5, 20000),
)
