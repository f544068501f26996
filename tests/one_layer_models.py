"""Models of one layer for the tests of worst cases: random ones, and small ones that were trained."""

from functools import lru_cache
from itertools import product

import numpy as np
import torch

from limen.core.architecture import Architecture
from limen.core.task import Task, Tokens
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame, Model, at_once

CLASSES = [
    "softmax(h=1,d=4)",
    "window(h=1,d=3,W=3)",
    "masked_softmax(h=1,d=3,first=2,last=2)",
    "linear(h=1,d=3)",
    "linear(h=2,d=3,phi=identity,normalise=false)",
    "linear(h=1,d=3,phi=taylor)",
    "log_linear(h=1,d=3)",
    "log_linear(h=1,d=3,over=mamba2)",
    "gated_linear(h=1,d=3,d_k=1)",
    "delta(h=1,d=3)",
    "gated_delta(h=1,d=3)",
    "softmax(h=2,d=2)",
    "softmax(h=1,d=2)|linear(h=1,d=3)",
]
BOUNDED = ["gated_linear(h=1,d=3)", "log_linear(h=1,d=3,over=gated_delta)", "log_linear(h=2,d=2,over=mamba2)"]
FORMS = {"affine": (False, 0), "norm": (True, 0), "mlp": (False, 6)}


def frame(stack: str, task: Task, form: str, width: int = 8) -> Frame:
    norm, hidden = FORMS[form]
    locals_ = (Mlp(hidden),) if hidden else ()
    table = Table(task.vocab, task.length)
    return Frame(Architecture.parse(stack), width, task.answers, table, locals_, norm=norm)


def random_model(stack: str, task: Task, form: str, seed: int, dtype: torch.dtype = torch.float64) -> Model:
    """Biases are random, too, so that none of them is forgotten by chance."""
    generator = torch.Generator().manual_seed(seed)
    model = frame(stack, task, form).random(generator, dtype)
    noise = {
        name: torch.randn(w.shape, generator=generator, dtype=dtype) / 2
        for name, w in model.weights.items()
        if w.ndim == 1
    }
    return Model(model.frame, {name: w + noise.get(name, 0) for name, w in model.weights.items()})


@lru_cache(maxsize=64)
def trained_model(stack: str, text: str, form: str, steps: int = 150) -> Model:
    """Adam on all inputs, in float32."""
    task = Task.parse(text)
    tokens = all_inputs(task)
    given, answers = torch.as_tensor(tokens), torch.as_tensor(task.answer(tokens))
    start = frame(stack, task, form).random(torch.Generator().manual_seed(1), torch.float32)
    weights = {name: w.clone().requires_grad_() for name, w in start.weights.items()}
    adam = torch.optim.Adam(weights.values(), lr=0.03)
    for step in range(steps):
        adam.param_groups[0]["lr"] = 0.03 * (1 - step / steps)
        loss = torch.nn.functional.cross_entropy(Model(start.frame, weights).logits(given)[:, -1], answers)
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return Model(start.frame, {name: w.detach() for name, w in weights.items()})


def all_inputs(task: Task) -> Tokens:
    columns = [list(ids) for ids, count in task.alphabets() for _ in range(count)]
    tokens = np.array(list(product(*columns)))
    return tokens[task.promised(tokens)]


def margins(model: Model, task: Task, tokens: Tokens) -> np.ndarray:
    """Right logit - best wrong one, by the model's own pass in float64; behind a norm times ρ."""
    wide = Model(model.frame, {name: w.double() for name, w in model.weights.items()})
    with torch.no_grad():
        z = wide.through(wide.embedded(torch.as_tensor(tokens)), at_once)[:, -1]
        logits = wide.read(z).numpy()
    right = task.answer(tokens)[:, None]
    lead = np.take_along_axis(logits, right, 1)[:, 0]
    np.put_along_axis(logits, right, -np.inf, 1)
    ρ = np.sqrt((z.numpy() ** 2).mean(-1) + 1e-6) if model.frame.norm else 1.0
    return np.asarray((lead - logits.max(1)) * ρ)
