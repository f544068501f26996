"""What proofs/block_messages.v says at the sizes of a case."""

from __future__ import annotations

from math import comb

from limen.coq.statement import WRITTEN, Form, Stated, Unstated, nat, nothing_free
from limen.coq.writers._lookups import has
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.tasks.two_sum import TwoSum
from limen.theorems import Case


def told(w: int, M: int, B: int, whole: int, κ: int) -> bool:
    """`sets_exceed` of proofs/block_messages.v: more sets of at most B of D values than messages."""
    D = max(0, M - κ * M // whole)
    return bool(2**w < sum(comb(D, i) for i in range(int(D == M), B + 1)))


def _two_sum(case: Case) -> Stated:
    w = has("block_messages", case, route="positions")
    task, mixer = case.task, case.architecture.layers[0].parts[0].mixer
    assert isinstance(task, TwoSum) and isinstance(mixer, BlockSparse | Nsa)  # else nothing is stated
    if mixer.B * task.M.bit_length() > WRITTEN or w > WRITTEN:
        raise Unstated("so many sets are not counted in Coq")
    (whole, rest), κ = divmod(task.n, mixer.B), mixer.opened
    return Stated(
        "forall L : block_layer, (forall x y : bl_message L, {x = y} + {x <> y}) ->\n"
        f"  opens L {nat(κ)} -> message_bits L {nat(task.M)} {nat(mixer.B)} {nat(w)} ->\n"
        f"  ~ solves_two_sum L {nat(task.M)} {nat(mixer.B)} {nat(whole)} {nat(rest)}",
        f"apply (cannot_two_sum {w} {task.M} {mixer.B} {whole} {rest} {κ})",
        f"no layer that opens {κ} of {whole} blocks of {mixer.B} tokens, of which each sends {w} bits,\n"
        f"    can say whether a partner modulo {task.M} is among {task.n} tokens",
        told(w, task.M, mixer.B, whole, κ),
    )


FORMS = {"cannot_two_sum": Form("block_messages", "block_messages", (), _two_sum, nothing_free)}
