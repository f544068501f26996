"""Which matrices a list of names means: `lm_head`, `model.layers.0`, `*.mlp.gate.*`, `re:.*self_attn.*`.

Checkpoints, transformers and engines put different words before `layers.N`, and call an MLP `ffn` or
`block_sparse_moe`; so names are compared from `layers.N` on, in transformers' words. A plain name means
every matrix whose name has these words in a row (`gate`: mlp.gate, not gate_proj), so that it may be
exact, a prefix or a suffix. A glob may end before the name does. An expression after `re:` must match
from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from limen.errors import BadInput, shortened

_MOST, _LONGEST = 2**17, 400  # names of a list, letters of one
_LOOPS = 4  # of an expression: each may try every place of a name
_WORDS = {
    "ffn": "mlp",
    "block_sparse_moe": "mlp",
    "feed_forward": "mlp",
    "attn": "self_attn",
    "head": "lm_head",
}
_BEFORE = re.compile(r"^(?:model\.|language_model\.|text_model\.|transformer\.|backbone\.)+")
_BOXES = ("", "model.", "language_model.model.", "model.language_model.")


def usual(name: str) -> str:
    """From `layers.N` on, in transformers' words."""
    name = name.removesuffix(".weight")
    at = re.search(r"(?:^|(?<=\.))layers\.", name)
    name = name[at.start() :] if at and not name.startswith("mtp.") else _BEFORE.sub("", name)
    return ".".join(_WORDS.get(word, word) for word in name.split("."))


class ModuleNames:
    """A list of names in any of the four forms."""

    def __init__(self, names: Iterable[str], where: str = "the list of modules") -> None:
        names = tuple(names)
        if len(names) > _MOST:
            raise BadInput(f"{where}: {len(names):,} names; at most {_MOST:,} are read")
        for name in names:
            if len(name) > _LONGEST:
                raise BadInput(f"{where}: {shortened(name)}: names have at most {_LONGEST} letters")
        self.names, self.where = names, where

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(usual(n) for n in self.names if "*" not in n and not n.startswith("re:"))

    @cached_property
    def _globs(self) -> re.Pattern[str] | None:
        globs = [_glob(usual(name)) for name in self.names if "*" in name and not name.startswith("re:")]
        return re.compile("|".join(globs)) if globs else None

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_expression(n[3:], self.where) for n in self.names if n.startswith("re:"))

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        own = usual(name)
        words = own.split(".")
        runs = (".".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1))
        if self._plain and any(run in self._plain for run in runs):
            return True
        if self._globs is not None and self._globs.fullmatch(own):
            return True
        return any(one.match(box + own) for one in self._expressions for box in _BOXES)


def _glob(text: str) -> str:
    """Stars stand for any letters; the name may go on after a point."""
    letters = re.sub(r"(?:\\\*)+", ".*", re.escape(text))
    return f"(?:{letters}(?:\\..*)?)"


def _expression(text: str, where: str) -> re.Pattern[str]:
    """Refused are expressions that may take long: a repeated group, or many repetitions."""
    if re.search(r"\)[*+{]", text) or len(re.findall(r"[*+{]", text)) > _LOOPS or re.search(r"\\[1-9]", text):
        raise BadInput(f"{where}: re:{shortened(text)} repeats too much to be read safely")
    try:
        return re.compile(text)
    except re.error as error:
        raise BadInput(f"{where}: re:{shortened(text)} is no expression: {error}") from error
