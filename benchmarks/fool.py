"""Forwards per failure, side by side in one run: every strategy beside random testing, on the shipped models.

    python benchmarks/fool.py [--random 20000] [--runs 10] [--seconds 20] [NAME…]

NAME is a model, `collisions`, `brute` (the exact search beside brute force on 30 small models) or `exchanges`
(texts with one token exchanged, from tables and run).

One forward is a text that is read, with its questions; a gradient counts as three.  Random testing gets the
same benefit; its texts are drawn by the task's sampler, whose distribution is printed.  "≥ …×" is how many
fewer forwards than random testing a strategy takes for a failure, where random testing's rate is the highest
with which so few failures are still as likely as 5 %; where it saw some, the ratio to the observed rate is
printed beside it.
Collisions of states are exact: their certificates have passed the checker.  Counts do not depend on the
machine; seconds do.
"""

import argparse
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from exact import brute, frame, trained

from limen.adversary.failure_rate import upper_95
from limen.adversary.strategies._exchanges import Exchanges, exchanges
from limen.adversary.strategies.block_lattice import BlockLattice, brought
from limen.adversary.strategies.coordinates import Coordinates
from limen.adversary.strategies.exact import ExactWorst, worst
from limen.adversary.strategies.jumps import Jumps
from limen.adversary.strategies.lattice import Lattice, contributions
from limen.adversary.strategies.low_entropy import LowEntropy
from limen.adversary.strategies.near_misses import NearMisses
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.adversary.strategies.parallel_jumps import ParallelJumps
from limen.adversary.strategies.random_texts import RandomTexts
from limen.core.architecture import Architecture
from limen.core.numbers import Precision
from limen.core.strategy import Strategy
from limen.core.task import Task
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.model.opening import opened
from limen.model.target import Target

MODELS = Path(__file__).parent / "models"
LSTM = str(Path(__file__).parent / "lstm.py:trained")
STRATEGIES: tuple[Strategy, ...] = (
    Needle(4096),
    LowEntropy(4096),
    NearMisses(2048),
    ExactWorst(),
    Jumps(4096),
    ParallelJumps(16384),
    Coordinates(4096),
    Neighbourhood(4),
)


@dataclass(frozen=True)
class Case:
    """A shipped model, its task, and the arithmetic it is run in; its own unless said."""

    name: str
    task: str
    arithmetic: str | None = None

    def target(self, seed: int, seconds: float) -> Target:
        precision = None if self.arithmetic is None else Precision.parse(self.arithmetic)
        end = time.perf_counter() + seconds
        return Target(Task.parse(self.task), _model(self.name), precision, seed, end)


@cache
def _model(name: str) -> object:
    return opened(LSTM if name == "lstm" else str(MODELS / name))


CASES = (
    Case("linear_affine", "eva(n=16)"),
    Case("linear_two", "eva(n=16)"),
    Case("gated", "eva(n=16)"),
    Case("delta", "eva(n=16)", "significand(t=5)"),
    Case("mamba2", "eva(n=16)"),
    Case("log_linear", "eva(n=16)"),
    Case("hybrid", "composition(m=16,n1=1)"),
    Case("qwen3_next", "recall(n=8,V=16)"),  # nobody here wrote them
    Case("olmo_hybrid", "recall(n=8,V=16)"),
    Case("llama", "eva(n=8)"),
    Case("lstm", "eva(n=5)"),
    Case("linear_right", "eva(n=16)"),  # controls: not to be fooled
    Case("hardened", "eva(n=16)"),
)


def random_rate(case: Case, texts: int) -> tuple[int, int, float, str]:
    """Failures, texts, the lowest margin seen, and how they were drawn."""
    tried = failed = 0
    target = case.target(99, float("inf"))
    while tried < texts:
        found = RandomTexts(texts - tried).search(target)
        tried, failed = tried + found.tried, failed + found.failed
    return failed, tried, target.lowest, target.distribution.says


def measured(case: Case, options: argparse.Namespace) -> None:
    failed, tried, lowest, drawn = random_rate(case, options.random)
    how = "" if case.arithmetic is None else f" in {case.arithmetic}"
    print(f"\n{case.name}{how}, {case.task}")
    print(f"  random texts      {failed} failures in {tried:,} texts {drawn}, lowest margin {lowest:.2f}")
    highest = upper_95(failed, tried) or 1.0
    for strategy in STRATEGIES:
        target = case.target(0, options.seconds)
        name = type(strategy).__name__
        if strategy.needs > target.access or strategy.refuses(target) is not None:
            continue
        begun, found, forwards, runs, low = time.perf_counter(), 0, 0, 0, np.inf
        while runs < options.runs and time.perf_counter() - begun < options.seconds:
            target = case.target(runs, options.seconds)
            found += strategy.search(target).witness is not None
            forwards, runs, low = forwards + target.forwards, runs + 1, min(low, target.lowest)
        each = f"{forwards / found:,.0f} forwards a failure" if found else f"none in {forwards:,} forwards"
        ratio = f"  ≥ {found / forwards / highest:,.0f}×" if found and forwards else ""
        if ratio and failed:
            ratio += f" (observed {found / forwards / (failed / tried):,.0f}×)"
        spent = (time.perf_counter() - begun) / runs
        print(f"  {name:16} {found}/{runs}  {each}{ratio}  {spent:.2f} s a run, lowest {low:.2f}", flush=True)


