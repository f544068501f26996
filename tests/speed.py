"""How long a command takes, start to end, once its modules are compiled; and whether it loads torch."""

import subprocess
import sys
import time
from pathlib import Path

from test_cli import LIMEN

import limen


def seconds_and_torch(*arguments: str) -> tuple[float, bool]:
    """The least of nine runs; the modules are compiled before, as an installation does."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", Path(limen.__file__).parent], check=True)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        subprocess.run([LIMEN, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\nexcept SystemExit: sys.exit('torch._C' in sys.modules)"
    )
    torch = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return min(times), bool(torch.returncode)
