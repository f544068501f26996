"""`limen decide` on a function of one's own: the kernel derives CANNOT from the function's own answers."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limen
import limen_check
from limen.core.architecture import Architecture
from limen.core.certificate import TableBound, encode
from limen.errors import BadInput

SAME = "def same(tokens):\n    return int(tokens[:3] == tokens[3:])\nsame.alphabet, same.length = 2, 6\n"


def same(tokens: tuple[int, ...]) -> int:
    return int(tokens[:3] == tokens[3:])


def table(stack: str = "linear(state_bits=2)") -> TableBound:
    verdict = limen.decide(same, stack, alphabet=2, length=6)
    assert verdict.evidence is not None and isinstance(verdict.evidence.certificate, TableBound)
    return verdict.evidence.certificate


def says(certificate: TableBound, **changed: object) -> str:
    """What the kernel says of a certificate with other fields; a refusal starts with `refused`."""
    fields = json.loads(encode(certificate)) | changed
    try:
        checked = limen_check.derive(json.dumps(fields).encode())
    except limen_check.Malformed as error:
        return f"refused: {error}"
    return checked.says if checked.valid else f"refused: {checked.says}"


@given(st.lists(st.integers(0, 1), min_size=16, max_size=16), st.integers(0, 3))
def test_a_state_of_s_bits_is_ruled_out_just_where_some_cut_has_more_than_2_to_the_s_rows(
    values: list[int], S: int
) -> None:
    f = dict(zip(product((0, 1), repeat=4), values, strict=True))
    rows = [
        len({tuple(f[u + w] for w in product((0, 1), repeat=4 - t)) for u in product((0, 1), repeat=t)})
        for t in (1, 2, 3)
    ]
    verdict = limen.decide(lambda tokens: f[tokens], f"linear(state_bits={S})", alphabet=2, length=4)
    assert (verdict.answer == "cannot") == (max(rows) > 2**S)
    certificate = verdict.evidence and verdict.evidence.certificate
    if isinstance(certificate, TableBound):  # its answers are the function's
        for u, row in zip(certificate.prefixes, certificate.answers, strict=True):
            assert [f[u + w] for w in certificate.suffixes] == list(row)


def test_one_softmax_layer_is_ruled_out_where_the_last_token_asks_alike() -> None:
    certificate = table("softmax(reply_bits=2)")  # 4 rows by prefixes that end so, 1 by others
    assert len(certificate.prefixes) == 5 and certificate.theorem == "one_layer_cut"
    assert len({w[-1] for w in certificate.suffixes}) == 1
    assert limen.decide(same, "softmax(reply_bits=3)", alphabet=2, length=6).answer == "open"
    assert limen.decide(same, "2*softmax(reply_bits=1)", alphabet=2, length=6).answer == "open"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"answers": [[0] * 7] * 8}, "two prefixes have the same answers"),
        ({"prefixes": [[0, 0, 0]] * 8}, "stands there twice"),
        ({"prefixes": [[0, 0, 2]] * 8}, "not in the alphabet"),
        ({"prefixes": [[0, 0]] * 7 + [[0, 0, 1]]}, "one length"),
        ({"answers": [[0]]}, "a row of answers"),
        ({"has_bits": 1}, "it has 2 bits"),
        ({"needs_bits": 4}, "surely needed are 3"),
        ({"architecture": "linear(state_bits=3)"}, "it has 3 bits"),
        ({"architecture": "softmax(reply_bits=0)"}, "some layer keeps every token"),
        ({"theorem": "one_layer_cut"}, "must end with one token"),
        ({"theorem": "linear_read"}, "no such theorem"),
        ({"steps": -1}, "0 or more"),
        ({"prefixes": [], "answers": []}, "empty"),
    ],
)
def test_a_changed_table_is_refused(changed: dict[str, object], why: str) -> None:
    certificate = table()
    assert not says(certificate).startswith("refused")
    assert says(certificate, **changed).startswith("refused") and why in says(certificate, **changed)


def test_two_layers_are_no_one_layer() -> None:
    two = says(table("softmax(reply_bits=1)"), architecture="2*softmax(reply_bits=0)")
    assert "keys and values must be of the tokens themselves" in two
    thinking = says(table("softmax(reply_bits=1)"), steps=1)
    assert "asks again" in thinking


def test_the_command_line_takes_a_function_as_bound_does(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(SAME)
    kept = tmp_path / "kept.json"
    verdict = limen.decide(f"{file}:same", "linear(state_bits=2)", save=kept)
    assert verdict.answer == "cannot" and verdict.report.tokens == 6 and verdict.report.function
    assert limen.check(kept).valid
    assert limen.decide(f"{file}:same", "linear(state_bits=2)", proof=tmp_path / "x.v").exit_code == 1
    with pytest.raises(BadInput, match="no size to vary"):
        limen.decide(f"{file}:same", "linear(state_bits=2)", over="n")
    with pytest.raises(BadInput, match="no class other"):
        limen.decide(f"{file}:other", "linear(state_bits=2)")
    with pytest.raises(BadInput, match="alphabet and length are for functions"):
        limen.decide("eva(n=4)", "linear(state_bits=2)", alphabet=2)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("gone.py:same", "there is no file"),
        ("own.py:other", "the file has no function other"),
        ("own.py:number", "the file has no function number"),
        ("own.py", "expected FILE.py:NAME"),
        ("own.py:", "expected FILE.py:NAME"),
        ("own.py:coin", "and then"),
        ("broken.py:same", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_where_its_sizes_are_given(
    tmp_path: Path, named: str, said: str
) -> None:
    coin = "import random\ndef coin(tokens):\n    return random.random() < 0.5\n"
    (tmp_path / "own.py").write_text(f"{SAME}number = 5\n{coin}")
    (tmp_path / "broken.py").write_text("def same(:")
    with pytest.raises(BadInput, match=said):
        limen.decide(f"{tmp_path / named}", "linear(state_bits=2)", alphabet=2, length=6)


def test_a_function_that_is_not_defined_by_def_is_one_where_its_sizes_are_given(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("first = lambda tokens: tokens[0]\n")
    said = limen.decide(f"{tmp_path}/own.py:first", "linear(state_bits=0)", alphabet=2, length=3)
    assert said.answer == "cannot"


def test_a_function_that_answers_otherwise_the_second_time_is_refused() -> None:
    asked = iter(range(1000))
    with pytest.raises(BadInput, match="it returned 0 and then 4"):
        limen.decide(lambda tokens: next(asked), "linear(state_bits=0)", alphabet=2, length=2)


def test_states_that_are_spelled_by_sizes_count_their_bits() -> None:
    bits = Architecture.parse("linear(h=1,d=1,p=1)").state_bits(3)
    verdict = limen.decide(same, "linear(h=1,d=1,p=1)", alphabet=2, length=6)
    assert bits == 2 and verdict.report.has_bits == 2 and verdict.report.needs_bits == 3
    assert msgspec.json.decode(verdict.report.to_json())["certificate"]["kind"] == "table_bound"
