"""The kernel's bounds: a second derivation that agrees with the producers' and accepts nothing forged."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest
from fixtures import kernel_rows
from fixtures.drawn_bounds import ROUTES, of_every_route, route, spelled
from fixtures.unchecked import types_unchecked  # noqa: F401
from inequalities import cuts, stated

import limen_check
from limen.core.architecture import Architecture
from limen.core.bits import Count
from limen.core.catalogue import ids
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.decisions.by_counting import relu_rnn_by_counting
from limen.mixers.softmax import Softmax
from limen.tasks.eva import Eva
from limen.theorems import Case
from limen_check.cannot import bound, logs, rows
from limen_check.cannot.bound import derived
from limen_check.cannot.depth import Ceiling
from limen_check.files import SCHEMA, Malformed, Refused, claimed
from limen_check.text import parse_call

CASES = 2000


def check_bound(c: dict[str, Any]) -> str:
    return bound.check_bound(claimed(c))


def check_machine(c: dict[str, Any]) -> str:
    return bound.check_machine(claimed(c))


def reason(c: dict[str, Any]) -> str | None:
    """Why the kernel does not accept it; None if it does."""
    try:
        check_bound(c)
    except (Refused, Malformed) as error:
        return str(error)
    return None


@pytest.mark.long
def test_the_kernel_accepts_what_the_theorems_say_and_no_bit_more() -> None:
    """Accepted where the producer says cannot; what is forged is refused, unless the producer proves it.

    One exception is true: where the kernel counts rows that the producer rounds down, needs + 1 holds.
    """
    seen: Counter[str] = Counter()
    for case, said in of_every_route(16, CASES):
        c = spelled(said)
        found = derived(c)
        assert isinstance(found, Ceiling) or (
            said.sides is not None
            and (found.has, found.unit) == said.sides[1:]
            and found.needs >= said.sides.needs
        ), c
        assert (reason(c) is None) == said.excludes, (c, reason(c))
        seen[route(said)] += said.excludes
        if not said.excludes:
            continue
        if said.ceiling is None:
            has, needs = ("has", "needs") if "unit" in c else ("has_bits", "needs_bits")
            assert reason(c | {has: c[has] - 1}) is not None, c
            finer = reason(c | {needs: c[needs] + 1}) is None
            assert not finer or Task.parse(said.task).rows(case.task.cut).exact is False, c  # type: ignore[union-attr]
        else:
            loose = Fraction(1, 50) if said.theorem == "block_messages" else Fraction(1, 1 << 30)
            assert reason(c | {"ceiling": str(Fraction(c["ceiling"]) - loose)}) is not None, c
            assert reason(c | {"distribution": "uniform random inputs"}) is not None
        for other in others(case, said):
            forged = c | {"route": other.route, "sizes": dict(other.sizes)}
            if said.ceiling is None and reason(forged) is None:
                again = stated(said.theorem, other)
                assert isinstance(again, Bound) and again.excludes and _says(again, said), forged
    assert set(ROUTES) == {key for key, times in seen.items() if times}


def _says(again: Bound, said: Bound) -> bool:
    """Whether the one proves the numbers of the other."""
    if again.sides is None or said.sides is None:
        return False
    return again.sides.has <= said.sides.has and again.sides.needs >= said.sides.needs


def others(case: Case, said: Bound) -> Iterator[Case]:
    """Another route, other free sizes."""
    yield from (replace(case, route=key.partition("/")[2]) for key in ROUTES if key.startswith(said.theorem))
    for name, size in case.sizes.items():
        yield from (
            replace(case, sizes={**case.sizes, name: other}) for other in (size - 1, size + 1, 2 * size)
        )
        yield replace(case, sizes={key: value for key, value in case.sizes.items() if key != name})
    yield replace(case, sizes={**case.sizes, "z": 1})


@pytest.mark.parametrize(
    "field", ["steps", "has_bits", "needs_bits", "sizes", "route", "theorem", "task", "architecture"]
)
def test_a_field_of_another_kind_is_malformed(field: str) -> None:
    said = stated(
        "streaming_state", Case(Task.parse("eva(n=64)"), Architecture.parse("linear(state_bits=99)"))
    )
    assert isinstance(said, Bound)
    c = spelled(said)
    assert reason(c) is None
    for forged in (
        c | {field: None},
        {key: c[key] for key in c if key != field},
        c | {field: 1.5},
        c | {field: True},
    ):
        with pytest.raises(Malformed):
            check_bound(forged)
    with pytest.raises(Malformed, match="steps"):
        check_bound(c | {"steps": -1})
    with pytest.raises(Malformed, match="extra"):
        check_bound(c | {"extra": 1})


def test_logarithms_are_rounded_to_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against powers written out."""
    rng = random.Random(5)
    for _ in range(300):
        n, P = rng.randint(1, 10 ** rng.choice([1, 3, 9])), rng.randint(0, 9)
        assert (
            2 ** logs.low(n, P) <= n ** (1 << P) <= 2 ** logs.high(n, P)
            and logs.high(n, P) - logs.low(n, P) <= 2
        )
        N, T, Q, Θ = rng.randint(1, 30), rng.randint(1, 90), rng.randint(0, 40), rng.randint(1, 31)
        rare = 0 < Θ - 1 < N and 2 * comb(N, Θ - 1) * (Θ - 1) ** T << Q < N**T
        assert logs.covers(T, N, Q, Θ) == (rare or Θ == 1)
        of, told, among = rng.randint(1, 10**6), rng.randint(0, 60), rng.randint(1, 9)
        Θ = logs.kept(of, told, among)
        assert (Θ - 1) ** among << told < of**among <= Θ**among << told
        p, q, r = (
            Fraction(rng.randint(1, 9), 9),
            Fraction(1, rng.randint(2, 9)),
            Fraction(rng.randint(0, 30), 7),
        )
        a = p.numerator * 9 // p.denominator
        if p > q:
            above = ((p / q) ** a * (1 if p == 1 else ((1 - p) / (1 - q)) ** (9 - a))) ** 7 >= 2 ** (
                9 * int(7 * r)
            )
            assert logs.diverges(p, q, r) == above
            if rng.random() < 0.05:
                most = logs.highest(q, r)
                assert most == 1 or logs.diverges(most, q, r)
        K, most = rng.randint(1, 60), rng.randint(0, 70)
        total = sum(comb(K, s) * 2**s for s in range(min(most, K) + 1))
        assert logs.sets(K, most, 2).bits() == (total - 1).bit_length()
        for empty in (0, 1):
            total = sum(comb(K, s) for s in range(1, min(most, K) + 1)) + empty
            assert logs.subsets(K, most, empty) == logs.one(max(total, 1))
    monkeypatch.setattr(logs, "_WRITTEN", 0)
    monkeypatch.setattr(logs, "_SUMMED", -1)  # by Stirling's series, and by the largest terms
    for _ in range(300):
        n = rng.randint(2, 400)
        k = rng.randint(1, n - 1)
        assert (
            2 ** logs.log_binomial(n, k, 6) <= comb(n, k) ** 64 <= 2 ** logs.log_binomial(n, k, 6, above=True)
        )
        total = sum(comb(n, s) * 2**s for s in range(k + 1))
        assert (total - 1).bit_length() - 1 <= logs.sets(n, k, 2).bits() <= (total - 1).bit_length()


