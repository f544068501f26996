"""Proof and evidence are different types."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import limen
import limen_check
from limen.core.certificate import (
    SCHEMA,
    Bound,
    Collision,
    Machine,
    Message,
    Transcript,
    WrongAnswer,
    decode,
    encode,
)
from limen.core.kernel import Accepted
from limen.core.verdict import Answer, Verdict
from limen.errors import BadInput

DIGEST = "ab" * 32
COLLISION = Collision(
    task="eva(n=2)", left=(0, 1), right=(1, 1), suffix=(0,), arithmetic="float64", weights=DIGEST
)


EVA, RNN = "eva(n=8)", "relu_rnn(state_bits={})"
TOO_FEW = Bound(task=EVA, architecture=RNN.format(23), theorem="streaming_state", needs_bits=24, has_bits=23)
ENOUGH = Machine(task=EVA, architecture=RNN.format(24), bits=24)


def test_the_answer_is_what_the_accepted_certificate_says() -> None:
    cannot, can = Accepted(encode(TOO_FEW)), Accepted(encode(ENOUGH))
    assert Verdict(EVA, RNN.format(23), 0, "because", cannot).answer is Answer.CANNOT
    assert Verdict(EVA, RNN.format(24), 0, "because", can).answer is Answer.CAN
    assert Verdict(EVA, RNN.format(24), 0, "nothing found").answer is Answer.OPEN


def test_no_evidence_is_built_that_the_kernel_refuses() -> None:
    with pytest.raises(BadInput, match="the kernel refuses this bound"):
        Accepted(encode(msgspec.structs.replace(TOO_FEW, architecture=RNN.format(24))))
    with pytest.raises(limen_check.Malformed):
        Accepted(encode(COLLISION))


def test_a_certificate_about_something_else_is_no_evidence() -> None:
    cannot = Accepted(encode(TOO_FEW))
    with pytest.raises(BadInput, match="the certificate is about eva"):
        Verdict("eva(n=9)", RNN.format(23), 0, "because", cannot)
    with pytest.raises(BadInput, match="the certificate is about eva"):
        Verdict(EVA, RNN.format(22), 0, "because", cannot)
    with pytest.raises(BadInput, match="0 steps"):
        Verdict(EVA, RNN.format(23), 1, "because", cannot)


SAY_NOTHING = {"said", "found", "asked", "_said", "_found", "_asked"}
NOT_YET = (  # what is clean leaves this list
    "limen_check/",
    "limen/laws/",  # the bodies of the laws stay as they are
    "limen/core/kernel.py",  # and so does `Accepted`
)


def named(tree: ast.Module) -> Iterator[str]:
    """The names of functions, parameters and variables; annotated fields of a class are the JSON's."""
    of_classes = (line for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for line in node.body)
    fields = {id(line.target) for line in of_classes if isinstance(line, ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield name


def test_a_name_says_what_it_holds() -> None:
    """What is called said, found or asked might be anything that was said, found or asked for."""
    src, unclear = Path(limen.__file__).parents[1], defaultdict(set)
    for path in sorted((*src.glob("limen/**/*.py"), *src.glob("limen_check/**/*.py"))):
        if names := SAY_NOTHING & set(named(ast.parse(path.read_text()))):
            unclear[path.relative_to(src).as_posix()] |= names
    assert {file: names for file, names in unclear.items() if not file.startswith(NOT_YET)} == {}
    assert [room for room in NOT_YET if not any(file.startswith(room) for file in unclear)] == []


def riddle(tree: ast.Module) -> bool:
    """Whether a docstring begins with "Of …", or leaves open who tells what to whom."""
    documented = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Module))
    docstrings = [ast.get_docstring(node) or "" for node in documented]
    return any(re.search(r"^Of |\b(is|are) told\b(?! apart)", text) for text in docstrings)


def test_a_docstring_names_what_it_is_about() -> None:
    src = Path(limen.__file__).parents[1]
    files = sorted((*src.glob("limen/**/*.py"), *src.glob("limen_check/**/*.py")))
    assert [p.relative_to(src).as_posix() for p in files if riddle(ast.parse(p.read_text()))] == []


def test_a_bound_excludes_only_what_has_strictly_less() -> None:
    def bound(**sides: int | str) -> Bound:
        return Bound(task="eva(n=4)", architecture="linear", theorem="streaming_state", **sides)

    assert bound(needs_bits=4359, has_bits=4352).excludes
    assert not bound(needs_bits=4352, has_bits=4352).excludes
    assert bound(ceiling="99/100").excludes and not bound(ceiling="1").excludes and not bound().excludes


@pytest.mark.parametrize(
    "certificate",
    [
        COLLISION,
        WrongAnswer(
            task="eva(n=2)",
            tokens=(0, 1, 0),
            answer=0,
            given=1,
            precision="bf16",
            steps=0,
            weights=DIGEST,
        ),
        Transcript(
            task="eva(n=2)",
            architecture="linear(h=1,d=2)",
            weights=DIGEST,
            arithmetic="integers",
            players=(2, 1),
            tokens=(0, 1, 0),
            messages=(
                Message(
                    sender="a",
                    receiver="b",
                    layer=0,
                    part=0,
                    what="state",
                    tokens=1,
                    numbers=6,
                    bits=96,
                    digest="ab",
                ),
            ),
        ),
    ],
)
def test_a_certificate_is_read_back_from_json(certificate: Collision | WrongAnswer | Transcript) -> None:
    assert decode(encode(certificate)) == certificate


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not a certificate"),
        (b"{}", "the field schema must be 'limen/certificate/2'"),
        (b'{"schema": "limen/certificate/1"}', "this certificate has the old format"),
        (f'{{"schema": "{SCHEMA}", "kind": "magic", "task": "eva"}}'.encode(), "magic"),
        (f'{{"schema": "{SCHEMA}", "kind": "collision", "task": "eva"}}'.encode(), "left"),
        (encode(COLLISION).replace(b'"suffix"', b'"more": 1, "suffix"'), "unknown field `more`"),
    ],
)
def test_a_certificate_from_a_stranger_is_validated(content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        decode(content)
