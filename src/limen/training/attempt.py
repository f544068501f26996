"""Some runs of a sweep, on any computer: bytes in, bytes out; an error is returned, too."""

from __future__ import annotations

import traceback

import msgspec

from limen.training.results import Failure
from limen.training.run import RunResult, run_together
from limen.training.spec import Spec, written
from limen.training.train import Watch


def sent(specs: list[Spec]) -> bytes:
    """The specs of runs that are trained as one, as JSON."""
    return b"[" + b",".join(map(written, specs)) + b"]"


def attempt(specs: bytes, watch: Watch = lambda seen: None) -> bytes:
    """The JSON of the results or of the failures; if several fail together, each is tried by itself."""
    wanted = msgspec.json.decode(specs, type=list[Spec])
    try:
        return msgspec.json.encode([result for result, _ in run_together(wanted, watch)])
    except Exception as error:  # whatever it was: the sweep goes on, and the failure is kept
        if len(wanted) > 1:
            return msgspec.json.encode(
                [one for spec in wanted for one in ended(attempt(sent([spec]), watch))]
            )
        failure = Failure(
            digest=wanted[0].digest,
            spec=wanted[0],
            error=f"{type(error).__name__}: {error}",
            trace=traceback.format_exc(),
        )
        return msgspec.json.encode([failure])


def ended(content: bytes) -> list[RunResult | Failure]:
    """The results and failures that `attempt` returned."""
    return msgspec.json.decode(content, type=list[RunResult | Failure])


def lost(specs: list[Spec], why: str) -> list[RunResult | Failure]:
    """The failures of runs whose process is gone."""
    return [Failure(digest=spec.digest, spec=spec, error=why, trace="") for spec in specs]
