"""The messages from one stretch of text to all tokens after it, for many texts at once, in integers.

The speaker's tokens come first, so they receive no message: they are run once for all texts.  The listeners
get their messages layer by layer, since each layer's queries are known only after the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from limen.conversation.converse import converse
from limen.conversation.sums import Integers
from limen.conversation.transcript import arithmetic
from limen.core.arrays import NDArray, np
from limen.core.graph import Graph
from limen.core.heads import join, split
from limen.core.mixer import Streaming
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.softmax import Softmax
from limen.model.arithmetic import computing_in
from limen.model.model import Model, Place
from limen.tasks.composition import Composition

_PAGE = 2**14  # texts that are run together


class Pair(NamedTuple):
    """Two tables and what everybody after them holds."""

    left: Tokens
    right: Tokens
    below: Tokens


class Heard(NamedTuple):
    """What the speaker's tokens can tell, layer by layer, for each of its tables."""

    tokens: int
    parts: list[list[tuple[Any, ...]]]  # keys and values of a full mixer, or the state after the last token


@dataclass(frozen=True)
class Talk:
    """The speaker (player l and those before it) and everybody below, in one arithmetic."""

    task: Composition
    model: Model
    original: Model
    rule: Integers
    graph: Graph

    @classmethod
    def of(cls, task: Composition, model: Model, how: str) -> Talk:
        rule = arithmetic(how)
        if not isinstance(rule, Integers):
            raise BadInput(f"the decomposition works in integer arithmetic, not in {how}")
        graph = Graph.of(model.frame.architecture, task.length)
        for layer in model.frame.architecture.layers:
            for part in layer.parts:
                if part.full and type(part.mixer) is not Softmax:
                    raise BadInput(
                        f"the decomposition handles softmax layers and recurrences, not {part.mixer}"
                    )
        return cls(task, model.to(rule.precision), model, rule, graph)

    @property
    def L(self) -> int:
        return self.task.L

    def depth(self, level: int) -> int:
        """Layers whose components all have depth below the level; all of them at level L."""
        layers = len(self.model.frame.architecture.layers)
        if level == self.L:
            return layers
        deep = [
            c.layer for c, W in zip(self.graph.components, self.graph.levels(), strict=True) if level <= W.W
        ]
        return min(deep, default=layers)

    def embed(self, tokens: Tokens, at: int) -> torch.Tensor:
        with torch.no_grad(), computing_in(self.rule.precision):
            return self.model.embedded(torch.as_tensor(tokens), at)

    def speaker(self, tokens: Tokens) -> Heard:
        """The speaker's tokens run for all tables; they receive no messages."""
        pages = [self._spoken(tokens[i : i + _PAGE]) for i in range(0, len(tokens), _PAGE)]
        layers = self.model.frame.architecture.layers
        parts = [
            [_stacked([page[i][j] for page in pages]) for j in range(len(layer.parts))]
            for i, layer in enumerate(layers)
        ]
        return Heard(tokens.shape[1], parts)

    def _spoken(self, tokens: Tokens) -> list[list[tuple[Any, ...]]]:
        spoken: list[list[tuple[Any, ...]]] = [[] for _ in self.model.frame.architecture.layers]

        def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
            content, y = self._mixed(place, seen, None)
            spoken[place.layer].append(content)
            return y

        x = self.embed(tokens, 0)
        with torch.no_grad(), computing_in(self.rule.precision):
            self.model.through(x, mix)
        return spoken

    def _mixed(
        self, place: Place, seen: torch.Tensor, before: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...], torch.Tensor]:
        """What these tokens can tell later ones, and their outputs, given the messages they received."""
        mixer, w = place.mixer, place.weights
        if isinstance(mixer, Softmax):
            q, k, v = mixer.heads(w, seen)
            n = seen.shape[-2]
            own = self.rule.told(q, k, v, torch.ones(n, n, dtype=torch.bool).tril())
            return (k, v), join(self.rule.merged([*([before] if before else []), own])) @ w["O"]
        assert isinstance(mixer, Streaming)
        state = mixer.start(w, seen.shape[:-2]) if before is None else before[0]
        outputs = []
        for t in range(seen.shape[-2]):
            state, y = mixer.step(w, state, seen[..., t, :])
            outputs.append(y)
        return (state,), torch.stack(outputs, -2)

    def told(
        self, heard: Heard, i: int, x: torch.Tensor, members: NDArray[np.int64], only_w: bool
    ) -> tuple[NDArray[np.int64], int, str]:
        """What each member tells everybody below in layer i, as a hash; the bits it may take; its kind."""
        keys, bits, what = np.zeros(len(members), dtype=np.int64), 0, "state"
        seen = self.model.seen(i, x)
        for j, part in enumerate(self.model.frame.architecture.layers[i].parts):
            content = heard.parts[i][j]
            if isinstance(part.mixer, Softmax):
                q = self._queries(part.mixer, i, j, seen[..., -1:, :] if only_w else seen)
                told = self._sums(content, q, members)
                bits += (
                    seen.shape[0]
                    * (1 if only_w else seen.shape[1])
                    * part.mixer.h
                    * (part.mixer.d + 2)
                    * (self.rule.most(self.task.length))
                )
                what = "sums"
            else:
                told = [_flat(content, members, self.rule.precision.f)]
                bits += part.mixer.state_bits(heard.tokens, self.rule.precision.bits or 0) or 0
            for numbers in told:
                keys = hashed(keys, numbers)
        return keys, bits, what

    def _queries(self, mixer: Softmax, i: int, j: int, seen: torch.Tensor) -> torch.Tensor:
        """The different queries that occur below: (h, queries, d_k)."""
        with torch.no_grad(), computing_in(self.rule.precision):
            q = split(seen @ self.model.parts[f"{i}.{j}"]["Q"], mixer.h)  # (assignments, h, tokens, d_k)
        rows = q.transpose(-3, -2).reshape(-1, mixer.h * q.shape[-1])
        different: torch.Tensor = torch.unique(rows, dim=0)
        return different.reshape(-1, mixer.h, q.shape[-1]).transpose(0, 1)

    def _sums(
        self, content: tuple[Any, ...], q: torch.Tensor, members: NDArray[np.int64]
    ) -> list[NDArray[Any]]:
        """The members' sums for the same queries, or for one row of queries each: (members, numbers)."""
        pages = []
        for at in range(0, len(members), _PAGE):
            k, v = (part[torch.as_tensor(members[at : at + _PAGE])] for part in content)
            queries = q[at : at + _PAGE] if q.ndim == k.ndim else q.expand(len(k), *q.shape)
            pages.append(
                self.rule.told(queries, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))
            )
        return [
            np.concatenate([np.asarray(page[c]).reshape(len(page[c]), -1) for page in pages])
            for c in range(3)
        ]

    def after(self, heard: Heard, i: int, x: torch.Tensor, tellers: NDArray[np.int64]) -> torch.Tensor:
        """The vectors of everybody below after layer i, each row given the messages of its teller."""
        rows = torch.as_tensor(tellers)

        def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
            content = heard.parts[i][place.part]
            if isinstance(place.mixer, Softmax):
                k, v = (c[rows] for c in content)
                q = split(seen @ place.weights["Q"], place.mixer.h)
                message = self.rule.told(q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))
            else:
                message = (_picked(content[0], rows),)
            return self._mixed(place, seen, message)[1]

        with torch.no_grad(), computing_in(self.rule.precision):
            return self.model.layer(i, x, mix)

    def alike(self, heard: Heard, below: Tokens) -> Iterator[NDArray[np.int64]]:
        """The classes of two or more tables that send one assignment below the same messages."""
        x = self.embed(below, heard.tokens)  # one row a class
        members = np.arange(len(_first(heard.parts)))
        labels = np.zeros(len(members), dtype=np.int64)
        for i, layer in enumerate(self.model.frame.architecture.layers):
            keys = hashed(np.zeros(len(members), dtype=np.int64), labels[:, None])
            seen = self.model.seen(i, x)
            for j, part in enumerate(layer.parts):
                content = heard.parts[i][j]
                if isinstance(part.mixer, Softmax):
                    with torch.no_grad(), computing_in(self.rule.precision):
                        q = split(seen @ self.model.parts[f"{i}.{j}"]["Q"], part.mixer.h)
                    told = self._sums(content, q[torch.as_tensor(labels)], members)
                else:
                    told = [_flat(content, members, self.rule.precision.f)]
                for numbers in told:
                    keys = hashed(keys, numbers)
            _, new, counts = np.unique(keys, return_inverse=True, return_counts=True)
            kept = counts[new] > 1
            if not kept.any():
                return
            _, first, after = np.unique(new[kept], return_index=True, return_inverse=True)
            x = self.after(heard, i, x[torch.as_tensor(labels[kept][first])], members[kept][first])
            members, labels = members[kept], after
        order = np.argsort(labels, kind="stable")
        yield from np.split(members[order], np.flatnonzero(np.diff(labels[order])) + 1)

    def same(self, pair: Pair) -> bool:
        """Whether everybody below ends with the same vectors, in the whole network run as usual."""
        whole = [range(self.task.length)]
        inputs = np.stack([np.concatenate([side, pair.below]) for side in (pair.left, pair.right)])
        outputs = converse(self.original, torch.as_tensor(inputs), whole, self.rule).outputs
        n = len(pair.left)
        return bool((outputs[0, n:] == outputs[1, n:]).all())


