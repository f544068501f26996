"""Does accuracy on 2-Sum follow the ratio H·d·p / B of what a block's message holds to what the block holds?

This is the second experiment that [ye2026] asks for: one layer of block-sparse attention with eight blocks
of any size, so that the share of opened blocks stays the same.
"""

from limen.experiments._two_sum import full, sparse
from limen.training.experiment import Experiment, ExperimentCell, Finding


def _cells(
    blocks: tuple[int, ...], sizes: tuple[int, ...], seeds: int, steps: int
) -> tuple[ExperimentCell, ...]:
    controls = tuple(full(B) for B in blocks)
    return (*controls, *(sparse(B, d, 1, f"B = {B}", d, seeds, steps) for B in blocks for d in sizes))


EXPERIMENT = Experiment(
    title="2-Sum by one sparse layer: message against block",
    shows=(
        Finding(
            "With a fixed number of blocks, accuracy rises with the size of the message and falls with the "
            "size of the block.",
            learned=("B=2: full", "B=4: full", "B=8: full"),
            not_learned=tuple(
                f"B={B}: block_sparse(h=1,d={d},B={B},k=1)" for B in (2, 4, 8) for d in (2, 8, 32)
            ),
            rising=(
                *(tuple(f"B={B}: block_sparse(h=1,d={d},B={B},k=1)" for d in (2, 8, 32)) for B in (2, 4, 8)),
                *(tuple(f"B={B}: block_sparse(h=1,d={d},B={B},k=1)" for B in (8, 4, 2)) for d in (2, 8, 32)),
            ),
        ),
        Finding(
            "With blocks of eight tokens no message gets clearly above the floor "
            "({B=8: block_sparse(h=1,d=32,B=8,k=1)} at most).",
            not_learned=("B=8: block_sparse(h=1,d=32,B=8,k=1)",),
        ),
    ),
    silent=(
        "There is no sharp threshold, no law in H·d·p / B is fitted, and messages of float32 numbers have "
        "enough bits in theory. The floor is the accuracy of opening one of eight blocks and guessing "
        "otherwise. The control is full attention: that a sparse layer can be trained to this task in these "
        "steps is not shown. Each cell is one seed from the lookup start."
    ),
    x="d, half of the numbers of a message",
    quick=_cells((2, 8), (2, 32), 1, 400),
    standard=_cells((2, 4, 8), (2, 8, 32), 1, 400),
    full=_cells((2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64), 5, 20000),
    above_floor=True,
)
