"""Laws over the catalogue: a new construction file is tested by existing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from flint import ctx

from limen.checks.tried import check_run
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction, construct
from limen.core.errors import BadInput
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import load, save
from limen.model.last import last_logits
from limen.model.local import Function
from limen.model.model import Model
from limen.model.run import batch_size, inputs, run
from limen.solutions import certificate, solve

EXAMPLES = [
    c for name in ids("constructions") for c in lookup("constructions", name, Construction).examples()
]


def name(c: Construction) -> str:
    return f"{c.task} by {c}"


each = pytest.mark.parametrize("construction", EXAMPLES, ids=name)
F64, F32, BF16 = map(Precision.parse, ("float64", "float32", "bfloat16"))
# Every construction claims float64; in the others it claims what it certifies.
CLAIMS = [(c, p) for c in EXAMPLES for p in (F64, F32, BF16) if p == F64 or c.margin(p) is not None]


def savable(c: Construction) -> bool:
    return not any(isinstance(local, Function) for local in c.frame().locals)


@pytest.mark.parametrize(
    ("construction", "precision"), CLAIMS, ids=lambda x: name(x) if isinstance(x, Construction) else str(x)
)
def test_it_is_right_on_every_input_and_never_nearer_to_wrong_than_certified(
    construction: Construction, precision: Precision
) -> None:
    certified, model = construction.margin(precision), Model.of(construction)
    batch = batch_size(model, construction.task, construction.steps)
    seen = run(
        model, construction.task, precision, inputs(construction.task, None, 0, batch), construction.steps
    )
    assert seen.tried > 0 and seen.wrong == 0
    assert certified is None or 0 < certified <= seen.margin


WHOLE = [c for c in EXAMPLES if c.margin(Precision.parse("fixed(f=4)")) is not None]


@pytest.mark.parametrize("construction", WHOLE, ids=name)
def test_where_fixed_point_saturates_nothing_false_is_certified(construction: Construction) -> None:
    """The least top with a claim, and there is one, holds on every input."""
    task, model = construction.task, Model.of(construction)
    for f in (0, 4):
        claims = (Precision.parse(f"fixed(f={f},top={top})") for top in range(8))
        least = next(p for p in claims if construction.margin(p) is not None)
        seen = run(model, task, least, inputs(task, None, 0, batch_size(model, task, 0)))
        assert seen.wrong == 0 and seen.margin >= (construction.margin(least) or 0), least


@each
def test_its_margin_does_not_depend_on_the_precision_that_flint_happens_to_have(
    construction: Construction,
) -> None:
    with ctx.workprec(20):
        margins = [construction.margin(p) for p in (F64, F32, BF16)]
    assert margins == [construction.margin(p) for p in (F64, F32, BF16)]


@each
def test_its_parts_fit_together(construction: Construction) -> None:
    frame = construction.frame()
    assert construction.columns.width == frame.width
    assert construction.task.answers <= frame.answers
    assert {k: tuple(v.shape) for k, v in construction.weights().items()} == frame.shapes()
    assert all(v.dtype == np.float64 for v in construction.weights().values())


@pytest.mark.parametrize("construction", [c for c in EXAMPLES if not c.steps and c.task.asks == 1], ids=name)
def test_reading_the_last_position_alone_changes_nothing(construction: Construction) -> None:
    model = Model.of(construction)
    tokens = torch.as_tensor(construction.task.sample(np.random.default_rng(0), 5)[0])
    torch.testing.assert_close(last_logits(model, tokens), model.logits(tokens)[:, -1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("construction", [c for c in EXAMPLES if savable(c)], ids=name)
def test_its_certificate_is_accepted_for_the_saved_weights_and_no_others(
    construction: Construction, tmp_path: Path
) -> None:
    solution, model = solve(construction, F64, how=3)
    evidence = certificate(solution, model, seed=0)
    save(model, tmp_path)
    again = load(tmp_path)
    assert check_run(evidence, again) is None
    tampered = dict(again.weights)
    key = next(k for k, w in tampered.items() if bool((w != 0).any()))
    tampered[key] = tampered[key] * 2
    with pytest.raises(BadInput, match="these are other weights"):
        check_run(evidence, Model(again.frame, tampered))


@pytest.mark.parametrize("name", ids("constructions"))
def test_sizes_and_margins_are_read_without_torch(name: str) -> None:
    code = (
        "import sys\nfrom limen.core.catalogue import lookup\nfrom limen.core.numbers import Precision\n"
        "from limen.core.construction import Construction\n"
        f"c = lookup('constructions', {name!r}, Construction).examples()[0]\n"
        "c.frame(), c.margin(Precision.parse('bf16')); sys.exit('torch._C' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("eva(n=2000)", "softmax"),
        ("eva(n=2000)", "random_signs"),
        ("recall(n=200,V=1000)", "softmax"),
        ("two_sum(n=2000,M=10007)", "code"),
        ("two_sum_any(n=300,M=10007)", "softmax"),
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
