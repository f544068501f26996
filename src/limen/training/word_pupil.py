"""A language model in training: every next word counts, and it is judged by the words that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import lazy_loader
import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.training.forward import streams
from limen.training.lesson import NOT_DUE, Batch
from limen.training.pupil import Pupil, scaled
from limen.training.tree import along
from limen.training.words import EnglishTexts, WordsTaught

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_ROWS = 32  # texts that are judged at once
_THOUGHT = 48  # texts after which chains of thought are written, one for each first person


@dataclass
class WordPupil(Pupil):
    """A pupil whose tokens are words."""

    @property
    def words(self) -> WordsTaught:
        return cast(WordsTaught, self.lesson)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Σ weight·(-ln p(word)) over all words, and half of it for each hop after its layer."""
        logits, after = self._along(batch)
        weights = torch.as_tensor(self.words.weights, dtype=logits.dtype)
        labels = torch.as_tensor(batch.labels)
        each = torch.nn.functional.cross_entropy(logits.mT, labels, reduction="none")  # (rows, due)
        loss = (each * weights).sum(-1).mean()
        assert batch.hops is not None
        for (layer, U), x in zip(self.heads.items(), after, strict=True):
            hop = torch.as_tensor(batch.hops[..., layer])
            known = hop != NOT_DUE
            loss = loss + 0.5 * torch.nn.functional.cross_entropy(scaled(x[known]) @ U, hop[known])
        return loss

    def _along(self, batch: Batch) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The logits where a word is due, and the vectors after each layer whose hop is asked for."""
        trunk, branches = self.words.layout
        mix = along(trunk, [(branch.questions, branch.seen) for branch in branches])
        after = streams(self.model, torch.as_tensor(batch.tokens), torch.as_tensor(batch.due), mix)
        return self.model.read(after[-1]), [after[i] for i in self.heads]

    def accuracy(self, rng: Generator, count: int) -> float:
        """The share of questions of all hops that it answers in one pass, of `count` at least."""
        return self.by_kind(rng, count)[-1]

    def by_kind(self, rng: Generator, count: int) -> list[float]:
        """The same for each kind of question that is answered at once, those of all hops last."""
        total, right = -(-count // self.words.facts.m), []
        for rows in np.diff([*range(0, total, _ROWS), total]):
            texts = self.words.texts(rng, int(rows), self.spec.hard, thoughts=0)
            both = zip(self.replies(texts), texts.branches, strict=True)
            right.append([reply == branch[..., -1] for reply, branch in both])
        return [float(np.concatenate(kind).mean()) for kind in zip(*right, strict=True)]

    def replies(self, texts: EnglishTexts) -> list[Tokens]:
        """The likeliest of all words after each question: (texts, questions), branch by branch."""
        ends = texts.ends
        words, due = torch.as_tensor(texts.read), torch.as_tensor(np.concatenate(ends))
        with torch.no_grad():
            logits = self.model.read(streams(self.model, words, due, along(*texts.sizes))[-1])
        return np.split(logits.argmax(-1).numpy(), np.cumsum([len(at) for at in ends])[:-1], axis=1)

    def beside(self, rng: Generator) -> dict[str, float]:
        """Its share of right answers to questions of fewer hops, and after a chain of thought."""
        *fewer, _, thought = (branch.kind for branch in self.words.layout[1])
        right = self.by_kind(rng, self.spec.judged)[:-1]
        return {**dict(zip(fewer, right, strict=True)), thought: self.after_thought(rng)}

    def after_thought(self, rng: Generator) -> float:
        """The share that is right in the end, when it writes as many words as a chain of thought has.

        Every word is its own, read from the plain text before it.  The answer is the last name that it wrote.
        """
        *_, branch = self.words.layout[1]
        texts = self.words.texts(rng, _THOUGHT, self.spec.hard, thoughts=self.words.facts.m)
        written = self.write(texts, branch.words - branch.question)
        right = texts.branches[-1][..., -2]
        return float((self.named(written) == right).mean())

    def write(self, texts: EnglishTexts, steps: int) -> Tokens:
        """(texts, questions, steps): what it writes behind each question of the last branch."""
        *_, branch = self.words.layout[1]
        questions = texts.branches[-1][..., : branch.question]
        rows, Q, _ = questions.shape
        facts = np.broadcast_to(texts.trunk[:, None], (rows, Q, texts.trunk.shape[1]))
        plain = np.concatenate([facts, questions], -1).reshape(rows * Q, -1)
        with torch.no_grad():
            written = self.model.decode(torch.as_tensor(plain), steps).numpy()
        return np.asarray(written.reshape(rows, Q, steps))

    def named(self, written: Tokens) -> Tokens:
        """(…, steps) -> (…): the last name in what was written; NOT_DUE where there is none."""
        first = self.words.first(self.words.facts.composition.L)
        is_name = (written >= first) & (written < first + self.words.pool)
        last = written.shape[-1] - 1 - is_name[..., ::-1].argmax(-1)
        name = np.take_along_axis(written, last[..., None], -1)[..., 0]
        return np.where(is_name.any(-1), name, NOT_DUE)