def test_what_is_asked_may_be_known_after_the_cut() -> None:
    """One bit of state keeps f(0) of two entries and is right on 3/4: no ceiling below that at any cut."""
    c = {
        "schema": SCHEMA,
        "kind": "bound",
        "task": "composition(m=2)",
        "architecture": "linear(state_bits=1)",
        "theorem": "streaming_state",
        "steps": 0,
        "route": "average",
        "sizes": {"t": 3},
        "needs_bits": None,
        "has_bits": None,
        "ceiling": "74/100",
        "distribution": "every entry of z_1 and z_0 independent and uniform",
    }
    assert reason(c) is not None
    assert reason(c | {"sizes": {"t": 2}}) is not None
    assert reason(c | {"sizes": {"t": 2}, "ceiling": "9/10"}) is None


def test_a_wrong_line_of_a_producer_makes_no_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many rows, too short a message: the producer's own check would accept, the kernel does not."""
    cut = Case(Task.parse("equality(n=300)"), Architecture.parse("softmax(h=1,d=17)"), 0, "fixed_query")
    stream = Case(Task.parse("eva(n=100)"), Architecture.parse("linear(state_bits=665)"))
    hop = Case(Task.parse("composition(m=8,n1=64)"), Architecture.parse("softmax(h=1,d=3)"), 0, "one_layer")
    questions = [("one_layer_cut", cut), ("streaming_state", stream), ("composition_depth", hop)]
    honest = [stated(theorem, case) for theorem, case in questions]
    assert not any(isinstance(said, Bound) and said.excludes for said in honest)
    monkeypatch.setattr(cuts, "message_bits", lambda part: part.mixer.h * (part.mixer.d + 1) * 16)
    monkeypatch.setattr(Softmax, "reply_bits", lambda self, p: self.h * self.d * p)
    monkeypatch.setattr(Eva, "rows", lambda self, t: Count(((self.n + 1, t),), "(n+1)^t"))
    for theorem, case in questions:
        said = stated(theorem, case)
        assert isinstance(said, Bound) and said.excludes
        assert reason(spelled(said)) is not None


