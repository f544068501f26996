"""The rule of a matrix memory by `rule.c`, with its gradients."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from limen.mixers.recurrence.levels import enough_levels, levelled
from limen.mixers.recurrence.libraries import libraries
from limen.mixers.recurrence.loops import PLAIN, Loops
from limen.mixers.recurrence.rule import Tokens, alike, chunked, widened

_LARGE = 4096  # numbers of a memory: chunks of it are longer, and go forward, too
_STRIDE = 32  # as in the source: where rows fade each by itself, the state before every such token is kept
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
        *((name, ctypes.c_int64) for name in ("heads", "n", "d_k", "d", "gates", "levels", "chunk")),
        *((name, _Part) for name in ("q", "k", "v", "b", "a", "e", "r", "l", "y")),
        *((name, ctypes.c_void_p) for name in ("kept", "u")),
        *((name, _Part) for name in ("dq", "dk", "dv", "db", "da", "de", "dr", "dl")),
    ]


Compiled = Mapping[str, ctypes.CDLL]  # for numbers of each type: float, double


def compiled_loops() -> Loops:
    """The loops in C; those by torch where it cannot be had."""
    by_real = libraries().by_real
    return loops_of(by_real) if by_real else PLAIN


def loops_of(compiled: Compiled) -> Loops:
    """The loops of some compiled libraries."""
    return Loops(partial(_rule, compiled), partial(_levels, compiled))


def _rule(compiled: Compiled, tokens: Tokens) -> torch.Tensor:
    """As `chunked`; other types, whose rounding is torch's, other devices and empty texts are left to it."""
    return _run(compiled, tokens, None) if _here(tokens.v) else chunked(tokens)


def _levels(compiled: Compiled, tokens: Tokens, λ: torch.Tensor) -> torch.Tensor:
    """As `levelled`; rules that erase are left to it, too."""
    if not _here(tokens.v) or tokens.β is not None:
        return levelled(tokens, λ)
    enough_levels(tokens, λ)
    return _run(compiled, tokens, λ)


def _here(v: torch.Tensor) -> bool:
    """Whether v is numbers that C reads."""
    if torch._C._are_functorch_transforms_active():  # a tensor is then no memory
        return False
    return v.dtype in _REAL and v.numel() > 0 and _place(v).type == "cpu"


def _place(x: torch.Tensor) -> torch.device:
    """Where its numbers are; those of a fake tensor are nowhere: on meta."""
    return x.untyped_storage().device


def _run(compiled: Compiled, tokens: Tokens, λ: torch.Tensor | None) -> torch.Tensor:
    """The outputs of the rule in C, computed in the widest type of its parts."""
    _refuse_misfits(tokens, λ)
    parts = alike(None if part is None else widened(part) for part in (*tokens, λ))
    y: torch.Tensor = _Rule.apply(compiled[_REAL[parts[2].dtype]], *parts)  # type: ignore[no-untyped-call, union-attr]
    return y.to(tokens.v.dtype)


def _refuse_misfits(tokens: Tokens, λ: torch.Tensor | None) -> None:
    """Raises if a part is elsewhere or smaller than q and v tell: C would read what lies beyond it."""
    q, k, v, β, g, e, r = tokens
    n, d_k, device = v.shape[-2], q.shape[-1], _place(v)
    if (e is None) != (r is None) or (e is not None and (g is None or β is not None or λ is not None)):
        raise ValueError("e and r go together, with one gate a row, and without β or levels")
    for name, part, sizes in (
        ("q", q, (d_k,)),
        ("k", k, (d_k,)),
        ("β", β, (1,)),
        ("g", g, (1, d_k) if λ is None and e is None else (1,) if e is None else (d_k,)),
        ("e", e, (d_k,)),
        ("r", r, (d_k,)),
        ("λ", λ, None),
    ):
        if part is None:
            continue
        *_, tokens_of, size = part.shape
        if tokens_of != n or (sizes and size not in sizes) or _place(part) != device:
            wanted = f"({n}, {' or '.join(map(str, sizes or ('levels',)))})"
            raise ValueError(f"{name} is {(tokens_of, size)} on {_place(part)}, not {wanted} on {device}")


