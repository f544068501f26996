"""`limen compare` for people: the stacks side by side, and in words what one loses and what buys it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import in_bytes, plural
from limen.core.verdict import Answer

if TYPE_CHECKING:
    from limen.commands.compare import Chains, ComparedStack, ComparedTask, CompareReport, OneAnswer

_HOPS = (
    "Hops: some weights chain this many, and in long enough texts no weights chain more. "
    "Training may find weights that chain fewer."
)


def lines_of(report: CompareReport) -> list[str]:
    """All of it."""
    letters = [chr(ord("A") + i) for i in range(len(report.stacks))]
    lines = [f"{letter}  {stack.name}" for letter, stack in zip(letters, report.stacks, strict=True)]
    lines += [
        "",
        *_aligned(_sizes(report, letters)),
        "",
        *_saved(report.stacks, letters),
        *_hops(report, letters),
    ]
    lines += ["", *_tasks(report, letters)]
    return [*lines, "", _HOPS]


def _sizes(report: CompareReport, letters: Sequence[str]) -> list[tuple[str, ...]]:
    stacks = report.stacks
    return [
        (f"{report.context:,} tokens", *letters),
        ("layers", *(f"{s.layers:,}" for s in stacks)),
        ("layers that keep every token", *(f"{s.full_layers:,}" for s in stacks)),
        ("keys and values", *(in_bytes(s.growing_bytes) for s in stacks)),
        ("  each number in", *(s.growing_in or "–" for s in stacks)),
        ("fixed-size state", *(in_bytes(s.fixed_bytes) for s in stacks)),
        ("  each number in", *(s.fixed_in or "–" for s in stacks)),
        ("question-dependent hops, one pass", *(f"{s.hops:,}" for s in stacks)),
        ("hops that each thinking token adds", *(f"{s.hops_per_step:,}" for s in stacks)),
    ]


def _saved(stacks: Sequence[ComparedStack], letters: Sequence[str]) -> list[str]:
    """Each against the one that keeps most."""
    kept = [stack.cache_bytes for stack in stacks]
    most = kept.index(max(kept))
    return [
        f"{letter} keeps {in_bytes(kept[most] - own)} less than {letters[most]} for each sequence."
        for letter, own in zip(letters, kept, strict=True)
        if own < kept[most]
    ]


def _hops(report: CompareReport, letters: Sequence[str]) -> list[str]:
    if not report.chains:
        return ["All chain the same number of question-dependent hops."]
    return [_chained(chains, letters) for chains in report.chains]


def _chained(chains: Chains, letters: Sequence[str]) -> str:
    hops = f"{chains.first}" if chains.first == chains.last else f"{chains.first} to {chains.last}"
    needs = {
        steps: _and(letter for letter, own in zip(letters, chains.steps, strict=True) if own == steps)
        for steps in dict.fromkeys(chains.steps)
    }
    told = [f"{who} {_thinking(steps, ' and ' in who)}" for steps, who in needs.items()]
    return f"Chains of {hops} question-dependent {'hop' if hops == '1' else 'hops'}: {'; '.join(told)}."


def _thinking(steps: int | None, several: bool) -> str:
    if steps is None:
        return (
            "cannot follow them, however long they think"
            if several
            else "cannot follow them, however long it thinks"
        )
    if not steps:
        return "follow them in one pass" if several else "follows them in one pass"
    return f"need{'' if several else 's'} {plural(steps, 'thinking token')}"


def _tasks(report: CompareReport, letters: Sequence[str]) -> list[str]:
    differing = report.differences
    same = [task for task in report.tasks if not task.differs]
    lines = []
    if differing:
        lines += ["They differ on"]
        lines += _aligned([("", "", *letters), *(_row(task) for task in differing)])
        lines += [f"  {_id(task)}, {line}" for task in differing for line in _bought(task, letters)]
    else:
        lines += [f"No difference was found on {plural(len(report.tasks), 'task')}."]
    if same:
        lines += [
            "",
            "The same on",
            *_aligned([(*_task_and_length(task), task.answers[0].verdict.upper()) for task in same]),
        ]
    return lines


def _row(task: ComparedTask) -> tuple[str, ...]:
    return (*_task_and_length(task), *(one.verdict.upper() for one in task.answers))


def _task_and_length(task: ComparedTask) -> tuple[str, str]:
    """The task, and how long its texts are."""
    return task.task, plural(task.tokens, "token")


def _id(task: ComparedTask) -> str:
    return task.task.partition("(")[0]


def _bought(task: ComparedTask, letters: Sequence[str]) -> list[str]:
    """What buys back what one of them lacks."""
    lacking = [
        (a, one) for a, one in zip(letters, task.answers, strict=True) if one.verdict is not Answer.CAN
    ]
    return [f"{letter}: {_back(one)}." for letter, one in lacking]


def _back(one: OneAnswer) -> str:
    if one.thinking is None:
        return one.reason
    return f"in one pass {one.reason}; with {plural(one.thinking, 'thinking token')} it can"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        right = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  " + "  ".join([first.ljust(widths[0]), *right]).rstrip())
    return lines


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
