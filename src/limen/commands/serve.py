"""Serve the page on this machine, live."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Annotated

from limen.commands._command import Shown, Tell, command
from limen.commands._words import Cores, processes
from limen.core import quantities
from limen.core.option import Option
from limen.core.report import Report
from limen.errors import BadInput


class ServeReport(Report, frozen=True, kw_only=True, tag="limen/serve/1"):
    """Where the page was."""

    address: str

    @property
    def headline(self) -> str:
        return self.address


@command(
    example="limen serve",
    answers=(Shown("limen.commands.serve:ServeReport", "limen.render.serve:lines_of"),),
)
def serve(
    port: Annotated[
        int, Option("Port on 127.0.0.1; 0: any that is free.", least=0, most=65535, local=True)
    ] = 8787,
    seconds: Annotated[
        float,
        Option("How long an answer may take: 60s, 5m.", parse=quantities.seconds, line="120s", least=1.0),
    ] = 120.0,
    ends: Annotated[
        float | None,
        Option("End by itself after this time: 10s, 8h.", flag="--for", parse=quantities.seconds, least=0.0),
    ] = None,
    *,
    cores: Cores = 2,
    tell: Tell | None = None,
) -> ServeReport:
    """Only this machine reaches it. Each answer comes from a process of its own, which is ended when it takes
    too long. End it with Ctrl-C.
    """
    from limen.commands import drawn
    from limen.page.assemble import served
    from limen.page.server import PageServer

    try:
        server = PageServer(
            port, served(), drawn, "limen.commands._warm", processes(cores), seconds, ("table",)
        )
    except OSError as error:
        raise BadInput(f"port {port} of 127.0.0.1 cannot be used: {error.strerror}") from error
    address = f"http://127.0.0.1:{server.server_port}/"
    if tell is not None:
        tell(address)
    if ends is not None:
        threading.Timer(ends, server.shutdown).start()
    with server, suppress(KeyboardInterrupt):  # the way to end it
        server.serve_forever()
    return ServeReport(address=address)
