"""Evidence that anyone can re-check: plain data, read and written as JSON.

A certificate names the task in its text form and carries token ids; it never carries code.
"""

from __future__ import annotations

import msgspec

from limen.core.errors import BadInput
from limen.core.shown import html

SCHEMA = "limen/certificate/1"


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every kind has: the task it speaks of."""

    task: str

    def _repr_html_(self) -> str | None:
        return html(self)


class Counterexample(Certificate, frozen=True, kw_only=True, tag="counterexample"):
    """An input on which a model is wrong."""

    tokens: tuple[int, ...]
    answer: int
    given: int


class Collision(Certificate, frozen=True, kw_only=True, tag="collision"):
    """Two prefixes that a model cannot tell apart, and a suffix after which their answers differ."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    suffix: tuple[int, ...]
    arithmetic: str | None = None  # as in a conversation; the model's own if not said
    weights: str | None = None  # SHA-256 of the weights and their frame


class Solves(Certificate, frozen=True, kw_only=True, tag="solves"):
    """Weights that answered every input tried rightly, in this precision, with at least this margin.

    Tried are all inputs (`exhaustive`), or half plain and half hard ones drawn from `seed`.  `certified` is
    a lower bound for every input that the construction proves, if it proves one.
    """

    construction: str
    weights: str  # SHA-256 of the weights and their frame
    precision: str
    steps: int
    exhaustive: bool
    seed: int
    tried: int
    margin: float
    certified: float | None


class Bound(Certificate, frozen=True, kw_only=True, tag="bound"):
    """The inequality of a theorem at concrete sizes: `has_bits` < `needs_bits` says cannot.

    `route` names one of several inequalities of a theorem, `sizes` the free sizes of its proof.  An
    average-case route has no two sides in bits: it bounds the accuracy on inputs drawn from `distribution`, a
    sentence, by `ceiling` < 1.
    """

    architecture: str
    theorem: str
    steps: int = 0
    route: str = ""
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    needs_bits: int | None = None
    has_bits: int | None = None
    ceiling: float | None = None
    distribution: str | None = None

    @property
    def excludes(self) -> bool:
        """Whether it says cannot."""
        if self.ceiling is not None:
            return self.ceiling < 1
        return self.needs_bits is not None and self.has_bits is not None and self.has_bits < self.needs_bits


class Fits(Certificate, frozen=True, kw_only=True, tag="fits"):
    """A construction whose layers are found in the architecture, with its certified margin there."""

    architecture: str
    construction: str
    precision: str
    steps: int
    margin: float


class Machine(Certificate, frozen=True, kw_only=True, tag="machine"):
    """At no cut are there more than 2^bits prefixes to tell apart: some recurrence of that size does it."""

    architecture: str
    bits: int


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
    weights: str  # SHA-256 of the weights and their frame
    arithmetic: str
    players: tuple[int, ...]
    tokens: tuple[int, ...]
    messages: tuple[Message, ...]


Witness = Counterexample | Collision | Solves | Bound | Fits | Machine | Transcript


def encode(certificate: Witness) -> bytes:
    """JSON, one object, with its schema first."""
    fields = {"schema": SCHEMA} | msgspec.to_builtins(certificate)
    return msgspec.json.format(msgspec.json.encode(fields)) + b"\n"


def decode(content: bytes) -> Witness:
    """Reads an untrusted certificate, or says which field is wrong."""
    try:
        fields = msgspec.json.decode(content, type=dict)
        if fields.pop("schema", None) != SCHEMA:
            raise BadInput(f"not a certificate: the field schema must be {SCHEMA!r}")
        witness: Witness = msgspec.convert(fields, type=Witness)
        return witness
    except msgspec.MsgspecError as error:
        raise BadInput(f"not a certificate: {error}") from error
