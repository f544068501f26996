"""A small sweep as a process of its own, to be killed: python sweeping.py FOLDER [SCHEDULER]."""

import sys
from pathlib import Path

from limen.training.spec import Spec

SPECS = [
    Spec(
        task="index(n=4,S=3)",
        architecture="softmax(h=1,d=4)",
        start="lookup",
        seed=seed,
        width=8,
        hidden=8,
        steps=60,
        every=5,
        batch=4,
        queries=2,
        judged=64,
        target=2.0,
    )
    for seed in range(6)
]


def main(folder: Path, scheduler: str | None) -> None:
    from limen.training.cluster import cluster
    from limen.training.local import local
    from limen.training.sweep import sweep

    runs = local(1) if scheduler is None else cluster(scheduler)
    sweep(SPECS, folder, runs, retry=False, deliver=lambda ended: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
