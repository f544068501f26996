"""Attacks on CANNOT from a table of answers, on what is printed of it, and on the heads of retention."""

from __future__ import annotations

import json
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, carried
from fixtures.unchecked import types_unchecked  # noqa: F401

import limen
import limen_check
from limen.core.task import Task
from limen.errors import BadInput
from limen.render.theorem import theorem
from limen_check import files
from limen_check.can.fits import check_fits
from limen_check.cannot import rows
from limen_check.cannot.table import check_table
from limen_check.files import Malformed, Refused

TABLE: dict[str, Any] = {
    "schema": "limen/certificate/2", "kind": "table_bound", "task": "f", "theorem": "streaming_state",
    "architecture": "linear(state_bits=1)", "steps": 0, "alphabet": 4, "needs_bits": 2, "has_bits": 1,
    "prefixes": [[0], [1], [2], [3]], "suffixes": [[0], [1]], "answers": [[0, 0], [0, 1], [1, 0], [1, 1]],
}  # fmt: skip


def derived(**changed: Any) -> limen_check.Checked:
    return limen_check.derive(json.dumps(TABLE | changed).encode())


def test_a_table_that_no_function_has_is_refused() -> None:
    assert derived().valid
    twice = derived(suffixes=[[0], [0]])  # after one text both 0 and 1
    assert not twice.valid and "continuation stands there twice" in twice.says


@pytest.mark.parametrize(
    "name", ["equality(n=3), as was derived; that the moon is cheese", "f" * 101, "f\n", "", "eva(n=4)"]
)
def test_no_sentence_of_a_stranger_stands_in_what_the_kernel_says(name: str) -> None:
    with pytest.raises(Malformed, match="must be a function's name"):
        derived(task=name)


class OneHash(int):
    """As k·(2^61 - 1), which all have the hash 0; it counts how often two of them are compared."""

    compared = 0

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        OneHash.compared += 1
        return int(self) == other


@pytest.mark.parametrize("field", ["answers", "prefixes", "suffixes"])
def test_numbers_with_one_hash_are_not_compared_each_with_each(field: str) -> None:
    n = 400
    plain, hashed = [[i] for i in range(n)], [[OneHash(i)] for i in range(n)]
    wide = {"alphabet": n, "prefixes": plain, "suffixes": [[0]], "answers": plain}
    if field == "suffixes":
        wide |= {"prefixes": plain[:3], "suffixes": hashed, "answers": [[i] * n for i in range(3)]}
    else:
        wide[field] = hashed
    OneHash.compared = 0
    assert "cannot" in check_table(TABLE | wide)
    assert OneHash.compared < 40 * n  # n²/2 in a set


def test_of_all_functions_of_three_bits_those_of_no_machine_of_one_bit_are_ruled_out() -> None:
    """A machine: a bit after one token, one after two, the answer, each step as it likes."""
    bits, texts = (0, 1), list(product((0, 1), repeat=3))
    two = list(product(bits, repeat=4))  # functions of two bits a, b by 2a + b
    done = {
        tuple(last[2 * middle[2 * first[x] + y] + z] for x, y, z in texts)
        for first, middle, last in product(product(bits, repeat=2), two, two)
    }
    for values in product(bits, repeat=8):
        f = dict(zip(texts, values, strict=True))
        verdict = limen.decide(lambda tokens, f=f: f[tokens], "rwkv7(state_bits=1)", alphabet=2, length=3)
        assert (verdict.answer == "cannot") == (values not in done), values


def test_no_function_of_one_bit_replies_that_are_merged_is_ruled_out() -> None:
    """Three tokens say a bit each, merged by or, and, xor, in a way that the last one chooses."""
    texts, ones = list(product((0, 1), repeat=3)), list(product((0, 1), repeat=2))
    merges = [lambda a, b: a | b, lambda a, b: a & b, lambda a, b: a ^ b]
    halves = sorted(
        {
            tuple(read[merge(merge(p[x], q[y]), r[z])] for x, y, z in texts)
            for merge, p, q, r, read in product(merges, ones, ones, ones, ones)
        }
    )
    rng = np.random.default_rng(0)
    for i, j in rng.integers(len(halves), size=(60, 2)):
        f = {(*text, q): halves[k][at] for q, k in enumerate((i, j)) for at, text in enumerate(texts)}
        reads = lambda tokens, f=f: f[tokens]  # noqa: E731
        assert limen.decide(reads, "softmax(reply_bits=1)", alphabet=2, length=4).answer == "open"


