r"""A model: an architecture with weights.

    x_i   = embedding(token_i, i)
    x_i  += Σ_parts mixer(norm(x))_i        for each layer of the architecture,
    x_i  += local(norm(x_i))                then its per-position function
    logits_i = readout(norm(x_i))

Norms, residual sums and per-position functions are optional.  Weights are a flat mapping from
names such as `3.0.Q` (layer 3, part 0) to tensors.

This pass is written once, in `Model.layer`.  Whoever runs a model says how one mixer is run: all tokens at
once, token by token, for the last token alone, as a conversation; and may note what it reads and writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, reduce
from math import prod
from operator import add
from typing import Any, NamedTuple

from limen.core.architecture import Architecture
from limen.core.construction import Construction
from limen.core.mixer import Mixer, Streaming
from limen.core.numbers import Precision
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes, random_weights, tensors
from limen.errors import BadInput, at_least, shortened
from limen.model.arithmetic import rounds_each_operation
from limen.model.embedding import Codes, Embedding
from limen.model.local import Local
from limen.model.readout import Affine, Readout

_WEIGHTS = 2**28  # numbers: 2 GB in float64


@dataclass(frozen=True)
class Frame:
    """A model without its weights: everything that fixes their shapes."""

    architecture: Architecture
    width: int
    answers: int
    embedding: Embedding
    locals: tuple[Local | None, ...] = ()  # one a layer; none at all by default
    _: KW_ONLY
    norm: bool = False
    residual: bool = True
    readout: Readout = field(default_factory=Affine)

    def __post_init__(self) -> None:
        at_least(self, width=1, answers=1)
        if self.architecture.end is not None:
            raise BadInput(
                f"{self.architecture}: a model has its own readout; leave out {self.architecture.end}"
            )
        if any(part.kv is not None for layer in self.architecture.layers for part in layer.parts):
            raise BadInput(f"{self.architecture}: shared keys and values are counted, but cannot be run yet")
        if any(layer.times > 1 for layer in self.architecture.layers):
            raise BadInput(f"{self.architecture}: so many layers are counted, but not run")
        if isinstance(self.embedding, Codes) and self.embedding.width != self.width:
            raise BadInput(f"the embedding has width {self.embedding.width}, the model {self.width}")
        if self.locals and len(self.locals) != len(self.architecture.layers):
            raise BadInput(
                f"{len(self.architecture.layers)} layers need as many per-position functions (or None), "
                f"got {len(self.locals)}"
            )

    def local(self, i: int) -> Local | None:
        """The per-position function after layer i."""
        return self.locals[i] if self.locals else None

    def groups(self) -> dict[str, Shapes]:
        """The shapes of all weights, by the part of the model that owns them."""
        groups = {"embedding": self.embedding.shapes(self.width)}
        for i, layer in enumerate(self.architecture.layers):
            groups |= {f"{i}.{j}": part.mixer.shapes(self.width) for j, part in enumerate(layer.parts)}
            if (local := self.local(i)) is not None:
                groups[f"{i}.local"] = local.shapes(self.width)
            if self.norm:
                groups[f"{i}.norm"] = {"mixer": (self.width,), "local": (self.width,)}
        final: Shapes = {"norm": (self.width,)} if self.norm else {}
        return groups | {"readout": self.readout.shapes(self.width, self.answers) | final}

    def shapes(self) -> Shapes:
        """Every weight of the model and its shape."""
        return _flat(self.groups())

    def affordable(self) -> None:
        """Raises, before any memory is requested, if the model has too many weights for any computer."""
        numbers = sum(prod(shape) for shape in self.shapes().values())
        if numbers > _WEIGHTS:
            raise BadInput(
                f"a model of {shortened(numbers)} weights is too large: at most {_WEIGHTS} are held"
            )

    def random(self, generator: torch.Generator, dtype: torch.dtype) -> Model:
        """A model with each part's own random start; norms start at 1."""
        self.affordable()
        start: dict[str, dict[str, torch.Tensor]] = {}
        start["embedding"] = self.embedding.initial(self.width, generator, dtype)
        for i, layer in enumerate(self.architecture.layers):
            for j, part in enumerate(layer.parts):
                start[f"{i}.{j}"] = part.mixer.initial(self.width, generator, dtype)
            if (local := self.local(i)) is not None:
                start[f"{i}.local"] = local.initial(self.width, generator, dtype)
        start["readout"] = random_weights(self.groups()["readout"], generator, dtype)
        ones = {k: torch.ones(s, dtype=dtype) for k, s in self.shapes().items() if "norm" in k.split(".")}
        return Model(self, _flat(start) | ones)


