"""Growth: commands at growing sizes, each in a process of its own: CPU seconds, exponent, peak memory, humps.

The exponent is log(seconds ratio)/log(size ratio) from the first size to the last.  A hump is a size that
costs more than 2× a larger one.  It measures one round on this machine; exit 1 if there is a hump.
"""

import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

LIMEN = str(Path(sys.executable).with_name("limen"))
HUMP = 2.0
REPEATED = "{}*(3*linear(h=16,d=128),softmax(h=16,d=128))"
ROWS = {
    'decide "eva(n={})" "linear(h=1,d=16,p=16)"': (10**2, 10**3, 10**4, 10**5),
    'decide "eva(n=488)" "log_linear(h=1,d=16,levels={})"': (2**4, 2**14, 2**24, 2**34),
    f'depth "{REPEATED}"': (1, 2, 3, 4, 5, 6, 7, 8, 25),
    f'compare "{REPEATED}" "8*linear(h=8,d=64)" --context 1M': (1, 2, 4, 8, 25),
    "design --task eva --context 131072 --layers {}": (12, 24, 48, 96),
    'solve "eva(n={})" --check 1': (10**2, 10**3, 10**4),
    'solve "dyck(D={})"': (4, 6, 8, 10),
    'solve "counting(n={})"': (10**4, 10**5, 10**6),
}


def measured(line: str) -> tuple[float, float]:
    """CPU seconds and peak MB of one command."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([LIMEN, *shlex.split(line)], stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1 says that a property fails
        raise SystemExit(f"limen {line} ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def humps(sizes: tuple[int, ...], seconds: list[float]) -> list[int]:
    """The sizes that cost more than 2× a larger one."""
    return [size for i, size in enumerate(sizes[:-1]) if seconds[i] > HUMP * min(seconds[i + 1 :])]


def main() -> None:
    print("| command | sizes | CPU s | exponent | MB | humps |\n|---|---|---|---|---|---|")
    some = False
    for text, sizes in ROWS.items():
        seconds, memory = map(list, zip(*(measured(text.format(size)) for size in sizes), strict=True))
        exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        high = humps(sizes, seconds)
        some = some or bool(high)
        cells = (
            f"`{text.replace('{}', 'N')}`",
            ", ".join(f"{size:,}" for size in sizes),
            ", ".join(f"{s:.1f}" for s in seconds),
            f"{exponent:.2f}",
            f"{max(memory):.0f}",
            ", ".join(f"{size:,}" for size in high) or "none",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
    raise SystemExit(int(some))


if __name__ == "__main__":
    main()
