"""Evidence that anyone can re-check: plain data, read and written as JSON.

A certificate names the task in its text form and carries token ids; it never carries code.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from limen.core.renderers import html
from limen.errors import BadInput
from limen.files.own import refuse
from limen.files.strict_json import read_object

SCHEMA = "limen/certificate/2"
_OLD = "limen/certificate/1"

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]  # SHA-256 of the weights and their frame
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
# 0x1.8p+0 as `float.hex` writes it, 2 or 3/7: a number that every machine reads alike
Number = Annotated[
    str, msgspec.Meta(pattern=r"^(0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|[0-9]{1,300}(/[0-9]{1,300})?)$")
]
Text = Annotated[tuple[int, ...], msgspec.Meta(max_length=2**20)]  # of tokens
Answered = Annotated[tuple[int, ...], msgspec.Meta(max_length=2**16)]  # of several answers
Word = Annotated[str, msgspec.Meta(max_length=200)]  # a precision or an arithmetic in its text form


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every kind has: the task it speaks of."""

    task: str

    def _repr_html_(self) -> str | None:
        return html(self)


class WrongAnswer(Certificate, frozen=True, kw_only=True, tag="wrong_answer"):
    """An input on which a model is wrong; where several answers are due, all of them are said.

    A model that is a function has no weights that could be named: then only the run speaks.
    """

    tokens: Text
    answer: int | Answered
    given: int | Answered
    precision: Word
    steps: Natural
    weights: Digest | None


class SameAnswer(Certificate, frozen=True, kw_only=True, tag="same_answer"):
    """Two inputs with different right answers to which a model gives the same one, so one of them wrongly."""

    left: Text
    right: Text
    answers: tuple[int | Answered, int | Answered]
    given: int | Answered
    precision: Word
    weights: Digest | None


class Collision(Certificate, frozen=True, kw_only=True, tag="collision"):
    """Two prefixes that a model cannot tell apart, and a suffix after which their answers differ.

    In this arithmetic: a precision, in which the model is run as usual, or the integers of a conversation.
    """

    left: Text
    right: Text
    suffix: Text
    arithmetic: Word
    weights: Digest


class StateCollision(Collision, frozen=True, kw_only=True, tag="state_collision"):
    """After both prefixes all that the model carries on is the same, bit by bit, in every layer.

    So no readout, no continuation and no chain of thought can tell them apart.
    """


class Run(Certificate, frozen=True, kw_only=True, tag="run"):
    """Weights that answered every input tried rightly, in this precision, with at least this margin.

    Tried are all inputs (`exhaustive`), or half plain and half hard ones drawn from `seed`.
    """

    weights: Digest
    precision: str
    steps: Natural
    exhaustive: bool
    seed: Natural
    tried: Natural
    margin: Number


class AccuracyReached(Certificate, frozen=True, kw_only=True, tag="accuracy"):
    """Trained weights that gave so many right answers on `tried` inputs, in this precision.

    The inputs are drawn from `seed` as training draws those that it judges by: hard ones, of a distribution
    that the task's lesson names, or plain ones.  `codes` is the SHA-256 of the codes of the numbers that are
    rounded, where the architecture has a p.
    """

    weights: Digest
    codes: Digest | None
    precision: Literal["float32", "float64"]
    seed: Natural
    hard: bool
    distribution: Word | None
    thought: bool  # whether it writes a chain of thought first
    tried: Natural
    right: Natural


class Sides(NamedTuple):
    """What a task needs at least and an architecture has at most: bits that cross, or tokens it reads."""

    needs: int
    has: int
    unit: str


def not_below(exact: Fraction) -> float:
    """A float that is the fraction, or the next above."""
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


class Bound(Certificate, frozen=True, kw_only=True, tag="bound"):
    """The inequality of a theorem at concrete sizes: `has_bits` < `needs_bits` says cannot.

    `route` names one of several inequalities of a theorem, `sizes` the free sizes of its proof.  An
    average-case route has no two sides in bits: on a `distribution` of inputs it bounds the accuracy by
    `ceiling` < 1.  A theorem that counts something else than bits says so: `has` < `needs` in this `unit`.
    """

    architecture: str
    theorem: str
    steps: Natural = 0
    route: str = ""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    needs_bits: int | None = None
    has_bits: int | None = None
    ceiling: Number | None = None
    distribution: str | None = None
    unit: Literal["tokens"] | msgspec.UnsetType = msgspec.UNSET
    needs: int | msgspec.UnsetType = msgspec.UNSET
    has: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def sides(self) -> Sides | None:
        """Both sides of the inequality with their unit; None for a ceiling."""
        if self.unit and isinstance(self.needs, int) and isinstance(self.has, int):
            return Sides(self.needs, self.has, self.unit)
        if self.needs_bits is None or self.has_bits is None:
            return None
        return Sides(self.needs_bits, self.has_bits, "bits")

    @property
    def accuracy(self) -> float | None:
        """The ceiling as a float, not below it."""
        if self.ceiling is None:
            return None
        return not_below(Fraction(self.ceiling))

    @property
    def excludes(self) -> bool:
        """Whether it says cannot."""
        if self.ceiling is not None:
            return Fraction(self.ceiling) < 1
        return self.sides is not None and self.sides.has < self.sides.needs


