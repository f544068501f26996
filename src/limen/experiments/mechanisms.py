"""Which mechanism looks up a position: softmax, hard, linear, gated, sparse, windowed, recurrent?

The third check that [bhattamishra2024] asks for: every mixer of the catalogue on the same task with the
same budget.
"""

from limen.training.experiment import Experiment, ExperimentCell
from limen.training.spec import Start

_FEW = 4
KEYED = (  # those that have queries and keys, and so can begin as a lookup
    "softmax(h=1,d=16)",
    "hard(h=1,d=16)",
    "conv_softmax(h=1,d=16)",
    "window(h=1,d=16,W=8)",
    "masked_softmax(h=1,d=16,first=4,last=4)",
    "top_k(h=1,d=16,k=4)",
    "block_sparse(h=1,d=16,B=4,k=1)",
    "linear(h=1,d=16)",
    "gated_linear(h=1,d=16)",
    "delta(h=1,d=16)",
    "gated_delta(h=1,d=16)",
    "kda(h=1,d=16)",
    "log_linear(h=1,d=16,levels=7)",
    "mamba2(h=1,d=16,s=16)",
)
OTHERS = ("mamba(d=32,s=8)", "lstm(d=64)", "relu_rnn(d=64)")


def _cells(n: int, seeds: int, steps: int, starts: tuple[Start, ...]) -> tuple[ExperimentCell, ...]:
    """Each mixer on n symbols, and on four: whoever does not learn these says nothing about n."""
    return tuple(
        ExperimentCell(
            f"n={m}: {stack}",
            f"index(n={m},S=32)",
            stack,
            stack.split("(")[0],
            f"n = {m}",
            None if m == _FEW else f"n={_FEW}: {stack}",
            starts if stack in KEYED else ("random",),
            seeds,
            settings={"queries": 16, "steps": steps, "every": 100},
        )
        for m in (n, _FEW)
        for stack in (*KEYED, *OTHERS)
    )


EXPERIMENT = Experiment(
    title="Index by every mixer",
    shows=(
        "Softmax, with a convolution or in blocks too, the delta rules and gated linear attention learn it "
        "in a few hundred steps; hard, linear and log-linear attention and Mamba-2 are on the way; windows "
        "answer what they still see."
    ),
    silent=(
        "The control of a mixer is the mixer itself on four symbols. LSTM, ReLU and Mamba-1 recurrences, "
        "which have no keys to begin with, and hard and top-k attention, whose choice has no gradient, do "
        "not learn these either: nothing is said of them. Not learned in 300 steps is not never: linear "
        "attention of this size learns the task in more steps (`index_length`)."
    ),
    x="mixer",
    quick=_cells(20, 1, 300, ("lookup",)),
    standard=_cells(20, 1, 300, ("lookup", "random")),
    full=_cells(100, 5, 50000, ("lookup", "random")),
)
