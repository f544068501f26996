"""Proof and evidence are different types."""

import pytest

from limen.core.certificate import (
    SCHEMA,
    Bound,
    Collision,
    Counterexample,
    Message,
    Transcript,
    decode,
    encode,
)
from limen.core.errors import BadInput
from limen.core.measurement import Measurement, Outcome
from limen.core.verdict import Accepted, Answer, Verdict

DIGEST = "ab" * 32
COLLISION = Collision(
    task="eva(n=2)", left=(0, 1), right=(1, 1), suffix=(0,), arithmetic="float64", weights=DIGEST
)


@pytest.mark.parametrize("answer", [Answer.CAN, Answer.CANNOT])
def test_can_and_cannot_need_an_accepted_certificate(answer: Answer) -> None:
    assert Verdict(answer, "because", Accepted(COLLISION)).evidence is not None
    with pytest.raises(BadInput, match="takes a certificate"):
        Verdict(answer, "because")


def test_open_has_no_certificate() -> None:
    assert Verdict(Answer.OPEN, "nothing found").evidence is None
    with pytest.raises(BadInput, match="takes no certificate"):
        Verdict(Answer.OPEN, "nothing found", Accepted(COLLISION))


def test_not_learned_needs_a_control_that_succeeded_in_the_same_budget() -> None:
    def run(accuracy: float, steps: int = 100) -> Measurement:
        return Measurement("eva(n=4)", "linear(h=1,d=2)", seed=0, steps=steps, accuracy=accuracy)

    assert run(1.0).outcome(0.99, control=None) is Outcome.LEARNED
    assert run(0.3).outcome(0.99, control=None) is Outcome.NO_STATEMENT
    assert run(0.3).outcome(0.99, control=run(0.5)) is Outcome.NO_STATEMENT
    assert run(0.3).outcome(0.99, control=run(1.0, steps=200)) is Outcome.NO_STATEMENT
    assert run(0.3).outcome(0.99, control=run(1.0)) is Outcome.NOT_LEARNED


def test_a_bound_excludes_only_what_has_strictly_less() -> None:
    def bound(**sides: int | float) -> Bound:
        return Bound(task="eva(n=4)", architecture="linear", theorem="streaming_state", **sides)

    assert bound(needs_bits=4359, has_bits=4352).excludes
    assert not bound(needs_bits=4352, has_bits=4352).excludes
    assert bound(ceiling=0.99).excludes and not bound(ceiling=1.0).excludes and not bound().excludes


@pytest.mark.parametrize(
    "certificate",
    [
        COLLISION,
        Counterexample(
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
def test_a_certificate_is_read_back_from_json(certificate: Collision | Counterexample | Transcript) -> None:
    assert decode(encode(certificate)) == certificate


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not a certificate"),
        (b"{}", "the field schema must be 'limen/certificate/2'"),
        (b'{"schema": "limen/certificate/1"}', "a certificate of an older limen"),
        (f'{{"schema": "{SCHEMA}", "kind": "magic", "task": "eva"}}'.encode(), "magic"),
        (f'{{"schema": "{SCHEMA}", "kind": "collision", "task": "eva"}}'.encode(), "left"),
        (encode(COLLISION).replace(b'"suffix"', b'"more": 1, "suffix"'), "unknown field `more`"),
    ],
)
def test_a_certificate_from_a_stranger_is_validated(content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        decode(content)
