"""Which mechanism looks up a position: softmax, hard, linear, gated, sparse, windowed, recurrent?

This is the third check that [bhattamishra2024] asks for: every mixer of the catalogue on the same task with
the same budget.
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
        "Softmax attention learns the task in a few hundred steps, also with a convolution or in blocks, "
        "and so do the delta rules and gated linear attention. Hard, linear and log-linear attention and "
        "Mamba-2 are on the way. Windows answer what they still see."
    ),
    silent=(
        "The control of each mixer is the same mixer on four symbols. LSTM, ReLU and Mamba-1 recurrences "
        "start without keys, and hard and top-k attention make choices that have no gradient. They fail "
        "on four symbols, too, so no statement is made about them. A task that was not learned in 300 "
        "steps may still be learned later: linear attention of this size learns it in more steps "
        "(`index_length`)."
    ),
    x="mixer",
    quick=_cells(20, 1, 300, ("lookup",)),
    standard=_cells(20, 1, 300, ("lookup", "random")),
    full=_cells(100, 5, 50000, ("lookup", "random")),
)
