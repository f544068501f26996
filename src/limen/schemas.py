"""Which kinds of report each command answers with; their JSON Schemas: `limen schema`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from limen.core.errors import unknown

# Named, not imported: to say which commands there are takes none of them.
SCHEMAS = {
    "list": ("limen.glances:CatalogueReport",),
    "show": ("limen.glances:TaskReport", "limen.glances:StackReport", "limen.glances:EntryReport"),
    "decide": ("limen.core.verdict:DecideReport",),
    "compare": ("limen.comparisons:CompareReport",),
    "depth": ("limen.depths:DepthReport",),
    "separation": ("limen.separations:SeparationReport",),
    "concentration": ("limen.concentrations:ConcentrationReport",),
    "orthogonal": ("limen.orthogonals:OrthogonalReport",),
    "bound": ("limen.bounds.bound:BoundReport",),
    "solve": (
        "limen.solutions:SolveReport",
        "limen.solutions:LeastReport",
        "limen.solutions:RangeReport",
        "limen.solutions:FrontierReport",
    ),
    "audit": ("limen.audits.report:AuditReport", "limen.audits.report:AuditsReport"),
    "design": ("limen.designs.report:DesignReport",),
    "protocol": ("limen.conversation.play:ProtocolReport", "limen.decompositions:DecomposeReport"),
    "sparse": ("limen.capacities:SparseReport",),
    "average": ("limen.averages:AverageReport",),
    "hierarchy": ("limen.hierarchies:HierarchyReport",),
    "machine": ("limen.simulations:MachineReport",),
    "table": ("limen.tables.report:TableReport",),
    "test": ("limen.laws.held:LawsReport",),
    "train": ("limen.training.reports:TrainReport",),
    "sweep": ("limen.training.reports:SweepReport",),
    "results": ("limen.training.reports:ResultsReport",),
    "fool": ("limen.attacks.report:FoolReport",),
    "check": ("limen.checks.reader:CheckReport", "limen.checks.reader:FolderReport"),
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
