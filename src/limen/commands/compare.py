"""Compare stacks: memory, hops, and where they differ.

What each keeps for a context, how far it chains, and the first task that parts them.  "Hops" are weights that
exist, and more of them are ruled out from some length on: nothing here says what a trained model finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple

import msgspec

from limen.audits import Request, audit, load
from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import STACK, Context, StackLike, TaskLike, is_text, stack_of, task_of
from limen.core.architecture import Architecture, P
from limen.core.certificate import Bound
from limen.core.kernel import Accepted
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer, answer_of
from limen.decisions.decide import built, ruled_out
from limen.decisions.depths import Certified, depth
from limen.designs.cost import cache_bits
from limen.designs.wish import sized
from limen.errors import BadInput
from limen.hf.stack import Use
from limen.probes.kept import KeptCopying, kept_copying
from limen.tasks.composition import Composition
from limen.training.learned import Learned, learned

# Tasks on which stacks are compared where none is named: one table, pairs, all tokens, and brackets.
TASKS = ("eva", "index", "recall", "two_sum", "equality", "disjointness", "sparse_average", "dyck")
_MOST = 8  # stacks that a screen holds
_STEPS = 4  # thinking tokens that are tried to buy a task back


class ComparedStack(msgspec.Struct, frozen=True, kw_only=True):
    """One stack, and what it keeps of a sequence as long as the context."""

    name: str  # as it was given
    architecture: str
    layers: int
    full_layers: int
    growing_bytes: int  # keys and values of every token
    fixed_bytes: int  # states, convolutions and windows
    growing_in: str  # the precision in which these bytes are counted; empty where there are none
    fixed_in: str
    hops: int
    hops_per_step: int
    silent: tuple[str, ...] = ()  # mixers through which no weights are known to chain: not counted
    certified: Certified
    learned: tuple[Learned, ...] = ()  # beside proved thresholds; no verdict uses it
    copying: tuple[KeptCopying, ...] = ()  # of other models with about such a share of full layers: measured

    @property
    def cache_bytes(self) -> int:
        return self.growing_bytes + self.fixed_bytes


class Chains(msgspec.Struct, frozen=True):
    """Chains of so many hops, and how many thinking tokens each stack needs; None: no number of them does.

    Of a stack with mixers that are `silent` it is what is known: it may need fewer.
    """

    first: int
    last: int
    steps: tuple[int | None, ...]


class OneAnswer(msgspec.Struct, frozen=True):
    """What is known of one stack on one task; with thinking tokens it can, where some are given."""

    verdict: Answer
    reason: str
    thinking: int | None = None


class ComparedTask(msgspec.Struct, frozen=True):
    """One task, by each of the stacks."""

    task: str
    tokens: int  # of a text
    answers: tuple[OneAnswer, ...]

    @property
    def differs(self) -> bool:
        return len({one.verdict for one in self.answers}) > 1


class CompareReport(Report, frozen=True, kw_only=True, tag="limen/compare/1"):
    """Stacks side by side."""

    context: int
    stacks: tuple[ComparedStack, ...]
    chains: tuple[Chains, ...]
    tasks: tuple[ComparedTask, ...]

    @property
    def differences(self) -> tuple[ComparedTask, ...]:
        return tuple(task for task in self.tasks if task.differs)

    @property
    def headline(self) -> str:
        names = " against ".join(stack.name for stack in self.stacks)
        return (
            f"{names} at {self.context:,} tokens: {len(self.differences)} of {len(self.tasks)} tasks differ"
        )


@command(
    example='limen compare "2*(3*linear(h=8,d=64),softmax(h=8,d=64))" "8*linear(h=8,d=64)" --context 1M',
    answers=(Shown("limen.commands.compare:CompareReport", "limen.render.compare:lines_of"),),
)
def compare(
    *architectures: Annotated[
        StackLike, STACK._replace(help="Two or more architectures or config.json files.")
    ],
    context: Context = 131_072,
    tasks: Annotated[
        Iterable[TaskLike],
        Option(
            "Compare on this task; may be repeated. A bare id means the largest instance that fits.",
            flag="--task",
            complete=_complete.entries("tasks"),
            own=True,
        ),
    ] = (),
    tell: Tell | None = None,
) -> CompareReport:
    """Shows what each stack keeps, how many hops it chains, and which tasks only some of them can solve."""
    from limen.render.progress import steps_line

    return compared([str(one) for one in architectures], context, tasks, steps_line(tell is not None))


def compared(
    texts: Sequence[str],
    context: int,
    tasks: Iterable[TaskLike] = (),
    progress: Callable[[str], None] = lambda text: None,
) -> CompareReport:
    """Two stacks or more, each a text or a config.json; a task may be a bare id.

    `progress` gets a line for each task and stack.
    """
    if not 2 <= len(texts) <= _MOST:
        raise BadInput(f"2 to {_MOST} stacks can be compared, got {len(texts)}")
    if context < 1:
        raise BadInput(f"the context must be at least 1 token, got {context}")
    stacks = [stack_of(text) for text in texts]
    sides = tuple(_side(text, stack, context) for text, stack in zip(texts, stacks, strict=True))
    named = [
        sized(task, context) if isinstance(task, str) and "(" not in task else task_of(task) for task in tasks
    ]
    chosen = named or [*filter(None, [_chain(sides, context)]), *(sized(name, context) for name in TASKS)]
    return CompareReport(
        context=context,
        stacks=sides,
        chains=_chains(sides),
        tasks=tuple(
            ComparedTask(str(task), task.length, tuple(_answered(task, stack, progress) for stack in stacks))
            for task in chosen
        ),
    )


def _side(text: str, stack: Architecture, context: int) -> ComparedStack:
    hops = depth(stack, far=False)
    full = sum(any(part.full for part in layer.parts) for layer in stack.layers)
    kept = kept_bytes(stack, context) if is_text(text) else _audited(text, context)
    return ComparedStack(
        name=text,
        architecture=str(stack),
        layers=stack.depth,
        full_layers=full,
        growing_bytes=kept.growing,
        fixed_bytes=kept.fixed,
        growing_in=kept.growing_in,
        fixed_in=kept.fixed_in,
        hops=hops.hops,
        hops_per_step=hops.hops_per_step,
        silent=hops.silent,
        certified=hops.certified,
        learned=learned(stack),
        copying=kept_copying(full, stack.depth),
    )


class KeptBytes(NamedTuple):
    """Bytes that grow with the text and bytes that do not, and the precisions that they are counted in."""

    growing: int
    fixed: int
    growing_in: str
    fixed_in: str


def _audited(path: str, context: int) -> KeptBytes:
    """A model's own dtypes: the bytes that `limen audit` prints."""
    audited = audit(*load(path), Request(context=context))
    dtypes = {Use.RECURRENT: audited.state_dtype, Use.CONVOLUTION: audited.conv_dtype}
    used = {
        grows: [dtypes.get(kept.use, audited.kv_dtype) for kept, _ in audited.tensors if kept.grows is grows]
        for grows in (True, False)
    }
    growing = audited.cache_bytes - audited.state_bytes
    return KeptBytes(
        growing, audited.state_bytes, *(" and ".join(dict.fromkeys(used[g])) for g in (True, False))
    )