class State(NamedTuple):
    """What a model carries from token to token: the position, and each part's state by layer."""

    position: int
    layers: tuple[tuple[Any, ...], ...]


class Place(NamedTuple):
    """One mixer of a model: where it stands, and its weights under their short names."""

    layer: int
    part: int
    mixer: Mixer
    weights: dict[str, torch.Tensor]


# How one mixer is run: what it reads -> what it writes.
Mix = Callable[[Place, "torch.Tensor"], "torch.Tensor"]


def at_once(place: Place, seen: torch.Tensor) -> torch.Tensor:
    """The mixer's outputs at all positions: by its fast form, or by its definition if operations are rounded.

    A fused kernel is one operation: inside it nothing would be rounded.
    """
    run = place.mixer.mix if rounds_each_operation() else place.mixer.fast
    return run(place.weights, seen)


def at_the_end(place: Place, seen: torch.Tensor) -> torch.Tensor:
    """The mixer's output at the last position alone."""
    return place.mixer.at_end(place.weights, seen)


@dataclass(frozen=True)
class Model:
    """`logits` reads all tokens at once, `start` and `step` one by one; `decode` writes."""

    frame: Frame
    weights: Mapping[str, torch.Tensor] = field(repr=False)

    def __post_init__(self) -> None:
        shapes = self.frame.shapes()
        for name in sorted(shapes.keys() ^ self.weights.keys()):
            raise BadInput(f"weight {name!r} is {'missing' if name in shapes else 'not part of this model'}")
        for name, shape in shapes.items():
            if tuple(self.weights[name].shape) != shape:
                got = tuple(self.weights[name].shape)
                raise BadInput(f"weight {name!r}: expected shape {shape}, got {got}")

    @classmethod
    def of(cls, construction: Construction) -> Model:
        """The weights of a construction in their frame."""
        construction.task.drawable()
        frame = construction.frame()
        frame.affordable()
        return cls(frame, tensors(construction.weights()))

    @cached_property
    def parts(self) -> dict[str, dict[str, torch.Tensor]]:
        """The weights by the part of the model that owns them, under their short names."""
        return {
            group: {name: self.weights[f"{group}.{name}"] for name in shapes}
            for group, shapes in self.frame.groups().items()
        }

    def to(self, precision: Precision) -> Model:
        """The same model with its weights rounded to a precision and carried in that precision's type."""
        return Model(self.frame, {name: precision.round(w) for name, w in self.weights.items()})

    def logits(self, tokens: jt.Int[torch.Tensor, "*batch n"]) -> jt.Num[torch.Tensor, "*batch n answers"]:
        """The output at every position."""
        return self.read(self.through(self.embedded(tokens), at_once))

    def ends(
        self, tokens: jt.Int[torch.Tensor, "*batch n"], asks: int
    ) -> jt.Num[torch.Tensor, "*batch {asks} width"]:
        """The vectors of the last `asks` positions after all layers; `read` makes the output of them."""
        x, top = self.embedded(tokens), len(self.frame.architecture.layers) - 1
        for i in range(top + 1):
            alone = i == top and asks == 1 and not rounds_each_operation()
            x = self.layer(i, x, at_the_end if alone else at_once, alone)
        return x[..., -asks:, :]

    def embedded(self, tokens: jt.Int[torch.Tensor, "*batch n"], at: int = 0) -> torch.Tensor:
        """The vectors of tokens that stand at position `at` and after: (*batch, n, width)."""
        return self.frame.embedding.embed(self.parts["embedding"], tokens.long(), at)  # shorter are no rows

    def through(self, x: torch.Tensor, mix: Mix) -> torch.Tensor:
        """The vectors after all layers."""
        for i in range(len(self.frame.architecture.layers)):
            x = self.layer(i, x, mix)
        return x

    def layer(self, i: int, x: torch.Tensor, mix: Mix, alone: bool = False) -> torch.Tensor:
        """x_i += Σ_parts mixer(norm(x))_i, then x_i += local(norm(x_i)); `alone`: at the last position."""
        return self.locally(i, self.mixed(i, x, mix, alone))

    def mixed(self, i: int, x: torch.Tensor, mix: Mix, alone: bool = False) -> torch.Tensor:
        """The first half of a layer."""
        seen = self.seen(i, x)
        mixed = reduce(add, [mix(place, seen) for place in self.places(i)])
        x = x[..., -1:, :] if alone else x
        return x + mixed if self.frame.residual else mixed

    def locally(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """The second half, which looks at no other position."""
        local = self.frame.local(i)
        if local is None:
            return x
        y = local.apply(self.parts[f"{i}.local"], self._normed(x, f"{i}.norm", "local"))
        return x + y if self.frame.residual else y

    def places(self, i: int) -> list[Place]:
        """The mixers of layer i."""
        parts = self.frame.architecture.layers[i].parts
        return [Place(i, j, part.mixer, self.parts[f"{i}.{j}"]) for j, part in enumerate(parts)]

    def start(self, batch: tuple[int, ...] = ()) -> State:
        """The state before the first token."""
        layers = map(self.places, range(len(self.frame.architecture.layers)))
        return State(0, tuple(tuple(_streaming(p).start(p.weights, batch) for p in ps) for ps in layers))

    def step(
        self, state: State, token: jt.Int[torch.Tensor, "*batch"]
    ) -> tuple[State, jt.Num[torch.Tensor, "*batch answers"]]:
        """The new state and the output at this position, after reading one token."""
        new: list[list[Any]] = [[] for _ in state.layers]

        def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
            after, y = _streaming(place).step(place.weights, state.layers[place.layer][place.part], seen)
            new[place.layer].append(after)
            return y

        x = self.embedded(token.unsqueeze(-1), state.position).squeeze(-2)  # (*batch, width)
        output = self.read(self.through(x, mix))
        return State(state.position + 1, tuple(map(tuple, new))), output

    def decode(
        self, tokens: jt.Int[torch.Tensor, "*batch n"], steps: int
    ) -> jt.Int[torch.Tensor, "*batch {steps}"]:
        """The `steps` tokens of a chain of thought, each the likeliest after all before it.

        The text is read once, then each token is read from the state.
        """
        if not steps:
            return tokens[..., :0]
        state, row = self.absorb(tokens)
        written = [row.argmax(-1)]  # the first of equals
        with one_thread():
            while len(written) < steps:
                state, row = self.step(state, written[-1])
                written.append(row.argmax(-1))
        return torch.stack(written, -1).to(tokens.dtype)

    def absorb(
        self, tokens: jt.Int[torch.Tensor, "*batch n"]
    ) -> tuple[State, jt.Num[torch.Tensor, "*batch answers"]]:
        """The state after a text read at once, and the output at its last position."""
        layers: list[list[Any]] = [[] for _ in self.frame.architecture.layers]

        def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
            layers[place.layer].append(_streaming(place).absorb(place.weights, seen))
            return at_once(place, seen)

        x = self.through(self.embedded(tokens), mix)
        return State(tokens.shape[-1], tuple(map(tuple, layers))), self.read(x[..., -1, :])

    def seen(self, i: int, x: torch.Tensor) -> torch.Tensor:
        """The (normed) vectors that the mixers of layer i read."""
        return self._normed(x, f"{i}.norm", "mixer")

    def _normed(self, x: torch.Tensor, group: str, name: str) -> torch.Tensor:
        """x / √(mean x² + 10⁻⁶) · weight (RMS norm), or x itself where the model has no norms."""
        if not self.frame.norm:
            return x
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.parts[group][name]

    def read(self, x: torch.Tensor) -> torch.Tensor:
        """The output of a position whose vector has passed all layers."""
        x = self._normed(x, "readout", "norm")
        return self.frame.readout.logits(self.parts["readout"], x, self.frame.answers)


@contextmanager
def one_thread() -> Iterator[None]:
    """A context with one thread: one token is too little work to share, and waiting threads cost 50×."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _streaming(place: Place) -> Streaming:
    if not isinstance(place.mixer, Streaming):
        raise BadInput(f"{place.mixer} cannot be run one token at a time")
    return place.mixer


def _flat(groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{group}.{name}": value for group, names in groups.items() for name, value in names.items()}
