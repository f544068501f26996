"""Does the limit of block-sparse attention on 2-Sum reach beyond one layer?

This is the second open question of [ye2026]. The theorem counts the bits of one layer's messages. A second
layer may ask again, using what the first one found.
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
            "With messages of 8 and of 32 numbers more layers get further, with messages of 2 numbers all "
            "stay below the floor: {B=4: block_sparse(h=1,d=32,B=4,k=1)}, {B=4: "
            "2*block_sparse(h=1,d=32,B=4,k=1)} and {B=4: 3*block_sparse(h=1,d=32,B=4,k=1)} with 32.",
            rising=tuple(
                tuple(f"B=4: {layers}block_sparse(h=1,d={d},B=4,k=1)" for layers in ("", "2*", "3*"))
                for d in (8, 32)
            ),
        ),
    ),
    silent=(
        "A gain may come from more weights as well as from asking twice. No proof covers more than one "
        "layer here. The control is full attention: that sparse layers can be trained to this task in "
        "these steps is not shown. Each cell is one seed from the lookup start."
    ),
    x="d, the numbers of a message",
    quick=_cells(4, (2, 8), (1, 2), 1, 400),
    standard=_cells(4, (2, 8, 32), (1, 2, 3), 1, 400),
    full=_cells(8, (2, 4, 8, 16, 32), (1, 2, 3, 4), 5, 20000),
    above_floor=True,
)
