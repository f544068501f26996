"""2-Sum by block-sparse attention, with a fixed number of blocks: what the sparse experiments share."""

from limen.training.experiment import ExperimentCell

BLOCKS = 8
SETTINGS = {"steps": 600, "queries": 16}


def sparse(
    B: int, d: int, layers: int, series: str, x: float | str, seeds: int = 1, steps: int = 600
) -> ExperimentCell:
    """A cell with n = 8B residues, one block opened; floor: the right block opened by luck, else a guess."""
    mixer = f"block_sparse(h=1,d={d},B={B},k=1)"
    stack = mixer if layers == 1 else f"{layers}*{mixer}"
    return ExperimentCell(
        f"B={B}: {stack}",
        task(B),
        stack,
        x,
        series,
        full(B).name,
        ("lookup",),
        seeds,
        0.5 + 0.5 / BLOCKS,
        SETTINGS | {"steps": steps},
    )


def full(B: int) -> ExperimentCell:
    """The control with every token in sight: it must be learned before a failure is reported."""
    return ExperimentCell(
        f"B={B}: full", task(B), "softmax(h=1,d=32)", 32, f"B = {B}, full", settings=SETTINGS
    )


def task(B: int) -> str:
    return f"two_sum(n={BLOCKS * B},M=128)"