def kept_bytes(stack: Architecture, context: int) -> KeptBytes:
    """A stack in its text form: the p bits of each part, 16 where none are said."""
    bits, used = {True: 0, False: 0}, {True: set[str](), False: set[str]()}
    for part in (part for layer in stack.layers for part in layer.parts):
        bits[part.full] += cache_bits(part, context)
        given = part.bits is not None and not part.full
        used[part.full].add("bits as given" if given else f"{P if part.p is None else part.p} bits")
    words = (" and ".join(sorted(used[grows])) for grows in (True, False))
    return KeptBytes(-(-bits[True] // 8), -(-bits[False] // 8), *words)


def _chains(sides: Sequence[ComparedStack]) -> tuple[Chains, ...]:
    """From the first hop that one of them lacks in one pass to the last that one has; alike ones together."""
    chains: list[Chains] = []
    for hops in range(min(s.hops for s in sides) + 1, max(s.hops for s in sides) + 1):
        steps = tuple(_thinking(side, hops) for side in sides)
        if chains and chains[-1].steps == steps:
            chains[-1] = Chains(chains[-1].first, hops, steps)
        else:
            chains.append(Chains(hops, hops, steps))
    return tuple(chains)


def _thinking(side: ComparedStack, hops: int) -> int | None:
    """The least T with κ + T·φ ≥ hops."""
    missing = max(0, hops - side.hops)
    return 0 if not missing else -(-missing // side.hops_per_step) if side.hops_per_step else None


def _chain(sides: Sequence[ComparedStack], context: int) -> Task | None:
    """The longest chain, every hop asked for, that fits and has a hop more than one of them does."""
    least, most = min(s.hops for s in sides), max(s.hops for s in sides)
    if least == most:
        return None
    n = (2,) * least  # least + 1 hops
    room = context // Composition(1, n).length
    return Composition(1 << (room.bit_length() - 1), n) if room else None


def _answered(task: Task, stack: Architecture, progress: Callable[[str], None]) -> OneAnswer:
    progress(f"{task} in {stack}")
    evidence = ruled_out(task, stack) or built(task, stack)
    answer = answer_of(evidence)
    if answer is Answer.CAN:
        return OneAnswer(answer, _says(evidence))
    thinking = next((t for t in range(1, _STEPS + 1) if built(task, stack, t)), None)
    return OneAnswer(answer, _says(evidence), thinking)


def _says(evidence: Accepted | None) -> str:
    if evidence is None:
        return "no proof was found that rules it out, and no weights are known"
    certificate = evidence.certificate
    return (
        f"ruled out by {certificate.theorem}"
        if isinstance(certificate, Bound)
        else "weights, checked by the kernel"
    )
