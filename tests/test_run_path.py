"""The way a model is run: honest in every precision, nothing loaded or held that is not needed."""

import subprocess
import sys

import pytest

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.solutions import solve

COMPILERS = {"torch._dynamo", "torch._inductor", "sympy"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("protocol", "eva(n=4)", "linear(h=1,d=2,p=4)"),
        ("solve", "eva(n=4)"),
        ("solve", "eva(n=4)", "--precision", "significand(t=5)"),
    ],
    ids=" ".join,
)
def test_running_weights_loads_no_compiler(arguments: tuple[str, ...]) -> None:
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\n"
        f"except SystemExit: print('loaded', *({COMPILERS!r} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1].split() == ["loaded"]


@pytest.mark.parametrize(("t", "margin"), [(2, 0.5), (3, 0.75), (4, 0.875)])
def test_in_a_few_bits_scores_and_weights_are_rounded_too(t: int, margin: float) -> None:
    """Inside a fused kernel they would not be, and the margin would be 1 whatever the precision."""
    solution, _ = solve(construct(Task.parse("equality(n=64)")), Precision.parse(f"significand(t={t})"), how=8)
    assert solution.margin == margin
