"""A stranger's file, text, folder or process: it ends soon, in one line, and nothing foreign is lost."""

import subprocess
import sys

CEILING = """
from limen.check.case import Case
from limen.check.bound import stated
from limen.core.architecture import Architecture
from limen.core.task import Task
case = Case(Task.parse("eva(n=886440)"), Architecture.parse("linear(state_bits=3179091)"), 0, "average")
print(stated("streaming_state", case).ceiling)
"""


def test_no_verdict_depends_on_what_was_imported_before() -> None:
    """The ceiling of this case has other last digits at another precision of flint."""
    asked = (
        CEILING,
        "import limen.constructions.eva_by_softmax" + CEILING,
        "import flint\nflint.ctx.prec = 20" + CEILING,
    )
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for code in asked
    ]
    assert len({one.stdout for one in said}) == 1
