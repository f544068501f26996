"""What a shell offers while a command is being incomplete: ids, kinds, precisions, rows, columns, engines.

Each function takes the word so far and gives the words that go on from it.  Where there is none the shell
offers files, as it does for a config.json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from limen.core.catalogue import KINDS, ids

Words = Callable[[str], list[str]]

SIZES = ("quick", "standard", "full")  # of an experiment
_LAST = re.compile(
    r"(.*[,(*|]|)(\w*)", re.DOTALL
)  # a stack, and the name that is being incomplete at its end


def of(*words: str) -> Words:
    """Some words."""
    return lambda incomplete: _going_on(incomplete, words)


def entries(*kinds: str) -> Words:
    """Ids of the catalogue."""
    return lambda incomplete: _going_on(incomplete, (name for kind in kinds for name in ids(kind)))


def everything(incomplete: str) -> list[str]:
    """Any id: what `limen show` explains; in a stack the mixer at its end."""
    return entries(*KINDS)(incomplete) or stacks(incomplete)


def stacks(incomplete: str) -> list[str]:
    """The mixer at the end of a stack: `12*(3*gated_d` goes on as `12*(3*gated_delta`."""
    found = _LAST.fullmatch(incomplete)
    return [] if found is None else [found[1] + name for name in entries("mixers")(found[2])]


def constructions(incomplete: str) -> list[str]:
    """By their ids, or by the part after _by_."""
    return entries("constructions")(incomplete) or _going_on(
        incomplete, sorted({name.partition("_by_")[2] for name in ids("constructions")})
    )


def verdicts(incomplete: str) -> list[str]:
    from limen.core.verdict import Answer

    return _going_on(incomplete, Answer)


def precisions(incomplete: str) -> list[str]:
    from limen.core.numbers import Precision

    return _going_on(incomplete, Precision.names())


def ways_to_calculate(incomplete: str) -> list[str]:
    return [*of("integers")(incomplete), *precisions(incomplete)]


def experiments(incomplete: str) -> list[str]:
    return [*of("all")(incomplete), *entries("experiments")(incomplete)]


def engines(incomplete: str) -> list[str]:
    from limen.hf.engines import engines as known

    return _going_on(incomplete, known())


def rows(incomplete: str) -> list[str]:
    from limen.tables.rows import ROWS

    return _going_on(incomplete, ROWS)


def columns(incomplete: str) -> list[str]:
    from limen.tables.columns import COLUMNS

    return _going_on(incomplete, COLUMNS)


def _going_on(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
