"""Which mechanism looks up a position: softmax, hard, linear, gated, sparse, windowed, recurrent?

This is the third check that [bhattamishra2024] asks for: every mixer of the catalogue on the same task with
the same budget, but for `fetch`, whose address has no gradient.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding
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
_LEARNED = (*KEYED[:1], *KEYED[2:3], *KEYED[6:7], *KEYED[8:12])
_LATER = (*KEYED[7:8], *KEYED[12:])
OTHERS = ("mamba(d=32,s=8)", "lstm(d=64)", "relu_rnn(d=64)")
_UNSAID = (*KEYED[1:2], *KEYED[5:6], *OTHERS)


def _cells(n: int, seeds: int, steps: int, starts: tuple[Start, ...]) -> tuple[ExperimentCell, ...]:
    """Cells of each mixer on n symbols, and on four as the control."""
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
        Finding(
            "From the lookup start softmax attention learns the task in 300 steps, also with a convolution "
            "or in blocks, and so do the delta rules and gated linear attention. From a random start softmax "
            "attention does, with and without a convolution, and of the others none.",
            learned=tuple(f"n=20: {stack}" for stack in _LEARNED),
        ),
        Finding(
            "Linear attention, log-linear attention and Mamba-2 do not reach the threshold in these steps "
            "({n=20: linear(h=1,d=16)}, {n=20: log_linear(h=1,d=16,levels=7)} and "
            "{n=20: mamba2(h=1,d=16,s=16)}).",
            not_learned=tuple(f"n=20: {stack}" for stack in _LATER),
        ),
        Finding(
            "Windows, which are proved to miss the rest, answer about the share of symbols that they still "
            "see.",
            not_learned=("n=20: window(h=1,d=16,W=8)", "n=20: masked_softmax(h=1,d=16,first=4,last=4)"),
        ),
        Finding(
            "Hard and top-k attention, whose choices have no gradient, and the LSTM, ReLU and Mamba-1 "
            "recurrences, which start at random, do not learn four symbols either. So 300 steps make no "
            "statement about them.",
            no_statement=tuple(f"n={n}: {stack}" for n in (20, 4) for stack in _UNSAID),
        ),
    ),
    silent=(
        "The control of each mixer is the same mixer on four symbols. A task that was not learned in 300 "
        "steps may still be learned later: linear attention of this size learns it in more steps "
        "(`index_length`). The order of the mixers is that of this budget, one rate and one seed."
    ),
    x="mixer",
    quick=_cells(20, 1, 300, ("lookup",)),
    standard=_cells(20, 1, 300, ("lookup", "random")),
    full=_cells(100, 5, 50000, ("lookup", "random")),
)
