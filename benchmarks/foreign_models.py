"""Trains small models that nobody here wrote, with the trainer's own loop: of transformers, and torch's LSTM.

    python benchmarks/foreign_models.py [NAME…]

Each is shipped in `benchmarks/models/NAME`: those of transformers as they save themselves (config.json and
model.safetensors), the LSTM as tensors that `benchmarks/lstm.py` reads.  A run writes them again.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lstm import Lstm
from safetensors.torch import save_file

from limen.core.task import Answers, Task, Tokens
from limen.training.lesson import Batch, Lesson, lesson_for
from limen.training.pupil import Pupil
from limen.training.spec import Spec
from limen.training.start import frame_of, started
from limen.training.train import train

MODELS = Path(__file__).parent / "models"
F, L = "full_attention", "linear_attention"
RECALL = "recall(n=8,V=16,q=8)"
WIDTH = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "max_position_embeddings": 64}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16}
ONE, ROPE = {"num_hidden_layers": 1}, {"rope_type": "default", "rope_theta": 100.0}
NO_MARKS = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None, "tie_word_embeddings": False}
DELTA = {"linear_num_key_heads": 1, "linear_num_value_heads": 1, "linear_key_head_dim": 16}
DELTA |= {"linear_value_head_dim": 16, "linear_conv_kernel_dim": 3}


def layers(*kinds: str) -> dict[str, Any]:
    """The sizes with so many layers, of these kinds."""
    return WIDTH | {"num_hidden_layers": len(kinds), "layer_types": list(kinds)}


@dataclass(frozen=True)
class Recipe:
    """A model, the task that it is taught, and for how long."""

    task: str
    module: Callable[[int], torch.nn.Module]  # of so many tokens
    steps: int
    seed: int = 0
    rate: float = 3e-3
    batch: int = 64
    distribution: str | None = None  # of the inputs that it is taught, one that the lesson names

    @property
    def lesson(self) -> Lesson:
        task = Task.parse(self.task)
        return Lesson(task) if self.distribution is None else lesson_for(task, distribution=self.distribution)

    @property
    def spec(self) -> Spec:
        return Spec(
            task=self.task,
            architecture="softmax(h=1,d=1)",  # of the trainer's own model, which stands by
            seed=self.seed,
            steps=self.steps,
            rate=self.rate,
            batch=self.batch,
            distribution=self.distribution,
            target=1.1,  # never: it uses all its steps
            every=200,
        )


def hugging(name: str, **sizes: Any) -> Callable[[int], torch.nn.Module]:
    """A model of transformers from its config, with random weights."""

    def made(vocab: int) -> torch.nn.Module:
        transformers = import_module("transformers")
        sizes_ = {**NO_MARKS, **sizes, "vocab_size": vocab}
        config = transformers.AutoConfig.for_model(name, **sizes_)
        model: torch.nn.Module = transformers.AutoModelForCausalLM.from_config(config)
        return model

    return made


RECIPES = {
    "llama": Recipe("eva(n=8)", hugging("llama", **WIDTH | ONE, **HEADS, rope_parameters=ROPE), 1500),
    "qwen3_next": Recipe(
        RECALL,
        hugging("qwen3_next", **layers(L, F, F), **HEADS, **DELTA, num_experts=0, mlp_only_layers=[0, 1, 2]),
        2500,
    ),
    "olmo_hybrid": Recipe(RECALL, hugging("olmo_hybrid", **layers(L, L, F), **HEADS, **DELTA), 1500),
    "olmo_halves": Recipe(
        RECALL, hugging("olmo_hybrid", **layers(L, F), **HEADS, **DELTA), 500, distribution="halves"
    ),
    "lstm": Recipe("eva(n=5)", lambda vocab: Lstm(vocab, 48), 3000, rate=5e-3),
}


@dataclass
class Guest(Pupil):
    """A module that the trainer's loop teaches: it takes the place of the model, which stands by."""

    module: torch.nn.Module | None = None

    @property
    def weights(self) -> list[torch.Tensor]:
        assert self.module is not None
        return list(self.module.parameters())

    def logits(self, batch: Batch, learn: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        return self._read(batch.tokens)[:, torch.as_tensor(batch.due)], []

    def answers(self, tokens: Tokens) -> Answers:
        task = self.lesson.task
        with torch.no_grad():
            chosen = self._read(tokens)[:, -task.asks :].argmax(-1).numpy()
        return np.asarray(chosen[:, 0] if task.asks == 1 else chosen)

    def _read(self, tokens: Tokens) -> torch.Tensor:
        assert self.module is not None
        out = self.module(torch.as_tensor(tokens))
        logits: torch.Tensor = getattr(out, "logits", out)[..., : self.lesson.task.answers]
        return logits


def made(recipe: Recipe) -> tuple[torch.nn.Module, float]:
    """The module, and its accuracy on 4,096 fresh inputs."""
    spec, lesson = recipe.spec, recipe.lesson
    torch.random.default_generator.manual_seed(recipe.seed)
    module = recipe.module(lesson.task.vocab)
    pupil = Guest(
        started(spec, lesson, frame_of(spec, lesson, spec.architecture)), lesson, spec, module=module
    )
    train([pupil], spec.steps, lambda seen: print(seen, flush=True))
    return module.eval(), pupil.accuracy(np.random.default_rng(9), 4096)


def save(module: torch.nn.Module, folder: Path) -> None:
    if hasattr(module, "save_pretrained"):
        module.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
    else:
        folder.mkdir(exist_ok=True)
        save_file(module.state_dict(), folder / "lstm.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or RECIPES:
        begun = time.process_time()
        trained, accuracy = made(RECIPES[name])
        save(trained, MODELS / name)
        spent = time.process_time() - begun
        drawn = RECIPES[name].lesson.drawn(hard=False).says
        print(f"{name}: {accuracy:.2%} of 4,096 inputs {drawn}, {spent:.0f} CPU seconds", flush=True)
