"""How long a command takes, start to end, beside the bare start of its libraries; whether it loads torch."""

import subprocess
import sys
import time
from pathlib import Path

from test_cli import LIMEN

import limen

LIBRARIES = (sys.executable, "-c", "import numpy, typer, rich, flint, msgspec")


def seconds(*arguments: str, runs: int = 5) -> tuple[float, float]:
    """The least of some runs, of the command and of importing its libraries, taken in turn.

    The modules are compiled before, as an installation does.
    """
    subprocess.run([sys.executable, "-m", "compileall", "-q", Path(limen.__file__).parent], check=True)
    return tuple(  # type: ignore[return-value]
        map(min, zip(*((_run(LIMEN, *arguments), _run(*LIBRARIES)) for _ in range(runs)), strict=True))
    )


def _run(*command: str | Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def loads_torch(*arguments: str) -> bool:
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\nexcept SystemExit: sys.exit('torch._C' in sys.modules)"
    )
    return bool(subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode)
