"""Words that a shell offers while one is being typed: ids, precisions, rows, columns, mixers in a stack.

Each function takes the word so far; whoever asks keeps the words that go on from it.  Where there is none the
shell offers files, as it does for a config.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from limen.core.catalogue import KINDS, ids

Words = Callable[[str], Iterable[str]]

_LAST = re.compile(r"(.*[,(*|]|)(\w*)", re.DOTALL)  # a stack, and the name at its end that is incomplete


def of(*words: str) -> Words:
    """These words."""
    return lambda incomplete: words


def entries(*kinds: str) -> Words:
    """Ids of the catalogue."""
    return lambda incomplete: [name for kind in kinds for name in ids(kind)]


def everything(incomplete: str) -> list[str]:
    """Any id, which `limen show` explains; in a stack the mixer at its end."""
    names = [*(name for kind in KINDS for name in ids(kind)), "machine"]
    return [name for name in names if name.startswith(incomplete)] or stacks(incomplete)


def stacks(incomplete: str) -> list[str]:
    """The mixer at the end of a stack: `12*(3*gated_d` goes on as `12*(3*gated_delta`."""
    parts = _LAST.fullmatch(incomplete)
    return [] if parts is None else [parts[1] + name for name in ids("mixers")]


def constructions(incomplete: str) -> list[str]:
    """Constructions by their ids, or by the part after _by_."""
    names = [name for name in ids("constructions") if name.startswith(incomplete)]
    return names or sorted({name.partition("_by_")[2] for name in ids("constructions")})


def precisions(incomplete: str) -> Iterable[str]:
    from limen.core.numbers import Precision

    return Precision.names()


def ways_to_calculate(incomplete: str) -> list[str]:
    return ["integers", *precisions(incomplete)]


def experiments(incomplete: str) -> list[str]:
    return ["all", *ids("experiments")]


def measured(incomplete: str) -> list[str]:
    """Experiments, and results of probes that are shipped."""
    from limen.probes.saved import measured

    return [*experiments(incomplete), *measured()]


def rows(incomplete: str) -> Iterable[str]:
    from limen.tables.rows import ROWS

    return ROWS


def columns(incomplete: str) -> Iterable[str]:
    from limen.tables.columns import COLUMNS

    return COLUMNS


def told(incomplete: str) -> Iterable[str]:
    """Tasks in English."""
    from limen.probes.passage import tasks

    return tasks()
