"""Which mechanism looks up a position: softmax, hard, linear, gated, sparse, windowed, recurrent?

This is the third check that [bhattamishra2024] asks for: every mixer of the catalogue on the same task with
the same budget, but for `fetch`, whose address has no gradient, `relu_rnn`, whose units can begin dead, and
`mla` and `gated_softmax`, softmax heads of other shapes. Here is also the third experiment of [ye2026]:
attention that is masked to about as many numbers as a recurrence keeps.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_FEW = 4
WHOLE = (
    "softmax(h=1,d=16)",
    "unit_softmax(h=1,d=16)",
    "conv_softmax(h=1,d=16)",
    "block_sparse(h=1,d=16,B=4,k=1)",
)
STATES = (
    "linear(h=1,d=16)",
    "gated_linear(h=1,d=16)",
    "delta(h=1,d=16)",
    "gated_delta(h=1,d=16)",
    "kda(h=1,d=16)",
    "log_linear(h=1,d=16,levels=7)",
    "retnet(h=1,d=16)",
    "rwkv7(h=1,d=16)",
)
MASKED = ("window(h=1,d=16,W=8)", "masked_softmax(h=1,d=16,first=4,last=4)")
CHOOSING = ("hard(h=1,d=16)", "top_k(h=1,d=16,k=4)")
SLOWER = ("mamba2(h=1,d=16,s=16)", "mamba(d=32,s=8)", "s4d(d=32,s=16)", "lstm(d=64)")
STACKS = (*WHOLE, *STATES, *MASKED, *CHOOSING, *SLOWER)
MISSED = (*MASKED, *CHOOSING, *SLOWER)  # they have a control; nothing is said of the failure of others


def _cells(stacks: tuple[str, ...], n: int, seeds: int, steps: int) -> tuple[ExperimentCell, ...]:
    """Cells of these mixers; the control of a longer text is the same mixer on four symbols."""
    return tuple(
        ExperimentCell(
            f"n={n}: {stack}",
            f"index(n={n},S=32)",
            stack,
            stack.split("(")[0],
            f"n = {n}",
            f"n={_FEW}: {stack}" if n != _FEW and stack in MISSED else None,
            ("random",),
            seeds,
            settings={"queries": 12, "steps": steps, "every": 100},
        )
        for stack in stacks
    )


EXPERIMENT = Experiment(
    title="Index by every mixer",
    shows=(
        Finding(
            "From random starts softmax attention learns 20 positions: as it is, with QK-norm, with a "
            "convolution, and in blocks of four of which one is opened.",
            learned=tuple(f"n=20: {stack}" for stack in WHOLE),
        ),
        Finding(
            "So do seven recurrences whose states have 256 or 272 numbers, of them linear attention with "
            "one of three seeds ({n=20: linear(h=1,d=16)} on average), and log-linear attention with 1,088. "
            "Softmax attention that is masked to 224 numbers, to a window or to the first and the last four "
            "tokens, answers about the share of symbols that it still sees ({n=20: window(h=1,d=16,W=8)} "
            "and {n=20: masked_softmax(h=1,d=16,first=4,last=4)}); it is proved to miss the rest. So the "
            "count of numbers does not decide.",
            learned=tuple(f"n=20: {stack}" for stack in STATES),
            not_learned=tuple(f"n=20: {stack}" for stack in MASKED),
        ),
        Finding(
            "Mamba-2 with 400 numbers ({n=20: mamba2(h=1,d=16,s=16)}) and an LSTM with 128 ({n=20: "
            "lstm(d=64)}) learn four positions with every seed, and 20 not in these steps.",
            learned=("n=4: mamba2(h=1,d=16,s=16)", "n=4: lstm(d=64)"),
            not_learned=("n=20: mamba2(h=1,d=16,s=16)", "n=20: lstm(d=64)"),
        ),
        Finding(
            "Hard and top-k attention, whose choices have no gradient, and S4D do not learn four positions "
            "either, and Mamba-1 learns them with one seed of three: no statement about these.",
            learned=("n=4: mamba(d=32,s=8)",),
            no_statement=(
                *(f"n={n}: {stack}" for n in (20, 4) for stack in (*CHOOSING, "s4d(d=32,s=16)")),
                "n=20: mamba(d=32,s=8)",
            ),
        ),
    ),
    silent=(
        "The control of each mixer is the same mixer on four symbols. What was not learned in 800 steps may "
        "be learned later, at another rate, or with a larger state (`index_length`). The order of the "
        "mixers is that of this budget: one rate, no search."
    ),
    x="mixer",
    quick=_cells(WHOLE, 20, 1, 800),
    standard=(*_cells(STACKS, 20, 3, 800), *_cells(MISSED, _FEW, 3, 800)),
    full=(*_cells(STACKS, 100, 5, 50000), *_cells(MISSED, _FEW, 5, 50000)),
)
