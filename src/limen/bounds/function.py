"""A user's function, run on all inputs in a process of its own, for a limited time."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limen.bounds import _worker
from limen.bounds.matrix import Entries, distinct_rows
from limen.core.arrays import np
from limen.errors import BadInput
from limen.files.paths import is_file

Answering = Callable[[tuple[int, ...]], Any]  # a function of the tokens
MOST_INPUTS = 2**20  # that a function is asked for
_WORKER = Path(__file__).with_name("_worker.py")


@dataclass(frozen=True)
class Function:
    """`NAME` in `FILE.py`: a function of tuples of `length` tokens in 0..alphabet-1; it may set its sizes."""

    path: Path
    name: str
    alphabet: int | None = None
    length: int | None = None

    @classmethod
    def parse(cls, text: str, alphabet: int | None = None, length: int | None = None) -> Function:
        """Reads FILE.py:NAME."""
        file, _, name = text.rpartition(":")
        if not file or not name.isidentifier():
            raise BadInput(f"expected FILE.py:NAME, got {text}")
        if not is_file(Path(file)):
            raise BadInput(f"there is no file {file}")
        return cls(Path(file), name, alphabet, length)

    def __str__(self) -> str:
        return f"{self.path}:{self.name}"


@dataclass(frozen=True)
class Replies:
    """A function's answers: its matrix at the cut, and at smaller lengths that it accepts, as codes."""

    alphabet: int
    length: int
    cut: int
    entries: Entries
    values: tuple[int, ...]  # the answer of each code in `entries`
    smaller: dict[int, Entries]

    def answers(self, entries: Entries) -> tuple[tuple[int, ...], ...]:
        """What the function answers where these codes stand, row by row."""
        return tuple(tuple(self.values[code] for code in row) for row in entries.tolist())


def ask(function: Function, cut: int, seconds: float | int) -> Replies:
    """The function's answers on every input; any error becomes one line.

    Smaller lengths are tried with the same share of their tokens before the cut, or else as many after it.
    """
    from tempfile import TemporaryDirectory  # here, since the catalogue is answered without it

    with TemporaryDirectory() as folder:
        code = _run(function, cut, seconds, Path(folder))
        written = Path(folder) / "reply.json"
        if not written.is_file() and code is None:
            raise BadInput(f"{function} was still running after {seconds:g} seconds")
        if not written.is_file():
            raise BadInput(f"{function} ended its process with code {code} before it gave all answers")
        reply = json.loads(written.read_text(encoding="utf-8"))
        if "error" in reply:
            raise BadInput(f"{function}: {reply['error']}")
        matrices = dict(sorted(_read(path, reply["alphabet"]) for path in Path(folder).glob("*.bin")))
    whole, values = matrices.pop(reply["length"]), tuple(reply["values"])
    return Replies(reply["alphabet"], reply["length"], cut, whole, values, matrices)


def ask_here(function: Answering, cut: int | None, alphabet: int | None, length: int | None) -> Replies:
    """The answers of a Python function, run in this process; default cut: the one with the most rows."""
    A, n = (_size(function, size, value) for size, value in (("alphabet", alphabet), ("length", length)))
    try:
        _worker.sizes(function, {"alphabet": A, "length": n, "cut": cut or 1, "most": MOST_INPUTS})
        codes, values = _worker.answers(function, A, n)
    except _worker.Wrong as wrong:
        raise BadInput(f"{getattr(function, '__name__', 'the function')}: {wrong}") from None
    written = np.array(codes, dtype=np.int32)
    t = widest(written, A, range(1, n)) if cut is None else cut
    return Replies(A, n, t, written.reshape(A**t, -1), tuple(values), {})


def widest(entries: Entries, A: int, cuts: Iterable[int]) -> int:
    """The cut with the most different rows, the first of equal ones."""
    return max(cuts, key=lambda t: distinct_rows(entries.reshape(A**t, -1)))


def word(number: int, A: int, length: int) -> tuple[int, ...]:
    """The word of this number among all of its length, the last token varying fastest."""
    return tuple(number // A**i % A for i in reversed(range(length)))


def _size(function: Answering, size: str, value: int | None) -> int:
    stated = getattr(function, size, None) if value is None else value
    if type(stated) is not int:
        raise BadInput(f"give {size}=…, or set the attribute {size} of the function; got {stated!r}")
    return stated


def _run(function: Function, cut: int, seconds: float | int, folder: Path) -> int | None:
    """The exit code of the worker, None if its time was over."""
    import subprocess

    request = asdict(function) | {"path": str(function.path.resolve()), "cut": cut, "most": MOST_INPUTS}
    request["parent"] = os.getpid()
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    # -P: the worker's own folder is not searched for modules
    command, quiet = [sys.executable, "-P", str(_WORKER), str(folder)], subprocess.DEVNULL
    try:
        ended = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None
    return ended.returncode


def _read(path: Path, alphabet: int) -> tuple[int, Entries]:
    """The length and the matrix in a file LENGTH.CUT.bin."""
    length, cut, _ = path.name.split(".")
    return int(length), np.fromfile(path, dtype=np.int32).reshape(alphabet ** int(cut), -1)
