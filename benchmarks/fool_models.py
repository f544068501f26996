"""Trains the small models that `benchmarks/fool.py` attacks, each from its own seed: one folder a model.

    python benchmarks/fool_models.py [NAME…]

They are shipped in `benchmarks/models`, so that the figures are about fixed weights; a run here writes them
again, in about a minute of one core each.  Head sizes and steps were chosen, out of some twenty recipes (36
for `hybrid`): a model is right on random texts and yet can be fooled; `linear_right` and `hardened` are not.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.model.files import load, save
from limen.model.local import Mlp
from limen.model.model import Frame, Model
from limen.training.against import proposer
from limen.training.lesson import Lesson, lesson_for
from limen.training.pupil import Pupil
from limen.training.spec import Spec
from limen.training.start import frame_of, started
from limen.training.train import train

MODELS = Path(__file__).parent / "models"
NEVER = 1.1  # an accuracy at which training would stop: it uses all its steps


@dataclass(frozen=True)
class Recipe:
    """What is trained, and for how long."""

    task: str
    architecture: str
    steps: int
    seed: int = 0
    hidden: int = 128
    norm: bool = True
    rate: float = 3e-3
    against: str | None = None
    hops: bool = False
    batch: int = 32
    first: str | None = None  # the model that is trained on

    @property
    def spec(self) -> Spec:
        return Spec(
            task=self.task,
            architecture=self.architecture,
            seed=self.seed,
            start="lookup",
            steps=self.steps,
            hidden=self.hidden,
            rate=self.rate,
            target=NEVER,
            against=self.against,
            hops=self.hops,
            every=200,
            batch=self.batch,
        )


RECIPES = {
    "linear_affine": Recipe("eva(n=16)", "linear(h=1,d=16)", 1000, hidden=0, norm=False),
    "linear_right": Recipe("eva(n=16)", "linear(h=1,d=16)", 2500, hidden=0, norm=False),
    "linear_two": Recipe("eva(n=16)", "2*linear(h=1,d=16)", 1100),
    "gated": Recipe("eva(n=16)", "gated_linear(h=1,d=16)", 2500),
    "delta": Recipe("eva(n=16)", "delta(h=1,d=16)", 2000),
    "mamba2": Recipe("eva(n=16)", "mamba2(h=1,d=16,s=16,c=2)", 500),
    "log_linear": Recipe("eva(n=16)", "log_linear(h=1,d=16,levels=7)", 900),
    "hybrid": Recipe("composition(m=16,n1=1)", "softmax(h=1,d=16),2*linear(h=1,d=16)", 1300, hops=True),
    "hardened": Recipe(
        "eva(n=16)", "2*linear(h=1,d=16)", 400, rate=1e-3, against="adversary", first="linear_two"
    ),
}


def frame(recipe: Recipe, lesson: Lesson) -> Frame:
    """As the trainer lays it out; without norms the readout is affine in the memory."""
    if recipe.norm:
        return frame_of(recipe.spec, lesson, recipe.architecture)
    stack = Architecture.parse(recipe.architecture)
    local = tuple(Mlp(recipe.hidden) for _ in stack.layers) if recipe.hidden else ()
    return Frame(stack, 64, lesson.task.answers, lesson.embedding(64), local)


def made(recipe: Recipe) -> tuple[Model, float]:
    """The model, and its accuracy on 4,096 fresh inputs."""
    from limen.training.run import _heads

    spec, task = recipe.spec, Task.parse(recipe.task)
    lesson = lesson_for(task, spec.queries, spec.dense)
    start = load(MODELS / recipe.first) if recipe.first else started(spec, lesson, frame(recipe, lesson))
    pupil = Pupil(start, lesson, spec, None, _heads(spec, lesson, start.frame.architecture))
    train([pupil], spec.steps, lambda seen: None, None if spec.against is None else proposer(spec.against))
    with torch.no_grad():
        done = Model(start.frame, {name: w.detach() for name, w in start.weights.items()})
    return done, pupil.accuracy(np.random.default_rng(9), 4096)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or RECIPES:
        begun = time.process_time()
        model, accuracy = made(RECIPES[name])
        save(model, MODELS / name)
        print(
            f"{name}: {accuracy:.2%} of 4,096 fresh inputs, {time.process_time() - begun:.0f} CPU seconds",
            flush=True,
        )
