"""docs/experiments.md, its charts, docs/theory_and_training.md, and learned.json, from the shipped results.

    python scripts/experiments_page.py [FOLDER]

With a folder of results, those of the quick and standard sizes are first taken over into the package.
"""

import sys
from pathlib import Path

import msgspec

from limen.core.catalogue import ids
from limen.files.folder import write_whole
from limen.render.beside import page as beside_page
from limen.render.experiments import ordered, written
from limen.training.beside import beside
from limen.training.experiment import SHIPPED, experiment
from limen.training.fit import fits
from limen.training.judged import kept_in, section
from limen.training.results import results, write_lines
from limen.training.shipped import shipped_runs

ROOT = Path(__file__).parents[1]


def ship(folder: Path) -> None:
    """The shipped file of each experiment: what it had, and what the folder has of its specs."""
    SHIPPED.mkdir(exist_ok=True)
    for name in ids("experiments"):
        wanted = {spec.digest for size in ("quick", "standard") for spec in experiment(name).specs(size)}
        before = kept_in(None, name)
        kept = {digest: one for digest, one in before.items() if digest in wanted}
        kept |= {one.digest: one for one in results(folder, wanted)}
        if kept != before:
            write_lines(SHIPPED / f"{name}.jsonl", kept.values())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        if not Path(sys.argv[1]).is_dir():
            raise SystemExit(f"there is no folder of results at {sys.argv[1]}")
        ship(Path(sys.argv[1]))
    runs = [run for name in ids("experiments") for run in kept_in(None, name).values()]
    found = msgspec.json.format(msgspec.json.encode(fits(runs)), indent=1) + b"\n"
    write_whole(ROOT / "src/limen/training/learned.json", found)
    sections = ordered(section(name, None, None) for name in ids("experiments"))
    written(ROOT / "docs", sections, shipped_runs())
    write_whole(ROOT / "docs" / "theory_and_training.md", beside_page(beside(sections)).encode())
