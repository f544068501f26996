"""Does it matter where a hybrid has its full layers: first, last or alternating?

By the depth rule it does, in long texts. A recurrence before the full layers brings the start of the chain to
the last token. A recurrence after them brings nothing that a hop needs.
"""

from limen.experiments.depth import PARTS, WIDE
from limen.training.experiment import Experiment, ExperimentCell, Finding

_STATE = "gated_delta(h=1,d={d})"
_FLOOR = 1 / 4  # of a model that knows all but which of the four parts is asked for
ORDERS = {
    "recurrence first": ("R", "F", "F"),
    "in turn": ("F", "R", "F"),
    "recurrence last": ("F", "F", "R"),
    "first and last": ("R", "F", "R", "F"),
}


def _cells(
    d: int, seeds: int, steps: int, orders: dict[str, tuple[str, ...]] = ORDERS
) -> tuple[ExperimentCell, ...]:
    task, layers = "composition(m=4,n1=4)", {"F": WIDE, "R": _STATE.format(d=d)}
    control = "three full"
    settings = PARTS | {"steps": steps}
    full = ExperimentCell(
        control, task, f"3*{WIDE}", control, "full", seeds=seeds, floor=_FLOOR, settings=settings
    )
    cells = (
        ExperimentCell(
            f"{name}, d={d}",
            task,
            ",".join(layers[one] for one in order),
            name,
            f"states of d = {d}",
            control,
            seeds=seeds,
            floor=_FLOOR,
            settings=settings,
        )
        for name, order in orders.items()
    )
    return (full, *cells)


EXPERIMENT = Experiment(
    title="The order of layers in a hybrid",
    shows=(
        Finding(
            "Two full layers behind a recurrence learn two question-dependent hops, as three full layers do, "
            "with a small state and with a large one.",
            learned=("three full", "recurrence first, d=8", "recurrence first, d=32"),
        ),
        Finding(
            "With the recurrence between or after them, a large state learns them and a small one does not.",
            learned=("in turn, d=32", "recurrence last, d=32"),
            not_learned=("in turn, d=8", "recurrence last, d=8"),
        ),
        Finding(
            "With a recurrence first and third the small state learns the task and the large one misses the "
            "threshold ({first and last, d=32}). A large state can do what a small one does, so this is a "
            "failure of training.",
            learned=("first and last, d=8",),
            not_learned=("first and last, d=32",),
        ),
    ),
    silent=(
        "The rule says which stacks have weights for long texts. At 22 tokens it rules out none of these "
        "stacks. Each cell is one seed from the lookup start."
    ),
    x="order",
    quick=_cells(8, 1, 600, {name: ORDERS[name] for name in list(ORDERS)[:3]}),
    standard=(*_cells(8, 1, 600), *_cells(32, 1, 600)[1:]),
    full=(*_cells(8, 5, 20000), *_cells(32, 5, 20000)[1:]),
)
