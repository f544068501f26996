"""`make bench`: the run path beside its peers and the machine's limits, each goal with its ratio.

One thread, float32 unless said; rules with four heads of 32 and 2048 tokens a batch, and with larger heads.
Candidates take turns; the least CPU time of a run counts, there are three runs, and a goal is met that is met
in two of them.  The load of the machine is printed: ratios from one run stand, milliseconds of a busy machine
do not.  Writes bench.json, bench.md and bench.svg into the folder that is given, or build/bench.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rules import LARGE, ODD, SMALL, Rule, Size, both, compared, forward, rules
from timing import least_cpu_seconds

from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen.model.last import last_logits
from limen.model.model import Model

RUNS, ROUNDS, WIDTH = 3, 5, 128
SPARSE = [
    "softmax(h=4,d=32)",
    "window(h=4,d=32,W=64)",
    "block_sparse(h=4,d=32,B=16,k=4)",
    "top_k(h=4,d=32,k=64)",
]
TURING = (16, 32, 64)
Seconds = dict[str, float]


@dataclass(frozen=True)
class Goal:
    """A ratio to reach: at least `reach`, or at most where `most`."""

    what: str
    reach: float
    value: Callable[[Seconds], float]
    most: bool = False

    def met(self, found: float) -> bool:
        return found <= self.reach if self.most else found >= self.reach


def ratio(way: str, peer: str, own: str, n: int | Size) -> Callable[[Seconds], float]:
    return lambda s: s[f"{way} {n} {peer}"] / s[f"{way} {n} {own}"]


def exponent(way: str, own: str, few: int, many: int) -> Callable[[Seconds], float]:
    """Of the cost of one text in its length."""
    return lambda s: math.log(s[f"{way} {many} {own}"] / s[f"{way} {few} {own}"]) / math.log(many / few)


def exponent_of_a_rule(own: str) -> Callable[[Seconds], float]:
    """The same where the shorter texts are more: the number of tokens is equal."""
    few, many = SMALL
    return lambda s: 1 + math.log(s[f"f+b {many} {own}"] / s[f"f+b {few} {own}"]) / math.log(many.n / few.n)


def goals() -> Iterator[Goal]:
    for n in SMALL:
        for rule in ("gated_delta", "delta"):
            yield Goal(f"{rule} C, f+b, {n}, over fla chunk", 12, ratio("f+b", f"{rule} fla", f"{rule} C", n))
            yield Goal(
                f"{rule} torch, f+b, {n}, over fla chunk",
                7,
                ratio("f+b", f"{rule} fla", f"{rule} torch", n),
            )
        for by, hf in (("C", 4), ("torch", 1.5)):
            yield Goal(
                f"gated_delta {by}, f+b, {n}, over transformers chunk",
                hf,
                ratio("f+b", "gated_delta transformers", f"gated_delta {by}", n),
            )
        for peer in ("transformers", "fla"):
            yield Goal(f"mamba2 C, f+b, {n}, over {peer}", 4, ratio("f+b", f"mamba2 {peer}", "mamba2 C", n))
        for by, reach in (("C", 2), ("torch", 1)):
            yield Goal(
                f"linear {by}, forward, {n}, over fla chunk",
                reach,
                ratio("forward", "linear fla", f"linear {by}", n),
            )
        yield Goal(
            f"gated_linear C, f+b, {n}, over fla recurrent",
            20,
            ratio("f+b", "gated_linear fla", "gated_linear C", n),
        )
        yield Goal(
            f"kda torch, f+b, {n}, over token by token", 8, ratio("f+b", "kda by tokens", "kda torch", n)
        )
    yield from goals_of_large_heads()
    for by in ("C", "torch"):
        yield Goal(
            f"log_linear {by}, f+b, n=1024, over fla naive",
            150,
            ratio("f+b", "log_linear fla", f"log_linear {by}", SMALL[-1]),
        )
        yield Goal(f"log_linear {by}, f+b, exponent", 1.25, exponent_of_a_rule(f"log_linear {by}"), most=True)
    for mixer in ("block_sparse", "top_k"):
        yield Goal(
            f"{mixer}, forward, n=4096, over full attention", 1, ratio("mixer", "softmax", mixer, 4096)
        )
        yield Goal(
            f"{mixer}, forward, exponent 1024 to 4096", 1.6, exponent("mixer", mixer, 1024, 4096), most=True
        )
    for n in (256, 1024, 4096):
        yield Goal(f"window, forward, n={n}, over full attention", 1, ratio("mixer", "softmax", "window", n))
    yield Goal("lstm, f+b, n=256, over nn.LSTM", 1, ratio("f+b", "nn.LSTM", "lstm", 256))
    yield Goal(
        "last query over 2^20 tokens, times the bandwidth limit",
        4,
        lambda s: s["last query"] / s["bandwidth limit"],
        most=True,
    )
    yield Goal(
        "turing(n=64), decoded from the state, over reading again",
        50,
        lambda s: s["read again 64"] / s["decode 64 turing"],
    )
    yield Goal("turing, exponent 16 to 64", 2.1, exponent("decode", "turing", 16, 64), most=True)


def goals_of_large_heads() -> Iterator[Goal]:
    for n in (LARGE, ODD):
        for peer, reach in (("fla", 8), ("transformers", 6)):
            yield Goal(
                f"gated_delta C, f+b, {n}, over {peer} chunk",
                reach,
                ratio("f+b", f"gated_delta {peer}", "gated_delta C", n),
            )
        yield Goal(
            f"mamba2 C, f+b, {n}, over transformers", 3.5, ratio("f+b", "mamba2 transformers", "mamba2 C", n)
        )
    yield Goal(
        f"linear C, forward, {LARGE}, over fla chunk", 2.5, ratio("forward", "linear fla", "linear C", LARGE)
    )


def measured() -> Seconds:
    """One run of everything."""
    seconds: Seconds = {}
    for size in (*SMALL, LARGE, ODD):
        for way, wrap in (("forward", forward), ("f+b", both)):
            wanted = {
                name: wrap(run)
                for name, run in measured_at(size).items()
                if way == "f+b" or name.endswith((" C", " torch")) or name == "linear fla"
            }
            timed = least_cpu_seconds(wanted, ROUNDS)
            seconds |= {f"{way} {size} {name}": s for name, s in timed.items()}
    return seconds | _mixers() | _lstm() | _limits() | _chains()


def measured_at(size: Size) -> dict[str, Rule]:
    """All rules; of larger heads those of a goal: some peers take minutes, others whole chunks alone."""
    few = {LARGE: ("linear", "mamba2", "gated_delta", "delta"), ODD: ("mamba2", "gated_delta")}
    return {name: run for name, run in rules(size).items() if name.split()[0] in few.get(size, name)}


def _mixers() -> Seconds:
    """With their projections, one text."""
    seconds: Seconds = {}
    for n in (256, 1024, 4096):
        rng = torch.Generator().manual_seed(0)
        x, runs = torch.randn(1, n, WIDTH, generator=rng), {}
        for text in SPARSE:
            mixer = Architecture.parse(text).layers[0].parts[0].mixer
            w = mixer.initial(WIDTH, rng, torch.float32)
            runs[f"mixer {n} {text.split('(')[0]}"] = forward(lambda mixer=mixer, w=w, x=x: mixer.fast(w, x))
        seconds |= least_cpu_seconds(runs, ROUNDS)
    return seconds


def _lstm() -> Seconds:
    rng, (batch, n, d) = torch.Generator().manual_seed(0), (8, 256, 64)
    mixer = Architecture.parse(f"lstm(d={d})").layers[0].parts[0].mixer
    w = {name: x.requires_grad_() for name, x in mixer.initial(d, rng, torch.float32).items()}
    x, theirs = torch.randn(batch, n, d, generator=rng), torch.nn.LSTM(d, d, batch_first=True)
    out = torch.nn.Linear(d, d, bias=False)  # ours has a projection after it
    runs = {"lstm": lambda: mixer.fast(w, x), "nn.LSTM": lambda: out(theirs(x)[0])}
    return least_cpu_seconds({f"f+b {n} {name}": both(run) for name, run in runs.items()}, ROUNDS)


def _limits() -> Seconds:
    """The last query reads n vectors of the model's width; the limit is the time to read as many bytes."""
    task = Task.parse("eva(n=2^20)")
    model = Model.of(construct(task))
    model = Model(model.frame, {name: w.float() for name, w in model.weights.items()})
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 1)[0])
    plane = torch.ones(task.length * model.frame.width)  # float32
    A = torch.randn(1024, 1024)
    runs = {
        "last query": forward(lambda: last_logits(model, tokens)),
        "bandwidth limit": lambda: plane.sum(),
        "gemm 1024": lambda: A @ A,
    }
    return least_cpu_seconds(runs, ROUNDS) | {"bytes": float(4 * plane.numel())}


