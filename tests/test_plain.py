"""Lists do what numpy does, in the few things that weights are written with."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, basic_indices, broadcastable_shapes

from limen.core import plain

WHOLE = arrays(
    np.int64, st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), elements=st.integers(-9, 9)
)
OPERATORS = ["__add__", "__rsub__", "__mul__", "__lt__", "__eq__", "__and__"]


def same(listed: Any, expected: Any) -> bool:
    """Shape, numbers and the sign of each zero."""
    mine = np.array(listed.tolist() if isinstance(listed, plain.Plain) else listed, dtype=np.float64)
    theirs = np.asarray(expected, dtype=np.float64)
    if isinstance(listed, plain.Plain):
        mine = mine.reshape(listed.shape)
    return mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()


@given(st.data(), WHOLE)
def test_a_slice_is_a_view_with_the_same_numbers(data: st.DataObject, a: Any) -> None:
    key = data.draw(basic_indices(a.shape, allow_newaxis=True))
    mine, theirs = plain.array(a.tolist()).reshape(a.shape), a.copy()
    assert same(mine[key], theirs[key])
    mine[key] = 5
    theirs[key] = 5
    assert same(mine, theirs)
    if isinstance(mine[key], plain.Plain):
        mine[key][...] = 7
        theirs[key][...] = 7
        assert same(mine, theirs)


@given(st.data(), WHOLE)
def test_two_arrays_meet_as_in_numpy(data: st.DataObject, a: Any) -> None:
    b = data.draw(
        arrays(np.int64, broadcastable_shapes(a.shape, min_side=0, max_side=4), elements=st.integers(-9, 9))
    )
    mine, other = (plain.array(x.tolist()).reshape(x.shape) for x in (a, b))
    for name in OPERATORS:
        assert same(getattr(mine, name)(other), getattr(a, name)(b)), name
    assert same(mine.astype(float) * -1.0, a.astype(float) * -1.0)


@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_numbers_choose_as_in_numpy(data: st.DataObject, rows: int, columns: int) -> None:
    a = np.arange(rows * columns).reshape(rows, columns)
    mine = plain.arange(rows * columns).reshape(rows, columns)
    i = data.draw(st.lists(st.integers(-rows, rows - 1), max_size=4))
    j = data.draw(st.lists(st.integers(-columns, columns - 1), min_size=len(i), max_size=len(i)))
    for key in ((i,), (i, j), (slice(None), j), (i, slice(None, None, -1)), (None, i)):
        theirs = (
            tuple(np.array(k, dtype=int) if isinstance(k, list) else k for k in key)
            if isinstance(key, tuple)
            else np.array(key, dtype=int)
        )
        ours = (
            tuple(plain.array(k, int) if isinstance(k, list) else k for k in key)
            if isinstance(key, tuple)
            else plain.array(key, int)
        )
        assert same(mine[ours], a[theirs])
    assert same(mine.T, a.T) and same(mine.T[0], a.T[0])


def test_makers_make_what_numpy_makes() -> None:
    for np_, args in (
        ("eye", (3, 4, 1)), ("tri", (4, 4, -1)), ("zeros", ((2, 0),)), ("ones", (3,)), ("arange", (2, 9, 3)),
        ("arange", (0.0, 2.0, 0.5)), ("arange", (5,)), ("hstack", ([[[1.0], [2.0]], [[3.0], [4.0]]],)),
        ("column_stack", ([[1, 2], [3, 4]],)), ("tile", ([1, 2], 3)), ("maximum", ([1, 5], [3, 2])),
        ("where", ([True, False], [1.0, 2.0], 0)), ("sqrt", ([4, 2],)), ("ceil", ([1.5, -1.5],)),
        ("concatenate", ([[1], [2, 3]],)), ("square", ([3, -2],)),
    ):  # fmt: skip
        assert same(getattr(plain, np_)(*args), getattr(np, np_)(*args)), (np_, args)


@pytest.mark.parametrize(
    "what", ["plain.Lists().cos", "plain.Lists().random", "plain.eye(2).mean", "plain.eye(2) @ plain.eye(2)"]
)
def test_what_lists_cannot_do_is_said_to_be_left_out_and_never_guessed(what: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'numpy'"):
        eval(what)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        plain.array([0.5, 0.25]).sum()  # the order of such a sum matters
