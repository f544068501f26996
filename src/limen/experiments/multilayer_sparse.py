"""Does the limit of block-sparse attention on 2-Sum reach beyond one layer?

This is the second open question of [ye2026]. A second layer may ask again, using what the first one
found. What is proved of two layers is about messages of few bits and long texts.
"""

from limen.experiments._two_sum import full, sparse
from limen.training.experiment import Experiment, ExperimentCell, Finding


def _cells(
    B: int, sizes: tuple[int, ...], layers: tuple[int, ...], seeds: int, steps: int
) -> tuple[ExperimentCell, ...]:
    cells = (
        sparse(B, d, k, f"{k} layer{'s' if k > 1 else ''}", d, seeds, steps) for k in layers for d in sizes
    )
    return (full(B), *cells)


EXPERIMENT = Experiment(
    title="2-Sum by one, two and three sparse layers",
    shows=(
        Finding(
            "With eight blocks of four tokens full attention learns the task, and no stack of one to three "
            "sparse layers does in this budget.",
            learned=("B=4: full",),
            not_learned=tuple(
                f"B=4: {layers}block_sparse(h=1,d={d},B=4,k=1)"
                for layers in ("", "2*", "3*")
                for d in (2, 8, 32)
            ),
        ),
        Finding(
            "With d = 8 and with d = 32 more layers get further ({B=4: block_sparse(h=1,d=32,B=4,k=1)}, "
            "{B=4: 2*block_sparse(h=1,d=32,B=4,k=1)} and {B=4: 3*block_sparse(h=1,d=32,B=4,k=1)} with 32); "
            "with d = 2 all stay below the floor. A message is a key and a value, 2d numbers.",
            rising=tuple(
                tuple(f"B=4: {layers}block_sparse(h=1,d={d},B=4,k=1)" for layers in ("", "2*", "3*"))
                for d in (8, 32)
            ),
        ),
    ),
    silent=(
        "A gain may come from more weights as well as from asking twice. At these sizes no proof covers more "
        "than one layer. The control is full attention: that sparse layers can be trained to this task in "
        "these steps is not shown. Each cell is one seed from the lookup start."
    ),
    x="d, half of the numbers of a message",
    quick=_cells(4, (2, 8), (1, 2), 1, 400),
    standard=_cells(4, (2, 8, 32), (1, 2, 3), 1, 400),
    full=_cells(8, (2, 4, 8, 16, 32), (1, 2, 3, 4), 5, 20000),
    above_floor=True,
)