def _chains() -> Seconds:
    seconds: Seconds = {}
    for n in TURING:
        task = Task.parse(f"turing(n={n})")
        built = construct(task)
        model, tokens = Model.of(built), torch.as_tensor(task.sample(np.random.default_rng(0), 1)[0])
        run = forward(lambda m=model, t=tokens, c=built: m.decode(t, c.steps))
        seconds |= least_cpu_seconds({f"decode {n} turing": run}, rounds=1)
    return seconds | {f"read again {n}": _read_again(model, tokens, built.steps)}


def _read_again(model: Model, tokens: torch.Tensor, steps: int) -> float:
    """All tokens at each step, as decoding once was: measured at nine lengths, a line between them."""
    at = np.linspace(0, steps - 1, 9).astype(int)
    longer = torch.cat([tokens, model.decode(tokens, steps)], -1)
    runs = {str(s): forward(lambda s=s: model.logits(longer[:, : tokens.shape[-1] + s])) for s in at}
    found = least_cpu_seconds(runs, rounds=1)
    return float(np.trapezoid([found[str(s)] for s in at], at))


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    started, load = time.monotonic(), [os.getloadavg()[0]]
    for size in (*SMALL, LARGE, ODD):
        compared(measured_at(size))
    runs: list[Seconds] = []
    for i in range(RUNS):
        runs.append(measured())
        load.append(os.getloadavg()[0])
        print(f"run {i + 1} of {RUNS}, load {load[-1]:.1f}, {time.monotonic() - started:.0f} s", flush=True)
        write(runs, load, folder)
    print((folder / "bench.md").read_text())