SMALL = [
    "eva(n=1)",
    "eva(n=4)",
    "index(n=4,S=2)",
    "index(n=3,S=4)",
    "two_sum(n=3,M=4)",
    "two_sum(n=2,M=7)",
    "match3(n=3,M=7)",
    "match3(n=3,M=13)",
    "match3(n=4,M=9)",
    "match3(n=5,M=9)",
    "three_sum(n=2,M=3)",
    "three_sum(n=3,M=8)",
    "three_sum(n=4,M=5)",
    "two_sum_any(n=4,M=5)",
    "two_sum_any(n=4,M=6)",
    "two_sum_any(n=5,M=4)",
    "two_sum_any(n=2,M=8)",
    "equality(n=1)",
    "equality(n=4)",
    "disjointness(n=1)",
    "disjointness(n=4)",
    "inner_product(n=1)",
    "inner_product(n=4)",
    "counting(n=3,S=3)",
    "counting(n=4,S=2)",
    "counting(n=2,S=5)",
    "sparse_average(n=4,q=2)",
    "sparse_average(n=4,q=3)",
    "sparse_average(n=3,q=3)",
    "sparse_average(n=4,q=1)",
    "dyck(n=6,k=2,D=2)",
    "dyck(n=6,k=2,D=1)",
    "dyck(n=4,k=3,D=3)",
    "dyck(n=8,k=1,D=9)",
    "is_tree(n=4)",
    "is_tree(n=5)",
    "turing(n=5,program=palindrome)",
    "turing(n=6,program=palindrome)",
    "turing(n=2,program=palindrome)",
    "turing(n=4,program=increment)",
    "turing(n=2,program=increment)",
    "cgram(n=4,c=2,V=2)",
    "cgram(n=4,c=2,V=4)",
    "cgram(n=6,c=3,V=2)",
    "cgram(n=6,c=3,V=3)",
    "cgram(n=5,c=4,V=3)",
    "recall(n=2,V=4,q=1)",
    "recall(n=2,V=4,q=2)",
    "recall(n=1,V=3,q=1)",
    "retrieval(n=2,D=2,V=2,absent=false)",
    "retrieval(n=2,D=2,V=2,absent=true)",
    "retrieval(n=3,D=2,V=1,absent=true)",
    "retrieval(n=1,D=2,V=3,absent=true)",
    "nearest_neighbor(n=2,D=2,g=1)",
    "composition(m=3)",
    "composition(m=2,n1=2)",
    "composition(m=2,n1=1)",
    "composition(m=1,n1=2,n2=2)",
    "facts(m=1,n1=3)",
]


@pytest.mark.parametrize("text", SMALL)
def test_rows_are_never_too_many_and_exact_where_they_say_so(text: str) -> None:
    """Against a second definition of each task and a count, at every cut."""
    task, (name, sizes) = rows.read(text), parse_call(text)
    defined = getattr(kernel_rows, name.replace("facts", "composition"))(**sizes)
    assert len(defined.alphabets) == task.length
    for t in range(1, task.length):
        count = task.rows(t)
        said = math.prod(b**e for b, e in count.powers) + count.more
        assert said <= kernel_rows.told_apart(list(kernel_rows.rows_of(defined, t))), t
        assert not count.exact or said == kernel_rows.kept(defined, t), t


def test_every_task_has_its_rows_counted() -> None:
    """But khop, of which no bound speaks."""
    assert {text.partition("(")[0] for text in SMALL} == set(ids("tasks")) - {"khop"}


