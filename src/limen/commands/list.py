"""List the catalogue, one line for each entry."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, UnsetType

from limen.commands._command import Shown, command
from limen.core.catalogue import KINDS, beside, ids, lookup, summary
from limen.core.option import Argument
from limen.core.report import Report

if TYPE_CHECKING:
    from limen.core.proof import Formal

Ids = tuple[str, ...] | UnsetType  # of a kind that was asked for


class CatalogueReport(Report, frozen=True, kw_only=True, tag="limen/list/1"):
    """The ids of each kind that was asked for, a sentence about each; of theorems alone how it is proved."""

    tasks: Ids = UNSET
    mixers: Ids = UNSET
    constructions: Ids = UNSET
    theorems: Ids = UNSET
    protocols: Ids = UNSET
    adversaries: Ids = UNSET
    experiments: Ids = UNSET
    summaries: dict[str, dict[str, str]]
    proofs: dict[str, str] | UnsetType = UNSET  # of theorems, where they alone were asked for

    @property
    def headline(self) -> str:
        return ", ".join(f"{len(entries)} {kind}" for kind, entries in self.summaries.items())


class HowProved(StrEnum):
    """Who has checked the proof of a theorem."""

    CHECKED = "machine-checked"
    PROSE = "proved in prose"
    CITED = "cited"


@command(
    example="limen list mixers",
    answers=(Shown("limen.commands.list:CatalogueReport", "limen.render.list:lines_of"),),
)
def list(
    kind: Annotated[
        str | None,
        Argument(f"One of {', '.join(KINDS)}. Default: all of them.", complete=lambda incomplete: KINDS),
    ] = None,
) -> CatalogueReport:
    """The ids of each kind, with a sentence about each; of theorems alone also how each is proved."""
    entries = {one: tuple(ids(one)) for one in ([kind] if kind else KINDS)}
    return CatalogueReport(
        **entries,
        summaries={one: {name: summary(one, name) for name in names} for one, names in entries.items()},
        proofs={name: formal_line(name) for name in ids("theorems")} if kind == "theorems" else UNSET,
    )


def how_proved(name: str) -> HowProved:
    """A proof in prose stands in the `proof.md` of the theorem."""
    if _formal(name):
        return HowProved.CHECKED
    text = beside("theorems", name, "proof.md").read_text(encoding="utf-8")
    return HowProved.PROSE if "\n## Proof" in text else HowProved.CITED


def formal_line(name: str) -> str:
    """How it is proved, and where Coq's statements are: file by file."""
    files: dict[str, tuple[str, ...]] = {}
    for part in _formal(name):
        files[part.file] = (*files.get(part.file, ()), part.theorem)
    statements = "; ".join(f"proofs/{file} {', '.join(theorems)}" for file, theorems in files.items())
    return (
        f"{how_proved(name)}: {statements}; the rest is proved in prose"
        if statements
        else str(how_proved(name))
    )


def _formal(name: str) -> tuple[Formal, ...]:
    """What Coq has checked of a theorem, which is loaded."""
    from limen.core.theorem import Theorem

    return lookup("theorems", name, Theorem).formal
