"""Weights that must fail, and do: the checker sees through a wrong order, a short key, a careless blank."""

from dataclasses import replace

import pytest

from limen.constructions.composition_by_stack import CompositionByStack
from limen.constructions.eva_by_softmax import EvaBySoftmax
from limen.constructions.two_sum_by_code import TwoSumByCode
from limen.constructions.two_sum_by_trigonometry import TwoSumByTrigonometry
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.model.embedding import Codes
from limen.model.model import Model
from limen.model.run import Tried, batch_size, inputs, run
from limen.tasks.composition import Composition
from limen.tasks.eva import Eva
from limen.tasks.two_sum import TwoSum

F64, F32 = Precision.parse("float64"), Precision.parse("float32")


def count(
    construction: Construction, model: Model, precision: Precision = F64, how: int | None = None
) -> Tried:
    task = construction.task
    return run(model, task, precision, inputs(task, how, 0, batch_size(model, task, 0)), construction.steps)


def test_half_a_key_finds_the_wrong_entry() -> None:
    construction = EvaBySoftmax(Eva(4))
    model = Model.of(construction)
    assert count(construction, model).wrong == 0
    key = model.weights["0.0.K"].clone()
    key[:, : key.shape[1] // 2] = 0
    assert count(construction, Model(model.frame, {**model.weights, "0.0.K": key})).wrong > 0


def test_a_blank_with_the_value_one_says_yes_to_everything() -> None:
    construction = TwoSumByCode(TwoSum(4, 7))
    model = Model.of(construction)
    assert count(construction, model).wrong == 0
    value = model.weights["0.0.V"].clone()
    value[construction.columns["asks"]] = 1
    assert count(construction, Model(model.frame, {**model.weights, "0.0.V": value})).wrong > 0


def test_weights_for_w_first_fail_with_w_last() -> None:
    construction = CompositionByStack(Composition(2, (2,)))
    model = Model.of(construction)
    assert count(construction, model).wrong == 0
    embedding = model.frame.embedding
    assert isinstance(embedding, Codes)
    *before, w = embedding.segments
    w_first = replace(model.frame, embedding=replace(embedding, segments=(w, *before)))
    assert count(construction, Model(w_first, model.weights)).wrong > 0


@pytest.mark.parametrize(("M", "right"), [(1001, True), (16385, False)])
def test_trigonometry_in_float32_ends_where_its_certificate_ends(M: int, right: bool) -> None:
    """Near-misses are what it cannot resolve; the code does not care."""
    circle, code = TwoSumByTrigonometry(TwoSum(64, M)), TwoSumByCode(TwoSum(64, M))
    assert (circle.margin(F32) is not None) == right
    assert (count(circle, Model.of(circle), F32, how=64).wrong == 0) == right
    assert code.margin(F32) is not None and count(code, Model.of(code), F32, how=64).wrong == 0