def test_the_answers_in_a_certificate_and_in_a_theorem_are_the_functions_own() -> None:
    values = [-7, 10**30, 3, 2**70]

    def f(tokens: tuple[int, ...]) -> int:
        return values[tokens[0]] + tokens[1]

    verdict = limen.decide(f, "linear(state_bits=1)", alphabet=4, length=2)
    assert verdict.evidence is not None
    c = json.loads(verdict.evidence.content)
    assert c["answers"] == [[f((*u, *w)) for w in c["suffixes"]] for u in c["prefixes"]]
    assert all(
        f"${i}$ & {value} " in theorem(limen.bound(f, alphabet=4, length=2)) for i, value in enumerate(values)
    )
    with pytest.raises(BadInput, match="an integer of 5,001 bits"):
        limen.decide(lambda tokens: 2**5000, "linear(state_bits=1)", alphabet=2, length=2)


@pytest.mark.parametrize(
    ("task", "cut", "count", "letters"),
    [
        ("composition(m=4)", 4, "256", "N = N_{L-1}"),
        ("turing(n=5)", 4, "4", "s = t-1"),
        ("match3(n=5,M=9)", 4, "4", r"K = \lfloor (M-1)/4\rfloor"),
    ],
)
def test_a_theorem_gives_no_letter_the_number_of_rows(task: str, cut: int, count: str, letters: str) -> None:
    """N is 4, not 256: what a letter is stands last, and nothing behind it."""
    stated = theorem(limen.bound(task, cut=cut)).replace("\n", " ").split(r"\[ R = ")[1].split(r"\]")[0]
    assert stated.startswith(f"{count} = ") and stated.rstrip().endswith(letters)


def split() -> Forged:
    """Retention of one head, beside one of weights 0 that stands before it: each fades as head 0 does."""
    f = carried("retnet(h=2,d=4)")
    one = "retnet(h=1,d=1,d_k=1)"
    assert f.header["architecture"].startswith(f"{one},")
    f.header["architecture"] = f"{one}|{f.header['architecture']}"
    for name in "QKVO":
        f.w[f"0.1.{name}"] = f.w[f"0.0.{name}"]
        f.w[f"0.0.{name}"] = np.zeros_like(f.w[f"0.1.{name}"])
    return f


def test_a_head_of_retention_is_no_other_head_of_it() -> None:
    """Two parts of one head are not two heads of a part: head 1 leaves 63/64 a token, not 31/32."""
    f = split()
    model = files.model(*f.files())
    layers = "softmax(h=1,d=2,d_k=4,kv_heads=1,bidirectional=false,p=16)"
    c = {
        "task": f.task, "precision": "bfloat16", "steps": 0, "weights": model.digest, "margin": "1",
        "hints": f.hints,
    }  # fmt: skip
    one, two = (f"retnet(h={h},d=1,d_k=1,p=16)" for h in (1, 2))
    for held in (f"{one}|{one}", f"{two}|{one}", f"{two}|{two}"):
        assert "can" in check_fits(c | {"architecture": f"{held},{layers},{layers}"}, model)
    with pytest.raises(Refused, match="not found there"):
        check_fits(c | {"architecture": f"{two},{layers},{layers}"}, model)


@pytest.mark.parametrize(("n", "M"), [(14623, 14067), (9722, 16534), (16000, 9795), (12, 7), (9, 10)])
def test_the_sets_without_a_pair_are_counted_to_the_bit(n: int, M: int) -> None:
    """The kernel's number and the task's, by the sum itself."""
    task = Task.parse(f"two_sum_any(n={n},M={M})")
    t, h, e = n // 2, (M - 1) // 2, 2 - M % 2
    total, term = comb(e, t) + (t >= 2), 1
    for s in range(1, min(t, h) + 1):
        term = term * 2 * (h - s + 1) // s
        total += term * sum(comb(e, z) for z in range(min(e, t - s) + 1))
    mine = task.rows(t)
    assert mine is not None
    assert rows.read(str(task)).rows(t).bits() == mine.bits == (total - 1).bit_length()
