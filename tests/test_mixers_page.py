"""docs/mixers.md: what its tables say of the mixers is so, and nobody is missing from them."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/mixers.md").read_text()


def table(name: str) -> list[str]:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE, re.S)
    assert found is not None
    return found[1].splitlines()


@pytest.fixture(scope="module")
def outside() -> Any:
    """The program that writes the tables."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spec = importlib.util.spec_from_file_location("outside_of_the_page", ROOT / "benchmarks/outside.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)


def test_states_are_as_large_as_the_page_says_and_as_the_mixers_say(outside: Any) -> None:
    assert table("states") == outside.states()
    for row in table("states")[2:]:
        said, counted = re.findall(r"[\d,]+", row)[-2:]
        assert said == counted


def test_each_mixer_was_compared_with_somebody_elses_and_is_the_same(outside: Any) -> None:
    rows = [row.strip("| ").split(" | ") for row in table("compared")[2:]]
    assert {row[0].strip("`") for row in rows} == {str(mixer) for mixer in outside.MIXERS}
    for _, _, values, gradients in rows:
        assert 0 < float(values) < outside.NEAR and 0 < float(gradients) < outside.NEAR


def test_each_has_its_speed_and_the_speed_of_its_peers(outside: Any) -> None:
    rows = [row.strip("|").split("|") for row in table("speeds")[2:]]
    named = [tuple(cell.strip(" `") for cell in row[:2]) for row in rows]
    compared = [
        tuple(cell.strip(" `") for cell in row.strip("|").split("|")[:2]) for row in table("compared")[2:]
    ]
    assert set(compared) <= set(named)
    assert {name for name, _ in named} >= {str(mixer) for mixer in outside.MIXERS}
    stepped = {name for (name, _), row in zip(named, rows, strict=True) if row[4].strip()}
    assert stepped == {name for name, _ in named}
