"""Runs the inputs of a kind one by one, in this process, and watches time and memory."""

import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from limen.errors import BadInput
from limen_check.files import Malformed, Refused

SECONDS = 60.0  # for one input: who takes longer is a fault
_REFUSALS = (BadInput, Malformed, Refused)


class Untrue(Exception):
    """Something was accepted that another computation denies."""


class TooLong(BaseException):
    """One input took too long; no handler of exceptions takes it for a refusal."""


class Attack(NamedTuple):
    """`make` draws an input; `judge` says whether what was accepted was computed again; refusals raise."""

    name: str
    share: int  # of all inputs, beside the other kinds
    make: Callable[[random.Random], Any]
    judge: Callable[[Any], bool]


@dataclass
class Tally:
    name: str
    inputs: int = 0
    accepted: int = 0
    again: int = 0  # of these, computed again in another way
    seconds: float = 0.0
    longest: tuple[float, int] = (0.0, 0)
    memory: tuple[int, int] = (0, 0)  # MB that one input added to the most that was ever held
    faults: list[tuple[int, str]] = field(default_factory=list)


def run(attack: Attack, count: int, seed: int, first: int = 0) -> Tally:
    """So many inputs of one kind."""
    tally = Tally(attack.name)
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        for i in range(first, first + count):
            _one(attack, i, seed, tally)
    finally:
        signal.signal(signal.SIGALRM, before)
    return tally


def _one(attack: Attack, i: int, seed: int, tally: Tally) -> None:
    given, held, start = attack.make(random.Random(f"{seed} {attack.name} {i}")), _held(), time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        again = attack.judge(given)
        tally.accepted, tally.again = tally.accepted + 1, tally.again + again
    except _REFUSALS:
        pass
    except (Exception, TooLong) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {str(error)[:200]} at {where.filename}:{where.lineno}"
        tally.faults.append((i, said))
        sys.stderr.write(f"FAULT {attack.name} {i}: {said}\n  {repr(given)[:600]}\n")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took = time.perf_counter() - start
    tally.inputs, tally.seconds = tally.inputs + 1, tally.seconds + took
    tally.longest, tally.memory = max(tally.longest, (took, i)), max(tally.memory, (_held() - held, i))


def _held() -> int:
    """MB: the most that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _too_long(*_: object) -> None:
    raise TooLong(f"more than {SECONDS:g} s")
