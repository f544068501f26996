"""A training step beside the loop of zoology [arora2024zoology], written again: python benchmarks/training.py

MQAR with 8192 symbols, width 64, 64 tokens, batch 64, two layers with one head, four pairs among filler.
Theirs, as in the public code: an eager softmax, learned positions, an MLP of four times the width, loss and
argmax over every position, AdamW as it is by default, the loss read twice.  Ours: the same task and sizes
through `limen.training`.  Both get their batches ready made.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from timing import least_cpu_seconds

from limen.core.architecture import Architecture
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.recall import Recall
from limen.training.adamw import AdamW
from limen.training.lesson import Batch, Lesson
from limen.training.spec import Spec
from limen.training.train import Pupil

V, WIDTH, N, BATCH, PAIRS = 8192, 64, 64, 64, 4
ROUNDS = 20


def batches(rng: np.random.Generator, count: int) -> list[Batch]:
    """Four pairs, then filler (0) in which each key is asked once, at places of its own in every row."""
    made = []
    for _ in range(count):
        keys = 1 + np.argsort(rng.random((BATCH, V // 2 - 1)), axis=1)[:, :PAIRS]
        values = rng.integers(V // 2, V, size=(BATCH, PAIRS))
        tokens = np.zeros((BATCH, N), dtype=np.int64)
        tokens[:, 0 : 2 * PAIRS : 2], tokens[:, 1 : 2 * PAIRS : 2] = keys, values
        gaps = np.argsort(rng.random((BATCH, (N - 2 * PAIRS) // 2)), axis=1)[:, :PAIRS]
        due = 2 * PAIRS + 2 * gaps
        np.put_along_axis(tokens, due, keys, axis=1)
        made.append(Batch(tokens, due, values))
    return made


class Theirs(torch.nn.Module):
    """Embeddings tied to the readout, two blocks of attention and MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.E, self.P = torch.nn.Embedding(V, WIDTH), torch.nn.Embedding(N, WIDTH)
        self.blocks = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "norm1": torch.nn.LayerNorm(WIDTH),
                    "qkv": torch.nn.Linear(WIDTH, 3 * WIDTH),
                    "out": torch.nn.Linear(WIDTH, WIDTH),
                    "norm2": torch.nn.LayerNorm(WIDTH),
                    "up": torch.nn.Linear(WIDTH, 4 * WIDTH),
                    "down": torch.nn.Linear(4 * WIDTH, WIDTH),
                }
            )
            for _ in range(2)
        )
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.E(tokens) + self.P(torch.arange(N))
        for b in self.blocks:
            q, k, v = b["qkv"](b["norm1"](x)).chunk(3, -1)
            scores = q @ k.mT / math.sqrt(WIDTH) + torch.full((N, N), -10000.0).triu(1)
            x = x + b["out"](scores.softmax(-1) @ v)
            x = x + b["down"](torch.nn.functional.gelu(b["up"](b["norm2"](x))))
        return self.norm(x) @ self.E.weight.mT


def their_step(made: list[Batch]) -> Callable[[int], None]:
    model = Theirs()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)

    def step(i: int) -> None:
        batch = made[i % len(made)]
        labels = torch.full((BATCH, N), -100)
        labels.scatter_(1, torch.as_tensor(batch.due), torch.as_tensor(batch.labels))
        optimizer.zero_grad()
        logits = model(torch.as_tensor(batch.tokens))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        logits.argmax(-1)
        loss.backward()
        optimizer.step()
        loss.item()
        loss.item()

    return step


def our_step(made: list[Batch]) -> Callable[[int], None]:
    spec = Spec(task=f"recall(n={PAIRS},V={V},q={PAIRS})", architecture="2*softmax(h=1,d=64)", rate=1e-3)
    stack = Architecture.parse(spec.architecture)
    frame = Frame(stack, WIDTH, V, Table(V, N), (Mlp(4 * WIDTH), Mlp(4 * WIDTH)), norm=True)
    model = frame.random(torch.Generator().manual_seed(0), torch.float32)
    pupil = Pupil(model, Lesson(Recall(PAIRS, V, q=PAIRS)), spec)
    for w in pupil.weights:
        w.requires_grad_()
    optimizer = AdamW(pupil.weights, 0.1)

    def step(i: int) -> None:
        loss = pupil.loss(made[i % len(made)])
        loss.backward()
        optimizer.step(1e-3, 1.0)
        loss.item()

    return step


def main() -> None:
    torch.set_num_threads(1)
    made = batches(np.random.default_rng(0), 8)
    theirs, ours = their_step(made), our_step(made)
    names = "zoology's loop, written again", "limen"
    least = least_cpu_seconds({names[0]: lambda: theirs(0), names[1]: lambda: ours(0)}, ROUNDS)
    print("MQAR, V = 8192, width 64, 64 tokens, batch 64, one thread")
    for name, seconds in least.items():
        print(f"  {name:30} {1000 * seconds:7.1f} ms a step   {least[names[0]] / seconds:4.1f}x")


if __name__ == "__main__":
    main()
