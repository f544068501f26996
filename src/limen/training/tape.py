r"""A function of tensors recorded once, as the list of its operations, and run again without any detours.

    s_1 = op_1(x, …),   s_2 = op_2(s_1, x, …),   …,   y = s_k

A training step does the same operations on tensors of the same sizes every time, those of the backward pass
included.  Of a small step most of the time goes into finding out which these are: by Python, `vmap` and
autograd.  On the tape, what depends on no input is computed once, what nobody reads is left out, and a view
of a view is one view.

What decides by the numbers in a tensor which operations follow cannot be recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from limen.core.noted import listening

_BY_NUMBERS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class NotRecordable(Exception):
    """Which operations follow depends on numbers, or memory that others hold is written to."""


class _Operation(NamedTuple):
    """run(values at these places) -> a value, or several of them; `writes`: the memories that it changes."""

    run: Callable[..., Any]
    arguments: list[int]
    result: int | None
    several: list[tuple[int, int]]  # the number among several values, and its place
    writes: set[int]

    @property
    def results(self) -> list[int]:
        alone = [] if self.result is None else [self.result]
        return [*alone, *(place for _, place in self.several)]


class _Step(NamedTuple):
    """An operation as it is run; `last`: the values that nobody needs after it."""

    run: Callable[..., Any]
    arguments: Callable[[list[Any]], Sequence[Any]]
    result: int | None
    several: list[tuple[int, int]]  # which of several, and its place
    last: list[int]


class Taped:
    """A function of tensors, fixed ones and others within tuples and dicts, that runs by its tapes.

    What is fixed is read where it lies, with the numbers that it has then.  There is a tape for all inputs of
    the same sizes; the second call must give the same bits with and without it.  What cannot be recorded is
    called each time.
    """

    def __init__(self, f: Callable[..., Any], fixed: Sequence[torch.Tensor]) -> None:
        self.f, self.fixed = f, fixed
        self.tapes: dict[Any, _Tape | None] = {}  # None: it cannot be recorded

    def __call__(self, *inputs: Any) -> Any:
        leaves, shape = tree_flatten(inputs)
        given = [x for x in leaves if isinstance(x, torch.Tensor)]
        key = shape, *((x.shape, x.dtype) if isinstance(x, torch.Tensor) else x for x in leaves)
        if key not in self.tapes:
            self.tapes[key] = self._recorded(leaves, shape, given)
        elif (tape := self.tapes[key]) is not None:
            outputs = tape.run(given)
            if tape.tried:
                return tree_unflatten(outputs, tape.shape)
            direct = tree_flatten(self.f(*self.fixed, *inputs))[0]
            tape.tried = all(map(torch.equal, outputs, direct))
            if not tape.tried:
                self.tapes[key] = None
            return tree_unflatten(direct, tape.shape)
        return self.f(*self.fixed, *inputs)

    def _recorded(self, leaves: list[Any], shape: Any, given: list[torch.Tensor]) -> _Tape | None:
        def flat(*tensors: torch.Tensor) -> tuple[list[torch.Tensor], Any]:
            own = iter(tensors[len(self.fixed) :])
            inputs = [next(own) if isinstance(x, torch.Tensor) else x for x in leaves]
            return tree_flatten(self.f(*self.fixed, *tree_unflatten(inputs, shape)))

        try:
            return _Tape(flat, self.fixed, given)
        except NotRecordable:
            return None


class _Tape:
    """The operations of f(*fixed, *inputs), which gives tensors and how they are nested."""

    def __init__(
        self,
        f: Callable[..., tuple[list[torch.Tensor], Any]],
        fixed: Sequence[torch.Tensor],
        inputs: Sequence[torch.Tensor],
    ) -> None:
        self.tried = False  # on other numbers
        self.inputs = [x.clone() for x in inputs]
        recorder = _Recorder([*fixed, *self.inputs])
        with listening(recorder.note), recorder:
            outputs, self.shape = f(*fixed, *self.inputs)
        self.outputs = [recorder.place(y) for y in outputs]
        self.values, self.steps = recorder.tape(self.outputs)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """f(*fixed, *inputs)."""
        values = list(self.values)
        with torch.no_grad():
            for own, x in zip(self.inputs, inputs, strict=True):
                own.copy_(x)
            for run, arguments, result, several, last in self.steps:
                y = run(*arguments(values))
                if result is not None:
                    values[result] = y
                for i, place in several:
                    values[place] = y[i]
                for place in last:
                    values[place] = None
        return [values[place] for place in self.outputs]


class _Recorder(TorchDispatchMode):
    """Notes every operation below autograd and `vmap`; tensors are known by the memory that they show."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values: list[Any] = []  # tensors as they were, and all other arguments
        self.memories: list[int | None] = []  # of each value; None: no tensor
        self.places: dict[tuple[Any, ...], int] = {}  # of each tensor
        self.bases: dict[int, int] = {}  # memory -> the place of the tensor that it came with
        self.operations: list[_Operation] = []
        self.inputs = {self.memories[self._new(x)] for x in inputs}
        self.others: set[int | None] = set()  # memories that were there before

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and to keep torch's compiler out torch would load it: a second or two."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _BY_NUMBERS & {*func.tags} and not _at_numbers(func, args):
            raise NotRecordable(str(func))
        named = kwargs or {}
        y = func(*args, **named)
        given = {one.name: x for one, x in zip(func._schema.arguments, args, strict=False)} | named
        written = [given[name] for name in _written(func) if name in given]
        several = list(enumerate(y)) if isinstance(y, tuple | list) else []
        fresh = [(i, x) for i, x in several if self._is_new(x)]
        if fresh or written or self._is_new(y):
            run = partial(_named, func._op, tuple(named)) if named else func._op
            self._add(run, [*args, *named.values()], written, y if self._is_new(y) else None, fresh)
        return y

    def note(
        self, work: Callable[..., None], arguments: tuple[Any, ...], written: Sequence[torch.Tensor | None]
    ) -> None:
        """Work in C: no result but what it writes."""
        self._add(work, arguments, written, None, [])

    def place(self, x: Any) -> int:
        """Where a value stands; a tensor on known memory may be a view that is still to be made."""
        if not isinstance(x, torch.Tensor):
            return self._value(x, None)
        key = _key(x)
        if key in self.places:
            return self.places[key]
        if (memory := _memory(x)) not in self.bases:
            self.others.add(memory)
            return self._new(x)
        base = self.bases[memory]
        if x.dtype != self.values[base].dtype or x.is_conj() or x.is_neg():
            raise NotRecordable(f"{x.dtype} seen as another type")
        made = self._value(x, memory)
        shown = partial(torch.as_strided, size=x.shape, stride=x.stride(), storage_offset=x.storage_offset())
        self.operations.append(_Operation(shown, [base], made, [], set()))
        self.places[key] = made
        return made

    def _new(self, x: torch.Tensor) -> int:
        """The place of a tensor that came with memory of its own."""
        memory = _memory(x)
        self.places[_key(x)] = self.bases[memory] = place = self._value(x, memory)
        return place

    def _value(self, x: Any, memory: int | None) -> int:
        self.values.append(x)
        self.memories.append(memory)
        return len(self.values) - 1

    def _is_new(self, y: Any) -> bool:
        return isinstance(y, torch.Tensor) and _memory(y) not in self.bases

    def _add(
        self,
        run: Callable[..., Any],
        args: Sequence[Any],
        written: Sequence[torch.Tensor | None],
        result: torch.Tensor | None,
        several: Sequence[tuple[int, torch.Tensor]],
    ) -> None:
        """Notes an operation; lists of tensors among its arguments are put together again when it is run."""
        sizes = [len(x) if _has_tensors(x) else None for x in args]
        flat = [one for x, size in zip(args, sizes, strict=True) for one in ([x] if size is None else x)]
        if any(size is not None for size in sizes):
            run = partial(_grouped, run, sizes)
        places = [self.place(x) for x in flat]
        writes = {_memory(x) for x in written if x is not None}
        made = None if result is None else self._new(result)
        more = [(i, self._new(x)) for i, x in several]
        self.operations.append(_Operation(run, places, made, more, writes))

    def tape(self, outputs: list[int]) -> tuple[list[Any], list[_Step]]:
        """The values that stay, and the operations that are left to be run."""
        written = {memory for operation in self.operations for memory in operation.writes}
        if written & (self.inputs | self.others):
            raise NotRecordable("memory of others is written to")
        constant, left = {None, *self.others}, list[_Operation]()
        for operation in self.operations:
            read = {self.memories[place] for place in operation.arguments}
            made = {self.memories[place] for place in operation.results}
            if made and made <= read:  # a view
                if not made <= self.inputs | constant:
                    left.append(operation)
            elif made and read <= constant and not (made | operation.writes) & written:
                constant |= made
            else:
                left.append(operation)
        stays = self.inputs | constant
        values = [
            x if memory in stays else None for x, memory in zip(self.values, self.memories, strict=True)
        ]
        return values, self._ended(
            self._needed(left, outputs), {i for i, x in enumerate(values) if x is not None} | {*outputs}
        )

    def _needed(self, operations: list[_Operation], outputs: list[int]) -> list[_Operation]:
        """The operations without those whose results and writes nobody reads."""
        places, memories, kept = {*outputs}, {self.memories[place] for place in outputs}, list[_Operation]()
        for operation in reversed(operations):
            if places & {*operation.results} or memories & operation.writes:
                places |= {*operation.arguments}
                memories |= {self.memories[place] for place in operation.arguments}
                kept.append(operation)
        return kept[::-1]

    def _ended(self, operations: list[_Operation], stays: set[int]) -> list[_Step]:
        """The operations, each with the values that it is the last to need."""
        later, steps = set(stays), list[_Step]()
        for one in reversed(operations):
            last = {*one.arguments, *one.results} - later
            later |= last
            steps.append(_Step(one.run, _getter(one.arguments), one.result, one.several, sorted(last)))
        return steps[::-1]


