r"""What saved weights reach on fresh inputs, as a certificate, and the check that runs them again.

Numbers that the architecture rounds are rounded by the codes beside the weights, `codes.safetensors`, so that
what is judged is the very model that was trained.  It is run in float64: float32 adds up in another order on
another machine, and where a number is rounded to few bits afterwards, one answer of some thousand may differ.

A claim that is far above a proved ceiling c is refused before anything is run.  Of n inputs drawn at random a
share a > c is right with a probability of at most (Chernoff)

    exp(-n·(a·ln(a/c) + (1-a)·ln((1-a)/(1-c))))
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, Literal

import lazy_loader
import msgspec
import numpy as np

from limen.core.certificate import AccuracyReached
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import digest
from limen.model.model import Model
from limen.model.run import batch_size, payable
from limen.training.lesson import lesson_of
from limen.training.limits import limits_of, thoughts
from limen.training.pupil import Pupil
from limen.training.rounded import StateCodes, rounding_of
from limen.training.spec import Spec, at_precision
from limen.witness.run import same_weights
from limen.witness.wrong_answer import Recheck

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

CERTIFICATE, CODES = "run.json", "codes.safetensors"  # what is saved beside the weights
_Native = Literal["float32", "float64"]
_BITS: dict[_Native, int] = {"float32": 32, "float64": 64}  # of a number
_MOST = 2**16  # inputs: all are drawn before any is run
_CHANCE = 30  # a share above a ceiling is refused if its probability is below 2^-30


def certified(pupil: Pupil) -> tuple[AccuracyReached, bytes | None]:
    """What a trained model reaches in float64 on the inputs that it was judged by, and its codes."""
    spec, codes = pupil.spec, None if pupil.rounding is None else _packed(pupil.rounding.codes)
    certificate = AccuracyReached(
        task=spec.task,
        weights=digest(pupil.model),
        codes=None if codes is None else hashlib.sha256(codes).hexdigest(),
        precision="float64",
        seed=spec.seed,
        hard=spec.hard,
        distribution=spec.distribution,
        thought=spec.thought,
        tried=spec.judged,
        right=_right(pupil, "float64"),
    )
    return certificate, codes


def check_accuracy(certificate: AccuracyReached, model: object, codes: bytes | None) -> Recheck:
    """Checks that these weights, with these codes, give as many right answers; robust: in float32 too."""
    if not isinstance(model, Model):
        raise BadInput("this certificate is about a Limen model, not about a function")
    same_weights(certificate.weights, model)
    pupil = _judged_again(certificate, model, codes)
    spec, total = pupil.spec, certificate.tried * pupil.lesson.task.asks
    ceiling = _ceiling(spec, certificate.precision) if total == certificate.tried else None
    if ceiling is not None and _beyond(certificate.right / total, ceiling, total):
        reason = (
            f"{certificate.right:,} of {total:,} right answers are claimed, but no weights of "
            f"{spec.architecture} are right on more than {ceiling:.1%} of such texts; so many by chance have "
            f"a probability below 2^-{_CHANCE}"
        )
        return Recheck(reason, False, "")
    right = _right(pupil, certificate.precision)
    if right != certificate.right:
        reason = f"{right:,} of {total:,} answers are right, the certificate says {certificate.right:,}"
        return Recheck(f"{reason} (seed {spec.seed}, {certificate.precision})", False, "")
    other: _Native = "float32" if certificate.precision == "float64" else "float64"
    there = _right(pupil, other)
    says = (
        f"{spec.task} by {spec.architecture}: {right:,} of {total:,} answers right ({right / total:.1%}) on "
        f"texts {pupil.lesson.drawn(spec.hard).says}, seed {spec.seed}, in {certificate.precision}"
        f"{'' if pupil.rounding is None else ' with rounded numbers'}; "
        f"{'as many' if there == right else f'{there:,}'} in {other}"
    )
    proved = "" if ceiling is None else f"; no weights are right on more than {ceiling:.1%} of such texts"
    return Recheck(None, there == right, says + proved)


def _judged_again(certificate: AccuracyReached, model: Model, codes: bytes | None) -> Pupil:
    """The pupil as it was judged; raises if that is not all there, or too much to run."""
    tried, task = certificate.tried, Task.parse(certificate.task)
    if not 1 <= tried <= _MOST:
        raise BadInput(f"from 1 to {_MOST:,} inputs are tried, the certificate says {tried}")
    payable(model, task, 0, tried)
    spec = Spec(
        task=certificate.task,
        architecture=str(model.frame.architecture),
        seed=certificate.seed,
        hard=certificate.hard,
        distribution=certificate.distribution,
        thought=certificate.thought,
        judged=tried,
    )
    payable(model, task, thoughts(spec), tried)
    lesson = lesson_of(spec)
    rounding = rounding_of(spec, lesson, model.frame.architecture)
    if rounding is not None:
        rounding.codes = _named(certificate, codes)
    elif certificate.codes is not None:
        raise BadInput(f"{spec.architecture} has no p, so it rounds nothing, but the certificate names codes")
    return Pupil(model, lesson, spec, rounding)


def _named(certificate: AccuracyReached, codes: bytes | None) -> StateCodes:
    """The codes that the certificate is about."""
    if certificate.codes is None:
        raise BadInput("the architecture rounds numbers (p), and the certificate names no codes for them")
    if codes is None:
        raise BadInput(f"the architecture rounds numbers (p), and there is no {CODES} beside its weights")
    if hashlib.sha256(codes).hexdigest() != certificate.codes:
        raise BadInput(f"these are other codes: the certificate is about {certificate.codes[:12]}…")
    return _unpacked(codes)


def _right(pupil: Pupil, precision: _Native) -> int:
    """How many answers are right in this precision, on the inputs that a run of this seed is judged by."""
    how, given = Precision.parse(precision), pupil.rounding
    rounding = given and replace(
        given, codes={n: (how.round(m), how.round(d)) for n, (m, d) in given.codes.items()}
    )
    there = replace(pupil, model=pupil.model.to(how), rounding=rounding)
    spec = pupil.spec
    rows = batch_size(pupil.model, pupil.lesson.task, thoughts(spec))
    right = int(there.marks(np.random.default_rng([spec.seed, 3]), spec.judged, rows).sum())
    if rounding is not None and given is not None and (new := rounding.codes.keys() - given.codes.keys()):
        raise BadInput(f"{CODES}: there are none for {min(new)}, a number that is rounded")
    return right


def _ceiling(spec: Spec, precision: _Native) -> float | None:
    """The proved ceiling on such inputs, where what is not rounded has the bits of the precision."""
    counted = at_precision(spec.architecture, _BITS[precision])
    return limits_of(msgspec.structs.replace(spec, architecture=counted)).ceiling


def _beyond(share: float, ceiling: float, count: int) -> bool:
    """Whether so large a share of inputs drawn at random is too improbable under a ceiling."""
    if share <= ceiling or ceiling <= 0:
        return share > ceiling
    lost = 0.0 if share >= 1 else (1 - share) * log((1 - share) / (1 - ceiling))
    return count * (share * log(share / ceiling) + lost) > _CHANCE * log(2)


def _packed(codes: StateCodes) -> bytes:
    """Means and deviations by the names of their numbers, as `codes.safetensors` holds them."""
    from safetensors.torch import save

    kept = dict[str, torch.Tensor]()
    for name, (mean, deviation) in sorted(codes.items()):
        kept |= {f"{name}/mean": mean.clone(), f"{name}/deviation": deviation.clone()}
    return save(kept)


def _unpacked(content: bytes) -> StateCodes:
    """Codes from an untrusted file; every number has a finite mean and a deviation above 0."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        kept = load(content)
    except SafetensorError as error:
        raise BadInput(f"{CODES}: {error}") from error
    names = {name.rpartition("/")[0] for name in kept}
    if kept.keys() != {f"{name}/{what}" for name in names for what in ("mean", "deviation")}:
        raise BadInput(f"{CODES}: a mean and a deviation are expected for each number")
    for name, t in kept.items():
        if (
            t.dtype is not torch.float32
            or not t.isfinite().all()
            or (name.endswith("deviation") and (t <= 0).any())
        ):
            raise BadInput(f"{CODES}: {name} is not finite in float32, or a deviation is not above 0")
    return {name: (kept[f"{name}/mean"], kept[f"{name}/deviation"]) for name in sorted(names)}
