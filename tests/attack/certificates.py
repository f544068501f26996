"""Certificates of every kind that hold, with one or two fields changed; what is accepted is found again."""

import json
import random
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from fixtures.certificates import certificates
from fixtures.certified import certified
from fixtures.drawn_bounds import drawn, spelled
from fixtures.kernel_damage import exhaustive_margin
from fixtures.one_layer_models import all_inputs, margins
from inequalities import stated

import limen_check
from attack.damage import changed
from attack.watch import Attack, Untrue
from limen.commands.check import Stopped, checked
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, encode
from limen.core.construction import Construction, construct
from limen.core.task import Task
from limen.decisions.by_counting import relu_rnn_by_counting
from limen.decisions.placement import Offer, evidence, files_of, solves
from limen.errors import BadInput
from limen.model.files import HEADER, WEIGHTS, model_files
from limen.model.model import Model
from limen.theorems import Case

Fields = dict[str, Any]
Files = tuple[bytes, bytes] | None
_FOLDER = tempfile.TemporaryDirectory(prefix="limen-attack-")
_CLOSE = Fraction(1, 50)  # of a ceiling: the kernel's is a little lower than the producer's


class Valid(NamedTuple):
    """A certificate that holds, its model's files, and another way to find what it says of other fields."""

    fields: Fields
    files: Files
    again: Callable[[Fields], bool]


@cache
def corpus() -> list[Valid]:
    found = [Valid(c, None, _bound) for c in _bounds()]
    found.append(Valid(_machine(), None, _found_machine))
    for task, by in (
        ("eva(n=4)", None),
        ("retrieval(n=2,D=2,V=2)", None),
        ("equality(n=3)", None),
        ("two_sum(n=3,M=4)", None),
    ):
        found += _about(construct(Task.parse(task), by))
    for stack, form in (
        ("softmax(h=1,d=2)|linear(h=1,d=3)", "affine"),
        ("gated_linear(h=3,d=3,d_k=1)", "affine"),
    ):
        fields, model = certified(stack, form)
        found.append(Valid(dict(fields), _files(model), _least(fields, model)))
    return found


def _bounds() -> list[Fields]:
    held = (said for _, said in drawn(16) if said.excludes)
    return [spelled(said) for said in islice(held, 240)]


def _machine() -> Fields:
    fields = {"schema": "limen/certificate/2", "kind": "machine", "task": "equality(n=8)", "bits": 24}
    return fields | {"architecture": "relu_rnn(state_bits=24)"}


def _about(c: Construction) -> list[Valid]:
    """That it solves its task, and that another architecture holds it."""
    offer = Offer(c, False, "bfloat16")
    proof, files = solves(offer), files_of(offer)
    more = "linear(h=2,d=9),log_linear(h=1,d=1,levels=9)"
    fits = evidence(offer, Architecture.parse(f"{more},{c.frame().architecture.sized}"))
    said = [encode(proof)] if not isinstance(proof, str) else []
    said += [fits.content] if not isinstance(fits, str) else []
    return [Valid(json.loads(content), files, _margin(c)) for content in said]


def _files(model: Model) -> tuple[bytes, bytes]:
    (_, header), (_, packed) = model_files(model)
    return header, packed


def _bound(c: Fields) -> bool:
    """The second version of the theorem at the certificate's sizes."""
    case = Case(
        Task.parse(c["task"]), Architecture.parse(c["architecture"]), c["steps"], c["route"], dict(c["sizes"])
    )
    said = stated(c["theorem"], case)
    if not isinstance(said, Bound):
        raise Untrue("the producer says nothing there")
    if c["ceiling"] is not None:
        return said.ceiling is not None and Fraction(c["ceiling"]) >= Fraction(said.ceiling) - _CLOSE
    if said.sides is None or c.get("unit", "bits") != said.sides.unit:
        return False
    needs, has = (c[f"{side}_bits" if said.sides.unit == "bits" else side] for side in ("needs", "has"))
    finer = needs - said.sides[0]  # the kernel counts some rows that the producer rounds down
    return said.sides[1] <= has < needs and finer <= max(1, said.sides[0] >> 6)


def _found_machine(c: Fields) -> bool:
    said = relu_rnn_by_counting(Task.parse(c["task"]), Architecture.parse(c["architecture"]))
    return not isinstance(said, str) and said.bits <= c["bits"]


def _margin(of: Construction) -> Callable[[Fields], bool]:
    """Every input is run."""
    seen = cache(lambda precision: exhaustive_margin(of, precision, {}))

    def again(c: Fields) -> bool:
        return Task.parse(c["task"]) == of.task and Fraction(c["margin"]) <= Fraction(seen(c["precision"]))

    return again


def _least(fields: Fields, model: Model) -> Callable[[Fields], bool]:
    task = Task.parse(fields["task"])
    least = margins(model, task, all_inputs(task)).min()
    return lambda c: Task.parse(c["task"]) == task and float(Fraction(c["margin"])) <= least


def make(rng: random.Random) -> tuple[bytes, Files, Callable[[Fields], bool]]:
    kind = rng.choice(sorted({valid.fields["kind"] for valid in corpus()}))  # most of the corpus are bounds
    fields, files, again = rng.choice([valid for valid in corpus() if valid.fields["kind"] == kind])
    for _ in range(rng.choice([1, 1, 1, 2])):
        fields = changed(fields, rng)
    return json.dumps(fields).encode(), files, again


def judge(given: tuple[bytes, Files, Callable[[Fields], bool]]) -> bool:
    content, files, again = given
    found = limen_check.derive(content, files)
    if not found.valid:
        raise BadInput(found.says)
    if not found.says.isprintable():
        raise Untrue("a line that is not printable")
    if not again(json.loads(content)):
        raise Untrue(found.says)
    return True


def make_run(rng: random.Random) -> tuple[bytes, tuple[bytes, bytes]]:
    certificate, model = certificates()[rng.choice(["run", "wrong_answer", "collision", "transcript"])]
    assert model is not None
    return json.dumps(changed(json.loads(encode(certificate)), rng)).encode(), _files(model)


def judge_run(given: tuple[bytes, tuple[bytes, bytes]]) -> bool:
    """As `limen check` does it, but for its boundary: what is raised is seen here."""
    content, files = given
    folder = Path(_FOLDER.name)
    for name, part in zip(("c.json", HEADER, WEIGHTS), (content, *files), strict=True):
        (folder / name).write_bytes(part)
    found = seen_through(checked, folder / "c.json", folder)
    if not found.valid:
        raise BadInput(found.reason)
    return False


def seen_through(check: Callable[..., Any], *arguments: Any) -> Any:
    """What a boundary has made one line of is raised as what it was."""
    try:
        return check(*arguments)
    except BadInput as error:
        stopped = error if isinstance(error, Stopped) else error.__cause__
        if isinstance(stopped, Stopped | limen_check.Stopped):
            raise stopped.__cause__ or AssertionError from None
        raise


ATTACK = Attack("certificates", 300, make, judge)
RUNS = Attack("run certificates", 20, make_run, judge_run)
