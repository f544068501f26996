"""Check a certificate, a folder of them, or a Coq proof."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from limen.commands._command import Shown, command
from limen.commands._words import PathLike
from limen.core.certificate import (
    AccuracyReached,
    Bound,
    Collision,
    CorrectEverywhere,
    ExactBound,
    ExactCeiling,
    Machine,
    Proof,
    Run,
    SameAnswer,
    Solves,
    StateCollision,
    TableBound,
    Transcript,
    Tried,
    WrongAnswer,
    decode,
)
from limen.core.fooled_input import FooledInput
from limen.core.kernel import MOST_JSON, MOST_WEIGHTS, OTHERS, Files, told
from limen.core.kernel import check as kernel
from limen.core.option import Argument, Option
from limen.core.quantities import thought
from limen.core.report import Report
from limen.core.task import Task
from limen.errors import BadInput
from limen.files.folder import content_of
from limen.files.missing import advice
from limen.files.paths import is_file, is_folder
from limen.files.strict_json import read_object
from limen.model.files import HEADER, WEIGHTS, digest_of, model_of
from limen.model.model import Model
from limen.model.opening import CONFIG, opened, own_precision
from limen.witness.collision import check_collision, check_state_collision
from limen.witness.run import check_run, same_digest
from limen.witness.transcript import check_transcript
from limen.witness.wrong_answer import Recheck, check_same_answer, check_wrong_answer

if TYPE_CHECKING:
    CertificateLike = PathLike | Mapping[str, Any]
else:
    CertificateLike = PathLike


class CheckReport(Report, frozen=True, kw_only=True, tag="limen/check/1"):
    """Whether a certificate holds and why; robust: on every input, not on some that were drawn.

    Of a folder's files one that is no certificate has no `valid`, and its kind is malformed.
    """

    file: str | UnsetType = UNSET  # of a folder
    valid: bool | None
    robust: bool | None
    kind: str
    reason: str
    rules: tuple[str, ...] | UnsetType = UNSET  # with -v: that the kernel's derivation entered
    files: dict[str, int] | UnsetType = UNSET  # with -v: of the kernel, that it rests on, and their lines
    seen: FooledInput | UnsetType = UNSET  # with -v: of a wrong answer, the input and what matters in it

    @property
    def word(self) -> str:
        """How it ended."""
        return "NOT checked" if self.kind == _STOPPED else _WORDS[self.valid]

    @property
    def headline(self) -> str:
        return f"{self.kind}: {self.word}. {self.reason}"

    @property
    def exit_code(self) -> int:
        return 0 if self.valid else 1

    @property
    def behind(self) -> list[str]:
        """The rules, files and lines that the answer rests on, where it was asked for them."""
        return [] if self.rules is UNSET or self.files is UNSET else told(self.rules, self.files)


class FolderReport(Report, frozen=True, kw_only=True, tag="limen/check/1"):
    """Every certificate below a folder; of each other file of limen's that is skipped, why."""

    valid: bool
    certificates: tuple[CheckReport, ...]
    skipped: dict[str, str]

    @property
    def headline(self) -> str:
        counts = Counter(one.word for one in self.certificates)
        counts |= Counter(skipped=len(self.skipped))
        return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)

    @property
    def malformed(self) -> bool:
        """Whether one of them is no certificate, or made the check stop."""
        return any(one.valid is None for one in self.certificates)

    @property
    def exit_code(self) -> int:
        return 2 if self.malformed else 0 if self.valid else 1


@command(
    example="limen check weights/certificate.json",
    answers=(
        Shown(
            "limen.commands.check:CheckReport",
            "limen.render.check:lines_of",
            html="limen.render.notebook:checked",
            page="limen.render.check:page_of",
        ),
        Shown("limen.commands.check:FolderReport", "limen.render.check:folder_lines"),
    ),
)
def check(
    certificate: Annotated[
        CertificateLike,
        Argument("A certificate (JSON), a folder of certificates, or a Coq proof (*.v).", itself=True),
    ],
    model: Annotated[
        str | Path | None,
        Option("The model: a folder, or file.py:factory. Default: the certificate's folder.", local=True),
    ] = None,
    verbose: Annotated[
        bool,
        Option("Name the kernel's rules, files and lines behind each answer; draw a wrong one.", short="-v"),
    ] = False,
) -> CheckReport | FolderReport:
    """If the certificate is about a run, the task and the model are run again. The exit code is 1 if it does
    not hold.
    """
    if isinstance(certificate, Mapping):
        return _sent(certificate, verbose)
    path = Path(certificate)
    if not is_folder(path):
        return checked(path, model, verbose)
    if model is not None:
        raise BadInput(
            "--model works with one certificate; certificates in a folder use the models stored beside them"
        )
    return all_checked(path, verbose)


CERTIFICATE = "certificate.json"  # beside the model's files


class Stopped(BadInput):
    """A file made the check raise something else: nothing is known of it."""


_WORDS = {True: "valid", False: "NOT valid", None: "NOT a certificate"}
_STOPPED = "stopped"


