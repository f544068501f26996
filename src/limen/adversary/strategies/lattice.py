r"""Lattice collisions of additive states: two texts whose contributions add up to the same sum, exactly.

    state = Σ_i T[i, f_i],   integers in a fixed-point arithmetic
    wanted: Σ_i z_i·(T[i, b_i] - T[i, a_i]) = 0 with z_i ∈ {-1, 0, 1}: where z_i = 1 the one text has b_i and
    the other a_i, where z_i = -1 the opposite, and elsewhere they are the same

One pair of tokens a place, chosen among the closest: so less is to be cancelled.  Reduced bases (LLL) hold
such z where n is about the bits of the state.  Of log-linear attention the largest stretch is enough: what
the other stretches keep does not change, so its log₂n states are no harder than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._relations import relations, with_sums
from limen.adversary.strategies._states import told_apart
from limen.core.arrays import NDArray, np
from limen.core.certificate import StateCollision
from limen.core.mixer import Mixer, Streaming
from limen.core.numbers import Exact, Fixed
from limen.core.strategy import Access, Searched, Strategy
from limen.core.tensors import torch
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.model.model import Model
from limen.model.target import Target, tensors

_CLOSE = 6  # pairs of a place among which one is drawn
_PLACES = 192  # of a lattice
_PAIRED = 512  # tokens of a place that are compared with each other


@dataclass(frozen=True)
class Lattice(Strategy):
    """Tries several lattices, each with other pairs of tokens."""

    tries: int = 16

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if target.limen is None or additive(target.limen) is None:
            return "the model is not a single layer whose state is a sum over tokens"
        exact = isinstance(target.precision, Fixed | Exact)
        return None if exact else "this strategy needs exact sums, as in fixed(f=…); here sums are rounded"

    def search(self, target: Target) -> Searched[StateCollision]:
        table = contributions(target)  # (cut, vocab, numbers)
        assert target.limen is not None
        places = stretch(additive(target.limen), target.task.cut)
        for _ in range(self.tries):
            if target.over:
                break
            collision = _tried(target, table[places.start : places.stop], places)
            if collision is not None:
                return Searched(collision)
        return Searched(None)


def additive(model: Model) -> Mixer | None:
    """The mixer of a model of one layer whose state is a sum of what its tokens bring."""
    layers = model.frame.architecture.layers
    if len(layers) > 1 or len(layers[0].parts) > 1:
        return None
    mixer = layers[0].parts[0].mixer
    sums = isinstance(mixer, Linear) or (isinstance(mixer, LogLinear) and mixer.over == "linear")
    return mixer if sums else None


def stretch(mixer: Mixer | None, cut: int) -> range:
    """The places that are summed into one matrix: all of them, or the largest stretch of a Fenwick tree."""
    if isinstance(mixer, LogLinear) and cut > 1:
        return range(1 << (cut - 1).bit_length() - 1)
    return range(cut)


def contributions(target: Target) -> NDArray[np.int64]:
    """(cut, vocab, numbers): what each token at each place adds to the state, in units of 2^-f."""
    task, model = target.task, target.limen
    assert model is not None
    unit = 2.0**target.precision.f if isinstance(target.precision, Fixed) else 1.0
    (place,) = model.places(0)
    mixer = place.mixer
    assert isinstance(mixer, Streaming)
    batch = task.cut, task.vocab
    with torch.no_grad(), target.computing():
        ids = torch.arange(task.vocab)[:, None].expand(-1, task.cut)
        seen = model.seen(0, model.embedded(ids)).transpose(0, 1)  # (cut, vocab, width)
        after, _ = mixer.step(place.weights, mixer.start(place.weights, batch), seen)
        parts = [x.reshape(*batch, -1) for x in tensors(after)]
    target.forwards += task.vocab
    units: NDArray[np.float64] = (torch.cat(parts, -1).to(torch.float64) * unit).numpy()
    return np.rint(units).astype(np.int64)


def _tried(target: Target, table: NDArray[np.int64], places: range) -> StateCollision | None:
    """The first collision among the short relations of a lattice made of a close pair at each position."""
    rng, task = target.rng, target.task
    alphabet = [ids for ids, times in task.alphabets() for _ in range(times)]
    used = np.sort(rng.permutation(len(table))[:_PLACES])
    pairs = np.array([_pair(target, table[i], alphabet[places.start + i]) for i in used])  # (used, 2)
    gaps = table[used, pairs[:, 1]] - table[used, pairs[:, 0]]
    vectors = relations(gaps)
    text = target.drawn(1)[0, : task.cut]
    for z in with_sums(vectors) if len(vectors) else ():
        if np.abs(z).max() == 1:
            left, right = text.copy(), text.copy()
            at, at_place = np.flatnonzero(z), places.start + used[np.flatnonzero(z)]
            left[at_place] = pairs[at, (z[at] + 1) // 2]
            right[at_place] = pairs[at, (1 - z[at]) // 2]
            if (made := told_apart(target, left, right)) is not None:
                return made
    return None


def _pair(target: Target, rows: NDArray[np.int64], ids: range) -> tuple[int, int]:
    """Two tokens of a place whose contributions are close: one of the few closest pairs."""
    tokens = np.arange(ids.start, ids.stop)
    if len(tokens) > _PAIRED:
        tokens = target.rng.choice(tokens, _PAIRED, replace=False)
    x = rows[tokens].astype(np.float64)
    square = (x * x).sum(1)
    distance = square[:, None] + square[None] - 2 * x @ x.T
    i, j = np.triu_indices(len(tokens), 1)
    near = np.argpartition(distance[i, j], min(_CLOSE, len(i) - 1))[:_CLOSE]
    one = near[target.rng.integers(len(near))]
    return int(tokens[i[one]]), int(tokens[j[one]])
