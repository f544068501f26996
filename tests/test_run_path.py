"""The way a model is run: honest in every precision, nothing loaded or held that is not needed."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import tensors
from limen.errors import BadInput
from limen.model.embedding import Code, Codes
from limen.model.exact import exact_keys_and_values
from limen.model.last import last_logits, reads_only_the_embedding
from limen.model.model import Model
from limen.model.readout import Binary
from limen.solutions import solve

COMPILERS = {"torch._dynamo", "torch._inductor", "sympy"}


@pytest.mark.sampled(3)
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
    assert solve(construct(Task.parse("equality(n=64)")), precision, how=64)[0].margin == margin


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


@pytest.mark.parametrize("text", [*LONG, "turing(n=9)"])
def test_codes_write_a_token_alone_as_among_all_others(text: str) -> None:
    task = Task.parse(text)
    model = Model.of(construct(task))
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 3)[0])
    alone = [model.embedded(tokens[:, at : at + 1], at) for at in range(task.length)]
    assert torch.equal(torch.cat(alone, -2), model.embedded(tokens))
    with pytest.raises(BadInput, match="positions for"):
        model.embedded(tokens[:, :1], model.frame.embedding.positions or 0)


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


def _with_cancelling_keys(task: Task, B: float, dtype: torch.dtype) -> Model:
    """The lookup, where each key is also B times one constant less B times another: exactly what it was."""
    c = construct(task)
    frame, w = c.frame(), tensors(c.weights())
    assert isinstance(frame.embedding, Codes)
    two = tuple(Code("place", 1, "constant", frame.width + i) for i in (0, 1))
    codes = replace(
        frame.embedding,
        width=frame.width + 2,
        tables=(*frame.embedding.tables, ("constant", 1, 1)),
        segments=tuple(replace(s, codes=(*s.codes, *two)) for s in frame.embedding.segments),
    )
    wide = {name: w[f"0.0.{name}"] for name in "QKV"}
    w |= {
        f"0.0.{name}": torch.cat([W, torch.zeros(2, W.shape[1], dtype=W.dtype)]) for name, W in wide.items()
    }
    w["0.0.O"] = torch.cat([w["0.0.O"], torch.zeros(w["0.0.O"].shape[0], 2, dtype=torch.float64)], -1)
    w["embedding.constant"] = torch.ones(1, 1, dtype=torch.float64)
    w["0.0.K"][-2:] = torch.tensor([[B], [-B]], dtype=torch.float64)
    return Model(
        replace(frame, width=frame.width + 2, embedding=codes), {k: v.to(dtype) for k, v in w.items()}
    )


@pytest.mark.parametrize(
    ("dtype", "bits"), [(torch.bfloat16, 6), (torch.bfloat16, 23), (torch.float32, 23), (torch.float64, 52)]
)
def test_keys_that_are_small_differences_are_read_as_the_whole_model_reads_them(
    dtype: torch.dtype, bits: int
) -> None:
    """A reader forged them: right where keys are computed first, wrong where W_K is absorbed in few bits."""
    task = Task.parse("eva(n=256)")
    model = _with_cancelling_keys(task, 2.0**bits - 2.0 ** (bits - 5), dtype)
    tokens, _ = task.sample(np.random.default_rng(0), 32)
    tokens[:, -1] = 0  # all signs of the query are alike, so that what it multiplies adds up
    answers = task.answer(tokens)
    assert reads_only_the_embedding(model)
    for logits in (model.logits(torch.as_tensor(tokens))[:, -1], last_logits(model, torch.as_tensor(tokens))):
        assert (logits.argmax(-1).numpy() == answers).all()


def test_products_are_called_exact_only_if_they_are() -> None:
    """Of random tables and weights with a few bits: a key that is called exact is the one of float64."""
    generator, called = torch.Generator().manual_seed(0), 0
    task = Task.parse("eva(n=4)")
    frame = construct(task).frame()
    tokens = torch.cartesian_prod(*[torch.arange(4)] * 5)
    for _ in range(300):
        shapes = frame.shapes().items()
        few = {name: torch.randint(-40, 41, shape, generator=generator) / 64 for name, shape in shapes}
        kept = {name: w * (torch.rand(w.shape, generator=generator) < 0.2) for name, w in few.items()}
        model = Model(frame, {name: w.to(torch.bfloat16) for name, w in kept.items()})
        if not exact_keys_and_values(model):
            continue
        called += 1
        x, true = model.embedded(tokens, 0), model.to(Precision.parse("float64")).embedded(tokens, 0)
        for name in ("0.0.K", "0.0.V"):
            W = kept[name].to(torch.bfloat16)
            read = (W != 0).any(-1)
            assert torch.equal(x[..., read].double(), true[..., read])
            assert torch.equal((x @ W).double(), true @ W.double())
    assert 30 < called < 270, "both happen"