def checked(certificate: Path | str, model: Path | str | None = None, verbose: bool = False) -> CheckReport:
    """Whether the certificate holds, for that model if it is about one, and why.

    The model is a folder of limen's or of transformers', or `file.py:factory`, which a person has named; the
    folder of the certificate unless another is.  If `verbose`, with the rules, files and lines of the kernel
    that the answer rests on.
    """
    path = Path(certificate)
    if not is_file(path):
        raise BadInput(f"there is no certificate at {path}")
    with _in_one_line(path):
        return _checked(path, model, verbose)


@contextmanager
def _in_one_line(path: Path) -> Iterator[None]:
    """Whatever else a file makes the check raise is said of it; what is missing here is not its fault."""
    try:
        yield
    except (BadInput, ImportError):
        raise
    except Exception as error:
        raise Stopped(
            f"{path}: the check stopped: {type(error).__name__}; this says nothing about the claim"
        ) from error


def _content(path: Path, most: int = MOST_JSON) -> bytes:
    """The bytes of a plain file, if the kernel reads as many: a pipe may never end."""
    if not is_file(path):
        raise BadInput(f"{path} is not a plain file")
    if (size := path.stat().st_size) > most:
        raise BadInput(f"{path}: the file has {size} bytes; at most {most} are read")
    return content_of(path)


def _sent(sent: Mapping[str, Any], verbose: bool) -> CheckReport:
    """A certificate that is handed in, alone or with the files of its model: the kernel alone derives it."""
    files = None
    if CERTIFICATE in sent:
        content, files = _unpacked(sent)
    else:
        content = msgspec.json.encode(sent)
    if len(content) > MOST_JSON:
        raise BadInput(f"the certificate has {len(content)} bytes; at most {MOST_JSON} are read")
    decoded = decode(content)
    if files is not None and isinstance(decoded, Solves | CorrectEverywhere):
        same_digest(decoded.weights, digest_of(*files))
    elif files is not None and isinstance(decoded, Tried):
        return _run(decoded, model_of(*files), None, verbose)
    elif not isinstance(decoded, Bound | ExactBound | ExactCeiling | TableBound | Machine):
        kind = _kind(decoded)
        raise BadInput(f"a certificate of the kind {kind} is about a model: run limen check beside its files")
    return _derived(decoded, content, files, verbose)


def _unpacked(sent: Mapping[str, Any]) -> tuple[bytes, Files]:
    """The bytes of three files, which are sent by their names in base64."""
    names = CERTIFICATE, HEADER, WEIGHTS
    if set(sent) != set(names):
        raise BadInput(f"a certificate is sent with {HEADER} and {WEIGHTS}, or alone")
    try:
        certificate, *files = (base64.b64decode(sent[name], validate=True) for name in names)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{', '.join(names)} are sent in base64") from error
    if len(files[0]) > MOST_JSON or len(files[1]) > MOST_WEIGHTS:
        raise BadInput(f"at most {MOST_JSON} bytes of {HEADER} and {MOST_WEIGHTS} of {WEIGHTS} are read")
    return certificate, (files[0], files[1])


def _kind(certificate: object) -> str:
    return str(type(certificate).__struct_config__.tag)  # type: ignore[attr-defined]


def _derived(certificate: object, content: bytes, files: Files | None, verbose: bool) -> CheckReport:
    """What the kernel says."""
    answer = kernel(content, files, verbose)
    return CheckReport(
        valid=answer.valid,
        robust=answer.valid,
        kind=_kind(certificate),
        reason=answer.says,
        rules=answer.rules if verbose else UNSET,
        files=answer.files if verbose else UNSET,
    )


def _checked(path: Path, model: Path | str | None, verbose: bool) -> CheckReport:
    if path.suffix == ".v":
        return _proof_checked(path)
    content = _content(path)
    certificate = decode(content)
    if isinstance(certificate, Proof):
        files = None
        if isinstance(certificate, Solves | CorrectEverywhere):
            files = _files(path.parent if model is None else Path(model))
            if files is not None:
                same_digest(certificate.weights, digest_of(*files))
        return _derived(certificate, content, files, verbose)
    folder = path.parent if model is None else Path(model)
    opened_model = _beside(path) if model is None else opened(str(model))
    return _run(certificate, opened_model, folder, verbose)


def _run(certificate: Tried, model: object, folder: Path | None, verbose: bool) -> CheckReport:
    """What a run of the model says; of a wrong answer that it gives again, also what is drawn of it."""
    again = _run_again(certificate, model, folder)
    seen: FooledInput | UnsetType = UNSET
    if verbose and again.reason is None and isinstance(certificate, WrongAnswer) and not certificate.steps:
        seen = _seen(certificate, model)
    return CheckReport(
        valid=again.reason is None,
        robust=again.robust,
        kind=_kind(certificate),
        reason=again.reason or again.summary,
        seen=seen,
    )


def _seen(wrong: WrongAnswer, model: object) -> FooledInput:
    from limen.adversary.schedule import seen
    from limen.model.run import runnable
    from limen.model.target import Target

    precision = runnable(wrong.precision) if isinstance(model, Model) else None
    return seen(Target(Task.parse(wrong.task), model, precision), wrong)


