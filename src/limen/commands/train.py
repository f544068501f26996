"""Train a model, or one for each seed and rate, and test it on fresh inputs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, Unpack, overload

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import LARGEST_SEED, Cores, PathLike, Size, TorchSeed, note_own, processes
from limen.core import quantities
from limen.core.option import Argument, Option
from limen.core.text import several_calls
from limen.errors import BadInput
from limen.files.printable import printable

if TYPE_CHECKING:
    from limen.training.pupil import Pupil
    from limen.training.reports import GridReport, TrainReport
    from limen.training.spec import Spec


_RESULTS = "limen-results"


class Settings(TypedDict, total=False):
    """The keywords that one run and a grid of runs share."""

    cell: str | None
    size: Size
    start: str | None
    steps: int | None
    hard: bool | None
    thought: bool
    hops: bool
    queries: int | None
    dense: bool | None
    mixed: bool
    distribution: str | None
    first: str | None
    first_steps: int | None
    against: str | None
    width: int | None
    hidden: int | None
    warmup: int | None
    every: int | None
    batch: int | None
    qk_norm: bool
    precision: int | None
    dropout: float | None
    decay: float | None
    curriculum: str | None
    curve: PathLike | None
    tell: Tell | None


@overload
def train(
    what: str,
    architecture: str | None = None,
    *,
    rate: float | None = None,
    seed: int = 0,
    save: PathLike | None = None,
    **settings: Unpack[Settings],
) -> TrainReport: ...


@overload
def train(
    what: str,
    architecture: str | None = None,
    *,
    seeds: Sequence[int],
    rate: float | None = None,
    rates: Sequence[float] | None = None,
    folder: PathLike | None = None,
    cores: int | None = None,
    **settings: Unpack[Settings],
) -> GridReport: ...


@overload
def train(
    what: str,
    architecture: str | None = None,
    *,
    rates: Sequence[float],
    seed: int = 0,
    folder: PathLike | None = None,
    cores: int | None = None,
    **settings: Unpack[Settings],
) -> GridReport: ...


@command(
    example='limen train "index(n=20,S=32)" "softmax(h=1,d=64)" --start lookup --steps 200',
    answers=(
        Shown("limen.training.reports:TrainReport", "limen.render.train:lines_of"),
        Shown("limen.training.reports:GridReport", "limen.render.train:grid_lines"),
    ),
)
def train(
    what: Annotated[
        str,
        Argument(
            "The id of an experiment, or a task.",
            complete=_complete.entries("experiments", "tasks"),
            own=True,
        ),
    ],
    architecture: Annotated[
        str | None,
        Argument(
            "With a task: the architecture. Its p, where given, rounds states and replies.",
            complete=_complete.stacks,
            own=True,
        ),
    ] = None,
    *,
    cell: Annotated[str | None, Option("With an experiment: which cell. Default: the first.")] = None,
    size: Annotated[
        Literal["quick", "standard", "full"],
        Option("With an experiment: quick, standard or full.", noun="size"),
    ] = "quick",
    start: Annotated[
        str | None,
        Option(
            "Weights to start from: random, or lookup (attention starts as a lookup).",
            complete=_complete.of("random", "lookup"),
        ),
    ] = None,
    steps: Annotated[int | None, Option("Most training steps.", least=1)] = None,
    hard: Annotated[
        bool | None, Option("Train on near-misses, or on plain inputs.", flag="--hard/--plain")
    ] = None,
    thought: Annotated[bool, Option("Train with chain of thought.")] = False,
    hops: Annotated[bool, Option("Also ask for the result of every hop.")] = False,
    queries: Annotated[int | None, Option("How many questions a sequence asks.", least=1)] = None,
    dense: Annotated[
        bool | None,
        Option("Ask for the answer so far at every token, or once at the end.", flag="--dense/--last"),
    ] = None,
    mixed: Annotated[bool, Option("Also teach smaller sizes of the task.")] = False,
    distribution: Annotated[
        str | None,
        Option(
            "How plain inputs are drawn: for recall also halves, as in MQAR. "
            "Default: as the task draws them (limen show says how)."
        ),
    ] = None,
    first: Annotated[
        str | None, Option("A smaller stack to train first; it then grows by layers of zeros.", own=True)
    ] = None,
    first_steps: Annotated[int | None, Option("Steps to train that stack.", least=1)] = None,
    against: Annotated[
        str | None,
        Option(
            "Who proposes inputs to train on: hardest, adversary (all of them), or the id of one.",
            complete=_complete.of("hardest", "adversary"),
        ),
    ] = None,
    width: Annotated[int | None, Option("Width of the residual stream.", least=2)] = None,
    hidden: Annotated[
        int | None, Option("Size of the MLP after each layer. 0 means no MLP.", least=0)
    ] = None,
    rate: Annotated[float | None, Option("Highest learning rate.", least=0.0)] = None,
    warmup: Annotated[
        int | None, Option("Steps in which the rate rises to its highest. Default: 40.", least=0)
    ] = None,
    every: Annotated[
        int | None, Option("Steps between two looks at the accuracy. Default: 50.", least=1)
    ] = None,
    batch: Annotated[int | None, Option("How many sequences a step has.", least=1)] = None,
    qk_norm: Annotated[
        bool, Option("Scale queries and keys of softmax layers to length 1, with a learned sharpness.")
    ] = False,
    precision: Annotated[
        int | None,
        Option(
            "Bits of every number that theorems count, states and replies, where the architecture has no p.",
            least=1,
            most=32,
        ),
    ] = None,
    dropout: Annotated[
        float | None, Option("Share of what mixers write that is dropped in training.", least=0.0)
    ] = None,
    decay: Annotated[float | None, Option("Weight decay of AdamW. Default: 0.01.", least=0.0)] = None,
    curriculum: Annotated[
        str | None,
        Option(
            "Smaller sizes of the task to train on first, each with an equal part of the steps: "
            '"index(n=25,S=32),index(n=50,S=32)".',
        ),
    ] = None,
    save: Annotated[PathLike | None, Option("Save the trained model in this folder.", local=True)] = None,
    curve: Annotated[
        PathLike | None,
        Option("Draw the learning curve into this file: .svg, .png or .pdf.", local=True),
    ] = None,
    seed: TorchSeed = 0,
    seeds: Annotated[
        Sequence[int] | None,
        Option(
            "Train once for each of these seeds: 0..7, or 0,3,5.",
            parse=quantities.ranges,
            least=0,
            most=LARGEST_SEED,
            local=True,
        ),
    ] = None,
    rates: Annotated[
        Sequence[float] | None,
        Option(
            "Train once for each of these highest learning rates: 1e-3,3e-3.",
            parse=quantities.reals,
            least=0.0,
            local=True,
        ),
    ] = None,
    folder: Annotated[
        PathLike | None,
        Option(
            "With --seeds or --rates: folder for the results, one file per run. Default: limen-results.",
            local=True,
        ),
    ] = None,
    cores: Cores = None,
    tell: Tell | None = None,
) -> TrainReport | GridReport:
    """The result is a measurement, never a proof. With --seeds or --rates it may be stopped at any time: the
    next call continues from there. Small models are then trained as one batch, which is faster.
    """
    from limen.core.catalogue import ids
    from limen.training.experiment import spec_of

    wished = {
        "start": start, "steps": steps, "hard": hard, "against": against, "width": width, "rate": rate,
        "batch": batch, "warmup": warmup, "every": every,
        "hidden": hidden, "distribution": distribution, "queries": queries, "dense": dense, "first": first,
        "first_steps": first_steps, "thought": thought or None, "hops": hops or None, "mixed": mixed or None,
        "seed": seed or None, "dropout": dropout, "decay": decay,
        "curriculum": None if curriculum is None else tuple(several_calls(curriculum)),
    }  # fmt: skip
    given = {name: value for name, value in wished.items() if value is not None}
    spec = _rounded(spec_of(what, architecture, cell, size, given), qk_norm, precision)
    name = what if what in ids("experiments") else None
    model, drawing = (None if path is None else Path(path) for path in (save, curve))
    if seeds is None and rates is None:
        if folder is not None or cores is not None:
            raise BadInput(
                "--folder and --cores are for several runs: give --seeds or --rates, or --save for a model"
            )
        return _trained(spec, name, model, drawing, tell is not None)
    _one_of_each(seeds is not None and seed != 0, rates is not None and rate is not None, model)
    specs = _grid(spec, seeds, rates)
    return _gridded(specs, name, Path(folder or _RESULTS), drawing, processes(cores), tell is not None)


def _rounded(spec: Spec, qk_norm: bool, precision: int | None) -> Spec:
    """The spec with another architecture: unit queries and keys, and numbers of so many bits."""
    from msgspec.structs import replace

    from limen.training.spec import at_precision, qk_normed

    text = qk_normed(spec.architecture) if qk_norm else spec.architecture
    text = text if precision is None else at_precision(text, precision)
    return spec if text == spec.architecture else replace(spec, architecture=text)


def _one_of_each(two_seeds: bool, two_rates: bool, save: Path | None) -> None:
    """Raises if a grid is given what one run has."""
    if two_seeds or two_rates:
        word = "seed" if two_seeds else "rate"
        raise BadInput(f"--{word} is for one run and --{word}s for several: give one of them")
    if save is not None:
        raise BadInput("--save keeps the model of one run: train that seed and rate by --seed and --rate")


def _grid(spec: Spec, seeds: Sequence[int] | None, rates: Sequence[float] | None) -> list[Spec]:
    """The spec with every seed and every rate, each once."""
    from msgspec.structs import replace

    chosen = [spec.seed] if seeds is None else seeds, [spec.rate] if rates is None else rates
    specs = [replace(spec, seed=seed, rate=float(rate)) for seed in chosen[0] for rate in chosen[1]]
    if not specs:
        raise BadInput("seeds and rates: at least one of each is expected, got none")
    return list(dict.fromkeys(specs))


def _gridded(
    specs: list[Spec],
    name: str | None,
    folder: Path,
    curve: Path | None,
    cores: int,
    watched: bool,
) -> GridReport:
    """The measurements of all runs; those that the folder has are not repeated, failed ones are."""
    from limen.render.experiment.run import ended_line, looks_line
    from limen.render.svg import picture_ready
    from limen.training.batches import batches, told
    from limen.training.local import local
    from limen.training.reports import grid_report
    from limen.training.results import ended, results
    from limen.training.run import rehearsed
    from limen.training.sweep import due, sweep

    if curve is not None:
        picture_ready(curve)
    specs[0].checked()
    missing = due(specs, folder, retry=True)
    if missing:
        rehearsed(missing[0])
    if watched and missing:
        sys.stderr.write(printable(told(batches(missing, cores), cores)) + "\n")
    looks, deliver = looks_line(watched), ended_line(len(missing), watched)
    sweep(specs, folder, local(cores, looks), True, deliver)
    names = [spec.digest for spec in specs]
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves(results(folder, names)), curve)
    return grid_report(specs, ended(folder, names), name, folder)


def _trained(
    spec: Spec, name: str | None, folder: Path | None, curve: Path | None, watched: bool
) -> TrainReport:
    """The measurement; the model goes into a folder that other commands take, the curve into a file."""
    from limen.model.files import ready
    from limen.render.svg import picture_ready
    from limen.render.train import steps_bar
    from limen.training.certified import CERTIFICATE
    from limen.training.reports import train_report
    from limen.training.run import run

    if folder is not None and spec.model_type is not None:
        raise BadInput(f"--save writes Limen's own models, and this is {spec.model_type} of transformers")
    certificate = None
    if folder is not None:
        ready(folder, CERTIFICATE)
    if curve is not None:
        picture_ready(curve)
    spec.checked()
    with steps_bar(spec.steps + spec.first_steps, watched) as watch:
        result, pupil = run(spec, watch)
    if folder is not None:
        certificate = _saved(pupil, folder)
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves([result]), curve)
    return train_report(result, name, folder, certificate)


def _saved(pupil: Pupil, folder: Path) -> Path | None:
    """Writes the model with a certificate of what it reaches, and the codes of the numbers that it rounds.

    None is written about entries of one's own, which no check would run, nor about a model of words, whose
    inputs are texts and not those of the task.
    """
    from limen.core.certificate import encode
    from limen.files import own
    from limen.model.files import save
    from limen.training.certified import CERTIFICATE, CODES, certified

    text = pupil.model.frame.architecture.sized
    if pupil.spec.words or own.named(f"{pupil.spec.task} {text}"):
        save(pupil.model, folder)
        note_own(folder, text, "other commands refuse it; hand the model in as file.py:factory")
        return None
    certificate, codes = certified(pupil)
    kept = [] if codes is None else [(CODES, codes)]
    save(pupil.model, folder, *kept, (CERTIFICATE, encode(certificate)))
    if codes is not None:
        only = "limen check rounds by them, all other commands run these weights without rounding"
        sys.stderr.write(
            printable(f"note: {folder / CODES} holds the codes of rounded numbers; {only}") + "\n"
        )
    return folder / CERTIFICATE
