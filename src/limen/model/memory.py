"""The memory that a run takes, known before it starts; a request that fails becomes one line.

`least` counts what is certainly held at one time, so nothing is refused that would have fitted.  Linux
promises more memory than there is and kills who uses it; `within_what_is_free` makes it refuse instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isqrt
from pathlib import Path

from limen.errors import BadInput


def free() -> int | None:
    """Bytes that this process can still get, within all limits; None where the system does not say."""
    available = [
        int(kib) * 1024 for kib in re.findall(r"^MemAvailable: +(\d+) kB", _text("/proc/meminfo"), re.M)
    ]
    most, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    available += [int(most) - int(used)] if most.isdigit() and used.isdigit() else []
    return max(0, min([*available, *_own_limits()])) if available else None


def _own_limits() -> list[int]:
    """The bytes left under each limit that was set for this process."""
    import resource

    limits = {"VmSize": resource.RLIMIT_AS, "VmData": resource.RLIMIT_DATA}
    soft = {name: resource.getrlimit(limit)[0] for name, limit in limits.items()}
    return [most - _held(name) for name, most in soft.items() if most != resource.RLIM_INFINITY]


def _held(name: str) -> int:
    return sum(
        int(kib) * 1024 for kib in re.findall(rf"^{name}:\s+(\d+) kB", _text("/proc/self/status"), re.M)
    )


def _text(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def within_what_is_free() -> None:
    """Limits this process to the free memory: a request beyond it fails instead of killing the process."""
    if (room := free()) is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _held("VmData") + room
    if hard == resource.RLIM_INFINITY or limit <= hard:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def fitting(what: str, n: int, least: Callable[[int], int]) -> None:
    """Raises if a run over n tokens holds more than is free; `least` says how much it holds at a length."""
    room, needed = free(), least(n)
    if room is None or needed <= room:
        return
    short, long = 0, n  # the first fits, the second does not
    while long - short > 1:
        middle = (short + long) // 2
        short, long = (middle, long) if least(middle) <= room else (short, middle)
    raise BadInput(
        f"{what}: needs at least {spelled(needed)} of memory, but only {spelled(room)} is free; "
        f"inputs of {short} tokens would fit"
    )


def refused(error: BaseException) -> int | None:
    """The bytes of a request that torch or numpy could not fulfil; None if the error is another one."""
    message = str(error)
    if match := re.search(r"tried to allocate (\d+) bytes", message):
        return int(match[1])
    if match := re.search(r"Unable to allocate ([\d.]+) (B|KiB|MiB|GiB|TiB|PiB)", message):
        return int(float(match[1]) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB").index(match[2]))
    return 0 if isinstance(error, MemoryError) else None


def out_of_memory(requested: int, n: int | None = None) -> str:
    """The error in one line; with n, also a length that fits even if memory grows with its square."""
    room = free()
    line = (
        f"not enough memory: {spelled(requested)} was requested at once" if requested else "not enough memory"
    )
    line += "" if room is None else f", {spelled(room)} is free"
    if n is None or not room or requested <= room:
        return line
    return f"{line}; inputs of {max(1, n * isqrt(room) // isqrt(requested))} tokens would fit"


def spelled(size: int) -> str:
    """A number of bytes with its unit."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