def test_machines_need_all_their_bits() -> None:
    """Where every cut's rows are counted exactly; a state of a rule that limits it is no machine."""
    derived = 0
    mixers = set(ids("mixers")) - {
        "relu_rnn",
        "softmax",
        "mla",
        "gated_softmax",
        "unit_softmax",
        "conv_softmax",
        "hard",
        "top_k",
        "dsa",
        "block_sparse",
        "nsa",
        "fetch",
    }
    limited = [f"{name}(state_bits=500)" for name in sorted(mixers)]
    for text in SMALL:
        free = "relu_rnn(state_bits=500)"
        said = relu_rnn_by_counting(Task.parse(text), Architecture.parse(free))
        c = {"schema": SCHEMA, "kind": "machine", "task": text, "architecture": free, "bits": 500}
        if isinstance(said, str):
            with pytest.raises(Refused):
                check_machine(c)
            continue
        assert check_machine(c | {"bits": said.bits})
        derived += 1
        others = ("relu_rnn(d=500,stages=1,p=16)", "softmax(reply_bits=500)", *limited)
        for bits, stack in (
            (said.bits - 1, free),
            (501, free),
            (
                said.bits,
                f"relu_rnn(state_bits={said.bits - 1})" if said.bits else "relu_rnn(d=1,stages=1,p=1)",
            ),
            *((said.bits, other) for other in others),
        ):
            with pytest.raises(Refused):
                check_machine(c | {"bits": bits, "architecture": stack})
    assert derived > 20