class ExactBound(Certificate, frozen=True, kw_only=True, tag="exact_bound"):
    """The inequality of a theorem about exact arithmetic and an affine readout: `has` < `needs` says cannot.

    It knows no precision of what is exact.  It is no `Bound`: rounding and other readouts are not covered,
    so that weights which run do not contradict it.
    """

    architecture: str
    theorem: str
    arithmetic: Literal["exact", "exact_last_layer"] = "exact"  # the latter: states below it in bits
    unit: Literal["questions", "sums", "bits"]
    needs: int
    has: int

    @property
    def sides(self) -> Sides:
        """Both sides of the inequality with their unit."""
        return Sides(self.needs, self.has, self.unit)

    @property
    def excludes(self) -> bool:
        """Whether it says cannot."""
        return self.has < self.needs


class ExactCeiling(Certificate, frozen=True, kw_only=True, tag="exact_ceiling"):
    """The highest accuracy on a `distribution` of inputs, in exact arithmetic, with an affine readout.

    Like `ExactBound` it is about no weights that run.
    """

    architecture: str
    theorem: str
    arithmetic: Literal["exact"] = "exact"
    ceiling: Number
    distribution: str

    @property
    def accuracy(self) -> float:
        """The ceiling as a float, not below it."""
        return not_below(Fraction(self.ceiling))


class TableBound(Certificate, frozen=True, kw_only=True, tag="table_bound"):
    """Answers of a function that no model of this architecture has: `has_bits` < `needs_bits`.

    `answers[i][j]` is the answer to `prefixes[i]` followed by `suffixes[j]`; no two rows are alike.  `task`
    names the function.  Whoever has it can ask it for these answers again; the kernel only reads them.
    """

    architecture: str
    theorem: Literal["streaming_state", "one_layer_cut"]
    steps: Natural = 0
    alphabet: Natural
    prefixes: tuple[Text, ...]
    suffixes: tuple[Text, ...]
    answers: tuple[Answered, ...]
    needs_bits: int
    has_bits: int

    @property
    def sides(self) -> Sides:
        """Both sides of the inequality with their unit."""
        return Sides(self.needs_bits, self.has_bits, "bits")


class Solves(Certificate, frozen=True, kw_only=True, tag="solves"):
    """Weights that answer EVERY input rightly in this precision, the right logit ahead by `margin`.

    Nobody runs them: the kernel derives it from the weights; `hints` tell it where to look.
    """

    weights: Digest
    precision: str
    steps: Natural
    margin: Number
    hints: dict[str, Any]


class Fits(Solves, frozen=True, kw_only=True, tag="fits"):
    """The same, with the layers of these weights found in an architecture: it can do the task."""

    architecture: str


class CorrectEverywhere(Certificate, frozen=True, kw_only=True, tag="correct_everywhere"):
    """Weights that answer EVERY input rightly in this precision, by a search over all inputs at once.

    `proof` is the tree of the search with its multipliers; the kernel replays it in intervals.
    """

    weights: Digest
    precision: Word
    margin: Number
    proof: list[Any]


class Machine(Certificate, frozen=True, kw_only=True, tag="machine"):
    """At no cut are there more than 2^bits prefixes to tell apart: some relu_rnn of that size does it."""

    architecture: str
    bits: Natural


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one player tells another: how many numbers and bits, and their digest."""

    sender: str
    receiver: str
    layer: int
    part: int
    what: str  # state, sums, block, opened
    tokens: int  # of the receiver; of an opened message: blocks
    numbers: int
    bits: int
    digest: str


class Transcript(Certificate, frozen=True, kw_only=True, tag="transcript"):
    """A model run as a conversation: the players hold so many tokens each, in the order of the text."""

    architecture: str
    weights: Digest
    arithmetic: str
    players: tuple[int, ...]
    tokens: tuple[int, ...]
    messages: tuple[Message, ...]


Proof = (
    Bound | ExactBound | ExactCeiling | TableBound | Solves | Fits | Machine | CorrectEverywhere
)  # what the kernel derives
Tried = (
    WrongAnswer | SameAnswer | Collision | StateCollision | Run | AccuracyReached | Transcript
)  # what a run shows
Witness = Proof | Tried


def encode(certificate: Witness) -> bytes:
    """JSON, one object, with its schema first."""
    fields = {"schema": SCHEMA} | msgspec.to_builtins(certificate)
    return msgspec.json.format(msgspec.json.encode(fields)) + b"\n"


def decode(content: bytes) -> Witness:
    """Reads an untrusted certificate, or says which field is wrong."""
    fields = read_object(content, "not a certificate")
    schema = fields.pop("schema", None)
    if schema == _OLD:
        raise BadInput(f"this certificate has the old format {_OLD}; this version of Limen reads {SCHEMA}")
    if schema != SCHEMA:
        raise BadInput(f"not a certificate: the field schema must be {SCHEMA!r}")
    try:
        witness: Witness = msgspec.convert(fields, type=Witness)
    except msgspec.MsgspecError as error:
        raise BadInput(f"not a certificate: {error}") from error
    for text in (witness.task, getattr(witness, "architecture", "")):
        refuse(text, "the certificate")
    return witness
