"""Coq files: only the very file that a claim calls for is handed to Coq, and only where it holds."""

import random
from functools import cache

from fixtures.proofs import EXAMPLES, proof

from attack.damage import rewritten
from attack.watch import Attack, Untrue
from limen.coq import run as coq
from limen.coq.forms import formal, written
from limen.core.theorem import NoStatement

SMUGGLED = [
    "Axiom oops : False.", "Load evil.", "Admitted.", 'Declare ML Module "evil".', "Unset Guard Checking.",
    'Notation "~ A" := True.', "Definition evaluates := True.", "Require Import Evil.", "Set Printing All.",
    "(*", "*)", '"', "Set Universe Polymorphism.", "Local Open Scope nat_scope.", "Ltac vm_compute := idtac.",
    "Import Nat.", "Module Type T. End T.", "\u2028", "\x0c", "\x85", "\r",
]  # fmt: skip


@cache
def corpus() -> list[str]:
    return [proof(task, stack, steps)[1] for task, stack, steps, _ in EXAMPLES[:12]]


def make(rng: random.Random) -> str:
    text = rng.choice(corpus())
    lines, way = text.split("\n"), rng.random()
    at = rng.randrange(len(lines))
    if way < 0.4:
        lines.insert(at, rng.choice(SMUGGLED))
    elif way < 0.6:
        lines[at] += rng.choice([" ", "\t", "\r", *SMUGGLED])
    elif way < 0.8:
        lines[at] = rewritten(lines[at], rng)
    else:
        lines[0] = rewritten(lines[0], rng)
    return "\n".join(lines)


def judge(text: str) -> bool:
    """What reaches Coq is looked at here; Coq itself is not run."""
    asked: list[str] = []
    compiled = coq._compiled
    coq._compiled = lambda modules, verdict, judged, seconds: asked.append(verdict)  # type: ignore[assignment]
    try:
        claim, reason = coq.check_proof(text)
    finally:
        coq._compiled = compiled
    if not asked:
        raise coq.BadInput(reason or "")
    said = formal(claim)
    if isinstance(said, NoStatement) or asked != [written(claim, said)]:
        raise Untrue("Coq was asked about something else")
    lines = "\n".join(line.rstrip(" \t\r") for line in text.split("\n"))
    if lines.rstrip("\n") != asked[0].rstrip("\n"):
        raise Untrue("a file with other lines was accepted")
    return True


ATTACK = Attack("proofs", 60, make, judge)
