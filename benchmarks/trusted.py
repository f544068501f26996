"""The lines of the kernel that one certificate rests on, over the catalogue, by kind.

python benchmarks/trusted.py            the table of docs/trust.md
python benchmarks/trusted.py --all      and a line for each certificate that weights are right

One certificate of every construction: of the first example that the kernel derives, in the shortest format in
which it does.  Lines are those of all files that the derivation loads, blank lines and comments among
them.  All bounds load the same files, and so do all certificates of trained layers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median_low
from typing import NamedTuple

import limen_check
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Solves, encode
from limen.core.construction import Construction
from limen.decisions.placement import Offer, files_of, solves
from limen_check.trusted import files

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
    return {kind: sum(files([module]).values()) for kind, module in entries.items()}


def architecture() -> int:
    """The lines that a `fits` certificate rests on beside those of its `solves`."""
    solved = ["limen_check.can.fits"]
    before, after = files(solved), files([*solved, "limen_check.cannot.architecture"])
    return sum(after.values()) - sum(before.values())


def main() -> None:
    all_of, more, same = list(bases()), architecture(), fixed()
    lines = [one.lines for one in all_of]
    solved = min(lines), median_low(lines), max(lines)
    print("| certificate | least | median | most |\n|---|---|---|---|")
    for kind in ("bound", "machine"):
        print(f"| `{kind}` |" + f" {same['bound']:,} |" * 3)
    print("| `solves` |" + "".join(f" {n:,} |" for n in solved))
    print("| `fits` |" + "".join(f" {n + more:,} |" for n in solved))
    print("| `correct_everywhere` |" + f" {same['correct_everywhere']:,} |" * 3)
    print(f"\n{len(all_of)} constructions; least: {all_of[0].name}, most: {all_of[-1].name}")
    for one in all_of if "--all" in sys.argv else ():
        print(f"{one.lines:6,} {one.name}: {' '.join(one.files)}")


if __name__ == "__main__":
    main()
