r"""Show what no precision buys: one recurrent layer with an affine readout.

The smallest n that is ruled out, by the bits of the state at p bits per number, and in exact arithmetic,
where the numbers may be any: by an affine readout (`linear_read`, `one_sum`), behind a norm and a bias
(`biased_read`), behind one layer of ReLUs (`relu_read`).  With --keys a small linear
layer is trained on all strings of n = k, k+1, k+2 bits; at most

    R(k, n) = Σ_{i≤k} C(n, i)        of the 2^n strings can be answered rightly at all places      [cover1965]

and the theorem names two strings, of which it answers one wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb
from typing import TYPE_CHECKING, Annotated

import lazy_loader
import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import TorchSeed
from limen.core.architecture import Architecture
from limen.core.arrays import NDArray, np
from limen.core.certificate import ExactBound
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import Task, Tokens
from limen.decisions.decide import ruled_out, ruled_out_exactly

if TYPE_CHECKING:
    import torch

    from limen.model.model import Model
else:
    torch = lazy_loader.load("torch")

BITS = (8, 16, 32, 64)
_TASKS = {
    "eva": "eva(n={n})",
    "index, V = 2": "index(n={n},S=2)",
    "index, V = 32": "index(n={n},S=32)",
    "recall, V = 2n": "recall(n={n})",
}
_STACKS = {  # and the ReLUs of an MLP behind it
    "linear(h=1,d=16,phi=identity,normalise=false)": 64,
    "linear(h=4,d=64,phi=identity,normalise=false)": 1024,
    "gated_delta(h=4,d=64)": 1024,
    "gated_delta(h=32,d=128)": 8192,
    "mamba(d=1536,s=16)": 3072,
}
_WIDTH, _STEPS, _RATE = 24, 1500, 0.02  # of the layer that is trained
_STARTS = 2  # of which the best is kept


class Beyond(msgspec.Struct, frozen=True, kw_only=True):
    """One stack and one task: the smallest n that is ruled out."""

    architecture: str
    task: str
    by_bits: tuple[int, ...]  # at each of `bits`
    exactly: int  # in exact arithmetic, with an affine readout
    theorem: str  # that says so
    biased: int  # in exact arithmetic, behind a norm and a bias
    inner: int  # ReLUs
    behind_relus: int  # in exact arithmetic, behind one layer of them


class NamedString(msgspec.Struct, frozen=True, kw_only=True):
    """A string that the theorem names, and the places that the layer answers wrongly."""

    string: str
    wrong: tuple[int, ...]


class TrainedLayer(msgspec.Struct, frozen=True, kw_only=True):
    """A layer trained on all strings of n bits."""

    n: int
    strings: int
    right: int  # answered rightly at all places
    at_most: int  # Cover
    accuracy: float
    accuracy_at_most: float  # by spheres about the strings that can be answered
    named: tuple[NamedString, ...]  # none where the theorem rules nothing out


class PrecisionReport(Report, frozen=True, kw_only=True, tag="limen/demo precision/1"):
    """The table, and the layers that were trained."""

    bits: tuple[int, ...]
    rows: tuple[Beyond, ...]
    keys: int
    trained: tuple[TrainedLayer, ...]

    @property
    def headline(self) -> str:
        return f"{len(self.rows)} cases: the smallest n ruled out by bits, and in exact arithmetic"


@command(
    example="limen demo precision",
    answers=(Shown("limen.commands.demo.precision:PrecisionReport", "limen.render.demo.precision:lines_of"),),
)
def precision(
    keys: Annotated[
        int, Option("Train a linear layer with so many keys on all strings; 0: none.", least=0, most=6)
    ] = 0,
    seed: TorchSeed = 0,
) -> PrecisionReport:
    """The smallest n ruled out by the bits of a state, and at any precision with an affine readout."""
    rows = tuple(_beyond(stack, name) for stack in _STACKS for name in _TASKS)
    lengths = range(keys, keys + 3) if keys else ()
    return PrecisionReport(
        bits=BITS, rows=rows, keys=keys, trained=tuple(trained(keys, n, seed) for n in lengths)
    )


def _beyond(stack: str, name: str) -> Beyond:
    def task(n: int) -> Task:
        return Task.parse(_TASKS[name].format(n=n))

    def at(p: int) -> int:
        return _least(lambda n: ruled_out(task(n), sized(p), by=["streaming_state"]) is not None)

    def sized(p: int) -> Architecture:
        return Architecture.parse(f"{stack[:-1]},p={p})")

    def behind(end: str) -> int:
        ended = Architecture.parse(f"{stack},{end}")
        return _least(lambda n: ruled_out_exactly(task(n), ended) is not None)

    affine, exactly = Architecture.parse(f"{stack},affine"), behind("affine")
    by = ruled_out_exactly(task(exactly), affine)
    assert by is not None and isinstance(by.certificate, ExactBound)  # it was looked for
    theorem = by.certificate.theorem
    return Beyond(
        architecture=stack,
        task=name,
        by_bits=tuple(map(at, BITS)),
        exactly=exactly,
        theorem=theorem,
        biased=behind("affine(norm=true,bias=true)"),
        inner=_STACKS[stack],
        behind_relus=behind(f"affine(inner={_STACKS[stack]})"),
    )


def _least(out: Callable[[int], bool]) -> int:
    """The smallest n that is ruled out: from it on all are."""
    high = 2
    while not out(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        n = (low + high) // 2
        low, high = (low, n) if out(n) else (n, high)
    return high


@cache  # seconds, for lines and for JSON alike
def trained(keys: int, n: int, seed: int) -> TrainedLayer:
    """The best of a few layers that were trained on all strings of n bits, and the strings that it names."""
    from limen.theorems.linear_read import LinearRead
    from limen.theorems.linear_read.refute import named

    task = Task.parse(f"index(n={n},S=2)")
    starts = (_trained(task, keys, seed + i) for i in range(_STARTS))
    model, right = max(starts, key=lambda one: int(one[1].all(axis=1).sum()))
    two, ceiling = (
        named(task, model),
        LinearRead().exact_ceiling(task, Architecture.parse(f"{_layer(keys)},affine")),
    )
    words = () if two is None else tuple(_named(task, model, texts) for texts in two.texts)
    return TrainedLayer(
        n=n,
        strings=len(right),
        right=int(right.all(axis=1).sum()),
        at_most=sum(comb(n, i) for i in range(min(keys, n) + 1)),
        accuracy=float(right.mean()),
        accuracy_at_most=1.0 if ceiling is None else ceiling.accuracy,
        named=words,
    )


def _layer(keys: int) -> str:
    return f"linear(h=1,d={keys},d_k={keys},phi=identity,normalise=false)"


def _trained(task: Task, keys: int, seed: int) -> tuple[Model, NDArray[np.bool_]]:
    """A model, at its best step, and whether it is right: (strings, n)."""
    from limen.model.embedding import Table
    from limen.model.model import Frame, Model, one_thread

    n = task.cut
    frame = Frame(Architecture.parse(_layer(keys)), _WIDTH, 2, Table(task.vocab, task.length))
    start = frame.random(torch.Generator().manual_seed(seed), torch.float64).weights
    w = {name: value.clone().requires_grad_() for name, value in start.items()}
    strings = np.indices((2,) * n).reshape(n, -1).T  # all of them
    texts = np.concatenate([np.repeat(strings, n, 0), np.tile(np.arange(n), len(strings))[:, None]], axis=1)
    x, y = torch.as_tensor(texts), torch.as_tensor(strings.reshape(-1))
    optimiser = torch.optim.Adam(w.values(), lr=_RATE)
    best, kept = np.zeros((len(strings), n), dtype=bool), w
    with one_thread():
        for step in range(_STEPS):
            optimiser.param_groups[0]["lr"] = _RATE * (1 - step / _STEPS) + 1e-4
            logits = Model(frame, w).logits(x)[:, -1]
            right = (logits.argmax(-1) == y).reshape(len(strings), n).numpy()
            if right.all(1).sum() >= best.all(1).sum():
                best, kept = right, {name: value.detach().clone() for name, value in w.items()}
            if best.all():
                break
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits * 3, y).backward()
            optimiser.step()
    return Model(frame, kept), best


def _named(task: Task, model: Model, texts: Tokens) -> NamedString:
    """A string that the theorem names, and where the model is wrong; its questions come in order."""
    with torch.no_grad():
        given = model.logits(torch.as_tensor(texts))[:, -1].argmax(-1).numpy()
    wrong = np.flatnonzero(given != task.answer(texts))
    return NamedString(string="".join(map(str, texts[0, : task.cut])), wrong=tuple(map(int, wrong)))