def write(runs: list[Seconds], load: list[float], folder: Path) -> None:
    """What the runs so far have found."""
    rows = [row(goal, runs) for goal in goals()]
    seconds = {name: min(run[name] for run in runs) for name in runs[0]}
    folder.mkdir(parents=True, exist_ok=True)
    result = {
        "load": load,
        "torch": torch.__version__,
        "seconds": seconds,
        "goals": [asdict(r) for r in rows],
    }
    (folder / "bench.json").write_text(json.dumps(result, indent=1))
    (folder / "bench.md").write_text(page(rows, seconds, load))
    chart(rows, folder / "bench.svg")


@dataclass(frozen=True)
class Row:
    """A goal and what the runs found; nothing where a peer is not installed."""

    what: str
    reach: float
    most: bool
    found: list[float]
    met: bool | None


def row(goal: Goal, runs: list[Seconds]) -> Row:
    try:
        found = [goal.value(run) for run in runs]
    except KeyError:
        return Row(goal.what, goal.reach, goal.most, [], None)
    met = sum(map(goal.met, found)) >= 2 if len(found) > 1 else None
    return Row(goal.what, goal.reach, goal.most, found, met)


def page(rows: list[Row], seconds: Seconds, load: list[float]) -> str:
    said = {True: "met", False: "**not met**", None: "one run, no peer or no compiler"}
    gemm, width = (
        2 * 1024**3 / seconds["gemm 1024"] / 1e9,
        seconds["bytes"] / seconds["bandwidth limit"] / 1e9,
    )
    lines = [
        f"Load {min(load):.1f} to {max(load):.1f}; matrix products {gemm:.0f} GF/s, memory {width:.1f} GB/s.",
        "",
        "| goal | reach | three runs | |",
        "|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.what} | {'≤' if r.most else '≥'} {r.reach:g} | "
            f"{' / '.join(f'{x:.3g}' for x in r.found) or '–'} | {said[r.met]} |"
        )
    lines += ["", "| milliseconds | |", "|---|---|"]
    lines += [f"| {name} | {1e3 * s:.3g} |" for name, s in seconds.items() if name != "bytes"]
    return "\n".join(lines) + "\n"


def chart(rows: list[Row], path: Path) -> None:
    """How far each goal is reached: the middle run over what was to be reached, 1 being the goal."""
    import altair as alt

    shown = [
        {
            "goal": r.what,
            "reached": (r.reach / m if r.most else m / r.reach),
            "met": "met" if r.met else "not met",
        }
        for r in rows
        if r.found and (m := sorted(r.found)[len(r.found) // 2])
    ]
    bars = (
        alt.Chart(alt.Data(values=shown))
        .mark_bar()
        .encode(
            x=alt.X("reached:Q", scale=alt.Scale(type="log"), title="reached / goal"),
            y=alt.Y("goal:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
            color=alt.Color(
                "met:N", scale=alt.Scale(domain=["met", "not met"], range=["#2a6f97", "#c1440e"])
            ),
        )
    )
    rule = alt.Chart(alt.Data(values=[{"x": 1}])).mark_rule().encode(x="x:Q")
    (bars + rule).save(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/bench"))
