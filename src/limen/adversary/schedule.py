"""The schedule of an attack: the strategies that the model's access allows, the cheapest first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from limen.adversary.failure_rate import upper_95
from limen.adversary.head_weights import head_weights
from limen.adversary.report import CLAIMS, EVERYWHERE, Effort, FoolReport
from limen.adversary.resume import keep, resume
from limen.adversary.shrink import neighbour, pulls, shrunk
from limen.adversary.strategies.block_lattice import BlockLattice
from limen.adversary.strategies.coordinates import Coordinates
from limen.adversary.strategies.decomposition import Decomposition
from limen.adversary.strategies.duplicates import Duplicates
from limen.adversary.strategies.exact import ExactSearch, ExactWorst
from limen.adversary.strategies.interval import Interval
from limen.adversary.strategies.jumps import Jumps
from limen.adversary.strategies.lattice import Lattice
from limen.adversary.strategies.low_entropy import LowEntropy
from limen.adversary.strategies.near_misses import NearMisses
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.adversary.strategies.parallel_jumps import ParallelJumps
from limen.adversary.strategies.random_texts import RandomTexts, Sampled
from limen.adversary.strategies.score_order import ScoreOrder
from limen.core.arrays import np
from limen.core.catalogue import identifier
from limen.core.certificate import Collision, SameAnswer, StateCollision, WrongAnswer, encode
from limen.core.fooled_input import Confused, FooledInput
from limen.core.strategy import Access, Found, Strategy
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.errors import BadInput, unknown
from limen.model.model import Model, one_thread
from limen.model.target import QUESTIONS, Target, tensors
from limen.witness.certified import arithmetic
from limen.witness.collision import check_collision, streams
from limen.witness.wrong_answer import check_same_answer, check_wrong_answer, given_by, spoken

_MANY = 2**22  # weights of a model from which on its forwards are worth several threads
Told = Callable[[Effort], None]

# In this order, each with the share of the time left that it may take.
ANSWERS: tuple[tuple[Strategy, float], ...] = (
    (RandomTexts(), 0.15),
    (Needle(), 0.1),
    (LowEntropy(), 0.1),
    (NearMisses(), 0.1),
    (ExactWorst(), 0.4),
    (Jumps(), 0.3),
    (ParallelJumps(forwards=2**15), 0.5),
    (Coordinates(forwards=2**13), 0.5),
    (Interval(), 0.5),
)
ORDER = ScoreOrder(), 0.1  # of one layer of a token index alone: it takes two forward passes
STATES: tuple[tuple[Strategy, float], ...] = (
    (Duplicates(), 0.3),
    (Lattice(), 0.5),
    (BlockLattice(), 0.8),
    (Neighbourhood(), 0.8),
)
# Again and again, with other draws, while there is time.
AGAIN: tuple[tuple[Strategy, float], ...] = ((ParallelJumps(forwards=2**14), 1.0), (LowEntropy(2048), 1.0))


@dataclass
class Fooled:
    """The state of an attack: what was tried, what it cost, and the witness if there is one."""

    target: Target
    name: str
    claim: str | None = None  # that is asked for
    begun: float = field(default_factory=time.perf_counter)
    stages: list[Effort] = field(default_factory=list)
    tried: int = 0  # texts of random testing,
    failed: int = 0  # and after how many of them an answer was wrong
    bounded: ExactSearch | None = None
    witness: Found | None = None
    by: str | None = None

    @property
    def proof(self) -> dict[str, Any] | None:
        """The certificate that the model is right on every input, if the exact search proved it."""
        return self.bounded.proof if self.bounded is not None and self.bounded.verdict == "right" else None

    def attempt(self, strategy: Strategy, share: float, end: float, told: Told) -> None:
        """Runs one strategy for its share of the remaining time and notes what it finds (already checked)."""
        target, name = self.target, identifier(strategy)
        before, now = target.forwards, time.perf_counter()
        why = _why_not(strategy, target)
        target.deadline = now + share * max(0.0, end - now)
        result = None if why is not None else strategy.search(target)
        if isinstance(result, Sampled):
            self.tried, self.failed = self.tried + result.tried, self.failed + result.failed
        if isinstance(result, ExactSearch):
            self.bounded = result
        if result is not None and result.witness is not None:
            self.witness, self.by = result.witness, name
        spent = round(time.perf_counter() - now, 3)
        self.stages.append(Effort(name, target.forwards - before, spent, self.witness is not None, why))
        told(self.stages[-1])


def fool(
    target: Target,
    seconds: float = 60.0,
    claim: str | None = None,
    name: str = "the model",
    told: Told = lambda stage: None,
    kept: Path | None = None,
) -> Fooled:
    """Attacks until a witness is found, none can exist by a proof, or the time is over; default: any claim.

    A search kept in a file continues from there, and the time that it took before counts.
    """
    if claim is not None and claim not in CLAIMS:
        raise unknown("claim", claim, CLAIMS)
    if not seconds >= 0:
        raise BadInput(f"the time for a search must be at least 0 seconds, got {seconds}")
    attack = Fooled(target, name, claim)
    with one_thread() if _small(target) else nullcontext():
        _searched(attack, seconds, told, kept)
        return _simplified(attack)


def _small(target: Target) -> bool:
    """Whether one forward pass is too little work to be shared between cores."""
    model = target.model
    if isinstance(model, Model):
        return sum(w.numel() for w in model.weights.values()) < _MANY
    return isinstance(model, torch.nn.Module) and sum(w.numel() for w in model.parameters()) < _MANY


def _searched(attack: Fooled, seconds: float, told: Told, kept: Path | None) -> None:
    """Runs the strategies in order, from where a kept search stopped."""
    if kept is not None and kept.exists():
        attack.begun -= resume(attack, kept)
    end = attack.begun + seconds
    for strategy, share in islice(_schedule(attack.target, attack.claim), len(attack.stages), None):
        if attack.stages and time.perf_counter() > end:
            break
        attack.attempt(strategy, share, end, told)
        if attack.witness is not None or attack.proof is not None:
            break
        if kept is not None:
            keep(attack, kept, time.perf_counter() - attack.begun)


def _simplified(attack: Fooled) -> Fooled:
    """The attack with its wrong answer shrunk; where a pair is asked for, with that answer's neighbour."""
    target = attack.target
    target.deadline = math.inf
    if isinstance(attack.witness, WrongAnswer):
        attack.witness = shrunk(target, attack.witness)
        if attack.claim == "same_answer":
            attack.witness = neighbour(target, attack.witness) or attack.witness
    return attack


