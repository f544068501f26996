"""The laws of a construction: right on every input, in every precision that it claims, by its margin."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from limen.core.certificate import Run
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.files.own import named
from limen.laws.law import Law, require
from limen.model import exhaustive
from limen.model.files import load, save
from limen.model.last import last_logits
from limen.model.local import Pointwise
from limen.model.model import Model
from limen.model.run import Tried, batch_size, inputs, run
from limen.solutions import certificate, solve
from limen.witness.run import check_run

_DRAWN = 64  # plain inputs, and as many hard ones, where there are too many for each to be run
MOST = 2**20  # inputs that are all run
_F64, _F32, _BF16 = map(Precision.parse, ("float64", "float32", "bfloat16"))


def laws(construction: Construction) -> tuple[Law, ...]:
    """The laws of a construction: in the precisions that it claims, and if its weights can be saved."""
    last = construction.steps == 0 and construction.task.asks == 1
    claimed = {it_is_right_in_float32: _F32, it_is_right_in_bfloat16: _BF16}
    return (
        *_EVERY,
        *(law for law, precision in claimed.items() if construction.margin(precision) is not None),
        *((reading_the_last_position_alone_changes_nothing,) if last else ()),
        *((where_fixed_point_saturates_nothing_false_is_certified,) if _whole(construction) else ()),
        *((its_certificate_is_for_its_own_weights_alone,) if _savable(construction) else ()),
    )


def _savable(construction: Construction) -> bool:
    """A file names nothing outside the catalogue, and no function of Python."""
    frame = construction.frame()
    return not named(str(frame.architecture)) and not any(isinstance(f, Pointwise) for f in frame.locals)


def _whole(construction: Construction) -> bool:
    return construction.margin(Precision.parse("fixed(f=4)")) is not None


def it_is_right_in_float64(construction: Construction) -> None:
    """On every input where they are few, and never nearer to wrong than it says."""
    _right(construction, _F64)


def it_is_right_in_float32(construction: Construction) -> None:
    """The same, where it claims a margin."""
    _right(construction, _F32)


def it_is_right_in_bfloat16(construction: Construction) -> None:
    """The same, where it claims a margin."""
    _right(construction, _BF16)


def _right(construction: Construction, precision: Precision) -> None:
    certified, seen = construction.margin(precision), _run(construction, precision)
    require(seen.tried > 0, "there is no input")
    require(seen.wrong == 0, f"{precision}: wrong on {seen.wrong} of {seen.tried} inputs")
    if certified is not None:
        fair = 0 < certified <= seen.margin
        require(fair, f"{precision}: the certified margin is {certified:.4g}, but {seen.margin:.4g} was seen")


def _run(construction: Construction, precision: Precision) -> Tried:
    task, model = construction.task, Model.of(construction)
    how = None if exhaustive.count(task) <= MOST else _DRAWN
    drawn = inputs(task, how, 0, batch_size(model, task, construction.steps))
    return run(model, task, precision, drawn, construction.steps)


def where_fixed_point_saturates_nothing_false_is_certified(construction: Construction) -> None:
    """The least top with a claim, and there is one, holds on every input."""
    for f in (0, 4):
        claims = (Precision.parse(f"fixed(f={f},top={top})") for top in range(8))
        least = next((p for p in claims if construction.margin(p) is not None), None)
        require(least is not None, f"nothing is claimed for fixed(f={f},top=7)")
        if least is not None:
            _right(construction, least)


def its_parts_fit_together(construction: Construction) -> None:
    """Columns, answers and shapes are those of the frame."""
    frame, weights = construction.frame(), construction.weights()
    width, answers = construction.columns.width, construction.task.answers
    require(width == frame.width, f"{width} columns, the frame has {frame.width}")
    require(answers <= frame.answers, f"{answers} answers, the frame has {frame.answers}")
    found = {k: tuple(v.shape) for k, v in weights.items()}
    require(found == frame.shapes(), f"weights of shapes {found}, the frame has {frame.shapes()}")
    require(all(v.dtype == np.float64 for v in weights.values()), "weights must be float64")


def reading_the_last_position_alone_changes_nothing(construction: Construction) -> None:
    """The quick way to run long texts gives the same logits."""
    model = Model.of(construction)
    tokens = torch.as_tensor(construction.task.sample(np.random.default_rng(0), 5)[0])
    quick, whole = last_logits(model, tokens), model.logits(tokens)[:, -1]
    close = torch.allclose(quick, whole, rtol=1e-9, atol=1e-9)
    require(close, f"the last logits differ by {float((quick - whole).abs().max()):.3g}")


def its_certificate_is_for_its_own_weights_alone(construction: Construction) -> None:
    """A run of it is accepted for the saved weights, and refused for others."""
    solution, model = solve(construction, _F64, how=3)
    evidence = certificate(solution, model, seed=0)
    with TemporaryDirectory() as folder:
        save(model, Path(folder))
        again = load(Path(folder))
    require(check_run(evidence, again) is None, f"saved and loaded: {check_run(evidence, again)}")
    key = next(k for k, w in again.weights.items() if bool((w != 0).any()))
    other = Model(again.frame, dict(again.weights) | {key: again.weights[key] * 2})
    require(_refused(evidence, other), f"a run with {key} doubled is accepted as its own")


def _refused(evidence: Run, model: Model) -> bool:
    try:
        check_run(evidence, model)
    except BadInput:
        return True
    return False


_EVERY: tuple[Law, ...] = (
    its_parts_fit_together,
    it_is_right_in_float64,
)
