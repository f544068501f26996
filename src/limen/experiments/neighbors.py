"""Does finding the nearest labelled point take two layers of attention?

These are the nearest neighbours of [bhattamishra2024]. A point and its label are two tokens, so one layer
would have to send all labels to one position. Two layers first find the point and then fetch its label.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_TWO = "2*softmax(h=1,d=32)"


def _cell(n: int, stack: str, x: str, seeds: int, steps: int) -> ExperimentCell:
    settings = {"width": 32, "hidden": 64, "batch": 32, "steps": steps, "every": 100, "shifts": stack == _TWO}
    control = None if stack == _TWO else f"n={n}: {_TWO}"
    task = f"nearest_neighbor(n={n},D=3,g=4)"
    return ExperimentCell(
        f"n={n}: {stack}", task, stack, x, f"n = {n}", control, ("random",), seeds, settings=settings
    )


def _cells(n: int, seeds: int, steps: int, more: dict[str, str]) -> tuple[ExperimentCell, ...]:
    stacks = {"two softmax": _TWO, "one softmax": "softmax(h=1,d=32)"} | more
    return tuple(_cell(n, stack, x, seeds, steps) for x, stack in stacks.items())


MORE = {"linear": "2*linear(h=1,d=32)", "2 gated delta": "2*gated_delta(h=1,d=32)", "LSTM": "lstm(d=64)"}

EXPERIMENT = Experiment(
    title="Nearest neighbour by one layer and by two",
    shows=(
        Finding("Two layers of attention learn the task on random points.", learned=(f"n=8: {_TWO}",)),
        Finding(
            "One layer does no better than counting ({n=8: softmax(h=1,d=32)}).",
            not_learned=("n=8: softmax(h=1,d=32)",),
        ),
        Finding(
            "Two recurrent layers and an LSTM do not reach the threshold in this budget, but come above "
            "counting ({n=8: 2*linear(h=1,d=32)}, {n=8: 2*gated_delta(h=1,d=32)} and {n=8: lstm(d=64)}).",
            not_learned=tuple(f"n=8: {stack}" for stack in MORE.values()),
        ),
    ),
    silent=(
        "A model that has learned random points has not learned the task: on near-misses the same two "
        "layers are right on {n=8: 2*softmax(h=1,d=32) @ hard}. The control is two softmax layers: that a "
        "recurrence can be trained to this task in these steps is not shown. The embeddings of points "
        "start as their directions, which a model that sees only tokens does not know."
    ),
    x="stack",
    threshold=0.95,
    quick=_cells(8, 1, 1600, {}),
    standard=_cells(8, 3, 1600, MORE),
    full=_cells(64, 5, 100000, MORE),
)
