"""`limen compare` for people: the stacks side by side, and in words what one loses and what buys it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import in_bytes, plural
from limen.core.verdict import Answer
from limen.render.learned import lines_of as learned_lines

if TYPE_CHECKING:
    from limen.commands.compare import Chains, ComparedStack, ComparedTask, CompareReport, OneAnswer
    from limen.probes.kept import Copied

_TOLD = 4  # stretches of chain lengths that are told in sentences; more stand in a table
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
    lines += ["", *_tasks(report, letters), *_learned(report.stacks, letters)]
    lines += _copying(report.stacks, letters)
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


def _learned(stacks: Sequence[ComparedStack], letters: Sequence[str]) -> list[str]:
    """What trained models answered so far, of the stacks for which it is a question at all."""
    lines = []
    for letter, stack in zip(letters, stacks, strict=True):
        if told := learned_lines(stack.learned):
            lines += ["", f"{letter}  {told[0]}", *told[1:]]
    return lines


def _copying(stacks: Sequence[ComparedStack], letters: Sequence[str]) -> list[str]:
    """What real models copied with about such a share of full layers."""
    told = [
        (letter, stack, one) for letter, stack in zip(letters, stacks, strict=True) for one in stack.copying
    ]
    if not told:
        return []
    lines = [
        "",
        "Measured, not proved: real models trained with all layers full; others windowed, nothing retrained",
    ]
    for letter, stack, one in told:
        lines.append(
            f"  {letter}  {stack.full_layers} of {stack.layers} layers full; {one.model} with {one.full} of "
            f"{one.layers}: copies {_share(one.needed)} if they are the ones it needs most, "
            f"{_share(one.even)} if evenly spaced (all {one.layers}: {one.whole.accuracy:.0%})"
        )
    return lines


def _share(copied: Copied) -> str:
    return f"{copied.accuracy:.0%} [{copied.low:.0%}, {copied.high:.0%}]"


def _hops(report: CompareReport, letters: Sequence[str]) -> list[str]:
    silent = {letter: stack.silent for letter, stack in zip(letters, report.stacks, strict=True)}
    many = len(report.chains) > _TOLD
    lines = _table(report.chains, silent) if many else [_chained(chains, silent) for chains in report.chains]
    if not lines:
        chain = "are known to chain" if any(silent.values()) else "chain"
        lines = [f"All {chain} the same number of question-dependent hops."]
    return lines + [
        f"{letter}: no weights are known that chain hops through {_and(names)}, and no proof that none do."
        for letter, names in silent.items()
        if names
    ]


def _table(chains: Sequence[Chains], silent: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Thinking tokens that each stack needs, by the length of the chain."""
    rows = [
        (
            f"{_lengths(one)} hops",
            *(_cell(n, bool(names)) for n, names in zip(one.steps, silent.values(), strict=True)),
        )
        for one in chains
    ]
    never = any(
        n is None and not names for one in chains for n, names in zip(one.steps, silent.values(), strict=True)
    )
    never_said = "; never: no number of them is enough" if never else ""
    title = f"Thinking tokens for chains of question-dependent hops{never_said}"
    return [title, *_aligned([("", *silent), *rows])]


def _cell(steps: int | None, silent: bool) -> str:
    """Thinking tokens; of a stack with mixers that are not counted, at most so many or nothing known."""
    if steps is None:
        return "?" if silent else "never"
    return f"≤ {steps}" if silent and steps else f"{steps}"


def _lengths(chains: Chains) -> str:
    return f"{chains.first}" if chains.first == chains.last else f"{chains.first} to {chains.last}"


def _chained(chains: Chains, silent: Mapping[str, tuple[str, ...]]) -> str:
    hops = _lengths(chains)
    needs: dict[tuple[int | None, bool], list[str]] = {}
    for steps, (letter, names) in zip(chains.steps, silent.items(), strict=True):
        needs.setdefault((steps, bool(names)), []).append(letter)
    clauses = [f"{_and(who)} {_thinking(*kind, len(who) > 1)}" for kind, who in needs.items()]
    return f"Chains of {hops} question-dependent {'hop' if hops == '1' else 'hops'}: {'; '.join(clauses)}."


def _thinking(steps: int | None, silent: bool, several: bool) -> str:
    """What stacks need for a chain; with mixers that are not counted, what is known to be enough."""
    if silent and steps != 0:
        enough = f"with fewer than {plural(steps, 'thinking token')}" if steps else "with any thinking"
        return f"{'are' if several else 'is'} not known to follow them {enough}"
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
        lines += _bought(differing, letters)
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


def _bought(tasks: Sequence[ComparedTask], letters: Sequence[str]) -> list[str]:
    """What buys back what one lacks: each sentence once, with the tasks and stacks that it is said of."""
    tasks_of: dict[tuple[str, str], list[str]] = {}  # sentence and stack -> tasks
    for task in tasks:
        for letter, one in zip(letters, task.answers, strict=True):
            if one.verdict is not Answer.CAN:
                tasks_of.setdefault((_back(one), letter), []).append(_id(task))
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (sentence, letter), ids in tasks_of.items():
        alike.setdefault((sentence, tuple(ids)), []).append(letter)
    return [f"  {_and(ids)}, {_and(who)}: {sentence}." for (sentence, ids), who in alike.items()]


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
