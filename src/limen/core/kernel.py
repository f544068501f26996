"""Evidence that the kernel accepted: a certificate as bytes, with the files it is about.

`limen_check` derives every certificate again from these bytes; nothing else makes an `Accepted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

import limen_check
from limen.core.certificate import Proof, decode, encode
from limen.errors import BadInput

Files = tuple[bytes, bytes]  # model.json, model.safetensors
Rows = Sequence[Sequence[float]]
OTHERS: dict[str, str] = limen_check.OTHERS  # what else stands beside certificates, by its schema
MOST_JSON, MOST_WEIGHTS = limen_check.files.MOST_JSON, limen_check.files.MOST_WEIGHTS  # bytes that are read

_REMEMBERED = 4096  # certificates that are not derived twice


@dataclass(frozen=True)
class Accepted:
    """A certificate that the kernel derived; another one cannot be built."""

    content: bytes
    files: Files | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        found = _checked(self.content, self.files)
        if not found.valid:
            raise BadInput(f"the kernel refuses this {found.kind} certificate: {found.says}")

    @cached_property
    def certificate(self) -> Proof:
        found = decode(self.content)
        assert isinstance(found, Proof)  # the kernel accepts no other kind
        return found

    @property
    def says(self) -> str:
        """What was derived, in the kernel's words."""
        return _checked(self.content, self.files).says


def accept(certificate: Proof, files: Files | None = None) -> Accepted | str:
    """The certificate as evidence, or why the kernel refuses it."""
    content = encode(certificate)
    try:
        checked = _checked(content, files)
    except limen_check.Malformed as error:  # a text too long for the kernel, for one
        return str(error)
    return Accepted(content, files) if checked.valid else checked.says


def check(content: bytes, files: Files | None, watch: bool = False) -> limen_check.Checked:
    """The kernel's verdict on an untrusted certificate; any error becomes one line."""
    try:
        return limen_check.check(content, files, watch)
    except limen_check.Malformed as error:
        raise BadInput(str(error)) from error


def told(rules: Sequence[str], files: Mapping[str, int]) -> list[str]:
    """The rules and the files of the kernel that an answer rests on, for people."""
    from limen_check import trusted  # loaded by those who ask for them alone

    return trusted.told(rules, files)


def averaging_error(keys: Rows, queries: Rows, q: int) -> Fraction | None:
    """The error bound that the kernel derives for averages over sets (R29); None if it derives none."""
    from limen_check.can.averages import averaging_error  # loaded by those who ask about averages alone

    try:
        return averaging_error(keys, queries, q)
    except limen_check.Refused:
        return None


@lru_cache(maxsize=_REMEMBERED)
def _checked(content: bytes, files: Files | None) -> limen_check.Checked:
    return limen_check.derive(content, files)