def _schedule(target: Target, claim: str | None) -> Iterator[tuple[Strategy, float]]:
    """Strategies with their shares of the time; states come early if rounded, and alone for a collision."""
    if claim == "state_collision":
        yield from STATES
        return
    yield ANSWERS[0]
    if ORDER[0].refuses(target) is None:
        yield ORDER
    if target.rounded:
        yield from STATES
    yield from ANSWERS[1:]
    if not target.rounded:
        yield STATES[0]
        yield from STATES[-1:]
    if claim is None:
        yield Decomposition(seconds=10.0), 0.5
    if any(strategy.needs <= target.access for strategy, _ in AGAIN):
        for _ in count():
            yield from AGAIN


def _why_not(strategy: Strategy, target: Target) -> str | None:
    """Why a strategy is not tried on this model; None if it is."""
    if strategy.needs > target.access:
        needs, shows = strategy.needs.name.lower(), target.access.name.lower()
        return f"it needs {needs}, but this model exposes only {shows}"
    return strategy.refuses(target)


def report(attack: Fooled) -> FoolReport:
    """The report of an attack: what was done, and what it does and does not mean."""
    target, witness, bounded = attack.target, attack.witness, attack.bounded
    claim = EVERYWHERE if attack.proof is not None else _claim(witness)
    state, needs = _bits(target)
    pulled = pulls(target, witness) if isinstance(witness, WrongAnswer) else ()
    lowest = target.lowest if math.isfinite(target.lowest) else None
    return FoolReport(
        task=str(target.task),
        model=attack.name,
        arithmetic=arithmetic(target),
        found=witness is not None,
        claim=claim,
        strategy=attack.by,
        certificate=attack.proof if witness is None else msgspec.json.decode(encode(witness)),
        robust=None if witness is None else _robust(target, witness),
        forwards=sum(stage.forwards for stage in attack.stages),
        random_distribution=_distribution(target),
        random_forwards=attack.tried,
        random_failures=attack.failed,
        random_upper95=upper_95(attack.failed, attack.tried),
        lowest_margin=lowest,
        worst_low=None if bounded is None else bounded.low,
        worst_high=None if bounded is None else bounded.high,
        state_bits=state,
        needs_bits=needs,
        hypothesis_holds=None if state is None or needs is None else state < needs,
        inputs=_shown(target, witness),
        pulls=pulled,
        looks=head_weights(target, np.array(witness.tokens)) if isinstance(witness, WrongAnswer) else (),
        stages=tuple(attack.stages),
        notes=tuple(_notes(target)),
        means=MEANS[claim],
        seconds=round(time.perf_counter() - attack.begun, 2),
    )


