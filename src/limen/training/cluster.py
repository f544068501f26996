"""Runs on a Dask cluster: the same function on other computers, whose processes may die."""

from __future__ import annotations

import hashlib

from limen.errors import BadInput
from limen.training.attempt import attempt, ended, lost, sent
from limen.training.batches import batches
from limen.training.spec import Spec
from limen.training.sweep import Deliver, Runs

_PATIENCE = 10  # seconds until a scheduler must have answered


def cluster(address: str) -> Runs:
    """A runner that uses the workers of the scheduler at this address.

    A run whose worker is gone is given to another one; after as many deaths as the scheduler allows (default
    three) it is a failure.  Results come back here: no file system is shared.
    """
    from distributed import Client, as_completed
    from distributed.comm.addressing import resolve_address
    from distributed.scheduler import KilledWorker

    def runs(specs: list[Spec], deliver: Deliver) -> None:
        try:
            client = Client(resolve_address(address), timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise BadInput(f"no Dask scheduler responds at {address}: {error}") from error
        with client:
            futures = {
                client.submit(attempt, sent(some), key=f"limen-{_digest(some)}", pure=False): some
                for some in batches(specs, max(1, sum(client.nthreads().values())))
            }
            for future in as_completed(futures, loop=client.loop):
                try:
                    results = ended(future.result())
                except KilledWorker as error:
                    results = lost(futures[future], f"its worker died repeatedly: {error}")
                for one in results:
                    deliver(one)

    return runs


def _digest(specs: list[Spec]) -> str:
    """The name of a batch on the cluster."""
    return hashlib.sha256(sent(specs)).hexdigest()[:16]