def _beside(path: Path) -> object:
    """The model in the folder of the certificate.  A certificate cannot name one: it would be opened."""
    folder = path.parent
    if not any(is_file(folder / name) for name in (HEADER, CONFIG)):
        raise BadInput(f"{path} is about a model that is not in its folder: name the model with --model")
    return opened(str(folder))


def _files(folder: Path) -> tuple[bytes, bytes] | None:
    """The two files of a model, for the kernel; None where there is no model."""
    header, weights = folder / HEADER, folder / WEIGHTS
    there = is_file(header) and is_file(weights)
    return (_content(header), _content(weights, MOST_WEIGHTS)) if there else None


def all_checked(folder: Path | str, verbose: bool = False) -> FolderReport:
    """Every certificate below a folder, each with the model beside it; what is none is said and counted.

    What a file is stands in it: a false certificate may be named model.json.
    """
    reports, skipped, folder = list[CheckReport](), dict[str, str](), Path(folder)
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".json", ".v")):
        name = str(path.relative_to(folder))
        try:
            if (other := _other(path)) is not None:
                skipped[name] = other
            else:
                reports.append(replace(checked(path, verbose=verbose), file=name))
        except (BadInput, ModuleNotFoundError) as error:
            kind = "malformed" if isinstance(error, BadInput) and not isinstance(error, Stopped) else _STOPPED
            why = advice(error) if isinstance(error, ModuleNotFoundError) else str(error)
            reports.append(CheckReport(file=name, valid=None, robust=None, kind=kind, reason=why))
    if not reports:
        raise BadInput(f"{folder}: there is no certificate in this folder or below it")
    return FolderReport(valid=all(one.valid for one in reports), certificates=tuple(reports), skipped=skipped)


def _other(path: Path) -> str | None:
    """What else of limen's a file is, by its content; None if it may be a certificate."""
    if path.suffix == ".v":
        return "a Coq proof is checked by itself"
    try:
        with _in_one_line(path):
            schema = read_object(_content(path), str(path)).get("schema")
    except Stopped:
        raise
    except BadInput:
        return None
    return f"{OTHERS[schema]}, no certificate" if isinstance(schema, str) and schema in OTHERS else None


def _run_again(certificate: Tried, model: object, folder: Path | None) -> Recheck:
    """Why it does not hold (None if it does), whether in every run, and what it says.

    In the model's folder, if it has one, may be codes, by which it rounds numbers.
    """
    task = certificate.task
    match certificate:
        case WrongAnswer() as c:
            return check_wrong_answer(c, model)
        case SameAnswer() as c:
            return check_same_answer(c, model)
        case StateCollision() as c:
            claim = f"{task}: two prefixes that need different answers leave the same state in every layer"
            return _collided(check_state_collision(c, model), claim, c.arithmetic, model)
        case Collision() as c:
            claim = f"{task}: two inputs with different right answers get the same output"
            return _collided(check_collision(c, model), claim, c.arithmetic, model)
        case AccuracyReached() as c:
            from limen.training.certified import CODES, check_accuracy  # loaded for it alone

            codes = None
            if folder is not None and is_file(folder / CODES):
                codes = _content(folder / CODES, MOST_WEIGHTS)
            return check_accuracy(c, model, codes)
        case Run() | Transcript() as c:
            if not isinstance(model, Model):
                raise BadInput("this certificate is about a Limen model: give its folder with --model")
            return _conversed_again(c, model) if isinstance(c, Transcript) else _tried_again(c, model)


def _tried_again(c: Run, model: Model) -> Recheck:
    tried = (
        f"all {c.tried} inputs"
        if c.exhaustive
        else f"{c.tried} inputs, half of them hard, from seed {c.seed}"
    )
    claim = f"{c.task} in {c.precision}{thought(c.steps)}: right on {tried}"
    reason = check_run(c, model)
    return Recheck(reason, reason is None and c.exhaustive, f"{claim}; margin at least {c.margin}")


def _conversed_again(c: Transcript, model: Model) -> Recheck:
    bits = sum(message.bits for message in c.messages)
    messages = f"{len(c.messages)} messages of {bits} bits in all"
    claim = f"{c.task} by {c.architecture}: {messages}, the same in another run"
    reason = check_transcript(c, model)
    return Recheck(reason, reason is None, claim)


def _collided(reason: str | None, claim: str, arithmetic: str, model: object) -> Recheck:
    """A collision names its arithmetic, which may be another than the model's own."""
    own = own_precision(model)
    whose = "the model's own" if arithmetic == own else f"not the model's own arithmetic, {own}"
    return Recheck(reason, reason is None, f"{claim} in {arithmetic}, {whose}")


def _proof_checked(path: Path) -> CheckReport:
    """A Coq file; the forms of the theorems are loaded for it alone."""
    from limen.coq.run import check_proof

    try:
        text = _content(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text: {error}") from error
    claim, reason = check_proof(text)
    by = f"{claim.architecture}{thought(claim.steps)}"
    proves = f"Coq proves, from no axioms, that {claim.task} cannot be done with the bits of {by}"
    holds = reason is None
    return CheckReport(valid=holds, robust=holds, kind="proof", reason=reason or proves)
