"""What the kernel says of a certificate, for tests."""

from limen.core.certificate import Proof, encode
from limen.core.kernel import Files, check


def refused(certificate: Proof, files: Files | None = None) -> str | None:
    """Why the kernel refuses it, None if it accepts; a malformed one raises BadInput."""
    found = check(encode(certificate), files)
    return None if found.valid else found.says
