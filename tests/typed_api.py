"""What a type checker sees of `limen.…` from outside the package: `make test` has mypy read this file.

Each `assert_type` fails if the function's result is `Any` or something else.
"""

from typing import assert_type

import limen
from limen.adversary.report import FoolReport
from limen.audits import Audit
from limen.bounds.bound import BoundReport
from limen.commands.check import CheckReport
from limen.commands.compare import CompareReport
from limen.commands.glances import EntryReport, StackReport, TaskReport
from limen.conversation.play import ProtocolReport
from limen.core.verdict import Verdict
from limen.decisions.depths import DepthReport
from limen.designs import Design
from limen.solutions import Solution
from limen.tables.cell import EvidenceTable


def seen() -> None:
    assert_type(limen.audit("config.json", context=4096), Audit)
    assert_type(limen.bound("eva(n=4)"), BoundReport)
    assert_type(limen.bound(lambda tokens: tokens[0], alphabet=2, length=3), BoundReport)
    assert_type(limen.check("certificate.json"), CheckReport)
    assert_type(limen.compare("linear", "softmax"), CompareReport)
    assert_type(limen.decide("eva(n=4)", "linear"), Verdict)
    assert_type(limen.depth("2*softmax"), DepthReport)
    assert_type(limen.design(["eva(n=4)"], 64), Design)
    assert_type(limen.fool("folder", "eva(n=4)"), FoolReport)
    assert_type(limen.protocol("eva(n=4)", "linear"), ProtocolReport)
    assert_type(limen.show("eva(n=4)"), TaskReport | StackReport | EntryReport)
    assert_type(limen.solve("eva(n=4)"), Solution)
    assert_type(limen.table(), EvidenceTable)
