"""The few things of numpy that weights are written with, on lists: for where numpy is not installed.

An array is numbers and their shape; a slice of it is a view, and a choice by numbers is a copy, as in numpy.
Whatever else is asked for raises what a missing numpy raises, so that it is said to be left out.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import product, zip_longest
from typing import Any, NoReturn

Number = float  # or int, or bool
Shape = tuple[int, ...]
float64, float32, int64, int8, pi = float, float, int, int, math.pi


class Lists:
    """These few things under the name of numpy."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(name)
        return globals()[name] if name in globals() else _lacks()


def _lacks() -> NoReturn:
    raise ModuleNotFoundError("No module named 'numpy'", name="numpy")


class Plain:
    """An array: `at` says where in `base` its numbers stand, row by row."""

    __slots__ = ("at", "base", "kind", "shape")

    def __init__(self, shape: Shape, base: list[Number], kind: type, at: Sequence[int] | None = None) -> None:
        self.shape, self.base, self.kind = shape, base, kind
        self.at = range(len(base)) if at is None else at

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _lacks()

    @property
    def flat(self) -> list[Number]:
        return [self.base[i] for i in self.at]

    @property
    def size(self) -> int:
        return len(self.at)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Plain:
        places = _places(self.shape[::-1], _strides(self.shape)[::-1])
        return Plain(self.shape[::-1], self.base, self.kind, [self.at[i] for i in places])

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        shape, places, copied = _chosen(self.shape, key)
        if not shape and not copied:
            return self.base[self.at[places[0]]]
        view = Plain(shape, self.base, self.kind, [self.at[i] for i in places])
        return view.copy() if copied else view

    def __setitem__(self, key: Any, value: Any) -> None:
        shape, places, _ = _chosen(self.shape, key)
        given = array(value)
        while len(given.shape) > len(shape) and given.shape[0] == 1:
            given = given[0] if given.ndim > 1 else array(given[0])
        for i, x in zip(places, _spread(given, shape), strict=True):
            self.base[self.at[i]] = self.kind(x)

    def copy(self) -> Plain:
        return Plain(self.shape, self.flat, self.kind)

    def astype(self, kind: type) -> Plain:
        return Plain(self.shape, list(map(kind, self.flat)), kind)

    def reshape(self, *shape: Any) -> Plain:
        wanted = shape[0] if isinstance(shape[0], tuple) else shape
        known = math.prod(s for s in wanted if s >= 0)
        full = tuple(self.size // known if s < 0 else s for s in wanted)
        if math.prod(full) != self.size:
            raise ValueError(f"{self.size} numbers have no shape {full}")
        return Plain(full, self.base, self.kind, self.at)

    def repeat(self, times: int) -> Plain:
        return Plain((self.size * times,), [x for x in self.flat for _ in range(times)], self.kind)

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The sum of all numbers, or along the last axis; whole ones, whose order changes nothing."""
        if self.kind is float and any(x % 1 for x in self.flat):
            _lacks()
        if axis is None and not keepdims:
            return sum(self.flat)
        if axis not in (-1, self.ndim - 1):
            _lacks()
        flat, long = self.flat, self.shape[-1]
        sums = [self.kind(sum(flat[i : i + long])) for i in range(0, len(flat), long)]
        return Plain((*self.shape[:-1], *([1] if keepdims else [])), sums, self.kind)

    def clip(self, least: Number) -> Plain:
        return maximum(self, least)

    def tolist(self) -> Any:
        return [row.tolist() if isinstance(row, Plain) else row for row in self]

    def tobytes(self) -> bytes:
        """Eight bytes a number, as float64 has them."""
        return struct.pack(f"<{self.size}d", *self.flat)

    def __bool__(self) -> bool:
        (one,) = self.flat
        return bool(one)

    def __float__(self) -> float:
        (one,) = self.flat
        return float(one)

    def __int__(self) -> int:
        (one,) = self.flat
        return int(one)

    def __matmul__(self, other: Any) -> NoReturn:
        _lacks()  # the order of its sums matters

    __rmatmul__ = __matmul__

    def __neg__(self) -> Plain:
        return Plain(self.shape, [-x for x in self.flat], self.kind)


def _operator(do: Callable[[Any, Any], Any], kind: type | None) -> tuple[Any, Any, Any]:
    def here(self: Plain, other: Any) -> Plain:
        return _together(do, self, other, kind)

    def turned(self: Plain, other: Any) -> Plain:
        return _together(do, other, self, kind)

    def inside(self: Plain, other: Any) -> Plain:
        self[...] = _together(do, self, other, kind)
        return self

    return here, turned, inside


_NAMES = {"add": None, "sub": None, "mul": None, "mod": None, "floordiv": None, "pow": None, "truediv": float}
for _name, _kind in {**_NAMES, "rshift": int, "lshift": int}.items():
    _here, _turned, _inside = _operator(getattr(operator, _name), _kind)
    setattr(Plain, f"__{_name}__", _here)
    setattr(Plain, f"__r{_name}__", _turned)
    setattr(Plain, f"__i{_name}__", _inside)
for _name in ("and_", "or_", "xor"):
    _here, _turned, _ = _operator(getattr(operator, _name), None)
    setattr(Plain, f"__{_name.strip('_')}__", _here)
    setattr(Plain, f"__r{_name.strip('_')}__", _turned)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Plain, f"__{_name}__", _operator(getattr(operator, _name), bool)[0])


def _together(do: Callable[[Any, Any], Any], left: Any, right: Any, kind: type | None) -> Plain:
    """Number by number, each side repeated where its length is 1."""
    a, b = array(left), array(right)
    shape = _common(a.shape, b.shape)
    made = list(map(do, _spread(a, shape), _spread(b, shape)))
    wide = kind or (float if float in (a.kind, b.kind) else int if int in (a.kind, b.kind) else a.kind)
    return Plain(shape, [wide(x) for x in made], wide)


def _common(*shapes: Shape) -> Shape:
    """The shape that all can be repeated to."""
    full = []
    for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        longer = {size for size in sizes if size != 1}
        if len(longer) > 1:
            raise ValueError(f"shapes {shapes} do not go together")
        full.append(longer.pop() if longer else 1)
    return tuple(full[::-1])


def _spread(a: Plain, shape: Shape) -> list[Number]:
    """Its numbers, repeated to a shape; the last axis first."""
    if a.shape == shape:
        return a.flat
    if _common(a.shape, shape) != shape:
        raise ValueError(f"a shape {a.shape} does not go into {shape}")
    flat, own = a.flat, (1,) * (len(shape) - len(a.shape)) + a.shape
    for axis in reversed(range(len(shape))):
        if own[axis] != shape[axis]:
            block = math.prod(shape[axis + 1 :])
            flat = [x for i in range(0, len(flat), max(block, 1)) for x in flat[i : i + block] * shape[axis]]
    return flat


def _strides(shape: Shape) -> Shape:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _places(shape: Shape, strides: Shape) -> list[int]:
    places = [0]
    for size, stride in zip(shape, strides, strict=True):
        places = [p + i * stride for p in places for i in range(size)]
    return places


def _chosen(shape: Shape, key: Any) -> tuple[Shape, list[int], bool]:
    """The shape and the places of what is chosen, and whether numbers choose it: then it is a copy."""
    keys = list(key) if isinstance(key, tuple) else [key]
    rest = len(shape) - sum(one is not None and one is not Ellipsis for one in keys)
    where = next((i for i, one in enumerate(keys) if one is Ellipsis), len(keys))
    keys[where : where + 1] = [slice(None)] * rest
    numbers = [i for i, one in enumerate(keys) if isinstance(one, Plain | list)]
    joint: Shape = ()
    if numbers:
        if any(not isinstance(keys[i], Plain | list | int) for i in range(numbers[0], numbers[-1] + 1)):
            _lacks()
        keys = [_counted(one) if i in numbers else one for i, one in enumerate(keys)]
        joint = _common(*(keys[i].shape for i in numbers))
    full, parts, axis, steps = list[int](), list[list[int]](), 0, _strides(shape)
    together = [0] * math.prod(joint)
    for i, one in enumerate(keys):
        if one is None:
            full.append(1)
            continue
        size, step = shape[axis], steps[axis]
        axis += 1
        if isinstance(one, Plain):
            more = [_within(int(j), size) * step for j in _spread(one, joint)]
            together[:] = map(operator.add, together, more)
            if i == numbers[0]:
                full += joint
                parts.append(together)  # those of the other numbers are added to it
        elif isinstance(one, slice):
            chosen = range(*one.indices(size))
            full.append(len(chosen))
            parts.append([j * step for j in chosen])
        else:
            parts.append([_within(operator.index(one), size) * step])
    return tuple(full), [sum(one) for one in product(*parts)], bool(numbers)


def _counted(key: Any) -> Plain:
    """Numbers of places; a mask names those where it is true."""
    chosen = array(key)
    if chosen.kind is not bool:
        return chosen
    if chosen.ndim != 1:
        _lacks()
    return array([i for i, yes in enumerate(chosen.flat) if yes], int)


def _within(index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"{index} is no place of {size}")
    return index % size


def array(value: Any, dtype: type | None = None) -> Plain:
    """An array of nested sequences, or of one number."""
    shape, flat, kinds = _unpacked(value)
    kind = dtype or (float if float in kinds or not kinds else int if int in kinds else bool)
    return Plain(shape, [kind(x) for x in flat], kind)


asarray = ascontiguousarray = array


def _unpacked(value: Any) -> tuple[Shape, list[Number], set[type]]:
    if isinstance(value, Plain):
        return value.shape, value.flat, {value.kind}
    if isinstance(value, int | float):  # bool is an int
        return (), [value], {type(value)}
    if not isinstance(value, Sequence | range):
        _lacks()
    rows = [_unpacked(row) for row in value]
    if len({shape for shape, *_ in rows}) > 1:
        raise ValueError("rows of an array are equally long")
    inner = rows[0][0] if rows else ()
    kinds = set[type]().union(*(kinds for *_, kinds in rows))
    return (len(rows), *inner), [x for _, flat, _ in rows for x in flat], kinds


def full(shape: int | Shape, value: Number, dtype: type = float) -> Plain:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return Plain(sizes, [dtype(value)] * math.prod(sizes), dtype)


def zeros(shape: int | Shape, dtype: type = float) -> Plain:
    return full(shape, 0, dtype)


def ones(shape: int | Shape, dtype: type = float) -> Plain:
    return full(shape, 1, dtype)


def arange(*ends: float, dtype: type | None = None) -> Plain:
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    kind = dtype or (float if any(isinstance(x, float) for x in ends) else int)
    count = max(0, math.ceil((stop - start) / step))
    return Plain((count,), [kind(start + i * step) for i in range(count)], kind)


def eye(rows: int, columns: int | None = None, k: int = 0) -> Plain:
    width = rows if columns is None else columns
    return _drawn(rows, width, lambda i, j: j == i + k)


def tri(rows: int, columns: int | None = None, k: int = 0) -> Plain:
    width = rows if columns is None else columns
    return _drawn(rows, width, lambda i, j: j <= i + k)


def _drawn(rows: int, width: int, one: Callable[[int, int], bool]) -> Plain:
    return Plain((rows, width), [float(one(i, j)) for i in range(rows) for j in range(width)], float)


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Plain:
    given = [array(one) for one in arrays]
    axis %= given[0].ndim
    before, after = given[0].shape[:axis], given[0].shape[axis + 1 :]
    if any(one.shape[:axis] != before or one.shape[axis + 1 :] != after for one in given):
        raise ValueError("these arrays do not stand side by side")
    long = [one.shape[axis] * math.prod(after) for one in given]
    flats = [one.flat for one in given]
    joined = [
        x
        for i in range(math.prod(before))
        for flat, block in zip(flats, long, strict=True)
        for x in flat[i * block : (i + 1) * block]
    ]
    kind = float if any(one.kind is float for one in given) else given[0].kind
    return Plain((*before, sum(one.shape[axis] for one in given), *after), list(map(kind, joined)), kind)


def hstack(arrays: Sequence[Any]) -> Plain:
    given = [array(one) for one in arrays]
    return concatenate(given, 0 if given[0].ndim == 1 else 1)


def column_stack(arrays: Sequence[Any]) -> Plain:
    given = [array(one) for one in arrays]
    return concatenate([one.reshape(-1, 1) if one.ndim == 1 else one for one in given], 1)


def where(condition: Any, yes: Any, no: Any) -> Plain:
    c, a, b = array(condition), array(yes), array(no)
    shape = _common(c.shape, a.shape, b.shape)
    kind = float if float in (a.kind, b.kind) else a.kind
    pairs = zip(_spread(c, shape), _spread(a, shape), _spread(b, shape), strict=True)
    return Plain(shape, [kind(x if holds else y) for holds, x, y in pairs], kind)


def maximum(left: Any, right: Any) -> Plain:
    return _together(max, left, right, None)


def square(x: Any) -> Plain:
    return _together(operator.mul, x, x, None)


def sqrt(x: Any) -> Plain:
    a = array(x)
    return Plain(a.shape, list(map(math.sqrt, a.flat)), float)


def ceil(x: Any) -> Plain:
    a = array(x)
    return Plain(a.shape, [float(math.ceil(y)) for y in a.flat], float)


def tile(x: Any, times: int) -> Plain:
    return concatenate([array(x)] * times)
