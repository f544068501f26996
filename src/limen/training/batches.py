r"""Which runs are trained as one: those that differ in seed, rate and start alone, where it pays.

Measured (one thread, two layers, an MLP of twice the width): of small steps most is the overhead of
operations, which several models share; of large ones it is arithmetic, and each model keeps a core to itself.

    tokens a step × width      2^11    2^12    2^13    2^14    2^15    2^16    2^17
    12 models, softmax         3.7     2.9     2.2     1.6     1.2     1.0     0.8      times one by one
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from limen.core.architecture import Architecture
from limen.core.quantities import plural
from limen.errors import BadInput
from limen.mixers.lstm import Lstm
from limen.training.lesson import lesson_of
from limen.training.spec import Spec

_NUMBERS = 2**15  # tokens a step × width, up to which it pays
_HELD = 2**23  # tokens × width × layers of all models: some 400 MB
_FEWEST, _MOST = 3, 24  # models; two bring nothing, and more than 24 hardly more


def batches(specs: Iterable[Spec], cores: int) -> list[list[Spec]]:
    """The runs, those together that are trained as one; no fewer batches than cores where there are runs."""
    alike: dict[Spec, list[Spec]] = {}
    for spec in specs:
        alike.setdefault(msgspec.structs.replace(spec, seed=0, rate=1.0, start="random"), []).append(spec)
    least = -(-cores // max(len(alike), 1))
    return [batch for group in alike.values() for batch in _pieces(group, least)]


def told(split: list[list[Spec]], cores: int) -> str:
    """One line: how many runs are trained together, and how many by themselves."""
    together = [len(batch) for batch in split if len(batch) > 1]
    alone = sum(len(batch) == 1 for batch in split)
    words = [f"{plural(sum(together), 'run')} in {plural(len(together), 'batch', 'batches')}"] * bool(
        together
    )
    words += [f"{plural(alone, 'run')} one by one"] * bool(alone)
    rule = f"; a batch pays up to {_NUMBERS:,} tokens a step × width and from {_FEWEST} runs a core on"
    return f"{' and '.join(words)}, on {plural(cores, 'core')}{rule * bool(alone)}"


def _pieces(group: list[Spec], least: int) -> list[list[Spec]]:
    most = _most(group[0])
    count = max(least, -(-len(group) // most))
    ordered = sorted(group, key=lambda spec: spec.seed)  # whoever shares a seed shares its draws
    pieces = [[ordered[i] for i in some] for some in np.array_split(range(len(ordered)), count)]
    if most < _FEWEST:
        return [[spec] for spec in group]
    together = [sorted(piece, key=lambda spec: spec.rate) for piece in pieces if len(piece) >= _FEWEST]
    return [*together, *([spec] for piece in pieces if len(piece) < _FEWEST for spec in piece)]


def _most(spec: Spec) -> int:
    """How many models are trained as one; 1 where it does not pay.

    Torch's LSTM is quick for one model alone, an adversary proposes to one, mixed sizes have no common
    length, and what is dropped is drawn for one.  A spec that cannot be read fails by itself.
    """
    try:
        stack, lesson = Architecture.parse(spec.architecture), lesson_of(spec)
        draw = lesson.thinking if spec.thought else lesson.batch
        tokens = draw(np.random.default_rng(0), spec.batch, spec.hard).tokens.size
    except BadInput:
        return 1
    mixers = [part.mixer for layer in stack.layers for part in layer.parts]
    if (
        spec.against is not None
        or spec.model_type is not None
        or spec.mixed
        or spec.dropout
        or any(isinstance(mixer, Lstm) for mixer in mixers)
    ):
        return 1
    widths = [shape[-1] for mixer in mixers for shape in mixer.shapes(spec.width).values()]
    numbers = tokens * max(spec.width, spec.hidden // 2, *widths)
    if numbers > _NUMBERS:
        return 1
    return min(_MOST, max(1, _HELD // (numbers * len(stack.layers))))
