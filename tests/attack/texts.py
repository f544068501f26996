"""Text forms of tasks, architectures and precisions, as the tool and the kernel read them."""

import random
from functools import cache
from typing import Any

from attack.damage import rewritten
from attack.watch import Attack, Untrue
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.core.numbers import Precision
from limen.core.task import Task
from limen_check.cannot import architecture, rows
from limen_check.files import Malformed, Refused

PRECISIONS = ["float32", "fixed(f=4)", "significand(t=5)", "fixed(f=12,top=12)"]


@cache
def corpus() -> list[tuple[type[Any], str]]:
    """Every task and every mixer, with all sizes and without."""
    tasks = [task for i in ids("tasks") for task in lookup("tasks", i, Task).examples()]
    mixers = [mixer for i in ids("mixers") for mixer in lookup("mixers", i, Mixer).examples()]
    stacks = [Architecture.parse(str(mixer)) for mixer in mixers]
    found: list[tuple[type[Any], str]] = [(Precision, text) for text in PRECISIONS]
    found += [(Task, text) for task in tasks for text in (str(task), task.spelled)]
    found += [(Architecture, text) for stack in stacks for text in (str(stack), stack.spelled)]
    return found


def make(rng: random.Random) -> tuple[type[Any], str]:
    kind, text = rng.choice(corpus())
    if kind is Architecture and rng.random() < 0.5:
        more = [text for kind, text in corpus() if kind is Architecture]
        text = rng.choice(["{},{}", "{}|{}", "3*({},{})", "2*{},{}"]).format(text, rng.choice(more))
    for _ in range(rng.randrange(1, 4)):
        text = rewritten(text, rng)
    return kind, text


def judge(given: tuple[type[Any], str]) -> bool:
    kind, text = given
    found = kind.parse(text)
    if kind.parse(str(found)) != found:
        raise Untrue("what it is written as is read as something else")
    if kind is Precision:
        return True
    return _task(found) if kind is Task else _stack(found)


def _task(task: Task) -> bool:
    """The kernel reads the same lengths and symbols."""
    try:
        read = rows.read(task.spelled)
    except (Malformed, Refused):
        return False
    if (read.length, read.vocab, read.cut) != (task.length, task.vocab, task.cut):
        raise Untrue("the kernel reads another task")
    return True


def _stack(stack: Architecture) -> bool:
    """The kernel counts the same bits."""
    try:
        read = architecture.read(stack.spelled)
        counted = {n: sum(part.bits(n) * times for part, times in read.counted) for n in (1, 5, 64)}
    except (Malformed, Refused):
        return False
    parts = [part for layer in stack.layers for part in layer.parts]
    if any(part.full for part in parts):
        return False
    for n, bits in counted.items():
        if bits != sum(part.state_bits(n) or 0 for part in parts):
            raise Untrue(f"the kernel counts other bits after {n} tokens")
    return True


ATTACK = Attack("texts", 420, make, judge)
