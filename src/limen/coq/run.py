"""Runs Coq on a proof: in an empty folder, with its own copy of `proofs/`, within a limit of time.

A file is accepted if it is, line by line, what the claim in its first line calls for, if Coq compiles it,
and if the theorem that comes out, taken by a second file that states it anew, rests on no assumption.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import zip_longest
from pathlib import Path

from limen.coq.forms import formal, forms, judge, too_large, written
from limen.core.proof import Claim, read
from limen.core.theorem import NoStatement
from limen.errors import BadInput, shortened

PROOFS = Path(__file__).with_name("proofs")
SECONDS = 300.0  # for one run of coqc; the largest of `proofs/` takes four
MISSING = "coqc is missing: the proofs need Coq 8.16, apt-get install --no-install-recommends coq"
CLOSED = "Closed under the global context"

# Said in so many words, or by a flag that turns a check of the kernel off, or reaching outside the proof.
_UNSAFE = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Hypothes[ie]s|Variables?|bypass_check"
    r"|type.in.type|(?:Guard|Positivity|Universe)\s+Checking|Declare\s+ML|Load|Redirect|Extraction|Cd)\b"
)
_VERDICT = "Verdict"


def check_proof(text: str, seconds: float = SECONDS) -> tuple[Claim, str | None]:
    """The claim of a proof, and None if it holds, otherwise the reason why not."""
    claim = read(text)
    if (reason := too_large(claim)) is not None:
        raise BadInput(reason)
    for number, line in enumerate(text.splitlines(), 1):
        if unsafe := _UNSAFE.search(line):
            return claim, f"line {number}: {unsafe.group()!r} is not allowed in a proof"
    stated = formal(claim)
    if isinstance(stated, NoStatement):
        return claim, stated.reason
    wanted = written(claim, stated)
    if (differs := _difference(text, wanted)) is not None:
        return claim, differs
    modules = forms()[claim.form].modules.split()
    return claim, _compiled(modules, wanted, judge(claim, stated, _VERDICT), seconds)


def _difference(text: str, wanted: str) -> str | None:
    """Where the file is not the one that the claim calls for; blanks at the end of a line say nothing."""
    pairs = zip_longest(text.split("\n"), wanted.split("\n"), fillvalue="")
    for number, (has, should) in enumerate(pairs, 1):
        if has.rstrip(" \t\r") != should:
            return f"line {number} is {shortened(has.strip())}; for this claim it must be {should.strip()!r}"
    return None


def _compiled(modules: list[str], verdict: str, judged: str, seconds: float) -> str | None:
    """None if Coq accepts the verdict and the theorem in it is closed."""
    if shutil.which("coqc") is None:
        raise BadInput(MISSING)
    with tempfile.TemporaryDirectory(prefix="limen-proof-") as name:
        folder = Path(name)
        try:
            for module in modules:
                _library(module)
            _run(folder, _VERDICT, verdict, seconds)
            assumptions = _run(folder, "Judge", judged, seconds)
        except Refused as error:
            return str(error)
    return (
        None
        if assumptions.strip() == CLOSED
        else f"the theorem rests on assumptions: {' '.join(assumptions.split())}"
    )


class Refused(Exception):
    """Coq did not accept a file, or took too long."""


@cache
def _shelf() -> tempfile.TemporaryDirectory[str]:
    """Where this process keeps its own compiled copy of `proofs/`."""
    return tempfile.TemporaryDirectory(prefix="limen-proofs-")


def required(text: str) -> list[str]:
    """The files of `proofs/` that a file names first, on one line or on several."""
    named = re.findall(r"^From Limen Require(?: Import)?\s+([\w\s]+)\.", text, re.M)
    return [module for modules in named for module in modules.split()]


@cache
def _library(module: str) -> None:
    """Compiles a file of `proofs/`, after those that it requires."""
    text = (PROOFS / f"{module}.v").read_text(encoding="utf-8")
    for needed in required(text):
        _library(needed)
    _run(Path(_shelf().name), module, text, SECONDS)


def _run(folder: Path, module: str, text: str, seconds: float) -> str:
    """What Coq prints; with no settings of the user's, for these could change what it loads."""
    (folder / f"{module}.v").write_text(text, encoding="utf-8")
    shelf = _shelf().name
    here = [] if str(folder) == shelf else ["-Q", ".", ""]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LANG": "C.UTF-8"}
    try:
        done = subprocess.run(
            ["coqc", "-q", "-Q", shelf, "Limen", *here, f"{module}.v"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"Coq took more than {seconds:g} seconds on {module}.v") from error
    if done.returncode != 0:
        raise Refused(f"Coq refuses {module}.v: {' '.join(done.stderr.split())[-400:]}")
    return done.stdout
