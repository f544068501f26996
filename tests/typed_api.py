"""What a type checker sees of `limen.…` from outside the package: `make test` has mypy read this file.

Each `assert_type` fails if the function's result is `Any` or something else.
"""

from typing import assert_type

import limen
from limen.adversary.decompose import DecomposeReport
from limen.adversary.report import FoolReport
from limen.audits import Audit
from limen.bounds.bound import BoundReport
from limen.checkpoints.folder import CheckpointReport
from limen.commands.check import CheckReport, FolderReport
from limen.commands.compare import CompareReport
from limen.commands.demo.average import AverageReport
from limen.commands.demo.concentration import ConcentrationReport
from limen.commands.demo.hierarchy import HierarchyReport
from limen.commands.demo.indexes import IndexesReport
from limen.commands.demo.machine import MachineReport
from limen.commands.demo.orthogonal import OrthogonalReport
from limen.commands.demo.precision import PrecisionReport
from limen.commands.demo.separation import SeparationReport
from limen.commands.demo.sparse import SparseReport
from limen.commands.demo.width import WidthReport
from limen.commands.list import CatalogueReport
from limen.commands.outside import OutsideReport
from limen.commands.serve import ServeReport
from limen.commands.show import ComputerReport, EntryReport, StackReport, TaskReport
from limen.commands.site import SiteReport
from limen.commands.where import WhereReport
from limen.conversation.play import ProtocolReport
from limen.core.verdict import Verdict
from limen.decisions.depths import DepthReport
from limen.designs import Design
from limen.laws.check import LawsReport
from limen.probes.export import ExportReport
from limen.probes.report import LayersReport, ProbeReport
from limen.solutions import Solution
from limen.solutions.look import LookReport
from limen.solutions.range import RangeReport
from limen.solutions.smallest import FrontierReport, LeastReport
from limen.tables.cell import EvidenceTable
from limen.tables.curves import Curves
from limen.training.fit import FitReport
from limen.training.reports import GridReport, ResultsReport, SweepReport, TrainReport


def seen() -> None:
    assert_type(limen.audit("config.json", context=4096), Audit)
    assert_type(limen.bound("eva(n=4)"), BoundReport)
    assert_type(limen.bound(lambda tokens: tokens[0], alphabet=2, length=3), BoundReport)
    assert_type(limen.check("certificate.json"), CheckReport)
    assert_type(limen.check_folder("certificates"), FolderReport)
    assert_type(limen.compare("linear", "softmax"), CompareReport)
    assert_type(limen.decide("eva(n=4)", "linear"), Verdict)
    assert_type(limen.depth("2*softmax"), DepthReport)
    assert_type(limen.design(["eva(n=4)"], 64), Design)
    assert_type(limen.experiment.run("depth"), SweepReport)
    assert_type(limen.experiment.show("depth"), ResultsReport | ProbeReport | LayersReport)
    assert_type(limen.export("lm-eval", "tasks"), ExportReport)
    assert_type(limen.export("hf", "checkpoint", tasks=["eva(n=4)"]), CheckpointReport)
    assert_type(limen.experiment.fit("recall_state"), FitReport)
    assert_type(limen.fool("folder", "eva(n=4)"), FoolReport)
    assert_type(limen.list("tasks"), CatalogueReport)
    assert_type(limen.look("eva(n=4)", "1 0 3 2 2"), LookReport)
    assert_type(limen.outside(), OutsideReport)
    assert_type(limen.probe("folder"), ProbeReport)
    assert_type(limen.protocol("eva(n=4)", "linear"), ProtocolReport)
    assert_type(limen.serve(), ServeReport)
    assert_type(limen.show("eva(n=4)"), TaskReport | StackReport | EntryReport | ComputerReport)
    assert_type(limen.site("folder"), SiteReport)
    assert_type(limen.solve("eva(n=4)"), Solution)
    assert_type(limen.table(), EvidenceTable)
    assert_type(limen.test("index"), LawsReport)
    assert_type(limen.train("eva(n=4)", "linear", steps=2), TrainReport)
    assert_type(limen.train("eva(n=4)", "linear", steps=2, seeds=range(3)), GridReport)
    assert_type(limen.where("eva", "linear"), WhereReport)
    assert_type(limen.train("eva(n=4)", "linear", rates=(1e-3, 3e-3), seed=1), GridReport)


def other_forms() -> None:
    assert_type(limen.probe("folder", layers=True), LayersReport)
    assert_type(limen.protocol("eva(n=4)", "linear", decompose=True), DecomposeReport)
    assert_type(limen.solve("eva(n=4)", smallest="width"), LeastReport)
    assert_type(limen.solve("eva(n=4)", smallest="precision,width"), FrontierReport)
    assert_type(limen.solve("eva(n=4)", reach=True), RangeReport)


def demos() -> None:
    assert_type(limen.demo.average(), AverageReport)
    assert_type(limen.demo.concentration("retrieval(n=16)"), ConcentrationReport)
    assert_type(limen.demo.hierarchy(), HierarchyReport)
    assert_type(limen.demo.indexes(), IndexesReport)
    assert_type(limen.demo.machine("table.tm"), MachineReport)
    assert_type(limen.demo.orthogonal(8), OrthogonalReport)
    assert_type(limen.demo.pictures(), Curves)
    assert_type(limen.demo.precision(), PrecisionReport)
    assert_type(limen.demo.separation(2), SeparationReport)
    assert_type(limen.demo.sparse("two_sum(n=64,M=4096)"), SparseReport)
    assert_type(limen.demo.width("dyck"), WidthReport)


def mistakes() -> None:
    """What mypy must refuse: were it allowed, the unused comment would be an error."""
    limen.audit("config.json", contxt=4096)  # type: ignore[call-arg]
    limen.audit("config.json", context="many")  # type: ignore[arg-type]
    limen.decide("eva", "linear", expect="maybe")  # type: ignore[arg-type]
    limen.demo.average(tokens="many")  # type: ignore[arg-type]
    limen.depth(3)  # type: ignore[arg-type]
