"""Does accuracy on 2-Sum follow the ratio H·d·p / B of what a block's message holds to what the block holds?

This is the second experiment that [ye2026] asks for: one layer of block-sparse attention with eight blocks
of any size, so that the share of opened blocks stays the same.
"""

from limen.experiments._two_sum import full, sparse
from limen.training.experiment import Experiment, ExperimentCell


def _cells(
    blocks: tuple[int, ...], sizes: tuple[int, ...], seeds: int, steps: int
) -> tuple[ExperimentCell, ...]:
    controls = tuple(full(B) for B in blocks)
    return (*controls, *(sparse(B, d, 1, f"B = {B}", d, seeds, steps) for B in blocks for d in sizes))


EXPERIMENT = Experiment(
    title="2-Sum by one sparse layer: message against block",
    shows=(
        "With a fixed number of blocks, the accuracy above the floor rises with the size of the message "
        "and falls with the size of the block: whatever is not opened must fit into the message."
    ),
    silent=(
        "There is no sharp threshold, and messages of float32 numbers have enough bits in theory. The "
        "floor is the accuracy of opening one of eight blocks and guessing otherwise."
    ),
    x="d, the numbers of a message",
    quick=_cells((2, 8), (2, 32), 1, 400),
    standard=_cells((2, 4, 8), (2, 8, 32), 1, 400),
    full=_cells((2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64), 5, 20000),
    above_floor=True,
)
