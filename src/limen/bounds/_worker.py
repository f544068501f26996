"""Runs in a process of its own: loads a user's function and writes down its answers; see function.py.

It imports nothing of Limen, so that it starts at once and the user's modules cannot be mistaken for ours.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import operator
import os
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any

_SHOWN = 200  # letters of a stranger's message
_BITS = 2**12  # of an answer
_AGAIN = 256  # inputs, evenly spread, that a function is asked for a second time

_PR_SET_PDEATHSIG = 1  # of Linux


class Wrong(Exception):
    """An error whose message the user sees."""


def load(path: str, name: str) -> Callable[[tuple[int, ...]], Any]:
    """The function of a file, with the file's folder searched for modules as if the file were run."""
    sys.path.insert(0, str(Path(path).parent))
    spec = importlib.util.spec_from_file_location("stranger", path)
    if spec is None or spec.loader is None:
        raise Wrong("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # whatever a file may raise, SystemExit included
        raise Wrong(f"loading the file raised {described(error)}") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise Wrong(f"the file has no function {name}")
    return function  # type: ignore[no-any-return]


def described(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN]


def sizes(function: object, request: dict[str, Any]) -> tuple[int, int]:
    """Alphabet and length, as asked for or as the function says, and checked together with the cut."""
    values = []
    for size, least in (("alphabet", 1), ("length", 2)):
        value = request[size] if request[size] is not None else getattr(function, size, None)
        if type(value) is not int or value < least:
            need = f"an integer of at least {least}, given by --{size} or as an attribute of the function"
            raise Wrong(f"{size} is {value!r}; expected {need}")
        values.append(value)
    A, n = values
    if not 0 < request["cut"] < n:
        raise Wrong(f"the cut must be in 1..{n - 1} for {n} tokens, got {request['cut']}")
    if n * (A.bit_length() - 1) > 64 or A**n > request["most"]:
        raise Wrong(f"the function has {A}^{n} inputs; at most {request['most']:,} are tried")
    return A, n


def answers(function: Callable[[tuple[int, ...]], Any], A: int, n: int) -> tuple[list[int], list[int]]:
    """The codes of all answers, the last token varying fastest, and the answer of each code."""
    codes, written = {0: 0, 1: 1}, list[int]()
    for tokens in product(range(A), repeat=n):
        written.append(codes.setdefault(answer(function, tokens), len(codes)))
    values, apart = [*codes], -(-len(written) // _AGAIN)
    for code, tokens in islice(zip(written, product(range(A), repeat=n), strict=True), 0, None, apart):
        first, second = values[code], answer(function, tokens)
        if second != first:
            raise Wrong(
                f"on {tokens} it returned {first} and then {second}; the same input must give the same"
            )
    return written, values


def answer(function: Callable[[tuple[int, ...]], Any], tokens: tuple[int, ...]) -> int:
    """What the function says of these tokens."""
    try:
        reply = function(tokens)
    except BaseException as error:  # SystemExit would end the process without a word
        raise Wrong(f"on {tokens} it raised {described(error)}") from None
    return whole(reply, tokens)


def whole(answer: Any, tokens: tuple[int, ...]) -> int:
    """The answer as an integer; numpy's bools and tensors of one element know theirs by `item`."""
    if hasattr(answer, "item"):
        answer = answer.item()
    try:
        number = operator.index(answer)
    except TypeError:
        raise Wrong(f"on {tokens} it returned {repr(answer)[:_SHOWN]}, which is not an integer") from None
    if number.bit_length() > _BITS:
        raise Wrong(f"on {tokens} it returned an integer of {number.bit_length():,} bits; at most {_BITS:,}")
    return number


def smaller(n: int, cut: int) -> list[tuple[int, int]]:
    """Smaller lengths with their cuts: the same share of tokens before the cut, or else as many after it."""
    same_share = [(k, cut * k // n) for k in range(2, n) if cut * k % n == 0]
    same_rest = [(k, cut - (n - k)) for k in range(2, n) if cut - (n - k) > 0]
    return same_share if len(same_share) >= 2 else same_rest


def write(path: Path, content: bytes) -> None:
    """Writes the whole file or none, also if the process is killed meanwhile."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.rename(path)


def die_with(parent: int) -> None:
    """Asks Linux to end this process with its parent; exits if the parent is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run(folder: Path) -> None:
    """Writes the answers for the requested length, then for smaller ones as time allows."""
    request, start = json.loads((folder / "request.json").read_text(encoding="utf-8")), time.monotonic()
    die_with(request["parent"])
    function = load(request["path"], request["name"])
    A, n = sizes(function, request)
    codes, values = answers(function, A, n)
    write(folder / f"{n}.{request['cut']}.bin", array("i", codes).tobytes())
    write(folder / "reply.json", json.dumps({"alphabet": A, "length": n, "values": values}).encode())
    watch = threading.Timer(1 + 2 * (time.monotonic() - start), os._exit, (0,))
    watch.daemon = True
    watch.start()
    for k, t in smaller(n, request["cut"]):
        try:
            write(folder / f"{k}.{t}.bin", array("i", answers(function, A, k)[0]).tobytes())
        except Wrong:  # it does not take this length
            continue


def main(folder: Path) -> None:
    try:
        run(folder)
    except Wrong as wrong:
        write(folder / "reply.json", json.dumps({"error": str(wrong)}).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
