"""Laws over the catalogue: a new construction file is tested by existing."""

import subprocess
import sys

import pytest

from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction, construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.laws import Law
from limen.laws.construction import (
    MOST,
    its_certificate_is_for_its_own_weights_alone,
    laws,
    reading_the_last_position_alone_changes_nothing,
)
from limen.model import exhaustive
from limen.solutions import solve

EXAMPLES = [
    c for name in ids("constructions") for c in lookup("constructions", name, Construction).examples()
]


def name(c: Construction) -> str:
    return f"{c.task} by {c}"


FIRST = {lookup("constructions", name, Construction).examples()[0] for name in ids("constructions")}
FILES = {its_certificate_is_for_its_own_weights_alone}
SHAPED = FILES | {reading_the_last_position_alone_changes_nothing}


def held(c: Construction) -> list[Law]:
    """The laws it is held to: what is about files is tried on the first example of each."""
    return [law for law in laws(c) if law not in FILES or c in FIRST]


@pytest.mark.parametrize(
    ("law", "construction"),
    [
        pytest.param(
            law, c, id=f"{law.__name__}-{name(c)}", marks=[pytest.mark.shapes] if law in SHAPED else []
        )
        for c in EXAMPLES
        for law in held(c)
    ],
)
def test_it_keeps(law: Law, construction: Construction) -> None:
    law(construction)


def test_every_input_of_every_example_is_run() -> None:
    assert max(exhaustive.count(c.task) for c in EXAMPLES) <= MOST


def test_sizes_and_margins_are_read_without_torch() -> None:
    code = (
        "import sys\nfrom limen.core.catalogue import ids, lookup\nfrom limen.core.numbers import Precision\n"
        "from limen.core.construction import Construction\n"
        "for name in ids('constructions'):\n"
        "    c = lookup('constructions', name, Construction).examples()[0]\n"
        "    c.frame(), c.margin(Precision.parse('bf16'))\n"
        "    if 'torch._C' in sys.modules: sys.exit(name)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("eva(n=2000)", "softmax"),
        ("eva(n=2000)", "random_signs"),
        ("recall(n=200,V=1000)", "softmax"),
        ("two_sum(n=2000,M=10007)", "code"),
        ("two_sum_any(n=128,M=10007)", "softmax"),
        ("equality(n=300)", "softmax"),
        ("disjointness(n=300)", "softmax"),
        ("cgram(n=300,c=3,V=50)", "softmax"),
        ("composition(m=20,n1=15)", "stack"),
        ("composition(m=20,n1=15)", "stack(stack=LFF)"),
        ("composition(m=5,n1=3,n2=3)", "encoder"),
    ],
)
def test_larger_inputs_are_never_nearer_to_wrong_than_certified(text: str, by: str, precision: str) -> None:
    construction = construct(Task.parse(text), by)
    solution, _ = solve(construction, Precision.parse(precision), how=3)
    assert solution.wrong == 0 and solution.certified is not None
    assert solution.certified <= solution.margin


@pytest.mark.parametrize(
    ("text", "by", "precision"),
    [
        ("sparse_average(n=256,q=4)", "polytope", "float32"),
        ("two_sum(n=64,M=16385)", "trigonometry", "float32"),
        ("two_sum(n=64,M=257)", "trigonometry", "bf16"),
        ("counting(n=256,S=4)", "softmax", "bf16"),
    ],
)
def test_where_no_margin_can_be_certified_the_tool_says_so(text: str, by: str, precision: str) -> None:
    assert construct(Task.parse(text), by).margin(Precision.parse(precision)) is None
