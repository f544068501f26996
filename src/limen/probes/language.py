"""A language model as the probes use it: texts in, the log-likelihood of what follows out.

The model is one of transformers', or any function of token ids (batch, n) that returns logits (batch, n, V):
position i depends on tokens ≤ i.  Nothing is sampled, no code of a model's folder is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from inspect import signature
from typing import Any, NamedTuple

import torch

from limen.errors import BadInput, shortened
from limen.probes.trie import Trie

# What two orders of summation may differ by, in parts of the spread of logits, by bits of a number.
_CLOSE = {32: 1e-3, 16: 3e-2}
_EXACT = 1e-6  # the same for what must not depend on a token at all
_BATCH = 64
_NODES = 64  # tokens of a tree, for each text that may be run at once
_LOST = "the tokenizer does not give a text back"
_NAMES_OF_FILES = "_name_or_path", "transformers_version"  # of a config: they change no logit


class TooLong(BadInput):
    """A text of more tokens than the model has positions."""


class Followed(NamedTuple):
    """How a text goes on: log p of each token that follows, and whether each is the most likely one."""

    logs: tuple[float, ...]
    greedy: bool

    @property
    def log(self) -> float:
        """log p of the whole continuation."""
        return sum(self.logs)


@dataclass(frozen=True)
class Language:
    """A model, its tokenizer, and how much of it is run at once."""

    name: str
    model: Any
    tokenizer: Any
    positions: int | None = None  # beyond which it has none
    batch: int = _BATCH  # sequences at once
    device: str = "cpu"
    tree: bool = False  # whether contexts are shared by a mask; `with_tree` has tried it
    source: bytes = b""  # the file whose function made it, and which function

    # the tokenizer

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without any that the tokenizer would add."""
        given = {} if self._plain else {"add_special_tokens": False}
        try:
            return [int(i) for i in self.tokenizer.encode(text, **given)]
        except Exception as error:
            raise BadInput(
                f"{self.name}: its tokenizer fails on {shortened(text)}: {first_line(error)}"
            ) from error

    @cached_property
    def _plain(self) -> bool:
        return not hasattr(self.tokenizer, "bos_token")

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens."""
        try:
            text = self.tokenizer.decode(list(ids))
        except Exception as error:
            raise BadInput(f"{self.name}: its tokenizer fails on tokens: {first_line(error)}") from error
        if not isinstance(text, str):
            raise BadInput(f"{self.name}: its tokenizer gives {type(text).__name__} for tokens, not a text")
        return text

    def reads(self, text: str) -> None:
        """Raises if the tokenizer does not give a text back: then two words may be the same to the model."""
        back = _letters(self.decode(self.encode(text)))
        if back == _letters(text):
            return
        for word in text.split():
            ids = self.encode(word)
            if self._unknown in ids:
                raise BadInput(f"{self.name}: the vocabulary lacks {word!r}, which it is asked about")
            if _letters(told := self.decode(ids)) != word:
                raise BadInput(f"{self.name}: {_LOST}: {word!r} becomes {shortened(told)}")
        raise BadInput(
            f"{self.name}: {_LOST}: of {len(_letters(text)):,} letters "
            f"{len(back):,} are left or others are there"
        )

    @property
    def prefixes(self) -> dict[str, str]:
        """What a text may begin with, by name."""
        known = {"": ""}
        for name in () if self._plain else ("bos", "eos"):
            mark = getattr(self.tokenizer, f"{name}_token", None)
            if isinstance(mark, str) and mark not in known.values():
                known[name] = mark
        return known

    def chat(self, text: str) -> str | None:
        """The text as a user's turn, up to where the answer begins; None if the model has no template."""
        if not getattr(self.tokenizer, "chat_template", None):
            return None
        turns = [{"role": "user", "content": text}]
        prompt: str = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return prompt

    def continuation(self, text: str, more: str) -> tuple[list[int], list[int]]:
        """The tokens of a text and of what follows it, cut where lm-evaluation-harness cuts."""
        before, whole = self.encode(text), self.encode(text + more)
        after = whole[len(before) :]
        if whole[: len(before)] != before or not after:
            raise BadInput(
                f"{self.name}: the tokenizer has no tokens for {more!r} after {text[-20:]!r} by themselves"
            )
        return before, after

    @cached_property
    def _unknown(self) -> int | None:
        """The token that stands for what the vocabulary lacks, where it stands for nothing else."""
        marks = [getattr(self.tokenizer, f"{name}_token_id", None) for name in ("unk", "bos", "eos")]
        return None if marks[0] in marks[1:] else marks[0]

    # the model

    def follow(self, texts: Sequence[tuple[list[int], list[int]]]) -> list[Followed]:
        """How likely each text is to go on as it does; texts with one beginning together, if it is shared."""
        if self.tree:
            nodes = len(Trie.of([before + after for before, after in texts]).tokens)
            if nodes <= _NODES * self.batch or len(texts) == 1:
                return self._follow(texts)
            half = len(texts) // 2
            return self.follow(texts[:half]) + self.follow(texts[half:])
        results: list[Followed] = []
        for at in range(0, len(texts), self.batch):
            results += self._follow(texts[at : at + self.batch])
        return results

    def _follow(self, texts: Sequence[tuple[list[int], list[int]]]) -> list[Followed]:
        sequences = [(before + after)[:-1] for before, after in texts]
        self.fits(max(map(len, sequences)))
        rows = self._in_a_tree(sequences, texts) if self.tree else self._in_rows(sequences, texts)
        results = []
        for (before, after), logits in zip(texts, rows, strict=True):
            if not torch.isfinite(logits).all():
                raise BadInput(
                    f"{self.name}: logits that are no numbers (NaN or infinite) after "
                    f"{shortened(self.decode(before)[-40:])}"
                )
            if max(after) >= logits.shape[-1]:
                raise BadInput(
                    f"{self.name}: the tokenizer gives the token {max(after):,}, the model has logits for "
                    f"{logits.shape[-1]:,}: they do not belong together"
                )
            wanted = torch.tensor(after, device=logits.device)
            logs = logits.float().log_softmax(-1).gather(-1, wanted[:, None])[:, 0]
            greedy = bool((logits.argmax(-1) == wanted).all())
            results.append(Followed(tuple(logs.tolist()), greedy))
        return results

    def fits(self, length: int) -> None:
        """Raises if the model has fewer positions."""
        if self.positions is not None and length > self.positions:
            raise TooLong(
                f"{self.name}: a text of {length:,} tokens, the model has {self.positions:,} positions"
            )

    def _in_rows(
        self, sequences: list[list[int]], texts: Sequence[tuple[list[int], list[int]]]
    ) -> list[torch.Tensor]:
        """Logits before each token of the continuations; what is padded comes last and is seen by none."""
        longest = max(map(len, sequences))
        padded = torch.tensor([one + [0] * (longest - len(one)) for one in sequences], device=self.device)
        logits = self.logits(padded)
        return [
            logits[i, len(before) - 1 : len(before) - 1 + len(after)]
            for i, (before, after) in enumerate(texts)
        ]

    def _in_a_tree(
        self, sequences: list[list[int]], texts: Sequence[tuple[list[int], list[int]]]
    ) -> list[torch.Tensor]:
        """The same from one pass over the tree of all texts."""
        trie = Trie.of(sequences)
        nodes = [path[len(before) - 1 :] for (before, _), path in zip(texts, trie.paths, strict=True)]
        wanted = sorted({node for path in nodes for node in path})
        place = {node: i for i, node in enumerate(wanted)}
        logits = self.at_nodes(trie, wanted)
        return [logits[[place[node] for node in path]] for path in nodes]

    @torch.inference_mode()
    def at_nodes(self, trie: Trie, wanted: list[int]) -> torch.Tensor:
        """Logits (wanted, V) at nodes of a tree."""
        ids = torch.tensor([trie.tokens], device=self.device)
        positions = torch.tensor([trie.positions], device=self.device)
        seen = trie.mask[None, None].to(self.device)
        mask = torch.zeros(seen.shape, dtype=self._dtype, device=self.device)
        mask = mask.masked_fill(~seen, torch.finfo(self._dtype).min)
        given = {"attention_mask": mask, "position_ids": positions, "use_cache": False}
        if self._keeps:
            out = self.model(ids, logits_to_keep=torch.tensor(wanted, device=self.device), **given)
            return out.logits[0]  # type: ignore[no-any-return]
        return self.model(ids, **given).logits[0, wanted]  # type: ignore[no-any-return]

    @torch.inference_mode()
    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, n) token ids → (batch, n, V) logits."""
        try:
            out = self.model(ids)
        except Exception as error:
            raise BadInput(
                f"{self.name}: it fails on token ids {tuple(ids.shape)}: {first_line(error)}"
            ) from error
        logits = getattr(out, "logits", out)
        if not isinstance(logits, torch.Tensor) or logits.shape[:2] != ids.shape or logits.dim() != 3:
            got = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise BadInput(
                f"{self.name}: for token ids {tuple(ids.shape)} logits (batch, n, vocabulary) are expected, "
                f"got {got}"
            )
        return logits

    @torch.inference_mode()
    def generate(self, text: str, most: int, stop: str = "\n") -> str:
        """What the model writes by itself, always the most likely token, up to a stop or so many tokens."""
        ids = self.encode(text)
        self.fits(len(ids) + most)
        start = len(ids)
        if hasattr(self.model, "generate"):
            given = torch.tensor([ids], device=self.device)
            made = self.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=most,
                do_sample=False,
                stop_strings=[stop],
                tokenizer=self.tokenizer,
                pad_token_id=0,
                # a folder's generation_config.json may set these: then it is not the most likely token
                num_beams=1,
                repetition_penalty=1.0,
                no_repeat_ngram_size=0,
                min_new_tokens=0,
            )
            return self.decode(made[0, start:].tolist()).partition(stop)[0]
        while len(ids) < start + most and stop not in self.decode(ids[start:]):
            ids.append(int(self.logits(torch.tensor([ids], device=self.device))[0, -1].argmax()))
        return self.decode(ids[start:]).partition(stop)[0]

    @property
    def _dtype(self) -> torch.dtype:
        dtype = getattr(self.model, "dtype", torch.float32)
        return dtype if isinstance(dtype, torch.dtype) else torch.float32

    @cached_property
    def _keeps(self) -> bool:
        """Whether it computes the logits of chosen positions alone."""
        return "logits_to_keep" in signature(self.model.forward).parameters

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all weights, the config, the tokenizer's ways and the file whose function made it, so
        that no results are mixed.
        """
        digest = sha256(self.source)
        state = self.model.state_dict() if hasattr(self.model, "state_dict") else {}
        for name, tensor in state.items():
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
        config: Any = getattr(self.model, "config", None)
        known = config.to_dict() if hasattr(config, "to_dict") else {}
        fields = {key: value for key, value in known.items() if key not in _NAMES_OF_FILES}
        tokens = self.encode("Alice lived in Paris: 1901, apple")
        digest.update(f"{sorted(fields.items())} {tokens} {self.prefixes} {self.chat('Hello')}".encode())
        return digest.hexdigest()[:12]


