"""Run a model as a conversation and count its bits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import PathLike, TaskText, TorchSeed
from limen.core.option import Argument, Option

if TYPE_CHECKING:
    from limen.adversary.decompose import DecomposeReport
    from limen.conversation.play import ProtocolReport, ProtocolRequest

_CERTIFICATE = "certificate.json"


@overload
def protocol(
    task: str,
    architecture: str | None = None,
    players: str | None = None,
    arithmetic: str = "integers",
    seed: int = 0,
    *,
    model: PathLike | None = None,
    decompose: Literal[False] = False,
    save: PathLike | None = None,
) -> ProtocolReport: ...


@overload
def protocol(
    task: str,
    architecture: str | None = None,
    players: str | None = None,
    arithmetic: str = "integers",
    seed: int = 0,
    *,
    model: PathLike | None = None,
    decompose: Literal[True],
    rows: int = 50_000,
    seconds: float = 60.0,
    save: PathLike | None = None,
) -> DecomposeReport: ...


@command(
    example='limen protocol "composition(m=4,n1=4)" "linear(h=1,d=4),softmax(h=2,d=4)"',
    answers=(
        Shown(
            "limen.conversation.play:ProtocolReport",
            "limen.render.protocol:lines_of",
            html="limen.render.notebook:exchange",
            picture="limen.render.exchange:exchange_picture",
            page="limen.render.protocol:page_of",
        ),
        Shown(
            "limen.adversary.decompose:DecomposeReport",
            "limen.render.decomposition:lines_of",
            picture="limen.render.decomposition:decomposition_picture",
            page="limen.render.decomposition:page_of",
        ),
    ),
)
def protocol(
    task: TaskText,
    architecture: Annotated[
        str | None,
        Argument(
            "An architecture; it gets random weights. Or give --model.", complete=_complete.stacks, own=True
        ),
    ] = None,
    players: Annotated[
        str | None,
        Option(
            "The id of a protocol, or how many tokens each player holds: 16,4,1,1.",
            complete=_complete.entries("protocols"),
        ),
    ] = None,
    arithmetic: Annotated[
        str,
        Option(
            "integers, integers(f=8,top=6,window=16), float64, bf16, …", complete=_complete.ways_to_calculate
        ),
    ] = "integers",
    seed: TorchSeed = 0,
    *,
    model: Annotated[PathLike | None, Option("Folder of a saved model.", local=True)] = None,
    decompose: Annotated[
        bool, Option("Run the proof of the lower bound: find two inputs with identical messages.")
    ] = False,
    rows: Annotated[int, Option("With --decompose: number of tables examined at once.", least=2)] = 50_000,
    seconds: Annotated[float, Option("With --decompose: how many seconds to search.", least=0.0)] = 60.0,
    save: Annotated[
        PathLike | None,
        Option("Save the model and the certificate in this folder; a search resumes from it.", local=True),
    ] = None,
) -> ProtocolReport | DecomposeReport:
    """The players are those of the lower bound; the bits are compared with the theorem's formula."""
    from limen.conversation.play import ProtocolRequest

    folder = None if save is None else Path(save)
    where = None if model is None else Path(model)
    request = ProtocolRequest(task, architecture, players, arithmetic, where, seed)
    if not decompose:
        return _played(request, folder)
    from limen.adversary.decompose import decompose as search

    return search(request, rows, seconds, folder)


def _played(request: ProtocolRequest, folder: Path | None) -> ProtocolReport:
    """The conversation, saved in the folder; what cannot be written is refused before."""
    from limen.conversation.play import play
    from limen.core.certificate import encode
    from limen.model.files import ready, save

    if folder is not None:
        ready(folder, _CERTIFICATE)
    played = play(request)
    if folder is not None:
        save(played.model, folder, (_CERTIFICATE, encode(played.transcript)))
    return played.report
