"""One run of a sweep, on any computer: bytes in, bytes out; an error is returned, too."""

from __future__ import annotations

import traceback

import msgspec

from limen.training.results import Failure
from limen.training.run import RunResult, run
from limen.training.spec import Spec
from limen.training.train import Watch


def attempt(spec: bytes, watch: Watch = lambda seen: None) -> bytes:
    """The JSON of the result or of the failure."""
    wanted = msgspec.json.decode(spec, type=Spec)
    try:
        return msgspec.json.encode(run(wanted, watch)[0])
    except Exception as error:  # whatever it was: the sweep goes on, and the failure is kept
        trace = traceback.format_exc()
        failure = Failure(
            digest=wanted.digest, spec=wanted, error=f"{type(error).__name__}: {error}", trace=trace
        )
        return msgspec.json.encode(failure)


def ended(content: bytes) -> RunResult | Failure:
    """The result or failure that `attempt` returned."""
    return msgspec.json.decode(content, type=RunResult | Failure)


def lost(spec: Spec, why: str) -> Failure:
    """The failure of a run whose process is gone."""
    return Failure(digest=spec.digest, spec=spec, error=why, trace="")
