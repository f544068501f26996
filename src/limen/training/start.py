r"""Initial weights of a training run, and how a trained stack grows.

`random`: what each part of the model proposes itself, and rows of tables N(0, ¼), so that a token weighs as
much as what the first layers add to it.

`lookup`: with R and S random, noise of ⅓ of the random start on top,

    W_K reads the first half of the stream by R, W_Q the second half by R: a query finds the key it is equal
    to W_V reads the second half by S, W_O writes it back by Sᵀ: what is found is added to what is asked

and gates that forget slowly.  The accuracy at step 0 is chance, since readout and per-position functions know
nothing.  It shows that gradient descent completes such a solution, not that it discovers one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.architecture import Architecture
from limen.errors import BadInput
from limen.model.local import Mlp
from limen.model.model import Frame, Model
from limen.training.lesson import Lesson
from limen.training.spec import Spec, extends

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_ROWS = 0.5  # the size of a number in a table at the random start
_NOISE, _GAIN = 0.3, 3.0
_NAMES = ("Q", "K", "V", "O"), ("C", "B", "X", "O")  # as most mixers call them, as Mamba-2 does


def frame_of(spec: Spec, lesson: Lesson, text: str) -> Frame:
    """The frame of a spec: RMS norms, and an MLP after every layer or after the first ones."""
    stack = Architecture.parse(text)
    if any(part.bits is not None for layer in stack.layers for part in layer.parts):
        raise BadInput(f"{stack}: bits alone are counted and not trained; give sizes, such as h and d")
    layers = len(stack.layers)
    mlps = layers if spec.locals is None else min(spec.locals, layers)
    locals_ = (*[Mlp(spec.hidden)] * mlps, *[None] * (layers - mlps)) if spec.hidden else ()
    return Frame(stack, spec.width, lesson.answers, lesson.embedding(spec.width), locals_, norm=True)


def started(spec: Spec, lesson: Lesson, frame: Frame) -> Model:
    """The model before its first step."""
    generator = torch.Generator().manual_seed(spec.seed)
    weights = dict(frame.random(generator, torch.float32).weights)
    lookup = spec.start == "lookup"
    if lookup and lesson.lookups == 0:
        raise BadInput(
            f"{lesson.task} cannot start as a lookup, because of how its text is written: use --start random"
        )
    weights |= _tables(frame, lesson, generator, lookup)
    if lookup:
        for i in range(len(frame.architecture.layers))[: lesson.lookups]:
            _begin_as_lookup(Model(frame, weights), i, generator)
    return Model(frame, weights)


def _tables(
    frame: Frame, lesson: Lesson, generator: torch.Generator, lookup: bool
) -> dict[str, torch.Tensor]:
    """The tables of the embedding, under the names of the model's weights."""
    drawn: dict[str, torch.Tensor] = {}
    for name, shape in frame.embedding.shapes(frame.width).items():
        alike = next((t for other, t in drawn.items() if lookup and _stem(other) == _stem(name)), None)
        rows = torch.randn(shape, generator=generator) * (1.0 if lookup else _ROWS)
        drawn[name] = rows if alike is None else alike.clone()
    known = lesson.known({name: t.double().numpy() for name, t in drawn.items()}, lookup)
    tables = drawn | {name: torch.as_tensor(t).float() for name, t in known.items()}
    return {f"embedding.{name}": t for name, t in tables.items()}


def _stem(table: str) -> str:
    return table.split(".")[0] if "." in table else table


def _begin_as_lookup(model: Model, i: int, generator: torch.Generator) -> None:
    """Sets the start `lookup`, in place, in every mixer of layer i with queries, keys and values."""
    for place in model.places(i):
        w = place.weights
        names = next((names for names in _NAMES if w.keys() >= set(names)), _NAMES[0])
        if not w.keys() >= set(names) or w[names[0]].shape != w[names[1]].shape or "R" in w:
            continue  # no lookup by keys, or heads that share them; Mamba's B and C read its own channels
        q, k, v, o = (w[name] for name in names)
        half = len(q) // 2
        scale = q.norm() / k.norm()  # whatever the mixer folds into its queries
        R = torch.randn(half, k.shape[1], generator=generator) * half**-0.5
        S = torch.randn(half, v.shape[1], generator=generator) * half**-0.5
        for part in (q, k, v, o):
            part.mul_(_NOISE)
        k[:half] += _GAIN * R
        q[half:] += scale * R
        v[half:] += S
        o[:, half:] += S.mT * min(1.0, half / v.shape[1])
        _forget_slowly(w)


def _forget_slowly(w: Mapping[str, torch.Tensor]) -> None:
    """Sets gates near 1, whatever the token, and a convolution that passes the present token on."""
    if "conv" in w:
        w["conv"].mul_(_NOISE)[-1] += 1.0
    if "a" in w:  # σ(6) = 0.998
        w["A"].mul_(_NOISE)
        w["a"].fill_(6.0)
    elif "A" in w:  # exp(-e⁻³·softplus(0)) = 0.97
        w["T"].mul_(_NOISE)
        w["A"].fill_(-3.0)
    elif "T" in w:  # of rwkv7, exp(-σ(-6)/√e) = 0.998
        w["T"].mul_(_NOISE)
        w["t"].fill_(-6.0)
    if "X" in w:
        w["t"].fill_(0.0)


def grown(model: Model, frame: Frame, generator: torch.Generator) -> Model:
    """The model in a larger frame, computing the same function: new layers start by adding nothing."""
    extends(model.frame.architecture, frame.architecture)
    weights = dict(frame.random(generator, torch.float32).weights)
    for name, w in weights.items():
        if name in model.weights:
            weights[name] = model.weights[name].detach().clone()
        elif name.endswith((".O", ".local.W2", ".local.b2")):
            w.zero_()
    return Model(frame, weights)
