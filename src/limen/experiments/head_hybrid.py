"""Do softmax and recurrent heads side by side in one layer do what layers in series do?

This is an open question of [ye2026] about head-wise hybrids. The depth rule counts every layer with a
softmax head as a full layer.
"""

from limen.experiments.depth import FULL, PLAIN
from limen.training.experiment import Experiment, ExperimentCell, Finding


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
        Finding(
            "Two head-wise layers learn two hops, as two full layers do.",
            learned=("two full", "two layers, head-wise, d=4", "two layers, head-wise, d=32"),
        ),
        Finding(
            "One head-wise layer does not.",
            not_learned=("one layer, head-wise, d=4", "one layer, head-wise, d=32"),
        ),
        Finding(
            "In series the full layer followed by a large state learns them; followed by a small state, or "
            "behind either state, it does not in this budget.",
            learned=("layer-wise, full first, d=32",),
            not_learned=(
                "layer-wise, full first, d=4",
                "layer-wise, full last, d=4",
                "layer-wise, full last, d=32",
            ),
        ),
    ),
    silent=(
        "Two head-wise layers contain two softmax heads in series, so by the depth rule they have weights "
        "for the task; that training finds them is the measurement. Each cell is one seed from the lookup "
        "start. The tables have one part, so none of these stacks is ruled out."
    ),
    x="stack",
    quick=_cells(4, 1, 400),
    standard=(*_cells(4, 1, 400), *_cells(32, 1, 400)[1:]),
    full=(*_cells(4, 5, 20000), *_cells(32, 5, 20000)[1:]),
)