def _letters(text: str) -> str:
    """The text without spaces, which some tokenizers add or take away."""
    return "".join(text.split())


def first_line(error: Exception) -> str:
    """The first line of an error that says something, and the next one where it ends in a colon."""
    lines = [*filter(None, map(str.strip, str(error).splitlines())), type(error).__name__]
    return (" ".join(lines[:2]) if lines[0].endswith(":") and lines[1:] else lines[0])[:200]


def with_tree(language: Language, context: str = "Alice: apple\nBob: bread\n") -> Language:
    """The model with shared contexts if they give what plain texts give; else as it is.

    Two questions after one context: the logits of each must be those of its text by itself, and those of the
    second must not depend on the first one's tokens at all.  It holds for contexts up to this length: a mask
    takes the place of a model's own window, which shorter ones do not reach.
    """
    texts = [f"{context}{name}:" for name in ("Alice", "Bob")]
    sequences = [language.encode(text) for text in texts]
    plain = [language.logits(torch.tensor([one], device=language.device))[0, -1] for one in sequences]
    if not all(torch.isfinite(row).all() for row in plain):
        raise BadInput(
            f"{language.name}: logits that are no numbers (NaN or infinite) after {texts[0][-40:]!r}"
        )
    trie = Trie.of(sequences)
    ends = [path[-1] for path in trie.paths]
    only = sorted(set(trie.paths[0]) - set(trie.paths[1]))
    if not only:
        return language
    tokens = list(trie.tokens)
    for node in only:
        tokens[node] = tokens[0] if tokens[node] != tokens[0] else tokens[1]
    try:
        shared = language.at_nodes(trie, ends)
        changed = language.at_nodes(replace(trie, tokens=tokens), ends)
    except (TypeError, ValueError, RuntimeError, AttributeError, LookupError, AssertionError):
        return language  # it takes no such mask
    spread = _spread(plain)
    apart = max(float((a - b).abs().max()) for a, b in zip(shared, plain, strict=True))
    leaked = float((shared[1] - changed[1]).abs().max())
    return replace(language, tree=apart <= _close(shared) * spread and leaked <= _EXACT * spread)


def causal(language: Language) -> None:
    """Raises if what the model says at a token depends on later ones: it would be told the answers."""
    ids = language.encode("Alice: apple\nBob: bread\nAlice:")
    whole = language.logits(torch.tensor([ids], device=language.device))[0, -2]
    begun = language.logits(torch.tensor([ids[:-1]], device=language.device))[0, -1]
    if float((whole - begun).abs().max()) > _close(begun) * _spread([begun]):
        raise BadInput(
            f"{language.name}: its logits depend on later tokens: it is no model that goes on a text"
        )


def _spread(rows: Sequence[torch.Tensor]) -> float:
    return max(float(row.float().std()) for row in rows)


def _close(logits: torch.Tensor) -> float:
    return _CLOSE[32 if logits.dtype == torch.float32 else 16]