def seen(target: Target, witness: WrongAnswer) -> FooledInput:
    """What is drawn of a wrong answer, from a few runs of the model."""
    return FooledInput(
        _shown(target, witness), pulls(target, witness), head_weights(target, np.array(witness.tokens))
    )


def _distribution(target: Target) -> str:
    """How the inputs of random testing are drawn: the owner's sampler, or texts with the task's questions.

    The questions need not be those that the task's sampler draws.  Whether the owner's inputs are
    independent is not known; a bound on a rate assumes it.
    """
    says = target.distribution.says
    if target.sampler is not None:
        return f"inputs {says}, taken as independent"
    return f"texts, each with up to {QUESTIONS} questions of the task, from inputs {says}"


MEANS = {
    None: "This proves nothing: an input that fools the model may exist and was not found.",
    EVERYWHERE: "Proved for the stored weights on every input, with a margin above the rounding of a run.",
    "wrong_answer": "This proves that these weights, in this arithmetic, give a wrong answer.",
    "same_answer": "Two inputs need different answers but get the same one, so one of them is wrong.",
    "state_collision": "No readout, continuation or chain of thought can distinguish the two texts.",
}


def _notes(target: Target) -> Iterator[str]:
    """Notes on what hindered the search, such as gradients that cannot be had."""
    if target.access is Access.LOGITS:
        yield f"strategies that need gradients were skipped: {target.closed}"
    if target.unrepeated:
        yield (
            f"{target.unrepeated:,} wrong answers could not be repeated when the input was run alone: the "
            "answer depends on the rest of the batch or changes from run to run"
        )
        if isinstance(target.model, torch.nn.Module) and target.model.training:
            yield "the module is in training mode: call its .eval() first"


def _claim(witness: Found | None) -> str | None:
    match witness:
        case None:
            return None
        case WrongAnswer():
            return "wrong_answer"
        case StateCollision():
            return "state_collision"
        case SameAnswer() | Collision():
            return "same_answer"


def _robust(target: Target, witness: Found) -> bool | None:
    match witness:
        case WrongAnswer() as c:
            return check_wrong_answer(c, target.model).robust
        case SameAnswer() as c:
            return check_same_answer(c, target.model).robust
        case Collision() as c:
            return check_collision(c, target.model) is None


def _bits(target: Target) -> tuple[int | None, int | None]:
    """Bits of state that cross the cut, and bits needed to tell all texts apart; None where not known."""
    rows = target.task.rows(target.task.cut)
    needs = None if rows is None else rows.bits
    model = target.limen
    if model is None or not streams(model):
        return None, needs
    text = target.drawn(1, np.random.default_rng(0))[:, : target.task.cut]
    per = None if target.precision is None else target.precision.bits
    if target.precision is not None and per is None:
        return None, needs  # any exponent: no number of bits
    state = target.read(text)
    return sum(x.numel() * (per or 8 * x.element_size()) for x in tensors(state.layers)), needs


def _shown(target: Target, witness: Found | None) -> tuple[Confused, ...]:
    match witness:
        case None:
            return ()
        case WrongAnswer() as c:
            near = neighbour(target, c)
            others = () if near is None else (np.array(near.right),)
            return tuple(_confused(target, tokens) for tokens in (np.array(c.tokens), *others))
        case SameAnswer() as c:
            return tuple(_confused(target, np.array(side)) for side in (c.left, c.right))
        case Collision() as c:
            return tuple(_confused(target, np.array([*side, *c.suffix])) for side in (c.left, c.right))


def _confused(target: Target, tokens: Tokens) -> Confused:
    task: Task = target.task
    (given,) = given_by(target.model, task, tokens[None], arithmetic(target))
    right = np.atleast_1d(task.answer(tokens)).tolist()
    ids = tuple(map(int, tokens))
    return Confused(task.render(tokens), ids, spoken(right), spoken(given), target.draws(tokens))