_LONG = 2**4000
_LONGER = 10**4095 + 7  # what a file may hold, about
_MIDDLE = 3**2490 + 2
HOSTILE: list[tuple[str, str, str, str, dict[str, int]]] = [
    *(
        (theorem, f"{name}(n={_LONGER},{size}={_LONGER - 2})", "linear(state_bits=5)", route, {})
        for name, size, theorem, route in (
            ("two_sum_any", "M", "streaming_state", ""),
            ("counting", "S", "one_layer_cut", "fixed_query"),
        )
    ),
    (
        "composition_depth",
        f"composition(m={_MIDDLE},n1={_MIDDLE + 2})",
        "linear(state_bits=5)",
        "chain",
        {"mu0": 0, "x0": _MIDDLE // 3, "x1": _MIDDLE // 3, "Th1": _MIDDLE // 15, "w1": 9, "v": _MIDDLE - 1},
    ),
    *(
        ("streaming_state", text, "linear(state_bits=5)", "", {})
        for text in (
            f"two_sum_any(n={_LONG},M={_LONG})",
            f"counting(n={_LONG},S={_LONG})",
            f"cgram(n={_LONG},c=5,V={_LONG})",
            f"dyck(n={_LONG},k={_LONG},D={_LONG})",
            "is_tree(n=1000)",
            "nearest_neighbor(n=5,D=1000000000,g=1)",
            "retrieval(n=9,D=99999999,V=1,absent=true)",
            "turing(n=9^4096,program=increment)",
            "turing(n=9,program=2^16000)",
            "eva(n=10^400)",
            "eva(n=10^1300)",
            "composition(m=4,n1=2,n01=3)",
            "eva(n=٣)",
            "eva(n=-1)",
            "dyck(n=5,k=2,D=2)",
            "eva()",
            "eva(n=5",
            "no(n=5)",
            "composition(m=3," + ",".join(f"n{l}=1" for l in range(1, 9000)) + ")",
        )
    ),
    ("streaming_state", "eva(n=9)", ",".join(f"lstm(d={d},p=1)" for d in range(1, 4097)), "", {}),
    ("streaming_state", "eva(n=9)", "4096*(" + "|".join(["lstm(d=1,p=1)"] * 64) + ")", "", {}),
    ("streaming_state", "eva(n=9)", "1000000000*lstm(d=1,p=1)", "", {}),
    ("streaming_state", "eva(n=9)", "(" * 500 + "lstm(d=1,p=1)" + ")" * 500, "", {}),
    ("streaming_state", "eva(n=9)", "lstm(d=1)", "", {}),
    (
        "streaming_state",
        "eva(n=9)",
        "gated_delta(h=1,d=1,d_k=1,c=1,p=1),gated_delta(h=1,d=1,d_k=1,c=1,p=1,kv=0)",
        "",
        {},
    ),
    (
        "log_linear_state",
        f"eva(n={_LONG})",
        f"log_linear(h=1,d=1,d_k=1,over=linear,levels={_LONG},p=1)",
        "",
        {},
    ),
    ("one_layer_cut", f"two_sum_any(n={_LONG},M={_LONG})", "conv_softmax(reply_bits=5)", "fixed_query", {}),
    ("one_layer_cut", f"two_sum_any(n={_LONG},M={_LONG})", "softmax(reply_bits=5)", "fixed_query", {}),
    (
        "block_messages",
        f"two_sum(n={_LONG},M={_LONG})",
        "4096*block_sparse(h=1,d=1,d_k=1,B=999,k=9,p=1)",
        "depth",
        {},
    ),
    (
        "composition_depth",
        f"composition(m={_LONG},n1={_LONG},n2={_LONG})",
        "softmax(reply_bits=3),softmax(reply_bits=9)",
        "three_hops_many_keys",
        dict.fromkeys(("x0", "x1", "x2", "w1", "w2", "Th1", "Th2"), 2**3000),
    ),
    (
        "composition_depth",
        f"composition(m={_LONG},n1={_LONG})",
        "linear(state_bits=5),softmax(reply_bits=3)",
        "each_w",
        {"mu0": 0, "y": 3, "h": 2**3000, "b": 2**3000},
    ),
    (
        "composition_depth",
        f"composition(m={_LONG},n1={_LONG})",
        "2000*softmax(reply_bits=3)",
        "chain",
        {"mu0": 0},
    ),
]


@pytest.mark.long
def test_a_strangers_file_ends_soon_with_one_line() -> None:
    """In a process of its own: none of these is accepted, hangs or raises anything else."""
    certificates = [
        {
            "schema": SCHEMA,
            "kind": "bound",
            "task": task,
            "architecture": stack,
            "theorem": theorem,
            "steps": 0,
            "route": route,
            "sizes": sizes,
            "needs_bits": 1,
            "has_bits": 0,
            "ceiling": None,
            "distribution": None,
        }
        for theorem, task, stack, route, sizes in HOSTILE
    ]
    machines = [
        {
            "schema": SCHEMA,
            "kind": "machine",
            "task": task,
            "architecture": "relu_rnn(state_bits=99)",
            "bits": 9,
        }
        for task in (
            "counting(n=16000,S=16000)",
            f"counting(n={_LONG},S=2)",
            "retrieval(n=8000,D=14,V=3,absent=true)",
        )
    ]
    broken = [
        b"[" * 200_000,
        b"\xff\xfe",
        b'{"schema": 1, "schema": 2}',
        b'{"schema": NaN}',
        b'{"schema": 1e9}',
        b"9" * 5000,
        b'"' + b'\\"' * 10**6,
        b"null",
        b"{}",
    ]
    files = [json.dumps(c).encode() for c in (*certificates, *machines)] + broken
    program = """
import sys; sys.path.insert(0, sys.argv[1])
from time import process_time
def loop():
    start = process_time()
    sum(i for i in range(10**6))
    return process_time() - start
before = loop()
from limen_check.cannot.bound import check_bound, check_machine
from limen_check.files import Malformed, Refused, claimed, read_json
for line in sys.stdin.buffer:
    start = process_time()
    try:
        c = claimed(read_json(bytes.fromhex(line.decode().strip())))
        print("accepted", (check_bound if c["kind"] == "bound" else check_machine)(c)[:200])
    except (Malformed, Refused) as error:
        assert 0 < len(str(error)) < 500 and len(str(error).splitlines()) == 1, error
        print(type(error).__name__, error)
    taken = process_time() - start
    assert taken < 100 * before or taken < 100 * loop()  # beside a loop in the same process
known = {*sys.stdlib_module_names, "limen_check", "__main__"}
assert not [name for name in sys.modules if name.partition(".")[0] not in known]
"""
    source = str(Path(limen_check.__file__).parents[1])
    lines = "\n".join(file.hex() for file in files).encode()
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, source],
        input=lines,
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = run.stdout.decode().splitlines()
    assert run.returncode == 0, run.stderr.decode()[-500:]
    assert len(said) == len(files)
    assert not [line for line in said if line.startswith("accepted")]
