"""How long a command takes by itself, though other tests share the machine."""

import os
import subprocess
import sys
from pathlib import Path

from test_cli import LIMEN

UNIT = 0.15  # seconds to load numpy and typer on a machine that does nothing else


def seconds_and_torch(arguments: tuple[str, ...], compiled: Path) -> tuple[float, bool]:
    """Processor seconds, measured in the time to load numpy and typer; and whether torch was loaded."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(compiled)
    unit = _least([sys.executable, "-c", "import numpy, typer"], environment)
    used = _least([str(LIMEN), *arguments], environment)
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\nexcept SystemExit: sys.exit('torch._C' in sys.modules)"
    )
    torch = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    return used / max(1, unit / UNIT), bool(torch.returncode)


def _least(command: list[str], environment: dict[str, str]) -> float:
    """The least of four runs, after one that compiles the modules."""
    used = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        used.append(sum(after[2:4]) - sum(before[2:4]))
    return min(used[1:])
