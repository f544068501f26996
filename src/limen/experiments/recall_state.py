"""What does a state of so many numbers recall, and which mixer makes the most of it?

Accuracy against the size of the state, across mixers: fixed addresses (`index`), keys drawn anew
(`retrieval`), and keys and values in two tokens (`recall`, the MQAR of [arora2024zoology]), beside the
figures of [guo2025loglinear].
"""

from limen.training.experiment import Accuracies, Experiment, ExperimentCell, Published

_GRID = {"queries": 20, "steps": 700}
_KEYS = {"queries": 20, "steps": 800}


def _numbers(stack: str) -> int:
    """What crosses the cut, in numbers."""
    from limen.core.architecture import Architecture

    return Architecture.parse(stack).state_bits(20) // 16 if "softmax" not in stack else 0  # type: ignore[operator]


def _grid(sizes: tuple[int, ...], seeds: int) -> tuple[ExperimentCell, ...]:
    """Forty symbols at fixed addresses."""
    largest = f"linear(h=1,d={sizes[-1]})"
    return tuple(
        ExperimentCell(
            f"index n=40: linear(h=1,d={d})",
            "index(n=40,S=32)",
            f"linear(h=1,d={d})",
            _numbers(f"linear(h=1,d={d})"),
            "index n = 40, linear",
            None if d == sizes[-1] else f"index n=40: {largest}",
            seeds=seeds,
            settings=_GRID,
            panel="fixed addresses",
        )
        for d in sizes
    )


MIXERS = {
    "linear": "linear(h=1,d={d})",
    "gated linear": "gated_linear(h=1,d={d})",
    "delta": "delta(h=1,d={d})",
    "gated delta": "gated_delta(h=1,d={d})",
    "Kimi delta": "kda(h=1,d={d})",
    "Mamba-2": "mamba2(h=1,d={d},s={d})",
    "log-linear": "log_linear(h=1,d={d},levels=8)",
    "LSTM": "lstm(d={s})",
    "window": "window(h=1,d={d},W={w})",
}


def _keys(name: str, d: int, seeds: int, steps: int) -> ExperimentCell:
    """Twenty keys of 256, drawn anew, each with one of 32 values; states of about d² numbers."""
    stack = MIXERS[name].format(d=d, s=d * d // 2, w=d // 2 + 1)
    return ExperimentCell(
        f"retrieval n=20: {stack}",
        "retrieval(n=20,D=8,V=32)",
        stack,
        _numbers(stack),
        f"retrieval n = 20, {name}",
        "retrieval n=20: softmax",
        seeds=seeds,
        settings=_KEYS | {"steps": steps},
        panel="keys drawn anew",
    )


CONTROL = ExperimentCell(
    "retrieval n=20: softmax",
    "retrieval(n=20,D=8,V=32)",
    "softmax(h=1,d=32)",
    0,
    "retrieval n = 20, full",
    settings=_KEYS,
    panel="keys drawn anew",
)


def _mqar(width: int, n: int, seeds: int, steps: int) -> ExperimentCell:
    """Two layers of Mamba-2 with heads of 16 and states of 16, as replicated; n pairs, all asked."""
    stack = f"2*mamba2(h={width // 16},d=16,s=16)"
    batch = max(8, 2048 // (3 * n))
    settings = {
        "width": width,
        "hidden": 2 * width,
        "batch": batch,
        "steps": steps,
        "rate": 1e-2,
        "every": 250,
    }
    return ExperimentCell(
        f"recall n={n}: {stack}, width {width}",
        f"recall(n={n},V=256,q={n})",
        stack,
        n,
        f"MQAR, Mamba-2, width {width}",
        f"recall n={n}: two full",
        ("random",),
        seeds,
        settings=settings,
        panel="MQAR",
    )


def _mqar_control(n: int, steps: int) -> ExperimentCell:
    settings = {"batch": max(8, 2048 // (3 * n)), "steps": steps, "every": 250}
    return ExperimentCell(
        f"recall n={n}: two full",
        f"recall(n={n},V=256,q={n})",
        "2*softmax(h=1,d=64)",
        n,
        "MQAR, two full",
        None,
        ("random",),
        settings=settings,
        panel="MQAR",
    )


def _all_mqar(seeds: int, steps: int) -> tuple[ExperimentCell, ...]:
    pairs = (4, 8, 16, 32, 64)
    controls = tuple(_mqar_control(n, steps) for n in pairs)
    return (*controls, *(_mqar(width, n, seeds, steps) for width in (16, 32, 64) for n in pairs))


def _published(found: Accuracies) -> list[Published]:
    """The mean over the numbers of pairs, a width at a time."""
    figures = {
        "[guo2025loglinear], mean of 5 seeds": (46.9, 75.1, 89.6),
        "independent replication, mean of 5 seeds": (45.6, 75.1, 87.3),
    }
    rows = []
    for source, values in figures.items():
        for width, theirs in zip((16, 32, 64), values, strict=True):
            cells = [_mqar(width, n, 1, 1).name for n in (4, 8, 16, 32, 64)]
            ours = [found[cell]["accuracy"] for cell in cells if cell in found]
            mean = sum(ours) / len(ours) if len(ours) == len(cells) else None
            rows.append(Published(f"Mamba-2, width {width}, 4 to 64 pairs", theirs / 100, source, mean))
    return rows


EXPERIMENT = Experiment(
    title="Recall against the size of the state",
    shows=("Accuracy grows with the numbers of the state."),
    silent=(
        "All states but the smallest have more bits than the theorem asks for. The MQAR curves are not the "
        "published setting: no filler between the pairs, one number of pairs a model, 256 symbols, fresh "
        "samples, a small budget, one seed; only the order of the widths and of the pairs is comparable."
    ),
    x="numbers in the state, or pairs",
    quick=_grid((2, 4, 8, 16, 32), 1),
    standard=(
        *_grid((2, 4, 8, 16, 32), 2),
        CONTROL,
        *(_keys(name, d, 1, 800) for name in MIXERS for d in (4, 8, 16, 32)),
        *_all_mqar(1, 1500),
    ),
    full=(
        *_grid((2, 4, 8, 16, 32, 64), 5),
        CONTROL,
        *(_keys(name, d, 5, 10000) for name in MIXERS for d in (4, 8, 16, 32, 64)),
        *_all_mqar(5, 20000),
    ),
    published=_published,
    differences=(
        "Others train one model on texts of 256 tokens with 4 to 64 pairs among filler, thousands of "
        "symbols, for tens of epochs, and give the mean over the pairs; here a model sees one number of "
        "pairs without filler, 256 symbols, 1,500 steps and no search for a learning rate, and the mean is "
        "over five models."
    ),
)