def _stacked(pages: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(_cat(list(items)) for items in zip(*pages, strict=True))


def _cat(items: list[Any]) -> Any:
    """One state from several: nested tuples of tensors, and of integers that all share."""
    if isinstance(items[0], torch.Tensor):
        return torch.cat(items)
    if isinstance(items[0], tuple):
        parts = [_cat(list(column)) for column in zip(*items, strict=True)]
        return type(items[0])(*parts) if hasattr(items[0], "_fields") else tuple(parts)
    return items[0]


def _picked(state: Any, rows: torch.Tensor) -> Any:
    """The states of the members with these row numbers."""
    if isinstance(state, torch.Tensor):
        return state[rows]
    if isinstance(state, tuple):
        parts = [_picked(item, rows) for item in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    return state


def _first(parts: Any) -> torch.Tensor:
    """The first tensor in nested parts."""
    return parts if isinstance(parts, torch.Tensor) else _first(parts[0])


def _flat(state: Any, members: NDArray[np.int64], f: int) -> NDArray[np.int64]:
    """The numbers of the members' states, as whole units of 2^-f: (members, numbers)."""
    if isinstance(state, torch.Tensor):
        picked = state[torch.as_tensor(members)].reshape(len(members), -1)
        return (picked * 2.0**f).to(torch.int64).numpy()
    if isinstance(state, tuple):
        parts = [_flat(item, members, f) for item in state]
        return np.hstack(
            [part for part in parts if part.size] or [np.zeros((len(members), 0), dtype=np.int64)]
        )
    return np.zeros((len(members), 0), dtype=np.int64)


def hashed(keys: NDArray[np.int64], numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Each row's 64-bit key combined with a hash of its numbers; equal pairs are verified in full later."""
    if numbers.dtype == object:
        rows = [hash(tuple(row)) for row in numbers.tolist()]
        return np.array([hash((a, b)) for a, b in zip(keys.tolist(), rows, strict=True)], dtype=np.int64)
    odd = np.random.default_rng(numbers.shape[1]).integers(1, 2**62, numbers.shape[1]) | 1
    with np.errstate(over="ignore"):
        return np.asarray(keys * np.int64(1000003) + (numbers * odd).sum(1), dtype=np.int64)
