"""Which kinds of report each command answers with; their JSON Schemas: `limen schema`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from limen.errors import unknown

# Named, not imported: to say which commands there are takes none of them.
SCHEMAS = {
    "list": ("limen.commands.glances:CatalogueReport",),
    "show": (
        "limen.commands.glances:TaskReport",
        "limen.commands.glances:StackReport",
        "limen.commands.glances:EntryReport",
    ),
    "decide": ("limen.core.verdict:DecideReport",),
    "compare": ("limen.commands.compare:CompareReport",),
    "depth": ("limen.decisions.depths:DepthReport",),
    "separation": ("limen.commands.demo.separation:SeparationReport",),
    "concentration": ("limen.commands.demo.concentration:ConcentrationReport",),
    "orthogonal": ("limen.commands.demo.orthogonal:OrthogonalReport",),
    "bound": ("limen.bounds.bound:BoundReport",),
    "solve": (
        "limen.solutions:SolveReport",
        "limen.solutions:LeastReport",
        "limen.solutions:RangeReport",
        "limen.solutions:FrontierReport",
    ),
    "audit": ("limen.audits.report:AuditReport", "limen.audits.report:AuditsReport"),
    "design": ("limen.designs.report:DesignReport",),
    "protocol": ("limen.conversation.play:ProtocolReport", "limen.adversary.decompose:DecomposeReport"),
    "sparse": ("limen.commands.demo.sparse:SparseReport",),
    "average": ("limen.commands.demo.average:AverageReport",),
    "hierarchy": ("limen.commands.demo.hierarchy:HierarchyReport",),
    "machine": ("limen.commands.demo.machine:MachineReport",),
    "table": ("limen.tables.report:TableReport",),
    "test": ("limen.laws.check:LawsReport",),
    "train": ("limen.training.reports:TrainReport",),
    "sweep": ("limen.training.reports:SweepReport",),
    "results": ("limen.training.reports:ResultsReport",),
    "fool": ("limen.adversary.report:FoolReport",),
    "check": ("limen.commands.check:CheckReport", "limen.commands.check:FolderReport"),
}


def schema_of(command: str) -> dict[str, Any]:
    """The JSON Schema; of a command that answers in several forms any of them will do."""
    from limen.core.report import schema

    if command not in SCHEMAS:
        raise unknown("schema", command, SCHEMAS)
    return schema(*map(_found, SCHEMAS[command]))


def _found(name: str) -> Any:
    module, _, kind = name.partition(":")
    return getattr(import_module(module), kind)
