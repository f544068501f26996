"""How often, and how soon, the proof of the lower bound breaks a random coarse model; a few minutes."""

import time

import torch

from limen.adversary.strategies.decomposition import Decomposition
from limen.core.architecture import Architecture
from limen.model.embedding import Table
from limen.model.model import Frame
from limen.model.target import Target
from limen.tasks.composition import Composition
from limen.witness.collision import check_collision

LAYERS = {"L": "linear(h=1,d=1,phi=relu)", "F": "softmax(h=1,d=1,d_k=2)"}
CASES = [
    (Composition(m=6), "LL", 10),
    *((Composition(m=2, n=(3,)), stack, 10) for stack in ("F", "LF", "LFL", "LLFLL")),
    *((Composition(m=2, n=(2, 2)), stack, 3) for stack in ("FF", "LFLFL")),
]


def main() -> None:
    torch.set_num_threads(1)
    for task, stack, seeds in CASES:
        architecture = Architecture.parse(",".join(LAYERS[letter] for letter in stack))
        frame = Frame(architecture, 4, task.answers, Table(task.vocab, task.length))
        broken, slowest = 0, 0.0
        for seed in range(seeds):
            model = frame.random(torch.Generator().manual_seed(seed), torch.float64)
            start = time.perf_counter()
            pair = Decomposition(seed=seed).search(Target(task, model)).witness
            slowest = max(slowest, time.perf_counter() - start)
            broken += pair is not None and check_collision(pair, model) is None
        print(f"{task} {stack}: {broken} of {seeds} models broken, at most {slowest:.1f} s", flush=True)


if __name__ == "__main__":
    main()