class _Rule(torch.autograd.Function):
    """(library, q, k, v, β, g, e, r, λ) -> y, each of (*batch, n, ·); all but v may serve several heads."""

    @staticmethod
    def forward(ctx: Any, library: ctypes.CDLL, *given: torch.Tensor | None) -> torch.Tensor:
        parts = [None if x is None else _in_rows(x) for x in given]
        q, _, v, β, g, e, _, _ = parts
        assert q is not None and v is not None
        parts[4] = None if g is None else g.exp()
        y = torch.empty_like(v)
        kept, u = None, None
        if any(ctx.needs_input_grad):
            whole_vectors = partial(_padded, library.vector_bytes())
            rows, columns = whole_vectors(q), v.shape[-1] if _by_rows(parts) else whole_vectors(v)
            stretches = -(-v.shape[-2] // (_STRIDE if _by_rows(parts) else _chunk(parts)))
            whole = rows == q.shape[-1] and columns == v.shape[-1]  # else zeros fill up vectors
            kept = (v.new_empty if whole else v.new_zeros)((*v.shape[:-2], stretches, rows, columns))
            u = None if β is None and e is None else v.new_empty(v.shape)
        _call(library, "forward", parts, y, kept, u, [])
        ctx.library = library
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
            if added or x.shape[:-2] != batch or x is parts[-1]
            else torch.empty_like(x)
            for x in parts
        ]
        _call(ctx.library, "backward", parts, _in_rows(dy), kept, u, gradients)
        if added:  # the loop over tokens gives the derivative by α = exp(g)
            gradients[4] = gradients[4] * parts[4]
        return None, *gradients


def _by_rows(parts: list[torch.Tensor | None]) -> bool:
    """Whether each row fades by a gate of its own."""
    return parts[4] is not None and (parts[4].shape[-1] > 1 or parts[5] is not None)


def _chunk(parts: list[torch.Tensor | None]) -> int:
    """How many tokens C takes together: no more than a short text fills."""
    q, v = parts[0], parts[2]
    assert q is not None and v is not None
    n, large = v.shape[-2], q.shape[-1] * v.shape[-1] >= _LARGE
    return 8 if n <= 8 else 32 if large and n > 16 else 16


def _in_rows(x: torch.Tensor) -> torch.Tensor:
    """The numbers of a token side by side and its own; what is the same along an axis, is not copied."""
    x = x.resolve_neg()  # its sign may be a flag that C does not see
    steps = zip(x.shape[:-1], x.stride()[:-1], strict=True)
    own = all(stride == 0 or stride >= x.shape[-1] for size, stride in steps if size > 1)
    if x.stride(-1) == 1 and own:  # else the like of it may have others: those of windows lie over each other
        return x
    once = tuple(slice(1) if stride == 0 else slice(None) for stride in x.stride()[:-1])
    return x[once].contiguous().expand(x.shape)


def _padded(vector: int, x: torch.Tensor) -> int:
    """The last size rounded up to whole vectors of so many bytes."""
    lanes = vector // x.element_size()
    return -(-x.shape[-1] // lanes) * lanes


def _call(
    library: ctypes.CDLL,
    name: str,
    parts: list[torch.Tensor | None],
    y: torch.Tensor,
    kept: torch.Tensor | None,
    u: torch.Tensor | None,
    gradients: list[torch.Tensor | None],
) -> None:
    """Runs one function of the library: that of the rule, or with levels."""
    q, _, v, _, a, _, _, λ = parts
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
        _chunk(parts),
        *map(part, (*parts, y)),
        *(None if x is None else x.data_ptr() for x in (kept, u)),
        *map(part, gradients),
    )
    if library[f"{'rule' if λ is None else 'levels'}_{name}"](ctypes.byref(sequence)):
        raise MemoryError


@lru_cache(maxsize=64)
def _firsts(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """Where each sequence of the batch begins, in numbers from the first one's beginning."""
    at = torch.zeros(1, dtype=torch.int64, device="cpu")  # whatever the default is: C reads it
    for size, stride in zip(sizes, strides, strict=True):
        at = (at[:, None] + stride * torch.arange(size, device="cpu")).reshape(-1)
    return at
