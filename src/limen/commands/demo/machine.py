"""Run your own Turing machine in a model, one token per step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import PathLike, Precision
from limen.constructions.turing_by_recurrence import TuringByRecurrence
from limen.core.arrays import np
from limen.core.option import Argument, Option
from limen.core.report import Report
from limen.core.tensors import torch
from limen.core.turing_machine import BLANK, Halted, TuringMachine
from limen.errors import BadInput
from limen.files.folder import content_of
from limen.model.model import Model
from limen.model.run import runnable
from limen.tasks.turing import Turing

_DIGITS = 12  # of words that are all run
_STEPS = 4096  # of a machine


class Timed(msgspec.Struct, frozen=True):
    """The most steps and cells that the machine takes on words of so many digits."""

    digits: int
    time: int
    space: int


class MachineReport(Report, frozen=True, kw_only=True, tag="limen/machine/1"):
    """The machine's running time, and how often the weights ended on another symbol than the machine."""

    machine: str
    states: int
    digits: int
    precision: str
    times: tuple[Timed, ...]
    architecture: str
    width: int
    steps: int
    tried: int
    wrong: int
    margin: float | None  # argued, of every written token

    @property
    def headline(self) -> str:
        return f"{self.machine}: {self.tried:,} words of {self.digits} digits, {self.wrong} wrong"

    @property
    def right(self) -> bool:
        return self.wrong == 0

    @property
    def exit_code(self) -> int:
        return 0 if self.right else 1


@dataclass(frozen=True)
class Simulated(TuringByRecurrence):
    """The construction `turing_by_recurrence` with another table; time and space are those that were seen."""

    _: KW_ONLY
    of: TuringMachine
    seen: Timed

    @property
    def machine(self) -> TuringMachine:
        return self.of

    @property
    def steps(self) -> int:
        return self.seen.time

    @property
    def P(self) -> int:
        return max(1, (self.seen.space - 1).bit_length())


@command(
    example="limen demo machine examples/parity.tm --digits 6",
    answers=(Shown("limen.commands.demo.machine:MachineReport", "limen.render.demo.machine:lines_of"),),
)
def machine(
    table: Annotated[
        PathLike,
        Argument(
            "A file with lines such as: start _ -> carry _ left. The symbols are 0, 1 and _.", local=True
        ),
    ],
    digits: Annotated[int, Option("Length of the words. All words of this length are run.", least=2)] = 6,
    precision: Precision = "float32",
) -> MachineReport:
    """The model has a recurrence beside one softmax layer. The machine starts on the blank after the word,
    and its answer is the symbol under the head when it halts. The output lists the running time by length.
    The exit code is 1 if the model ends on a different symbol than the machine.
    """
    return simulate(Path(table), digits, precision)


def simulate(path: Path, digits: int, precision: str) -> MachineReport:
    """The running time of the machine, and what the weights did on every word of so many digits."""
    if not 2 <= digits <= _DIGITS:
        raise BadInput(f"all words are run, so --digits must be 2 to {_DIGITS}, got {digits}")
    machine, rounding = TuringMachine.parse(_text(path), str(path)), runnable(precision)
    times = tuple(timed(machine, n) for n in range(1, digits + 1))
    built = Simulated(Turing(digits), of=machine, seen=times[-1])
    model = Model.of(built).to(rounding)
    ends = list(_ended(machine, digits))
    tokens = torch.tensor([(BLANK, *word) for word, _ in ends])
    with torch.no_grad():
        text = torch.cat([tokens, model.decode(tokens, built.steps)], -1)
        written = model.logits(text)[:, -1].argmax(-1) & 3  # the symbol, as the last token would write it
    right = np.array([halted.symbol for _, halted in ends])
    return MachineReport(
        machine=str(path),
        states=len(machine.states),
        digits=digits,
        precision=str(rounding),
        times=times,
        architecture=str(model.frame.architecture),
        width=model.frame.width,
        steps=built.steps,
        tried=len(ends),
        wrong=int((written.numpy() != right).sum()),
        margin=built.margin(rounding),
    )


def timed(machine: TuringMachine, digits: int) -> Timed:
    """The most of all words of this length."""
    halted = [end for _, end in _ended(machine, digits)]
    return Timed(digits, max(h.time for h in halted), max(h.space for h in halted))


def _ended(machine: TuringMachine, digits: int) -> Iterator[tuple[tuple[int, ...], Halted]]:
    for word in product((0, 1), repeat=digits):
        end = machine.run(word, _STEPS)
        if end is None:
            text = "".join(map(str, word))
            raise BadInput(f"the machine did not halt on {text} within {_STEPS} steps")
        yield word, end


def _text(path: Path) -> str:
    try:
        return content_of(path).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a text file: {error}") from error
