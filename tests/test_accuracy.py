"""Certificates of what trained models reach: run again as they were judged, rounded by their codes."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.cli import limen
from msgspec.structs import replace
from safetensors.torch import load as unpack
from safetensors.torch import save as pack

from limen.commands.check import CheckReport, checked
from limen.core.certificate import AccuracyReached, decode, encode
from limen.errors import BadInput
from limen.model.files import digest, load, model_files, save
from limen.model.model import Model
from limen.training.certified import _CHANCE, CERTIFICATE, CODES, _beyond, certified
from limen.training.rounded import Rounding
from limen.training.run import run
from limen.training.spec import Spec

ROUNDED = Spec(
    task="eva(n=8)", architecture="linear(h=1,d=2,p=2)", width=16, hidden=16, steps=60, rate=0.01, judged=1024
)
PLAIN = replace(ROUNDED, architecture="softmax(h=2,d=4)")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model below a bound with its certificate and codes, as `limen train --save` writes them."""
    folder = tmp_path_factory.mktemp("rounded")
    _, pupil = run(ROUNDED)
    certificate, codes = certified(pupil)
    assert codes is not None
    save(pupil.model, folder, (CODES, codes), (CERTIFICATE, encode(certificate)))
    return folder


@pytest.fixture
def forged(trained: Path, tmp_path: Path) -> Callable[..., CheckReport]:
    """A check of a copy in which fields of the certificate, or whole files, are others."""

    def check(files: dict[str, bytes | None] | None = None, **fields: Any) -> CheckReport:
        contents: dict[str, bytes | None] = {path.name: path.read_bytes() for path in trained.iterdir()}
        contents |= files or {}
        claim = json.loads(contents[CERTIFICATE] or b"")
        contents[CERTIFICATE] = json.dumps(claim | fields).encode()
        for name, content in contents.items():
            if content is not None:
                (tmp_path / name).write_bytes(content)
        return checked(tmp_path / CERTIFICATE)

    return check


def claim_of(folder: Path) -> AccuracyReached:
    found = decode((folder / CERTIFICATE).read_bytes())
    assert isinstance(found, AccuracyReached)
    return found


