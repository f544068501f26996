"""Does the limit of block-sparse attention on 2-Sum reach beyond one layer?

This is the second open question of [ye2026]. A second layer may ask again, using what the first one
found. What is proved of two layers is about messages of few bits and long texts.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_TASK, _BLOCK = "two_sum(n=16,M=64)", 4
_CONTROL = "full"
_SETTINGS = {"queries": 16, "steps": 800, "every": 100, "rate": 3e-3}


def _cell(name: str, stack: str, x: int, series: str, seeds: int, steps: int) -> ExperimentCell:
    return ExperimentCell(
        name,
        _TASK,
        stack,
        x,
        series,
        None if name == _CONTROL else _CONTROL,
        ("random",),
        seeds,
        None if name == _CONTROL else 0.5 + _BLOCK / 32,  # the right block is opened by luck, else a guess
        _SETTINGS | {"steps": steps},
    )


def _cells(
    layers: tuple[int, ...], sizes: tuple[int, ...], seeds: int, steps: int
) -> tuple[ExperimentCell, ...]:
    """Four blocks of four tokens, one of them opened; full attention as the control."""
    return (
        _cell(_CONTROL, "unit_softmax(h=4,d=8,d_k=16)", 32, "full attention", seeds, steps),
        *(
            _cell(
                f"{k} sparse, d={d}",
                f"{f'{k}*' if k > 1 else ''}block_sparse(h=1,d={d},B={_BLOCK},k=1)",
                d,
                f"{k} sparse",
                seeds,
                steps,
            )
            for k in layers
            for d in sizes
        ),
    )


_LAYERS, _SIZES = (1, 2), (8,)

EXPERIMENT = Experiment(
    title="2-Sum by one and two sparse layers",
    shows=(
        Finding(
            "Full attention learns the task. One and two sparse layers with one of four blocks opened do "
            "not in these steps, and are right on {1 sparse, d=8} and {2 sparse, d=8}.",
            learned=(_CONTROL,),
            not_learned=tuple(f"{k} sparse, d={d}" for k in _LAYERS for d in _SIZES),
        ),
    ),
    silent=(
        "A gain may come from more weights as well as from asking twice. At these sizes no proof covers "
        "more than one layer. The control is full attention: that sparse layers can be trained to this task "
        "in these steps is not shown. No rate was searched."
    ),
    x="d, half of the numbers of a message",
    quick=_cells((1, 2), (8,), 1, 800),
    standard=_cells(_LAYERS, _SIZES, 3, 800),
    full=_cells((1, 2, 3, 4), (2, 4, 8, 16, 32), 5, 20000),
    above_floor=True,
)
