"""Out of memory is one line, with the bytes asked for and a length that would fit, and exit code 2."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from limen import cli
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import tensors
from limen.errors import BadInput
from limen.model import memory
from limen.model import run as running
from limen.model.model import Model
from limen.solutions import solve

HUGE = 2**50


def test_what_solve_needs_is_known_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.parse("counting(n=4096,S=5)")
    monkeypatch.setattr(memory, "free", lambda: 50_000)
    with pytest.raises(
        BadInput, match=r"at least \d+ bytes of memory, but only 50000 bytes is free"
    ) as refusal:
        solve(construct(task), Precision.parse("float32"), how=1)
    length = re.search(r"inputs of (\d+) tokens would fit", str(refusal.value))
    assert length and 0 < int(length[1]) < task.length


@pytest.mark.parametrize(("room", "fits"), [(100, 10), (99, 9), (121, 11), (0, 0)])
def test_the_length_that_would_fit_is_the_longest(
    room: int, fits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free", lambda: room)
    with pytest.raises(BadInput, match=rf"inputs of {fits} tokens would fit"):
        memory.fitting("a run", 50, lambda n: n * n)
    memory.fitting("a run", fits, lambda n: n * n)


@pytest.mark.parametrize("ask", [lambda: torch.empty(HUGE), lambda: np.empty(HUGE)], ids=["torch", "numpy"])
def test_a_request_refused_while_running_is_one_line(ask: object, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.parse("eva(n=5)")
    monkeypatch.setattr(running, "ends", lambda *_: ask())  # type: ignore[operator]
    with pytest.raises(
        BadInput, match=r"eva\(n=5\): not enough memory: \d+\.\d GB was requested at once, .* fit"
    ):
        solve(construct(task), Precision.parse("float32"), how=1)


def test_an_error_that_is_not_about_memory_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ends", lambda *_: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        solve(construct(Task.parse("eva(n=5)")), Precision.parse("float32"), how=1)


def test_the_command_line_says_it_in_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", lambda *_, **__: torch.empty(HUGE))
    monkeypatch.setattr(cli, "within_what_is_free", lambda: None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    [line] = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2 and line.startswith("limen: not enough memory: 4503599.6 GB was requested")


def test_more_than_is_free_is_refused_and_nobody_is_killed() -> None:
    code = (
        "import numpy as np\n"
        "from limen.model.memory import free, refused, within_what_is_free\n"
        "within_what_is_free(); room = free()\n"
        "if room is None: print('unknown')\n"
        "else:\n"
        "  try: np.empty(2 * room, dtype=np.uint8)\n"
        "  except MemoryError as error: print('refused', refused(error) > room)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() in (["refused", "True"], ["unknown"])


PEAKS = """
import resource, sys
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import tensors
from limen.solutions import solve
for text in sys.argv[2:]:
    solve(construct(Task.parse(text), sys.argv[1]), Precision.parse("float32"), how=1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.parametrize(
    ("by", "before", "last", "numbers"),
    [
        (
            "softmax",
            ["recall(n=256,V=32768)", "recall(n=2048,V=4096)"],
            "recall(n=2048,V=32768)",
            4097 * 32768,
        ),
        ("stack(stack=LFF)", ["composition(m=64,n1=16)"], "composition(m=64,n1=128)", 8258 * 8192),
        ("softmax", ["recall(n=2048,V=32768,q=64)"], "recall(n=2048,V=32768,q=2048)", 2048 * 32768),
    ],
    ids=["tokens", "a stack", "answers that are due"],
)
def test_memory_grows_with_tokens_times_width_and_answers_not_with_tokens_times_answers(
    by: str, before: list[str], last: str, numbers: int
) -> None:
    """Many tokens, or many answers, hold as much as both together; one matrix of both would not fit."""
    run = subprocess.run(
        [sys.executable, "-c", PEAKS, by, *before, last], capture_output=True, text=True, check=True
    )
    *_, one, both = map(int, run.stdout.split())
    assert both - one < numbers, f"{both - one} bytes more, {numbers} numbers would be {4 * numbers}"


def test_answers_read_in_pieces_are_those_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.parse("recall(n=12,V=30,q=5)")
    runs = []
    for logits in (2**20, 30 * 7, 1):
        monkeypatch.setattr(running, "_READ", logits)
        solution = solve(construct(task), Precision.parse("float32"), how=9)[0]
        runs.append((solution.tried, solution.wrong, solution.margin))
    assert runs[0] == runs[1] == runs[2] and runs[0][:2] == (18, 0)


def test_the_logits_count_where_they_are_most_of_what_is_held() -> None:
    task, precision = Task.parse("recall(n=16,V=2^20)"), Precision.parse("float32")
    construction = construct(task)
    model = Model(construction.frame(), tensors(construction.weights()))
    assert running.least_bytes(model, task, precision, task.length, 1) >= 2**20 * 4
    assert running.least_bytes(model, task, precision, task.length, 64) < 2**21 * 4
