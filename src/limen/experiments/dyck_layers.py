"""Which architectures learn bounded Dyck words, and how many layers of attention does it take?

The second experiment that [bhattamishra2024] asks for.  Faults are two closing brackets swapped, which no
count shows; after every bracket it is asked whether something was wrong so far.
"""

from limen.training.experiment import Experiment, ExperimentCell

_LSTM = "lstm(d=32)"


def _cell(
    stack: str, n: int, x: str, seeds: int, steps: int, width: int = 32, rate: float = 3e-3
) -> ExperimentCell:
    settings = {
        "hard": True,
        "width": width,
        "hidden": 2 * width,
        "batch": 64,
        "steps": steps,
        "rate": rate,
        "every": 100,
    }
    name, control = f"n={n}: {stack}, width {width}, rate {rate:g}", f"n={n}: {_LSTM}, width 32, rate 0.003"
    own = None if name == control else control
    return ExperimentCell(
        name, f"dyck(n={n},k=2,D=4)", stack, x, f"n = {n}", own, ("random",), seeds, settings=settings
    )


def _attention(n: int, seeds: int, steps: int, rates: tuple[float, ...]) -> tuple[ExperimentCell, ...]:
    return tuple(
        _cell(f"{k}*softmax(h=1,d={w})", n, f"{k} softmax, width {w}, rate {rate:g}", seeds, steps, w, rate)
        for k in (1, 2)
        for w in (32, 64, 128)
        for rate in rates
    )


EXPERIMENT = Experiment(
    title="Bounded Dyck words by recurrences and by layers of attention",
    shows="The LSTM learns them; one layer of attention does not in this budget, two get further.",
    silent=(
        "The theorem rules out one small softmax layer for long texts; at these lengths and widths it does "
        "not, so a failure of attention here is one of training. Widths show no law."
    ),
    x="stack",
    threshold=0.97,
    quick=(
        _cell(_LSTM, 16, "LSTM, 32", 1, 1000),
        _cell("2*softmax(h=1,d=32)", 16, "2 softmax, width 32", 1, 1000),
        _cell("1*softmax(h=1,d=32)", 16, "1 softmax, width 32", 1, 1000),
    ),
    standard=(
        _cell(_LSTM, 32, "LSTM, 32", 3, 2000),
        _cell("relu_rnn(d=64,stages=2,inner=128)", 32, "ReLU RNN, 64", 1, 2000),
        _cell("2*linear(h=1,d=32)", 32, "2 linear", 1, 2000),
        _cell("2*gated_delta(h=1,d=32)", 32, "2 gated delta", 1, 2000),
        *_attention(32, 1, 1500, (3e-3,)),
    ),
    full=(_cell(_LSTM, 96, "LSTM, 32", 5, 50000), *_attention(96, 5, 50000, (3e-4, 1e-3, 3e-3))),
)