def random_model(architecture: str, task: Task, width: int, places: bool) -> Model:
    embedding = Table(task.vocab, task.length if places else 0)
    frame = Frame(Architecture.parse(architecture), width, task.answers, embedding)
    return frame.random(torch.Generator().manual_seed(0), torch.float32)


def effective_bits(table: np.ndarray) -> float:
    """The entropy of a Gaussian with the state's covariance, of texts drawn uniformly, in bits."""
    spread = sum(np.cov(rows.T.astype(float)) for rows in table) + np.eye(table.shape[-1]) / 12
    return float(np.linalg.slogdet(2 * np.pi * np.e * spread)[1] / 2 / np.log(2))


COLLIDING = (  # random weights; the arithmetic is fixed point, so that sums are exact
    ("linear(h=1,d=3)", "index(n=64,S=64)", "fixed(f=5)"),
    ("linear(h=1,d=5)", "index(n=160,S=128)", "fixed(f=4)"),
    ("log_linear(h=1,d=4,levels=10)", "index(n=255,S=64)", "fixed(f=4)"),
)
BLOCKS = (
    ("block_sparse(h=1,d=16,B=160,k=1)", "two_sum(n=640,M=1024)", "fixed(f=7)", 32),
    ("block_sparse(h=2,d=16,B=512,k=1)", "two_sum(n=2048,M=2048)", "fixed(f=6)", 64),
)


def collided() -> None:
    print("\nexact collisions of states, random weights")
    for architecture, text, arithmetic in COLLIDING:
        task = Task.parse(text)
        model = random_model(architecture, task, 32, places=True)
        target = Target(task, model, Precision.parse(arithmetic))
        bits = effective_bits(contributions(target))
        begun = time.perf_counter()
        pair = Lattice().search(target).witness
        differ = sum(a != b for a, b in zip(pair.left, pair.right, strict=True)) if pair else None
        spent = time.perf_counter() - begun
        what = f"{bits:.0f} effective bits, differ in {differ} tokens"
        print(f"  {architecture} {text} {arithmetic}: {what}, {spent:.1f} s", flush=True)
    for architecture, text, arithmetic, width in BLOCKS:
        task = Task.parse(text)
        target = Target(
            task, random_model(architecture, task, width, places=False), Precision.parse(arithmetic)
        )
        told = brought(target)
        p = int(np.ceil(np.log2(2 * np.abs(told).max() + 1)))
        begun = time.perf_counter()
        found = BlockLattice().search(target).witness is not None
        spent = time.perf_counter() - begun
        print(
            f"  {architecture} {text}: messages of {told.shape[1]} × {p} bits, found {found}, {spent:.1f} s"
        )


def brute_forced(models: int = 30) -> None:
    """One linear layer, affine readout, n = V = 4: the exact worst case and the least of 1,024 inputs."""
    task, none = Task.parse("eva(n=4)"), np.zeros((0, 5), dtype=np.int64)
    same = failing = 0
    for seed in range(models):
        start = frame("linear(h=1,d=4)", task, False, 0, 16).random(
            torch.Generator().manual_seed(seed), torch.float32
        )
        model = trained(start, task, (60, 200)[seed % 2], np.random.default_rng(seed), none, 0.02)
        found, least = worst(model, task, seconds=20), brute(model, task)
        assert found is not None
        near = 1e-6 * (1 + abs(least))
        same += abs(found.low - least) < near and abs(found.high - least) < near
        failing += least <= 0
    print(f"\nexact search and brute force: equal on {same} of {models} models, {failing} wrong somewhere")


def exchanged() -> None:
    """CPU seconds of all single exchanges of one text, each with 16 questions: from tables, and run."""
    print("\ntexts with one token exchanged, CPU milliseconds for 256 of them: from tables, run")
    for case in CASES:
        target = case.target(0, float("inf"))
        near = exchanges(target)
        if type(near) is Exchanges:
            continue
        text = target.task.sample(np.random.default_rng(0), 1)[0][0, : target.task.cut]
        ends, tokens, spent = np.arange(16)[:, None], np.arange(16), []
        for way in (near, Exchanges(target)):
            begun = time.process_time()
            for i in range(4 * 16):
                way.ask(text, i % 16, tokens, ends)
            spent.append((time.process_time() - begun) / 4 * 1e3)
        print(f"  {case.name}: {spent[0]:.1f}, {spent[1]:.1f}: {spent[1] / spent[0]:.1f}×", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--random", type=int, default=20000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each strategy on each model")
    chosen = parser.parse_args()
    for one in CASES:
        if (not chosen.names or one.name in chosen.names) and (MODELS / one.name).is_dir():
            measured(one, chosen)
    for name, shown in (("collisions", collided), ("brute", brute_forced), ("exchanges", exchanged)):
        if not chosen.names or name in chosen.names:
            shown()
