"""How a question is put to a model: the wording, and what the text begins with.

    completion   the passage, then a sentence without its last word
    question     the passage, then “Question: …?” and “Answer:”
    chat         the passage and the question as a user's turn; the answer begins with that sentence

each of the first two with nothing, the beginning or the end mark of a text before it.  The answer
follows after one space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from limen.probes.language import Language
from limen.probes.passage import Passage, Question, TextTask

_WORDINGS = "completion", "question"


@dataclass(frozen=True)
class Format:
    """A wording, and the name of a mark."""

    wording: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.wording}+{self.mark}" if self.mark else self.wording

    def text(self, language: Language, passage: Passage, question: Question) -> str:
        """All that stands before the answer."""
        if self.wording == "chat":
            prompt = language.chat(f"{passage.text}\n\n{question.question}")
            assert prompt is not None  # it is offered to models with a template alone
            return prompt + question.stem
        return language.prefixes[self.mark] + plain(self.wording, passage, question)


def plain(wording: str, passage: Passage, question: Question) -> str:
    """The text of a wording, which no model takes part in."""
    if wording == "completion":
        return f"{passage.text}{passage.joint}{question.stem}"
    return f"{passage.text}\n\nQuestion: {question.question}\nAnswer:"


def formats(language: Language, task: TextTask) -> Sequence[Format]:
    """Those that a task and a model allow."""
    wordings = _WORDINGS[:1] if task.fixed else _WORDINGS
    tried = [Format(wording, mark) for wording in wordings for mark in language.prefixes]
    chats = not task.fixed and language.chat("Hello") is not None
    return [*tried, Format("chat")] if chats else tried
