"""Runs on a Dask cluster: the same function on other computers, whose processes may die."""

from __future__ import annotations

from limen.errors import BadInput
from limen.training.attempt import attempt, ended, lost
from limen.training.spec import Spec, written
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
                client.submit(attempt, written(spec), key=f"limen-{spec.digest}", pure=False): spec
                for spec in specs
            }
            for future in as_completed(futures, loop=client.loop):
                try:
                    deliver(ended(future.result()))
                except KilledWorker as error:
                    deliver(lost(futures[future], f"its worker died repeatedly: {error}"))

    return runs
