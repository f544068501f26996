"""The page, live on this machine: its files, and POST call -> a command's answer.

Every call runs in a process of its own, which is ended when it takes too long, or when nobody waits for it
any more.  What takes all of a page's columns comes after what somebody asks: it is held while that is
answered.  A request has to name this server as its host, and to come from its own page.  Nothing is read but
the page's files, and nothing is written.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import Any

from limen.errors import BadInput
from limen.files.strict_json import read_object

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
LARGEST = 1 << 20  # bytes of a call
SECONDS = 120.0  # that a call may take
_PATIENCE = 10.0  # seconds in which a request must have been sent
_MEMORY = 8 << 30  # bytes of address space of a call
_STOPS = hasattr(signal, "SIGSTOP")
_CONNECTIONS, _KEPT = 64, 32 << 20  # at once; bytes of answers that are kept

Answer = Callable[[str, bytes], bytes]  # a command's name, its values as JSON -> JSON


class PageServer(ThreadingHTTPServer):
    """Serves files by their names, and the answers of `answer`; workers are forked once `warm` is loaded."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        port: int,
        files: Mapping[str, tuple[str, bytes]],
        answer: Answer,
        warm: str,
        workers: int = 2,
        seconds: float = SECONDS,
        later: Container[str] = (),
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.files, self.answer, self.seconds, self.later = files, answer, seconds, later
        self._start = _processes(warm)
        self._workers, self._connections = threading.Semaphore(workers), threading.Semaphore(_CONNECTIONS)
        self._spare = threading.Semaphore(1)  # one of `later` at a time
        self._most, self._asked = workers, 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def hosts(self) -> tuple[str, str]:
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """One thread a connection, and no more connections than this."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error; anything else is one of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def called(self, name: str, body: bytes, waits: Callable[[], bool]) -> bytes | None:
        """The answer, from a process of its own or as it was given before; None if nobody waits for it."""
        key = name.encode() + b" " + body
        if (known := self._known(key)) is not None:
            return known
        later = name in self.later
        places, held = (self._spare, self._full) if later else (self._workers, lambda: False)
        with nullcontext() if later else self._asking():
            while not places.acquire(timeout=0.1):
                if not waits():
                    return None
            try:  # while it waited, another may have been told the same
                how = self._start, self.answer, name, body, self.seconds
                answer = self._known(key) or run(*how, waits, held)
            finally:
                places.release()
        if answer is not None and not answer.startswith(b'{"error"'):
            self._keep(key, answer)
        return answer

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """While somebody's question waits or is answered."""
        with self._lock:
            self._asked += 1
        try:
            yield
        finally:
            with self._lock:
                self._asked -= 1

    def _full(self) -> bool:
        """Whether questions take every worker, so that what comes later is held."""
        return self._asked >= self._most

    def _known(self, key: bytes) -> bytes | None:
        """The answer as it was given before."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: bytes, answer: bytes) -> None:
        """The latest answers, while they are not too large."""
        with self._lock:
            self._kept[key] = answer
            while sum(map(len, self._kept.values())) > _KEPT:
                self._kept.popitem(last=False)


def run(
    start: Any,
    answer: Answer,
    name: str,
    body: bytes,
    seconds: float,
    waits: Callable[[], bool],
    held: Callable[[], bool],
) -> bytes | None:
    """The answer of a process that is ended after so many seconds; None if nobody waits for it any more.

    While it is `held` the process stands still, where a system can stop one, and its time does not run.
    """
    here, there = start.Pipe(duplex=False)
    worker = start.Process(target=_work, args=(there, answer, name, body, seconds), daemon=True)
    worker.start()
    there.close()
    end, still = time.monotonic() + seconds, False
    try:
        while not here.poll(0.05):
            if not waits():
                return None
            if _STOPS and held() != still:
                still = not still
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(worker.pid, signal.SIGSTOP if still else signal.SIGCONT)
            if still:
                end += 0.05
            if time.monotonic() > end:
                return error(f"no answer in {seconds:.0f} seconds; on the command line it may take longer")
        told: bytes = here.recv_bytes()
        return told
    except EOFError:  # it ended without a word: out of memory, or of processor time
        return error("the answer took more memory or time than a page may have; try the command line")
    finally:
        worker.kill()
        worker.join()
        here.close()


def error(says: str) -> bytes:
    return json.dumps({"error": says}, ensure_ascii=False).encode()


def _work(out: Connection, answer: Answer, name: str, body: bytes, seconds: float) -> None:
    """What a worker does; where the system has limits, it has a limit of memory and of processor time."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except ImportError:  # not a system with limits: the time above is limited even so
        pass
    try:
        told = answer(name, body)
    except Exception as failure:
        told = error(f"{name} stopped: {type(failure).__name__}; please report it with what was asked")
    with suppress(BrokenPipeError):  # the server has ended meanwhile, and nobody waits
        out.send_bytes(told)


def _processes(warm: str) -> Any:
    """Workers are forked from a process that has loaded the module; where that cannot be they start anew."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([warm])
    return context


class _Handler(BaseHTTPRequestHandler):
    """One request a connection."""

    server: PageServer
    timeout = _PATIENCE
    server_version, sys_version = "limen", ""

    def setup(self) -> None:
        super().setup()
        self._late = threading.Timer(_PATIENCE, self._cut)  # a client that sends a byte now and then, too
        self._late.daemon = True
        self._late.start()

    def finish(self) -> None:
        self._late.cancel()
        super().finish()

    def _cut(self) -> None:
        with suppress(OSError):  # it has gone
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._late.cancel()
        if self.headers.get("host", "") not in self.server.hosts:  # a name that leads here is a trick
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return
        name = self.path.partition("?")[0].lstrip("/") or "index.html"
        if name in self.server.files:
            self._send(*self.server.files[name])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        wrong = self._wrong()
        if wrong is not None:
            self._refuse(wrong)
            return
        size = int(self.headers["content-length"])
        content = self.rfile.read(size)
        self._late.cancel()
        if len(content) == size:
            self._answer(content)

    def _wrong(self) -> HTTPStatus | None:
        """Why a call is refused before it is read."""
        size, origin = self.headers.get("content-length", ""), self.headers.get("origin")
        if self.headers.get("host", "") not in self.server.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        if origin is not None and origin not in [f"http://{host}" for host in self.server.hosts]:
            return HTTPStatus.FORBIDDEN
        if self.path != "/call":
            return HTTPStatus.NOT_FOUND
        if self.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if re.fullmatch(r"[0-9]{1,12}", size) is None or int(size) > LARGEST:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return None

    def _answer(self, content: bytes) -> None:
        """One object {"name": …, "body": {…}}, read strictly; its answer, or an object with the error."""
        try:
            sent = read_object(content, "the call")
            name, body = sent.pop("name"), sent.pop("body")
            if sent or not isinstance(name, str) or not isinstance(body, dict):
                raise ValueError
        except (BadInput, ValueError, KeyError):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        answer = self.server.called(name, json.dumps(body, sort_keys=True).encode(), self._waits)
        if answer is not None:
            self._send("application/json", answer)

    def _waits(self) -> bool:
        """Whether the client is still there."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        if not readable:
            return True
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def _send(self, kind: str, content: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "content-type": kind, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus) -> None:
        self._late.cancel()
        self.close_connection = True
        self._send("text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode(), status)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses, in the same form."""
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = getattr(self, "request_version", "HTTP/1.0")
        self._refuse(HTTPStatus(code))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""
