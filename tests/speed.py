"""How long things take beside something else in the same run; whether a command loads torch."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from test_cli import LIMEN

import limen

LIBRARIES = (sys.executable, "-c", "import numpy, click, rich, flint, msgspec")


def loops(work: Callable[[], object]) -> float:
    """The CPU time of some work in loops over a million integers, one of which is timed before, one after."""

    def timed(run: Callable[[], object]) -> float:
        start = os.times()
        run()
        end = os.times()
        return sum(end[:4]) - sum(start[:4])  # user and system, children too

    loop = lambda: sum(i for i in range(10**6))  # noqa: E731
    before, taken, after = timed(loop), timed(work), timed(loop)
    return taken / max(before, after)


def seconds(*arguments: str, runs: int = 5) -> tuple[float, float]:
    """CPU time, the least of some runs, of the command and of importing its libraries, taken in turn.

    The modules are compiled before, as an installation does.
    """
    subprocess.run([sys.executable, "-m", "compileall", "-q", Path(limen.__file__).parent], check=True)
    return tuple(  # type: ignore[return-value]
        map(min, zip(*((_run(LIMEN, *arguments), _run(*LIBRARIES)) for _ in range(runs)), strict=True))
    )


def _run(*command: str | Path) -> float:
    start = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    end = os.times()
    return sum(end[2:4]) - sum(start[2:4])  # of children: what else the machine does is not counted


def loads_torch(*arguments: str) -> bool:
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\nexcept SystemExit: sys.exit('torch._C' in sys.modules)"
    )
    return bool(subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode)