def test_the_very_model_that_rounds_is_run_again(trained: Path) -> None:
    claim = claim_of(trained)
    seen = checked(trained / CERTIFICATE)
    assert seen.valid and seen.robust and f"{claim.right:,} of 1,024 answers right" in seen.reason
    assert (
        "in float64 with rounded numbers; as many in float32; no weights are right on more than"
        in seen.reason
    )
    result, pupil = run(ROUNDED)
    assert certified(pupil)[0] == claim, "the same run gives the same certificate"
    assert claim.right == round(result.measurement.accuracy * 1024)
    pupil.rounding = None
    assert certified(pupil)[0].right != claim.right, "without codes it is another model"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"right": 0}, "answers are right, the certificate says 0 (seed 0, float64)"),
        ({"right": 400}, "answers are right, the certificate says 400"),
        ({"seed": 1}, "answers are right, the certificate says"),
        ({"tried": 1000}, "of 1,000 answers are right"),
        ({"hard": True}, "answers are right, the certificate says"),
        ({"task": "index(n=8,S=8)"}, "answers are right, the certificate says"),
        ({"right": 1000}, "1,000 of 1,024 right answers are claimed, but no weights of linear"),
        ({"right": 10**9}, "right answers are claimed, but no weights of linear"),
    ],
)
def test_another_claim_is_not_valid(forged: Callable[..., CheckReport], fields: Any, reason: str) -> None:
    said = forged(**fields)
    assert said.valid is False and said.robust is False and reason in said.reason


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weights": "00" * 32}, "these are other weights"),
        ({"codes": "00" * 32}, "these are other codes"),
        ({"codes": None}, "the certificate names no codes"),
        ({"tried": 0}, "from 1 to 65,536 inputs are tried, the certificate says 0"),
        ({"tried": 2**17}, "from 1 to 65,536 inputs are tried"),
        ({"precision": "bfloat16"}, "Invalid enum value 'bfloat16'"),
        ({"distribution": "kind"}, "no distribution 'kind'"),
        ({"thought": True}, "eva is not taught with a chain of thought"),
        ({"task": "composition(m=2,n1=2)", "thought": True}, "leave out p, or thought and mixed"),
        ({"task": "eva(n=100000)"}, "the model has 8 answers"),
        ({"seed": -1}, ">= 0"),
        ({"learned": True}, "unknown field `learned`"),
    ],
)
def test_what_is_no_claim_about_these_files_is_refused(
    forged: Callable[..., CheckReport], fields: Any, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        forged(**fields)


def test_other_weights_do_not_reach_what_the_certificate_says(
    trained: Path, forged: Callable[..., CheckReport]
) -> None:
    """Whoever changes a weight must change the digest as well, and then the answers are counted."""
    model = load(trained)
    changed = Model(model.frame, {**model.weights, "0.0.V": -model.weights["0.0.V"]})
    weights = dict(model_files(changed)[1:])
    with pytest.raises(BadInput, match="these are other weights"):
        forged(weights)
    said = forged(weights, weights=digest(changed))
    assert said.valid is False and "answers are right, the certificate says" in said.reason


Codes = dict[str, torch.Tensor]


def _one(codes: Codes, what: str) -> str:
    return next(name for name in codes if name.endswith(what))


CHANGED: dict[str, tuple[Callable[[Codes], Codes], str]] = {
    "one for each text": (
        lambda codes: {name: t.expand(1024, *t.shape).contiguous() for name, t in codes.items()},
        "not one mean and one deviation for each of its numbers",
    ),
    "fewer": (
        lambda codes: {n: t for n, t in codes.items() if n.rpartition("/")[0] != _one(codes, "mean")[:-5]},
        "there are none for 0.0.0.*, a number that is rounded",
    ),
    "no deviation": (
        lambda codes: {n: t for n, t in codes.items() if n != _one(codes, "deviation")},
        "a mean and a deviation are expected for each number",
    ),
    "a deviation of 0": (
        lambda codes: {n: t * 0 if n.endswith("deviation") else t for n, t in codes.items()},
        "a deviation is not above 0",
    ),
    "no number": (lambda codes: {n: t * math.nan for n, t in codes.items()}, "is not finite"),
    "in float64": (lambda codes: {n: t.double() for n, t in codes.items()}, "in float32"),
}


@pytest.mark.parametrize("how", CHANGED)
def test_codes_are_one_for_each_number(how: str, trained: Path, forged: Callable[..., CheckReport]) -> None:
    """A file of codes must not tell anything about the texts that are drawn."""
    change, message = CHANGED[how]
    content = pack(change(unpack((trained / CODES).read_bytes())))
    with pytest.raises(BadInput, match="these are other codes"):
        forged({CODES: content})
    with pytest.raises(BadInput, match=message):
        forged({CODES: content}, codes=hashlib.sha256(content).hexdigest())


def test_codes_that_are_missing_or_no_tensors_are_refused(forged: Callable[..., CheckReport]) -> None:
    with pytest.raises(BadInput, match="there is no codes"):
        forged({CODES: None})
    with pytest.raises(BadInput, match=CODES):
        forged({CODES: b"codes"}, codes=hashlib.sha256(b"codes").hexdigest())


def test_what_is_no_number_has_no_code_of_its_own() -> None:
    """Else a number of p bits would say one of 2^p + 1 things."""
    rounding = Rounding((1, 1), 1, {"s": (torch.zeros(1), torch.ones(1))})
    numbers = torch.tensor([[-9.0], [-1.0], [1.0], [9.0], [math.nan], [math.inf]])
    assert len(rounding._round("s", numbers, 1, 1).unique()) == 2


def test_a_share_is_refused_only_where_chance_is_certainly_smaller() -> None:
    """Beside the exact tail of the binomial distribution, and not far from it."""
    n, refused, close = 64, 0, 0
    for ceiling in (0.05, 0.3, 0.5, 0.9):
        for k in range(n + 1):
            tail = math.fsum(math.comb(n, i) * ceiling**i * (1 - ceiling) ** (n - i) for i in range(k, n + 1))
            if _beyond(k / n, ceiling, n):
                refused += 1
                assert k > ceiling * n and tail < 2.0**-_CHANCE
            else:
                close += tail < 2.0 ** -(_CHANCE + 12)
    assert refused > 50 and close == 0
    assert not _beyond(0.4, 0.5, 10**6) and _beyond(1.0, 0.922, 2048) and not _beyond(0.93, 0.922, 2048)


def test_train_writes_the_certificate_beside_the_model(tmp_path: Path) -> None:
    small = ("--width", "16", "--hidden", "8", "--steps", "4", "--json")
    said = limen("train", PLAIN.task, PLAIN.architecture, *small, "--save", str(tmp_path / "plain"))
    shown = json.loads(said.stdout)
    assert shown["certificate"] == str(tmp_path / "plain" / CERTIFICATE)
    assert sorted(path.name for path in (tmp_path / "plain").iterdir()) == [
        "model.json", "model.safetensors", CERTIFICATE,
    ]  # fmt: skip
    assert limen("check", str(tmp_path / "plain")).returncode == 0
    claim = claim_of(tmp_path / "plain")
    assert claim.codes is None and claim.tried == 2048
    assert abs(claim.right / 2048 - shown["accuracy"]) <= 2 / 2048, "of float32 and float64"
    claim = replace(claim, codes="00" * 32)
    (tmp_path / "plain" / CERTIFICATE).write_bytes(encode(claim))
    with pytest.raises(BadInput, match="has no p, so it rounds nothing"):
        checked(tmp_path / "plain" / CERTIFICATE)
    rounds = limen("train", ROUNDED.task, ROUNDED.architecture, *small, "--save", str(tmp_path / "rounded"))
    assert "all other commands run these weights without rounding" in rounds.stderr
    assert (tmp_path / "rounded" / CODES).exists()
    words = limen(
        "train", "language_hops", "--steps", "1", "--batch", "1", "--save", str(tmp_path / "words"), "--json"
    )
    assert "certificate" not in json.loads(words.stdout) and not (tmp_path / "words" / CERTIFICATE).exists()


def test_answers_with_a_chain_of_thought_and_several_answers_are_counted(tmp_path: Path) -> None:
    for spec, total in (
        (replace(PLAIN, task="composition(m=3,n1=2)", thought=True, steps=2, judged=50), 50),
        (replace(PLAIN, task="recall(n=4,V=8,q=4)", distribution="halves", steps=2, judged=50), 200),
    ):
        result, pupil = run(spec)
        certificate, codes = certified(pupil)
        assert codes is None and certificate.right == round(result.measurement.accuracy * total)
        save(pupil.model, tmp_path, (CERTIFICATE, encode(certificate)))
        seen = checked(tmp_path / CERTIFICATE)
        assert seen.valid and f"{certificate.right} of {total} answers right" in seen.reason


def test_marks_do_not_depend_on_how_many_inputs_are_run_at_a_time() -> None:
    _, pupil = run(replace(PLAIN, steps=20))
    whole, pieces = (pupil.marks(np.random.default_rng(5), 100, rows) for rows in (100, 7))
    assert whole.shape == (100,) and 0 < whole.sum() < 100 and (whole == pieces).all()
