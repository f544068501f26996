"""Train one model and test it on fresh inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import PathLike, TorchSeed, note_own
from limen.core.option import Argument, Option

if TYPE_CHECKING:
    from limen.training.reports import TrainReport
    from limen.training.spec import Spec


@command(
    example='limen train "index(n=20,S=32)" "softmax(h=1,d=64)" --start lookup --steps 200',
    answers=(Shown("limen.training.reports:TrainReport", "limen.render.train:lines_of"),),
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
            "With a task: the architecture. Its p, where given, rounds the state.",
            complete=_complete.stacks,
            own=True,
        ),
    ] = None,
    *,
    cell: Annotated[str | None, Option("Of an experiment: which cell. Default: the first.")] = None,
    size: Annotated[
        Literal["quick", "standard", "full"],
        Option("Of an experiment: quick, standard or full.", noun="size"),
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
        Option("How plain inputs are drawn. Of recall: halves, as MQAR has them. Default: uniformly."),
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
    save: Annotated[PathLike | None, Option("Save the trained model in this folder.", local=True)] = None,
    curve: Annotated[
        PathLike | None,
        Option("Draw the learning curve into this file: .svg, .png or .pdf.", local=True),
    ] = None,
    seed: TorchSeed = 0,
    tell: Tell | None = None,
) -> TrainReport:
    """The result is a measurement, never a proof."""
    from limen.core.catalogue import ids
    from limen.training.experiment import spec_of

    wished = {
        "start": start, "steps": steps, "hard": hard, "against": against, "width": width, "rate": rate,
        "hidden": hidden, "distribution": distribution, "queries": queries, "dense": dense, "first": first,
        "first_steps": first_steps, "thought": thought or None, "hops": hops or None, "mixed": mixed or None,
        "seed": seed or None,
    }  # fmt: skip
    given = {name: value for name, value in wished.items() if value is not None}
    spec = spec_of(what, architecture, cell, size, given)
    folder, drawing = (None if path is None else Path(path) for path in (save, curve))
    return _trained(spec, what if what in ids("experiments") else None, folder, drawing, tell is not None)


def _trained(
    spec: Spec, name: str | None, folder: Path | None, curve: Path | None, watched: bool
) -> TrainReport:
    """The measurement; the model goes into a folder that other commands take, the curve into a file."""
    from limen.model.files import ready, save
    from limen.render.svg import picture_ready
    from limen.render.train import steps_bar
    from limen.training.reports import train_report
    from limen.training.run import run

    if folder is not None:
        ready(folder)
    if curve is not None:
        picture_ready(curve)
    spec.checked()
    with steps_bar(spec.steps + spec.first_steps, watched) as watch:
        result, model = run(spec, watch)
    if folder is not None:
        save(model, folder)
        again = "other commands refuse it; hand the model in as file.py:factory"
        note_own(folder, model.frame.architecture.sized, again)
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves([result]), curve)
    return train_report(result, name, folder)
