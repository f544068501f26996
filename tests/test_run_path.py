"""The way a model is run: honest in every precision, nothing loaded or held that is not needed."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import tensors
from limen.model.embedding import Codes
from limen.model.last import last_logits, reads_only_the_embedding
from limen.model.model import Model
from limen.model.readout import Binary
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
    precision = Precision.parse(f"significand(t={t})")
    assert solve(construct(Task.parse("equality(n=64)")), precision, how=8)[0].margin == margin


LONG = ["eva(n=100)", "two_sum(n=70,M=130)", "counting(n=90,S=5)", "retrieval(n=80,D=9,V=7)"]


@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_the_last_position_read_by_codes_is_the_whole_model_there(text: str, dtype: torch.dtype) -> None:
    task = Task.parse(text)
    c = construct(task)
    model = Model(c.frame(), {k: w.to(dtype) for k, w in tensors(c.weights()).items()})
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 5)[0])
    assert reads_only_the_embedding(model) and isinstance(model.frame.embedding, Codes)
    near = {torch.float64: 1e-12, torch.float32: 1e-4, torch.bfloat16: 0.2}[dtype]
    whole = model.logits(tokens)[:, -1]
    torch.testing.assert_close(last_logits(model, tokens), whole, rtol=0, atol=near)


@pytest.mark.parametrize(("bits", "answers"), [(3, 5), (10, 1024), (12, 3000), (14, 1025), (60, 7)])
def test_an_answer_in_binary_is_read_off_its_digits(bits: int, answers: int) -> None:
    x = torch.randn(2, bits + 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = Binary(1, bits).logits({}, x, answers)
    signs = [[2 * (a >> b & 1) - 1 for a in range(answers)] for b in range(bits)]
    torch.testing.assert_close(found, (2 * x[:, 1:] - 1) @ torch.tensor(signs, dtype=x.dtype))
    whole = Binary(1, bits).logits({}, torch.tensor([[0] + [1] * bits]), answers)
    assert whole.dtype == torch.int64 and whole[0].tolist() == [
        sum(column) for column in zip(*signs, strict=True)
    ]
