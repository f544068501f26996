"""A training step beside the loop of zoology [arora2024zoology], written again: python benchmarks/training.py

MQAR with 8192 symbols, width 64, 64 tokens, batch 64, two layers with one head, four pairs among filler.
Theirs, as in the public code: an eager softmax, learned positions, an MLP of four times the width, loss and
argmax over every position, AdamW as it is by default, the loss read twice.  Ours: the same task and sizes
through `limen.training`.  Both get their batches ready made.

Then a sweep of 8 seeds × 3 rates, as `limen experiment run` splits it on two cores: twelve models as one on
each, beside a careful `nn.Module` (fused attention, the readout where an answer is due, fused AdamW) that
takes the steps of one model after the other.  All get memory as a sweep's processes do.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import numpy as np
import torch
from timing import least_cpu_seconds

from limen.core.architecture import Architecture
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.recall import Recall
from limen.training.adamw import AdamW
from limen.training.lesson import Batch, Lesson, lesson_of
from limen.training.local import _KEPT
from limen.training.pupil import Pupil
from limen.training.run import _pupil
from limen.training.spec import Spec
from limen.training.start import frame_of, started
from limen.training.steps import Alone, Taken, Together

V, WIDTH, N, BATCH, PAIRS = 8192, 64, 64, 64, 4
ROUNDS = 20
MODELS = 12  # of 24 on two cores


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


class Lean(torch.nn.Module):
    """Two blocks as careful people write them."""

    def __init__(self, vocab: int, n: int, answers: int, width: int) -> None:
        super().__init__()
        nn = torch.nn
        self.E, self.P = nn.Embedding(vocab, width), nn.Parameter(torch.randn(n, width) / 2)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.RMSNorm(width),
                    "qkv": nn.Linear(width, 3 * width, bias=False),
                    "out": nn.Linear(width, width, bias=False),
                    "norm2": nn.RMSNorm(width),
                    "up": nn.Linear(width, 2 * width),
                    "down": nn.Linear(2 * width, width),
                }
            )
            for _ in range(2)
        )
        self.norm, self.U = nn.RMSNorm(width), nn.Linear(width, answers)

    def forward(self, tokens: torch.Tensor, due: torch.Tensor) -> torch.Tensor:
        F = torch.nn.functional
        x = self.E(tokens) + self.P
        for b in self.blocks:
            q, k, v = b["qkv"](b["norm1"](x)).unsqueeze(1).chunk(3, -1)
            x = x + b["out"](F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1))
            x = x + b["down"](F.relu(b["up"](b["norm2"](x))))
        return self.U(self.norm(x[:, due]))


def lean_step(lesson: Lesson, width: int, batch: Batch) -> Callable[[], None]:
    task = lesson.task
    model = Lean(task.vocab, batch.tokens.shape[1], task.answers, width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), fused=True)
    tokens, due, labels = (torch.as_tensor(part).long() for part in batch[:3])

    def step() -> None:
        logits = model(tokens, due)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return step


def sweep(width: int, rows: int, queries: int) -> None:
    """A line: the CPU time of a model's step in the three ways, of 12 models on one core."""
    spec = Spec(
        task="index(n=20,S=32)",
        architecture=f"2*softmax(h=1,d={width})",
        width=width,
        hidden=2 * width,
        batch=rows,
        queries=queries,
    )
    lesson = lesson_of(spec)
    specs = [
        msgspec.structs.replace(spec, seed=s, rate=r) for r in (1e-3, 3e-3, 1e-2) for s in range(MODELS // 3)
    ]
    frame = frame_of(spec, lesson, spec.architecture)
    pupils = [_pupil(one, lesson, started(one, lesson, frame)) for one in (spec, *specs)]
    batch = lesson.batch(np.random.default_rng(0), rows, False)
    alone, stack = Alone(pupils[0]), Together(pupils[1:])
    lessons = [Taken(pupil, batch, pupil.spec.rate) for pupil in pupils]
    least = least_cpu_seconds(
        {
            "lean": lean_step(lesson, width, batch),
            "alone": lambda: alone.step(lessons[:1], None),
            "together": lambda: stack.step(lessons[1:], None),
        },
        ROUNDS,
    )
    lean, one, all_ = least["lean"], least["alone"], least["together"] / MODELS
    print(
        f"  {batch.tokens.size:5} tokens a step, width {width:3}   lean {1000 * lean:6.2f} ms   "
        f"alone {1000 * one:6.2f} ({lean / one:4.2f}x)   together {1000 * all_:6.2f} ({lean / all_:4.2f}x)"
    )


def sweeps() -> None:
    print(f"\na sweep of 8 seeds x 3 rates on two cores: a model's step, {MODELS} models a core")
    for width in (16, 32, 64):
        for rows, queries in ((4, 12), (8, 12), (16, 12), (16, 44), (64, 12)):
            sweep(width, rows, queries)


def main() -> None:
    torch.set_num_threads(1)
    if sys.argv[1:] == ["sweep"]:
        sweeps()
        return
    made = batches(np.random.default_rng(0), 8)
    theirs, ours = their_step(made), our_step(made)
    names = "zoology's loop, written again", "limen"
    least = least_cpu_seconds({names[0]: lambda: theirs(0), names[1]: lambda: ours(0)}, ROUNDS)
    print("MQAR, V = 8192, width 64, 64 tokens, batch 64, one thread")
    for name, seconds in least.items():
        print(f"  {name:30} {1000 * seconds:7.1f} ms a step   {least[names[0]] / seconds:4.1f}x")
    subprocess.run([sys.executable, __file__, "sweep"], env=os.environ | _KEPT, check=True)


if __name__ == "__main__":
    main()
