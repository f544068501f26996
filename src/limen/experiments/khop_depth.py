"""How many induction hops do two, three and four layers learn?

The task is `khop` of [sanford2024]. Its authors publish a table of errors for 98 characters and 100,000
steps. Every position asks a question. Each model is trained on all numbers of hops and tested on each
number separately.
"""

from limen.training.experiment import Accuracies, Experiment, ExperimentCell, Finding, Published

ERRORS = {  # hops -> error of depth 2, 3, 4
    1: (0.0100, 0.0030, 0.0013),
    2: (0.1401, 0.0082, 0.0031),
    3: (0.3460, 0.0477, 0.0055),
    4: (0.4226, 0.1496, 0.0152),
}


def _cell(n: int, k: int, depth: int, seeds: int, steps: int) -> ExperimentCell:
    settings = {"batch": 32, "steps": steps, "every": max(steps // 10, 50), "shifts": True, "rate": 2e-3}
    return ExperimentCell(
        f"n={n}, k={k}: depth {depth}",
        f"khop(n={n},k={k},S=4)",
        f"{depth}*softmax(h=4,d=16)",
        depth,
        f"n = {n}, up to {k} hops",
        None,
        ("random",),
        seeds,
        settings=settings,
    )


def _published(accuracies: Accuracies) -> list[Published]:
    """The authors' errors as accuracies, for each number of hops and each depth."""
    rows = []
    for hops, errors in ERRORS.items():
        for depth, error in zip((2, 3, 4), errors, strict=True):
            ours = [
                cell.get(f"{hops} hops")
                for name, cell in accuracies.items()
                if name.endswith(f"depth {depth}")
            ]
            rows.append(
                Published(
                    f"{hops} hops, depth {depth}",
                    1 - error,
                    "[sanford2024], their table of errors",
                    (ours or [None])[-1],
                    (f"depth {depth}", hops),
                )
            )
    return rows


EXPERIMENT = Experiment(
    title="Induction hops against depth",
    shows=(
        Finding(
            "Up to three hops more layers answer more: in these steps two layers answer {n=32, k=4: depth 2 "
            "@ 1 hops} of one hop and {n=32, k=4: depth 2 @ 2 hops} of two, three layers {n=32, k=4: depth 3 "
            "@ 2 hops} of two and {n=32, k=4: depth 3 @ 3 hops} of three, four layers {n=32, k=4: depth 4 @ "
            "3 hops} of three. On four hops four layers are no further than three ({n=32, k=4: depth 4 @ 4 "
            "hops} and {n=32, k=4: depth 3 @ 4 hops}); in the published table they are.",
            no_statement=("n=32, k=4: depth 2", "n=32, k=4: depth 3", "n=32, k=4: depth 4"),
            rising=(("n=32, k=4: depth 2", "n=32, k=4: depth 3", "n=32, k=4: depth 4"),),
        ),
    ),
    silent=(
        "The accuracies themselves are not comparable with the published ones. No negative result is "
        "reported, because no control is known that must succeed in so few steps."
    ),
    x="layers",
    quick=tuple(_cell(24, 2, depth, 1, 600) for depth in (1, 2, 3)),
    standard=tuple(_cell(32, 4, depth, 1, 1500) for depth in (2, 3, 4)),
    full=tuple(_cell(98, 16, depth, 3, 100000) for depth in (2, 3, 4, 5, 6)),
    published=_published,
    beside="hops",
    differences=(
        "Theirs: 98 characters, up to 16 hops, width 128, 100,000 steps of batch 32. Ours: 32 "
        "characters, up to 4 hops, width 64, 1,500 steps of batch 32 (quick: 24 characters, up to 2 "
        "hops, 600 steps)."
    ),
)
