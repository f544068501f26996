"""Worst cases over all inputs: agreement with brute force, speed beside random testing, repair at n = V = 16.

    python benchmarks/exact.py agree     144 trained models (12 layers, 3 readouts, 4 seeds), n = V = 4
    python benchmarks/exact.py speed     one-layer models at n = V = 8 and 16, with what the kernel takes
    python benchmarks/exact.py repair    a gated model with a ReLU layer at n = V = 16, until it is proved

Times are wall seconds of this machine; `agree` exits 1 if one model disagrees.
"""

import sys
import time
from itertools import product

import numpy as np
import torch

from limen.adversary.strategies.exact import worst
from limen.adversary.strategies.exact.repair import repair
from limen.core.architecture import Architecture
from limen.core.task import Task, Tokens
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame, Model, at_once

STACKS = [
    "softmax(h=1,d=4)",
    "window(h=1,d=4,W=4)",
    "linear(h=1,d=4)",
    "linear(h=2,d=4,phi=identity,normalise=false)",
    "log_linear(h=1,d=4)",
    "log_linear(h=1,d=4,over=mamba2)",
    "gated_linear(h=1,d=4,d_k=1)",
    "gated_linear(h=1,d=4)",
    "delta(h=1,d=4)",
    "gated_delta(h=1,d=4)",
    "softmax(h=2,d=4)",
    "softmax(h=1,d=4)|linear(h=1,d=4)",
]
FORMS = ((False, 0), (True, 0), (False, 12))  # norm, hidden


def frame(stack: str, task: Task, norm: bool, hidden: int, width: int) -> Frame:
    locals_ = (Mlp(hidden),) if hidden else ()
    table = Table(task.vocab, task.length)
    return Frame(Architecture.parse(stack), width, task.answers, table, locals_, norm=norm)


def trained(
    model: Model, task: Task, steps: int, rng: np.random.Generator, pool: Tokens, rate: float
) -> Model:
    """AdamW on random tables, tables of few values and those of the pool, each asked for every position."""
    weights = {name: w.clone().requires_grad_() for name, w in model.weights.items()}
    adam, n = torch.optim.AdamW(weights.values(), lr=rate, weight_decay=0.01), task.length - 1
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * min(1, (step + 1) / 20) * (1 - 0.9 * step / steps)
        plain, two = rng.integers(task.answers, size=(24, n)), rng.integers(task.answers, size=(16, 2))
        few = np.where(rng.random((16, n)) < 0.3, two[:, :1], two[:, 1:])
        parts = [plain, few, *([pool[rng.integers(len(pool), size=32), :-1]] if len(pool) else [])]
        tables = np.repeat(np.concatenate(parts), n, axis=0)
        tokens = np.column_stack([tables, np.tile(np.arange(n), len(tables) // n)])
        logits = Model(model.frame, weights).logits(torch.as_tensor(tokens))[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, torch.as_tensor(task.answer(tokens)))
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        adam.step()
    return Model(model.frame, {name: w.detach() for name, w in weights.items()})


def brute(model: Model, task: Task) -> float:
    """The least margin of all inputs, by the model's own pass in float64; behind a norm times ρ."""
    tokens = np.array(list(product(range(task.vocab), repeat=task.length)))
    wide = Model(model.frame, {name: w.double() for name, w in model.weights.items()})
    with torch.no_grad():
        z = wide.through(wide.embedded(torch.as_tensor(tokens)), at_once)[:, -1]
        logits = wide.read(z)
    right = torch.as_tensor(task.answer(tokens))[:, None]
    lead = logits.gather(1, right)[:, 0] - logits.scatter(1, right, -torch.inf).amax(1)
    return float((lead * (z.square().mean(-1) + 1e-6).sqrt() if model.frame.norm else lead).min())


def agree() -> int:
    task, counts, wrong = Task.parse("eva(n=4)"), dict[str, int](), 0
    for stack, (norm, hidden), seed in product(STACKS, FORMS, range(4)):
        start = frame(stack, task, norm, hidden, 16).random(
            torch.Generator().manual_seed(seed), torch.float32
        )
        rng, none = np.random.default_rng(seed), np.zeros((0, 5), dtype=np.int64)
        model = trained(start, task, (60, 200)[seed % 2], rng, none, 0.02)
        found, least = worst(model, task, seconds=20), brute(model, task)
        assert found is not None
        near = 1e-6 * (1 + abs(least))
        same = abs(found.high - least) < near and abs(found.low - least) < near
        sound = found.low <= least + near and (found.verdict != "right" or least > 0)
        name = ("equal" if same else "open interval" if sound else "WRONG") + f", {found.verdict}"
        counts[name], wrong = counts.get(name, 0) + 1, wrong + (not sound)
        if not same:
            print(f"{stack} norm={norm} hidden={hidden} seed={seed}: {found.low} {found.high}, brute {least}")
    print(sum(counts.values()), "models:", counts)
    return int(wrong > 0)


def speed() -> int:
    print("layer, hidden, n: low … high, verdict, nodes, search s, with proof s, least of 10^4 random")
    for n, stack, hidden in product((8, 16), ("softmax(h=1,d=16)", "linear(h=1,d=16)"), (0, 32)):
        task, rng = Task.parse(f"eva(n={n})"), np.random.default_rng(0)
        start = frame(stack, task, False, hidden, 32).random(torch.Generator().manual_seed(0), torch.float32)
        model = trained(start, task, 400, rng, np.zeros((0, n + 1), dtype=np.int64), 0.01)
        begun = time.perf_counter()
        found = worst(model, task, seconds=60)
        whole = time.perf_counter() - begun
        assert found is not None
        tokens = task.sample(rng, 10_000)[0]
        with torch.no_grad():
            logits = model.logits(torch.as_tensor(tokens))[:, -1]
        right = torch.as_tensor(task.answer(tokens))[:, None]
        random = float((logits.gather(1, right)[:, 0] - logits.scatter(1, right, -torch.inf).amax(1)).min())
        print(
            f"{stack}, {hidden}, {n}: {found.low:.4f} … {found.high:.4f}, {found.verdict}, {found.nodes}, "
            f"{found.seconds:.2f}, {whole:.2f}, {random:.3f} {found.reason}",
            flush=True,
        )
    return 0


def repaired(stack: str = "log_linear(h=1,d=32,over=mamba2)", n: int = 16) -> int:
    task, rng, begun = Task.parse(f"eva(n={n})"), np.random.default_rng(0), time.perf_counter()
    start = frame(stack, task, False, 32, 64).random(torch.Generator().manual_seed(0), torch.float32)
    first = trained(start, task, 240, rng, np.zeros((0, n + 1), dtype=np.int64), 0.01)

    def train(model: Model, pool: Tokens) -> Model:
        found = worst(model, task, seconds=0)
        assert found is not None
        so_far = f"least margin {found.low:.3f} … {found.high:.3f}, against {len(pool)} inputs"
        print(f"{time.perf_counter() - begun:6.1f} s: {so_far}", flush=True)
        return trained(model, task, 100, rng, pool, 0.004)

    done = repair(first, task, train, rounds=20, seconds=6)
    print(
        f"{stack}, a ReLU layer of 32, n = V = {n}: {'PROVED' if done.proved else 'not proved'} after "
        f"{done.rounds} rounds, {time.perf_counter() - begun:.1f} s; least margin {done.worst.low:.4f} … "
        f"{done.worst.high:.4f}, {len(done.pool)} inputs; {done.worst.reason}"
    )
    return 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit({"agree": agree, "speed": speed, "repair": repaired}[sys.argv[1]]())