def _written(func: Any) -> list[str]:
    """The arguments into whose memory an operation writes."""
    return [
        one.name for one in func._schema.arguments if one.alias_info is not None and one.alias_info.is_write
    ]


def _named(run: Callable[..., Any], names: tuple[str, ...], *values: Any) -> Any:
    """run on values of which the last have names."""
    plain = len(values) - len(names)
    return run(*values[:plain], **dict(zip(names, values[plain:], strict=True)))


def _at_numbers(func: Any, args: Any) -> bool:
    """Whether it reads a tensor at given places: only a mask makes the size of that depend on numbers."""
    return func is torch.ops.aten.index.Tensor and all(x is None or x.dtype != torch.bool for x in args[1])


def _memory(x: torch.Tensor) -> int:
    return int(x.untyped_storage()._cdata)


def _key(x: torch.Tensor) -> tuple[Any, ...]:
    return _memory(x), x.dtype, x.shape, x.stride(), x.storage_offset()


def _has_tensors(x: Any) -> bool:
    return isinstance(x, tuple | list) and any(isinstance(one, torch.Tensor) for one in x)


def _getter(places: list[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """The values at these places."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]


def _grouped(run: Callable[..., Any], sizes: Sequence[int | None], *values: Any) -> Any:
    """run on values of which some in a row, as many as the sizes say, are one list."""
    given = iter(values)
    return run(*(next(given) if size is None else [next(given) for _ in range(size)] for size in sizes))
