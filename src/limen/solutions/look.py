"""Where a construction's softmax heads look on one input, and what it answers."""

from __future__ import annotations

import re

from limen.core.arrays import np
from limen.core.construction import Construction
from limen.core.report import Report
from limen.core.task import Tokens, few
from limen.core.tensors import torch
from limen.errors import BadInput, shortened
from limen.model.attention import HeadMap, attention
from limen.model.model import Model

MOST = 96  # tokens that can still be told apart in a picture


class LookReport(Report, frozen=True, kw_only=True, tag="limen/look/1"):
    """The attention of a construction's model on one input, and the parts of its stream."""

    task: str
    construction: str
    tokens: tuple[int, ...]
    thoughts: tuple[int, ...]  # tokens that it wrote itself
    read: str  # the input as people read it
    right: str
    given: str
    correct: bool
    width: int
    columns: tuple[tuple[str, int], ...]
    maps: tuple[HeadMap, ...]

    @property
    def headline(self) -> str:
        return f"{self.task} by {self.construction}: {self.read} -> {self.given}, right is {self.right}"


def look(construction: Construction, seed: int, typed: str | None = None) -> LookReport:
    """A run on the tokens that were typed, else on a hard input; refused, before it, for too many to show."""
    task = construction.task
    n = task.length + construction.steps
    if n > MOST:
        raise BadInput(f"a picture shows at most {MOST} tokens, {task} has {n}")
    sampled = typed is None
    given = task.sample(np.random.default_rng(seed), 1, hard=True)[0][0] if sampled else _read(str(typed))
    tokens = task.checked(given)
    model = Model.of(construction)
    seen = torch.as_tensor(tokens)
    if construction.steps:
        seen = torch.cat([seen, model.decode(seen, construction.steps)])
    told = model.logits(seen)[-task.asks :, : task.answers].argmax(-1).tolist()
    return LookReport(
        task=str(task),
        construction=str(construction),
        tokens=tuple(tokens.tolist()),
        thoughts=tuple(seen.tolist()[task.length :]),
        read=task.render(tokens),
        right=task.render_answer(tokens),
        given=few(told),
        correct=told == np.atleast_1d(task.answer(tokens)).tolist(),
        width=model.frame.width,
        columns=tuple(construction.columns.sizes),
        maps=attention(model, seen),
    )


def _read(typed: str) -> Tokens:
    """The token ids of a text: 0 1 1 or 0,1,1; bars between them are passed over."""
    words = re.split(r"[\s,|]+", typed.strip(" ,|\n"))
    if len(words) > MOST or not all(re.fullmatch("[0-9]{1,18}", word) for word in words):
        raise BadInput(f"an input is token ids such as 0 1 1, at most {MOST}, got {shortened(typed)}")
    return np.array(list(map(int, words)), dtype=np.int64)
