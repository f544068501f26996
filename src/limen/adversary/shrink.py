"""Simplifies an input that fools a model: fewer values, then more positions with the commonest one.

`neighbour` changes one token of it so that the answer given becomes the right one.
"""

from __future__ import annotations

from limen.core.arrays import NDArray, np
from limen.core.certificate import SameAnswer, WrongAnswer
from limen.core.task import Task, Tokens
from limen.model.target import Target, keeping
from limen.witness.certified import same_answer, wrong_answer

_ROUNDS = 64
_TRIED = 256  # simpler texts in one round
_MOST = 2**16  # edits that are looked through for a neighbour


def shrunk(target: Target, failure: WrongAnswer) -> WrongAnswer:
    """The simplest failing input reached by steps that all fail; the question stays.

    An input that the sampler can draw stays one: a simpler input that is never drawn would say less.
    """
    best, cut, drawn = failure, target.task.cut, target.draws(np.array(failure.tokens))
    for _ in range(_ROUNDS):
        tokens = np.array(best.tokens)
        simpler = _simpler(target.task, tokens)
        ends = np.broadcast_to(tokens[cut:], (len(simpler), len(tokens) - cut))
        if drawn and len(simpler):
            inside = target.distribution.can_draw(np.concatenate([simpler, ends], 1))
            simpler, ends = simpler[inside], ends[inside]
        if not len(simpler) or target.over:
            break
        answers = target.ask(simpler, ends[:, None])
        fails = np.flatnonzero(answers.wrong[:, 0])
        made = (wrong_answer(target, answers.inputs[i, 0]) for i in fails[:4])
        smaller = next(filter(None, made), None)
        if smaller is None:
            break
        best = smaller
    return best


def _simpler(task: Task, tokens: Tokens) -> Tokens:
    """(texts, cut): texts with a value replaced by another, or a token by the commonest; simplest first."""
    text = tokens[: task.cut]
    values, counts = np.unique(text, return_counts=True)
    common = values[counts.argmax()]
    merged = [np.where(text == one, other, text) for one in values for other in values if one != other]
    placed = [np.where(np.arange(len(text)) == i, common, text) for i in np.flatnonzero(text != common)]
    texts = np.array([*merged, *placed]).reshape(-1, task.cut)
    sizes = [(len(np.unique(row)), _entropy(row)) for row in texts]
    here = (len(values), _entropy(text))
    fewer = sorted((i for i in range(len(texts)) if sizes[i] < here), key=lambda i: sizes[i])
    fewer = [i for i in fewer if _allowed(task, np.append(texts[i], tokens[task.cut :]))]
    return texts[fewer[:_TRIED]]


def _allowed(task: Task, tokens: Tokens) -> bool:
    at = 0
    for ids, times in task.alphabets():
        if not np.isin(tokens[at : at + times], np.arange(ids.start, ids.stop)).all():
            return False
        at += times
    return bool(task.promised(tokens))


def _entropy(text: NDArray[np.int64]) -> float:
    """The entropy of a text's empirical distribution, in bits."""
    p = np.unique(text, return_counts=True)[1] / len(text)
    return float(-(p * np.log2(p)).sum())


def neighbour(target: Target, failure: WrongAnswer) -> SameAnswer | None:
    """A pair one token apart with different right answers, to which the model gives the same one."""
    task, tokens = target.task, np.array(failure.tokens)
    edits = _edits(task, tokens)
    if not len(edits):
        return None
    given = np.atleast_1d(failure.given)
    answers = target.run(edits)
    alike = (answers.given[:, 0] == given).all(-1) & (
        answers.right[:, 0] != np.atleast_1d(failure.answer)
    ).any(-1)
    right_now = alike & ~answers.wrong[:, 0]  # best of all, the answer given is right there
    order = [*np.flatnonzero(right_now), *np.flatnonzero(alike & ~right_now)]
    made = (same_answer(target, tokens, edits[i]) for i in order[:4])
    return next(filter(None, made), None)


def _edits(task: Task, tokens: Tokens) -> Tokens:
    """Inputs that differ in one token of the text and have another right answer."""
    if task.cut * task.vocab > _MOST:
        return np.zeros((0, task.length), dtype=np.int64)
    kept = keeping(task, tokens[None])[0]
    place, token = np.nonzero(~kept)
    edits = np.repeat(tokens[None], len(place), 0)
    edits[np.arange(len(place)), place] = token
    return np.array([row for row in edits if _allowed(task, row)]).reshape(-1, task.length)


def pulls(target: Target, failure: WrongAnswer) -> tuple[float, ...]:
    """For each position, by how much its token lowers the margin compared with other tokens there.

    A mean over the tokens that leave the right answer as it is, at most eight of them; 0 where there is none.
    """
    task, tokens = target.task, np.array(failure.tokens)
    if task.cut * task.vocab > _MOST:
        return ()
    kept = keeping(task, tokens[None])[0]
    kept[np.arange(task.cut), tokens[: task.cut]] = False
    chosen = [(i, t) for i in range(task.cut) for t in _few(np.flatnonzero(kept[i]))]
    if not chosen:
        return (0.0,) * task.cut
    place, token = np.array(chosen).T
    edits = np.repeat(tokens[None], len(place), 0)
    edits[np.arange(len(place)), place] = token
    here, margin = target.run(tokens[None]).margin[0, 0], target.run(edits).margin[:, 0]
    if not np.isfinite(here):
        return (0.0,) * task.cut
    sums = np.bincount(place, np.where(np.isfinite(margin), margin - here, 0.0), task.cut)
    return tuple((sums / np.maximum(np.bincount(place, minlength=task.cut), 1)).tolist())


def _few(tokens: Tokens) -> list[int]:
    return [int(t) for t in tokens[:: 1 + len(tokens) // 8]]
