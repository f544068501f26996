"""Does the limit of block-sparse attention on 2-Sum reach beyond one layer?

This is the second open question of [ye2026]. The theorem counts the bits of one layer's messages. A second
layer may ask again, using what the first one found.
"""

from limen.experiments._two_sum import full, sparse
from limen.training.experiment import Experiment, ExperimentCell


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
        "With eight blocks of four tokens, two sparse layers get little further than one layer with "
        "messages of the same size."
    ),
    silent=(
        "A gain may come from more weights as well as from asking twice. No proof covers more than one "
        "layer here."
    ),
    x="d, the numbers of a message",
    quick=_cells(4, (2, 8), (1, 2), 1, 400),
    standard=_cells(4, (2, 8, 32), (1, 2, 3), 1, 400),
    full=_cells(8, (2, 4, 8, 16, 32), (1, 2, 3, 4), 5, 20000),
    above_floor=True,
)
