"""Which matrices a list of names means: `lm_head`, `model.layers.0`, `*.mlp.gate.*`, `re:.*self_attn.*`.

Checkpoints, transformers and engines put different words before `layers.N`, and call an MLP `ffn` or
`block_sparse_moe`; so names are compared from `layers.N` on, in transformers' words. A plain name means
every matrix whose name has these words in a row (`gate`: mlp.gate, not gate_proj), so that it may be
exact, a prefix or a suffix. A glob may end before the name does. An expression after `re:` must match
from the beginning. What would take too long to compare is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import cached_property

from limen.errors import BadInput, shortened
from limen.hf.layer_sizes import NotCounted

_MOST, _LONGEST = 2**17, 400  # names of a list, letters of one
_GLOBS = 2**10
_LETTERS, _STEPS = 64, 2**15  # of a name; of comparing it with all expressions
_WORDS = {
    "ffn": "mlp",
    "block_sparse_moe": "mlp",
    "feed_forward": "mlp",
    "switch_mlp": "experts.0",
    "attn": "self_attn",
    "head": "lm_head",
    "index_q_proj": "indexer.q_proj",
    "index_k_proj": "indexer.k_proj",
    "w1": "gate_proj",
    "w2": "down_proj",
    "w3": "up_proj",
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
        globs = [usual(name) for name in self.names if "*" in name and not name.startswith("re:")]
        if len(globs) > _GLOBS:
            raise NotCounted(f"{self.where}: {len(globs):,} names with *; at most {_GLOBS:,} are read")
        ends = (end for name in dict.fromkeys(globs) for end in (name, f"{name}.*"))  # it may go on
        return re.compile("|".join(translate(end) for end in ends)) if globs else None

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], ...]:
        texts = [*dict.fromkeys(name[3:] for name in self.names if name.startswith("re:"))]
        if sum(map(_steps, texts)) > _STEPS:
            raise NotCounted(f"{self.where}: its expressions (re:…) take too long to compare")
        return tuple(_expression(text, self.where) for text in texts)

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, str)
        own = usual(name)
        if self._plain and any(run in self._plain for run in _runs(own)):
            return True
        if self._globs is not None and self._globs.fullmatch(own):
            return True
        return any(one.match(box + own) for one in self._expressions for box in _BOXES)

    def strange(self, names: Iterable[str], layers: int) -> str | None:
        """A plain name of a module in one of the layers that is none of these; further experts are as one."""
        known = {run for name in names for run in _runs(usual(name))}
        inside = (
            re.match(r"layers\.(\d{1,6})\.(?!.*\.experts\.[1-9])", name) for name in sorted(self._plain)
        )
        return next((m.string for m in inside if m and int(m[1]) < layers and m.string not in known), None)


def _runs(name: str) -> Iterator[str]:
    """Words of a name in a row."""
    words = name.split(".")
    return (".".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1))


def _steps(text: str) -> int:
    """The most steps that a name takes: repetitions try every place, choices both ways, groups any number."""
    if re.search(r"\)[*+{]|\\[1-9]", text):
        return _STEPS + 1
    text = re.sub(r"\\d[*+]|\.\*\$?$", "", text)  # numbers are short, and what ends in .* ends there
    loops, choices = len(re.findall(r"[*+{]", text)), len(re.findall(r"[|?]", text))
    return int(_LETTERS**loops * 2**choices)


def _expression(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"{where}: re:{shortened(text)} is no expression: {error}") from error
