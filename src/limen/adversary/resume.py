"""A search saved to a file after each strategy: killed and started again, it continues from there.

The file is written whole after every strategy that found nothing, with the state of the random generator.
So a resumed search draws what would have been drawn next, and only the strategy that was running is lost.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from limen.adversary.report import Effort
from limen.adversary.strategies.exact import ExactSearch
from limen.core.arrays import np
from limen.errors import BadInput
from limen.files.folder import content_of, write_whole
from limen.model.opening import fingerprint
from limen.witness.certified import arithmetic

if TYPE_CHECKING:
    from limen.adversary.schedule import Fooled

Natural = Annotated[int, msgspec.Meta(ge=0)]
Drawn = Annotated[int, msgspec.Meta(ge=0, le=2**14)]  # texts of random testing: no search draws more
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_ABOUT = "task", "model", "arithmetic", "claim", "seed", "distribution"


class KeptSearch(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="schema",
    tag="limen/search/1",
):
    """The question, the strategies tried, their cost, and the generator's state after them."""

    task: str
    model: str  # its fingerprint; of a function, which has none, its name
    arithmetic: str
    claim: str | None
    seed: int
    distribution: str = "not recorded"  # of its random texts
    stages: tuple[Effort, ...]
    seconds: Seconds
    random_forwards: Drawn
    random_failures: Drawn
    lowest: float | None
    lowest_at: tuple[Natural, ...] | None
    worst: tuple[float, float] | None  # between which the least margin lies
    generator: str


def keep(attack: Fooled, path: Path, seconds: float) -> None:
    """Writes the search's progress to a file; `seconds` is the time it has taken."""
    write_whole(path, msgspec.json.encode(kept_search(attack, seconds)) + b"\n")


def kept_search(attack: Fooled, seconds: float) -> KeptSearch:
    """The progress of a search, as its file holds it."""
    target, bounded = attack.target, attack.bounded
    at = target.lowest_at
    return KeptSearch(
        task=str(target.task),
        model=fingerprint(target.model) or attack.name,
        arithmetic=arithmetic(target),
        claim=attack.claim,
        seed=target.seed,
        distribution=target.distribution.says,
        stages=tuple(attack.stages),
        seconds=seconds,
        random_forwards=attack.tried,
        random_failures=attack.failed,
        lowest=target.lowest if math.isfinite(target.lowest) else None,
        lowest_at=None if at is None else tuple(map(int, at)),
        worst=_interval(bounded),
        generator=json.dumps(target.rng.bit_generator.state),
    )


def _interval(bounded: ExactSearch | None) -> tuple[float, float] | None:
    if bounded is None or bounded.low is None or bounded.high is None:
        return None
    return bounded.low, bounded.high


def resume(attack: Fooled, path: Path) -> float:
    """Sets a search that has not begun to the file's progress; returns the seconds it has taken already."""
    try:
        kept = msgspec.json.decode(content_of(path), type=KeptSearch)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is not a search saved by limen: {error}") from error
    here = kept_search(attack, 0.0)
    for name in _ABOUT:
        if getattr(kept, name) != getattr(here, name):
            was, now = getattr(kept, name), getattr(here, name)
            raise BadInput(f"{path} holds a different search: its {name} is {was}, not {now}")
    _possible(kept, path)
    _put(attack, kept, path)
    return kept.seconds


def _possible(kept: KeptSearch, path: Path) -> None:
    """Raises if no search can have this progress: one that has found something has ended."""
    fine = kept.random_failures <= kept.random_forwards and (
        kept.worst is None or kept.worst[0] <= kept.worst[1]
    )
    if not fine or any(stage.found or stage.forwards < 0 or stage.seconds < 0 for stage in kept.stages):
        raise BadInput(f"{path} is not a search saved by limen: its counts contradict each other")


def _put(attack: Fooled, kept: KeptSearch, path: Path) -> None:
    target = attack.target
    attack.stages, attack.tried, attack.failed = list(kept.stages), kept.random_forwards, kept.random_failures
    attack.bounded = None if kept.worst is None else ExactSearch(None, *kept.worst)
    if kept.lowest is not None and kept.lowest_at is not None:
        target.lowest = kept.lowest
        target.lowest_at = target.task.checked(np.array(kept.lowest_at))
    try:
        target.rng.bit_generator.state = json.loads(kept.generator)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise BadInput(f"{path}: the state of its random generator is invalid: {error}") from error
