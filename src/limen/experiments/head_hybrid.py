"""Do softmax and recurrent heads side by side in one layer do what layers in series do?

This is an open question of [ye2026] about head-wise hybrids. The depth rule counts every layer with a
softmax head as a full layer.
"""

from limen.experiments.depth import FULL, PLAIN
from limen.training.experiment import Experiment, ExperimentCell


def _cells(d: int, seeds: int, steps: int) -> tuple[ExperimentCell, ...]:
    small = f"gated_delta(h=1,d={d})"
    stacks = {
        "two layers, head-wise": f"2*({FULL}|{small})",
        "one layer, head-wise": f"{FULL}|{small}",
        "layer-wise, full first": f"{FULL},{small}",
        "layer-wise, full last": f"{small},{FULL}",
    }
    control = ExperimentCell(
        "two full", "composition(m=16,n1=1)", f"{FULL},{FULL}", "two full", "full", settings=PLAIN
    )
    return (
        control,
        *(
            ExperimentCell(
                f"{name}, d={d}",
                "composition(m=16,n1=1)",
                stack,
                name,
                f"d = {d}",
                "two full",
                seeds=seeds,
                settings=PLAIN | {"steps": steps},
            )
            for name, stack in stacks.items()
        ),
    )


EXPERIMENT = Experiment(
    title="Heads side by side against layers in series",
    shows=(
        "Two head-wise layers learn two hops, as two full layers do, and one head-wise layer does not. In "
        "series, the full layer must come first, and then only a large state learns them, because the "
        "whole table fits into it."
    ),
    silent=(
        "Two head-wise layers contain two softmax heads in series, so the depth rule predicts that they "
        "learn the task."
    ),
    x="stack",
    quick=_cells(4, 1, 400),
    standard=(*_cells(4, 1, 400), *_cells(32, 1, 400)[1:]),
    full=(*_cells(4, 5, 20000), *_cells(32, 5, 20000)[1:]),
)
