"""The lines of the kernel that one certificate rests on, over the catalogue, by kind.

python benchmarks/trusted.py            the figures of docs/trust.md
python benchmarks/trusted.py --write    and they are written there
python benchmarks/trusted.py --all      and a line for each certificate that weights are right

One certificate of every construction: of the first example that the kernel derives, in the shortest format in
which it does.  Lines are those of all files that the derivation loads, blank lines and comments among
them.  All bounds load the same files, and so do all certificates of trained layers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

import limen_check
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Solves, encode
from limen.core.construction import Construction
from limen.decisions.placement import Offer, files_of, solves
from limen_check.trusted import files

KERNEL = Path(limen_check.__file__).parent
PAGE = Path(__file__).parents[1] / "docs/trust.md"
FORMATS = ("bfloat16", "float32", "float64")


class Base(NamedTuple):
    """The construction that a certificate is about, and the lines of each file that it rests on."""

    name: str
    files: dict[str, int]

    @property
    def lines(self) -> int:
        return sum(self.files.values())


def base(name: str) -> Base | None:
    """The trusted base of a construction's certificate; None if the kernel derives none of its examples."""
    examples = lookup("constructions", name, Construction).examples()
    for offered in (Offer(example, False, precision) for example in examples for precision in FORMATS):
        proof = solves(offered)
        if isinstance(proof, Solves):
            return Base(name, limen_check.derive(encode(proof), files_of(offered)).files)
    return None


def bases() -> Iterator[Base]:
    """The trusted bases of all constructions that are derived, the smallest first."""
    yield from sorted(filter(None, map(base, ids("constructions"))), key=lambda one: one.lines)


def fixed() -> dict[str, int]:
    """The lines behind every bound, and behind every certificate of a trained layer."""
    entries = {"bound": "limen_check.cannot.bound", "correct_everywhere": "limen_check.everywhere.worst"}
    entries |= {"exact_bound": "limen_check.cannot.exact", "table_bound": "limen_check.cannot.table"}
    return {kind: sum(files([module]).values()) for kind, module in entries.items()}


def architecture() -> int:
    """The lines that a `fits` certificate rests on beside those of its `solves`."""
    solved = ["limen_check.can.fits"]
    before, after = files(solved), files([*solved, "limen_check.cannot.architecture"])
    return sum(after.values()) - sum(before.values())


def cells() -> dict[str, str]:
    """For each kind of certificate what docs/trust.md says: the lines of one, from the least to the most."""
    lines, more, same = [one.lines for one in bases()], architecture(), fixed()
    ends = min(lines), max(lines), median_low(lines)
    few = {
        kind: "{:,} to {:,}, median {:,}".format(*(n + by for n in ends))
        for kind, by in (("solves", 0), ("fits", more))
    }
    return (
        {"bound": f"{same['bound']:,}", "machine": f"{same['bound']:,}"}
        | {kind: f"{same[kind]:,}" for kind in ("exact_bound", "table_bound")}
        | {"exact_ceiling": f"{same['exact_bound']:,}"}
        | few
        | {"correct_everywhere": f"{same['correct_everywhere']:,}"}
    )


def whole() -> int:
    """The lines of the whole package."""
    return sum(len(path.read_text().splitlines()) for path in KERNEL.rglob("*.py"))


def rewritten(page: str) -> str:
    """The page with these figures."""
    for kind, cell in cells().items():
        page = re.sub(rf"^(\| `{kind}` \|.*\|)[^|]*\|$", rf"\1 {cell} |", page, flags=re.M)
    return re.sub(r"(The whole package has )[\d,]+", rf"\g<1>{whole():,}", page)


def main() -> None:
    if "--write" in sys.argv:
        PAGE.write_text(rewritten(PAGE.read_text()))
    for kind, cell in cells().items():
        print(f"{kind}: {cell} lines")
    print(f"the whole package: {whole():,} lines")
    for one in bases() if "--all" in sys.argv else ():
        print(f"{one.lines:6,} {one.name}: {' '.join(one.files)}")


if __name__ == "__main__":
    main()
