"""The rule of a matrix memory by `rule.c`, with its gradients."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from limen.mixers.recurrence.build import library
from limen.mixers.recurrence.levels import levelled
from limen.mixers.recurrence.loops import PLAIN, Loops
from limen.mixers.recurrence.rule import Tokens, chunked, widened

_SOURCE = Path(__file__).with_name("rule.c")
_STRIDE, _CHUNK = 32, 16  # as in the source: the state before every such token is kept for the way back
_VECTOR = 32  # bytes, as in the source
_REAL = {torch.float32: "float", torch.float64: "double"}


class _Part(ctypes.Structure):
    _fields_ = [
        ("x", ctypes.c_void_p),
        ("head", ctypes.c_void_p),
        ("token", ctypes.c_int64),
        ("shared", ctypes.c_int64),
    ]


class _Sequence(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("heads", "n", "d_k", "d", "gates", "levels")),
        *((name, _Part) for name in ("q", "k", "v", "b", "a", "l", "y")),
        *((name, ctypes.c_void_p) for name in ("kept", "u")),
        *((name, _Part) for name in ("dq", "dk", "dv", "db", "da", "dl")),
    ]


def compiled_loops() -> Loops:
    """The loops in C; those by torch where there is no compiler."""
    if any(library(_SOURCE, real) is None for real in _REAL.values()):
        return PLAIN
    return Loops(rule, levels)


def rule(tokens: Tokens) -> torch.Tensor:
    """As `chunked`; integers, other devices and empty texts are left to it."""
    return _run(tokens, None) if _here(tokens.v) else chunked(tokens)


def levels(tokens: Tokens, λ: torch.Tensor) -> torch.Tensor:
    """As `levelled`; rules that erase are left to it, too."""
    return _run(tokens, λ) if _here(tokens.v) and tokens.β is None else levelled(tokens, λ)


def _here(v: torch.Tensor) -> bool:
    return v.is_floating_point() and v.device.type == "cpu" and v.numel() > 0


def _run(tokens: Tokens, λ: torch.Tensor | None) -> torch.Tensor:
    """The outputs of the rule in C, computed in the widest type of its parts."""
    given = [None if part is None else widened(part) for part in (*tokens, λ)]
    real = reduce(torch.promote_types, (part.dtype for part in given if part is not None))
    y: torch.Tensor = _Rule.apply(*(part if part is None else part.to(real) for part in given))  # type: ignore[no-untyped-call]
    return y.to(tokens.v.dtype)


class _Rule(torch.autograd.Function):
    """(q, k, v, β, g, λ) -> y, each of (*batch, n, ·); all but v may serve several heads."""

    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor | None) -> torch.Tensor:
        parts = [None if x is None else _in_rows(x) for x in given]
        q, _, v, β, g, _ = parts
        assert q is not None and v is not None
        parts[4] = None if g is None else g.exp()
        y = torch.empty_like(v)
        kept, u = None, None
        if any(ctx.needs_input_grad):
            rows, columns = _padded(q), v.shape[-1] if _by_rows(parts) else _padded(v)
            stretches = -(-v.shape[-2] // (_STRIDE if _by_rows(parts) else _CHUNK))
            whole = rows == q.shape[-1] and columns == v.shape[-1]  # else zeros fill up vectors
            kept = (v.new_empty if whole else v.new_zeros)((*v.shape[:-2], stretches, rows, columns))
            u = None if β is None else v.new_empty(v.shape)
        _call("forward", parts, y, kept, u, [])
        ctx.save_for_backward(*parts, kept, u)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *parts, kept, u = ctx.saved_tensors
        batch, added = parts[2].shape[:-2], _by_rows(parts)
        gradients = [
            None
            if x is None
            else torch.zeros_like(x)
            if added or x.shape[:-2] != batch or x is parts[5]
            else torch.empty_like(x)
            for x in parts
        ]
        _call("backward", parts, _in_rows(dy), kept, u, gradients)
        if added:  # the loop over tokens gives the derivative by α = exp(g)
            gradients[4] = gradients[4] * parts[4]
        return tuple(gradients)


def _by_rows(parts: list[torch.Tensor | None]) -> bool:
    """Whether each row fades by a gate of its own."""
    return parts[4] is not None and parts[4].shape[-1] > 1


def _in_rows(x: torch.Tensor) -> torch.Tensor:
    """The numbers of a token side by side and its own; what is the same along an axis, is not copied."""
    steps = zip(x.shape[:-1], x.stride()[:-1], strict=True)
    own = all(stride == 0 or stride >= x.shape[-1] for size, stride in steps if size > 1)
    if x.stride(-1) == 1 and own:  # else the like of it may have others: those of windows lie over each other
        return x
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in x.stride()[:-1])
    return x[once].contiguous().expand(x.shape)


def _padded(x: torch.Tensor) -> int:
    """The last size rounded up to whole vectors."""
    lanes = _VECTOR // x.element_size()
    return -(-x.shape[-1] // lanes) * lanes


def _call(
    name: str,
    parts: list[torch.Tensor | None],
    y: torch.Tensor,
    kept: torch.Tensor | None,
    u: torch.Tensor | None,
    gradients: list[torch.Tensor | None],
) -> None:
    """Runs one function of the library: that of the rule, or with levels."""
    q, _, v, _, a, λ = parts
    assert q is not None and v is not None
    batch, read = tuple(v.shape[:-2]), []  # kept while C reads it: calls of other threads may empty the cache

    def part(x: torch.Tensor | None) -> _Part:
        if x is None:
            return _Part()
        shared = tuple(x.shape[:-2]) != batch
        each = x.expand(*batch, *x.shape[-2:]) if shared else x
        read.append(_firsts(batch, each.stride()[:-2]))
        return _Part(x.data_ptr(), read[-1].data_ptr(), x.stride(-2), shared)

    sequence = _Sequence(
        math.prod(batch),
        v.shape[-2],
        q.shape[-1],
        v.shape[-1],
        *(0 if x is None else x.shape[-1] for x in (a, λ)),
        *map(part, (*parts, y)),
        *(None if x is None else x.data_ptr() for x in (kept, u)),
        *map(part, gradients),
    )
    run = library(_SOURCE, _REAL[v.dtype])
    assert run is not None
    if run[f"{'rule' if λ is None else 'levels'}_{name}"](ctypes.byref(sequence)):
        raise MemoryError


@lru_cache(maxsize=64)
def _firsts(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """Where each sequence of the batch begins, in numbers from the first one's beginning."""
    at = torch.zeros(1, dtype=torch.int64)
    for size, stride in zip(sizes, strides, strict=True):
        at = (at[:, None] + stride * torch.arange(size)).reshape(-1)
    return at
