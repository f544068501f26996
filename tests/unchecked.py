"""For tests that run the producers thousands of times: their types and shapes are checked elsewhere."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture(autouse=True, scope="module")
def types_unchecked() -> Iterator[None]:
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
