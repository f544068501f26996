"""Does it matter where a hybrid has its full layers: first, last or alternating?

By the depth rule it does. A recurrence before the full layers brings the start of the chain to the last
token. A recurrence after them brings nothing that a hop needs.
"""

from limen.experiments.depth import PARTS, WIDE
from limen.training.experiment import Experiment, ExperimentCell

_STATE = "gated_delta(h=1,d={d})"
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
    full = ExperimentCell(control, task, f"3*{WIDE}", control, "full", seeds=seeds, settings=settings)
    cells = (
        ExperimentCell(
            f"{name}, d={d}",
            task,
            ",".join(layers[one] for one in order),
            name,
            f"states of d = {d}",
            control,
            seeds=seeds,
            floor=0.25,
            settings=settings,
        )
        for name, order in orders.items()
    )
    return (full, *cells)


EXPERIMENT = Experiment(
    title="The order of layers in a hybrid",
    shows=(
        "Two full layers behind a recurrence learn two question-dependent hops, as three full layers do, "
        "with a small state and with a large one. With the recurrence between or after them, a small "
        "state does not learn them and a large one does, since 20 tokens fit into 1,024 numbers."
    ),
    silent=(
        "The rule says which stacks have weights for long texts. At 20 tokens it rules out none of these "
        "stacks. A large recurrence first and last just misses the threshold, although the small one "
        "learns the task: that is a matter of training, not of capacity."
    ),
    x="order",
    quick=_cells(8, 1, 600, {name: ORDERS[name] for name in list(ORDERS)[:3]}),
    standard=(*_cells(8, 1, 600), *_cells(32, 1, 600)[1:]),
    full=(*_cells(8, 5, 20000), *_cells(32, 5, 20000)[1:]),
)
