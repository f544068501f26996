"""The command line.  Exit 0: it ran and the property holds; 1: the property fails; 2: bad input."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from msgspec import UNSET

from limen import __version__
from limen.core.catalogue import KINDS, ids
from limen.core.errors import BadInput, unknown
from limen.core.missing import advice
from limen.core.own import admit
from limen.model.memory import out_of_memory, refused, within_what_is_free
from limen.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from limen.conversation.play import ProtocolReport, ProtocolRequest
    from limen.core.report import Report
    from limen.core.verdict import DecideReport
    from limen.solutions import Attempt, SolveReport
    from limen.tables.report import TableReport
    from limen.training.judged import Section
    from limen.training.reports import ResultsReport, TrainReport
    from limen.training.spec import Spec
    from limen.training.sweep import Runs

app = typer.Typer(
    name="limen",
    help="Where an attention architecture stops: what it can compute, what it cannot, what fools it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_CERTIFICATE = "certificate.json"
_LONGEST = 2000  # letters of an error: a stranger's number may have more
_STEPS, _THOUGHT = 2**20, 2**10  # steps of chain of thought; as many as hops are counted for
# commands whose texts may name file.py:Name
_WITH_YOURS = "audit", "compare", "decide", "depth", "design", "protocol", "show", "solve", "test", "train"
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Format = Annotated[str | None, typer.Option("--format", help="latex: a table with booktabs.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]


def program() -> NoReturn:
    """The command line as a process of its own, which is refused memory before the machine runs out of it."""
    within_what_is_free()
    main()


def main() -> NoReturn:
    """Runs the command line; whatever the user got wrong is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):  # a path or a name may hold what the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:] or ["--help"])
    except BadInput as error:
        _fail(str(error))
    except typer.TyperException as error:
        _fail(error.format_message())
    except typer.Abort:
        sys.exit(130)
    except ModuleNotFoundError as error:
        _fail(advice(error))
    except (MemoryError, RuntimeError) as error:
        if (asked := refused(error)) is None:
            raise
        _fail(out_of_memory(asked))
    except BrokenPipeError:  # whoever reads has read enough
        sys.stdout = None  # nothing is left to be written at the end
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _run(arguments: list[str]) -> object:
    if arguments[0] in _WITH_YOURS:
        admit(*arguments)
    return app(arguments, prog_name="limen", standalone_mode=False)


def _fail(message: str) -> NoReturn:
    said = " ".join(message.split())
    typer.echo(f"limen: {said if len(said) <= _LONGEST else said[: _LONGEST - 1] + '…'}", err=True)
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"limen {__version__}")
        raise typer.Exit


@app.callback()
def limen(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Where an attention architecture stops: what it can compute, what it cannot, what fools it."""


@app.command("list")
def list_(
    kind: Annotated[
        str | None, typer.Argument(help=f"One of {', '.join(KINDS)}; all of them if left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The catalogue, one line each.

    Example: limen list mixers
    """
    from limen.glances import catalogue
    from limen.render.show import catalogue_lines

    said = catalogue([kind] if kind else KINDS)
    _print(said, catalogue_lines(said, proofs=kind == "theorems"), as_json)


@app.command()
def show(
    text: Annotated[
        str, typer.Argument(help="A task or an architecture in its text form, or a config.json.")
    ],
    count: Annotated[int, typer.Option(help="How many inputs of a task to draw.", min=1, max=1000)] = 2,
    hard: Annotated[bool, typer.Option("--hard", help="Draw near-misses.")] = False,
    context: Annotated[
        str, typer.Option(help="Where to cut an architecture: after so many tokens, 4096 or 128k.")
    ] = "1024",
    tokens: Annotated[str | None, typer.Option(hidden=True, help="--context, as it was called.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """What a task asks (inputs with their answers), or what an architecture carries past a cut.

    Example: limen show "eva(n=8)" --hard
    """
    from limen.core import quantities
    from limen.core.task import Task
    from limen.glances import show_stack, show_task
    from limen.render.show import stack_lines, task_lines
    from limen.stacks import stack_of

    if Task.names(text):
        drawn = show_task(Task.parse(text), count, hard, seed)
        _print(drawn, task_lines(drawn), as_json)
        return
    stack = show_stack(stack_of(text), quantities.tokens(context if tokens is None else tokens))
    _print(stack, stack_lines(stack), as_json)


@app.command()
def solve(
    task: Annotated[str, typer.Argument(help="The task in its text form.")],
    by: Annotated[
        str | None, typer.Option(help="The construction, by id or by what stands behind _by_.")
    ] = None,
    precision: Annotated[
        str, typer.Option(help="float64, float32, bf16, significand(t=5), fixed(f=8), …")
    ] = "float32",
    check: Annotated[
        str | None, typer.Option(help="exhaustive, or how many plain and as many hard inputs to try.")
    ] = None,
    smallest: Annotated[
        str | None, typer.Option(help="precision or width: the least that still works.")
    ] = None,
    over: Annotated[
        str | None, typer.Option(help="With --smallest: the size to grow, the first unless said.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="A folder for the weights and the certificate.")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="A file for the attention on one input: .svg, .png or .pdf.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Builds explicit weights for a task, runs and checks them.

    Example: limen solve "eva(n=1000)" --precision bf16
    """
    from limen.render.solve import least_lines, lines_of
    from limen.solutions import Attempt

    attempt = Attempt(task, by, precision, check, seed)
    if smallest is not None:
        least = attempt.least(smallest, over)
        _print(least, least_lines(least), as_json)
        raise typer.Exit(0 if least.works else 1)
    said = _solved(attempt, save, picture)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.correct else 1)


def _solved(attempt: Attempt, save: Path | None, picture: Path | None) -> SolveReport:
    """Runs the weights and writes what was asked for; what cannot be written is refused before."""
    from limen.core.own import named
    from limen.model.files import ready
    from limen.render.picture import attention_picture
    from limen.render.progress import inputs_bar
    from limen.render.svg import picture_ready, save_picture
    from limen.solutions import CERTIFICATE, RUN, looks, saved

    construction, drawn = attempt.construction, None
    if save is not None:
        ready(save, RUN, CERTIFICATE)
    if picture is not None:
        picture_ready(picture)
        drawn = attention_picture(looks(construction, attempt.seed))
    with inputs_bar() as progress:
        found, model = attempt.run(progress)
    if picture is not None and drawn is not None:
        save_picture(picture, drawn)
    if save is not None:
        saved(found, model, save, attempt.seed)
        if yours := named(f"{found.task} {model.frame.architecture.sized}"):
            typer.echo(
                f"note: {save} names {yours[0]}, which is yours: `limen check` will refuse it", err=True
            )
    return found.report


@app.command()
def decide(
    task: Annotated[str, typer.Argument(help="The task in its text form.")],
    architecture: Annotated[str, typer.Argument(help="The architecture in its text form, or a config.json.")],
    steps: Annotated[int, typer.Option(help="Steps of chain of thought.", min=0, max=_STEPS)] = 0,
    over: Annotated[
        str | None,
        typer.Option(help="The size of the task to vary for the flip; its own choice unless said."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="A file for the certificate.")] = None,
    proof: Annotated[
        Path | None, typer.Option(help="A Coq file, *.v, for a proof of this very CANNOT; exit 1 if none is.")
    ] = None,
    expect: Annotated[
        str | None, typer.Option(help="can, cannot or open: exit 1 if the verdict is another.")
    ] = None,
    form: Format = None,
    as_json: Json = False,
) -> None:
    """CAN, CANNOT or OPEN: which theorem or construction, both sides in bits, and where it flips.

    Example: limen decide "eva(n=488)" "linear(h=1,d=16,p=16)"
    """
    from limen.core.verdict import Answer
    from limen.render.decide import lines_of
    from limen.render.latex import verdict

    _known(form, ["latex"])
    answers = [answer.value for answer in Answer]
    if expect is not None and expect not in answers:
        raise unknown("verdict", expect, answers)
    said = _decided(task, architecture, steps, over, save, proof)
    _print(said, [verdict(said)] if form else lines_of(said), as_json)
    missed = expect is not None and said.verdict != expect
    raise typer.Exit(1 if missed or (proof is not None and not said.proof) else 0)


def _decided(
    task: str, architecture: str, steps: int, over: str | None, save: Path | None, proof: Path | None
) -> DecideReport:
    """The verdict; its certificate and its proof are written where asked."""
    from msgspec.structs import replace

    from limen.core.folder import ready_file
    from limen.core.task import Task
    from limen.core.text import left_out
    from limen.decisions import decide, keep
    from limen.forms import proved
    from limen.stacks import is_text, stack_of

    _in_order(task, architecture)
    asked, stack = Task.parse(task), stack_of(architecture)
    for path in filter(None, (save, proof)):
        ready_file(path)
    verdict = decide(asked, stack, steps, over)
    if save is not None and verdict.evidence is not None:
        keep(verdict.evidence, save)
    said = verdict.report if proof is None else proved(verdict, proof)
    texts = [(task, asked), *([(architecture, stack)] if is_text(architecture) else [])]
    return replace(said, defaults=left_out(*texts))


def _in_order(task: str, architecture: str) -> None:
    """The two arguments are easily swapped."""
    names = [text.split("(")[0].strip() for text in (task, architecture)]
    if names[1] in ids("tasks") or names[0] in ids("mixers"):
        raise BadInput(
            f"the task comes first, then the architecture; {task!r} is no task, or the second is one"
        )


@app.command()
def compare(
    architectures: Annotated[
        list[str], typer.Argument(help="Two or more: each in its text form, or a config.json.")
    ],
    context: Annotated[str, typer.Option(help="Tokens of a sequence: 4096, 128k, 1M.")] = "128k",
    task: Annotated[
        list[str] | None,
        typer.Option(help="A task to compare on; a bare id means the largest instance that fits."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Stacks side by side: what each keeps, how far it chains, and the tasks on which they differ.

    Example: limen compare "12*(3*linear,softmax)" "6*(7*linear,softmax)" --context 256k
    """
    from limen.comparisons import compare
    from limen.core import quantities
    from limen.render.compare import lines_of

    said = compare(architectures, quantities.tokens(context), task or ())
    _print(said, lines_of(said), as_json)


@app.command()
def depth(
    architecture: Annotated[str, typer.Argument(help="The architecture in its text form, or a config.json.")],
    steps: Annotated[int, typer.Option(help="Steps of chain of thought.", min=0, max=_THOUGHT)] = 0,
    as_json: Json = False,
) -> None:
    """How many hops a stack can chain in one pass, which layers decide it, and what is certified.

    Example: limen depth "12*(3*linear(h=16,d=128),softmax(h=16,d=128))"
    """
    from limen.depths import depth
    from limen.render.depth import lines_of
    from limen.stacks import stack_of

    said = depth(stack_of(architecture), steps)
    _print(said, lines_of(said), as_json)


@app.command()
def design(
    task: Annotated[
        list[str], typer.Option(help="A task in its text form; its id alone: as long as the context.")
    ],
    context: Annotated[str, typer.Option(help="How many tokens the stack is to read: 4096, 128k, 1M.")],
    layers: Annotated[int, typer.Option(help="How many layers the stack has.", min=1, max=512)] = 24,
    width: Annotated[int, typer.Option(help="The width of the stream, a multiple of 64.")] = 2048,
    budget: Annotated[
        int | None, typer.Option(help="Bytes that may be kept for one sequence.", min=1)
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="A file for the front: .svg, .png or .pdf.")] = None,
    as_json: Json = False,
) -> None:
    """The cheapest layer stacks that no theorem rules out for all the tasks, and what kills the cheaper ones.

    Example: limen design --task eva --task "composition(m=2048,n1=32)" --context 131072
    """
    from limen.core import quantities
    from limen.designs import Wish
    from limen.designs import design as search
    from limen.render.design import lines_of
    from limen.render.front import front_picture
    from limen.render.svg import picture_ready, save_picture

    wish = Wish.parse(task, quantities.tokens(context), layers, width, budget)
    if picture is not None:
        picture_ready(picture)
    said = search(wish).report
    if picture is not None:
        save_picture(picture, front_picture(said))
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.feasible else 1)


@app.command()
def bound(
    target: Annotated[str, typer.Argument(help="A task in its text form, or FILE.py:NAME.")],
    cut: Annotated[
        int | None, typer.Option(help="Of a function: how many tokens are read before the rest asks.")
    ] = None,
    alphabet: Annotated[int | None, typer.Option(help="Of a function: tokens are 0..A-1.")] = None,
    length: Annotated[int | None, typer.Option(help="Of a function: how many tokens it takes.")] = None,
    seconds: Annotated[float, typer.Option(help="Of a function: how long it may run.", min=0.1)] = 60.0,
    form: Format = None,
    as_json: Json = False,
) -> None:
    """What every architecture needs for a task; for your own function, from its communication matrix.

    Example: limen bound "two_sum(n=1024,M=4096)"
    """
    from limen.bounds.bound import bound_of
    from limen.render.bound import lines_of
    from limen.render.latex import bound

    _known(form, ["latex"])
    said = bound_of(target, cut, alphabet, length, seconds)
    _print(said, [bound(said)] if form else lines_of(said), as_json)


@app.command()
def audit(
    paths: Annotated[
        list[str],
        typer.Argument(help="A config.json, a folder that has one, a .gguf, or a model's name on the hub."),
    ],
    context: Annotated[str, typer.Option(help="Tokens of a sequence: 4096, 128k, 1M.")] = "128k",
    sequences: Annotated[int, typer.Option(help="Sequences at a time.", min=1)] = 1,
    kv_dtype: Annotated[
        str | None, typer.Option(help="Of keys and values; the config's own unless said: bfloat16, q8_0, …")
    ] = None,
    conv_dtype: Annotated[
        str | None, typer.Option(help="Of convolutions; the engine's own unless said.")
    ] = None,
    state_dtype: Annotated[
        str | None, typer.Option(help="Of recurrent states; the config's or the engine's own unless said.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="llamacpp, mlx, sglang, transformers or vllm; minimal: what the next token needs."),
    ] = "minimal",
    tensor_parallel: Annotated[
        int, typer.Option(help="Ranks that share the heads; bytes are those of one rank.", min=1)
    ] = 1,
    memory: Annotated[str | None, typer.Option(help="What there is: 24GiB. Asks what fits.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Bytes of the weights, where they are not counted: 15GiB.")
    ] = None,
    weights_dtype: Annotated[
        str | None, typer.Option(help="Of the weights; the config's unless said.")
    ] = None,
    max_cache: Annotated[str | None, typer.Option(help="Exit code 1 if the cache is larger: 4GiB.")] = None,
    needs: Annotated[
        list[str] | None, typer.Option(help="Exit code 1 if a theorem rules this task out; repeatable.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(help="Recurrent states in the pool; one a sequence unless said.", min=1)
    ] = None,
    checkpoints: Annotated[
        int, typer.Option(help="llamacpp: states kept beside each, to go back to.", min=0)
    ] = 0,
    ubatch: Annotated[int, typer.Option(help="llamacpp: tokens of one pass.", min=1)] = 512,
    unified: Annotated[
        bool, typer.Option("--unified", help="llamacpp: the context is one pool for all sequences.")
    ] = False,
    swa_full: Annotated[
        bool, typer.Option("--swa-full", help="llamacpp: windows take as many cells as the context.")
    ] = False,
    swa_ratio: Annotated[
        float | None, typer.Option(help="sglang: window tokens per full token; 0.8 unless said.")
    ] = None,
    page: Annotated[
        int | None, typer.Option(help="sglang: tokens of a page; 1 unless said, 64 with an index.", min=1)
    ] = None,
    block: Annotated[int, typer.Option(help="vllm: tokens of a block, at least.", min=1)] = 16,
    speculative: Annotated[int, typer.Option(help="vllm: tokens drafted ahead.", min=0)] = 0,
    batched: Annotated[int, typer.Option(help="vllm: tokens scheduled in one step.", min=1)] = 8192,
    prefix_caching: Annotated[bool, typer.Option(help="vllm: keeps states at block boundaries.")] = True,
    async_scheduling: Annotated[bool, typer.Option(help="vllm: two steps are under way at a time.")] = True,
    draft_layers: Annotated[int, typer.Option(help="vllm: layers that a drafter (MTP) adds.", min=0)] = 0,
    card: Annotated[
        Path | None, typer.Option(help="A file for a picture of it: .svg, .png, .pdf or .html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """From a model's config to its cache in bytes, its state and its limits; several side by side.

    Example: limen audit examples/configs/gpt_oss_120b.json --context 131072
    """
    from limen.audits import Request, load
    from limen.audits import audit as read
    from limen.audits.report import AuditsReport
    from limen.core import quantities
    from limen.render.audit import lines_of, side_by_side
    from limen.render.card import card_ready, save_card

    request = Request(
        quantities.tokens(context),
        sequences,
        tensor_parallel=tensor_parallel,
        slots=slots,
        checkpoints=checkpoints,
        speculative=speculative,
        ubatch=ubatch,
        unified=unified,
        swa_full=swa_full,
        swa_ratio=swa_ratio,
        page=page,
        block=block,
        batched=batched,
        prefix_caching=prefix_caching,
        async_scheduling=async_scheduling,
        draft_layers=draft_layers,
        memory=None if memory is None else quantities.memory(memory),
        weights=None if weights is None else quantities.memory(weights),
        weights_dtype=weights_dtype,
        max_cache=None if max_cache is None else quantities.memory(max_cache),
        needs=tuple(needs or ()),
        kv_dtype=kv_dtype,
        conv_dtype=conv_dtype,
        state_dtype=state_dtype,
        engine=engine,
    )
    if card is not None:
        card_ready(card, len(paths))
    found = tuple(read(*load(path), request).report for path in paths)
    if card is not None:
        save_card(card, found)
    if len(found) == 1:
        _print(found[0], lines_of(found[0]), as_json)
    else:
        _print(AuditsReport(models=found), side_by_side(found), as_json)
    raise typer.Exit(1 if any(one.failures for one in found) else 0)


@app.command()
def protocol(
    task: Annotated[str, typer.Argument(help="The task in its text form.")],
    architecture: Annotated[
        str | None, typer.Argument(help="The architecture; its weights are random. Or --model.")
    ] = None,
    players: Annotated[
        str | None, typer.Option(help="A protocol by its id, or how many tokens each player holds: 16,4,1,1.")
    ] = None,
    arithmetic: Annotated[
        str, typer.Option(help="integers, integers(f=8,top=6,window=16), float64, bf16, …")
    ] = "integers",
    model: Annotated[Path | None, typer.Option(help="The folder of a saved model.")] = None,
    decompose: Annotated[
        bool, typer.Option("--decompose", help="Run the lower bound's proof: two inputs told alike.")
    ] = False,
    rows: Annotated[int, typer.Option(help="With --decompose: tables seen at a time.", min=2)] = 50_000,
    seconds: Annotated[float, typer.Option(help="With --decompose: how long to search.", min=0.0)] = 60.0,
    save: Annotated[
        Path | None, typer.Option(help="A folder for the model and the certificate; a search goes on there.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="A file for the exchange: .svg, .png or .pdf.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Runs a model as a conversation between players and counts its bits against the theorem's formula.

    Example: limen protocol "composition(m=4,n1=4)" "linear(h=1,d=4),softmax(h=2,d=4)"
    """
    from limen.conversation.play import ProtocolRequest
    from limen.render.protocol import lines_of

    request = ProtocolRequest(task, architecture, players, arithmetic, model, seed)
    if decompose:
        from limen.decompositions import decompose as search
        from limen.render.decomposition import lines_of as search_lines

        found = search(request, rows, seconds, save)
        _print(found, search_lines(found), as_json)
        raise typer.Exit(0 if found.found else 1)
    said = _played(request, save, picture)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.holds else 1)


def _played(request: ProtocolRequest, folder: Path | None, picture: Path | None) -> ProtocolReport:
    """Holds the conversation and writes what was asked for; what cannot be written is refused before."""
    from limen.conversation.play import play
    from limen.core.certificate import encode
    from limen.model.files import ready, save
    from limen.render.exchange import exchange_picture
    from limen.render.svg import picture_ready, save_picture

    if folder is not None:
        ready(folder, _CERTIFICATE)
    if picture is not None:
        picture_ready(picture)
    played = play(request)
    if folder is not None:
        save(played.model, folder, (_CERTIFICATE, encode(played.transcript)))
    if picture is not None:
        save_picture(picture, exchange_picture(played.report))
    return played.report


@app.command()
def table(
    row: Annotated[list[str] | None, typer.Option(help="Only this row, by its id; may be repeated.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Only this column, by its id; may be repeated.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run weights on more inputs.")] = False,
    out: Annotated[Path, typer.Option(help="The folder for report.html, report.json, certificates.")] = Path(
        "limen-report"
    ),
    form: Annotated[
        str | None, typer.Option("--format", help="Print markdown, latex or csv instead of the table.")
    ] = None,
    as_json: Json = False,
) -> None:
    """THE main job: architectures × tasks, each cell with evidence made on the spot; writes a report.

    Example: limen table --row linear --column eva
    """
    from limen.render.table import FORMATS, printed
    from limen.tables.cell import EvidenceError

    _known(form, FORMATS)
    try:
        said = _tabled(row or [], column or [], full, out)
    except EvidenceError as error:
        typer.echo(f"limen: the evidence does not hold: {error}", err=True)
        raise typer.Exit(1) from error
    lines = [FORMATS[form](said)] if form else [*printed(said), "", f"report: {said.page}"]
    _print(said, lines, as_json)


def _tabled(rows: list[str], columns: list[str], full: bool, out: Path) -> TableReport:
    """Builds the table and writes the folder, once everything has been checked."""
    import msgspec
    from msgspec.structs import replace

    from limen.render.page.page import page
    from limen.render.progress import cells_bar
    from limen.tables.build import PAGE, REPORT, build, refuse, write
    from limen.tables.curves import curves

    refuse(out)
    with cells_bar() as progress:
        table = build(rows, columns, full, progress)
    said = table.report
    content = msgspec.json.format(said.to_json().encode(), indent=1)
    write(table, out, {REPORT: content, PAGE: page(said, curves(table.columns))})
    return replace(said, page=str(out / PAGE))


@app.command()
def train(
    what: Annotated[str, typer.Argument(help="An experiment by its id, or a task in its text form.")],
    architecture: Annotated[
        str | None, typer.Argument(help="With a task: the stack in its text form; p rounds its state.")
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="Of an experiment: which cell; the first unless said.")
    ] = None,
    size: Annotated[str, typer.Option(help="Of an experiment: quick, standard or full.")] = "quick",
    start: Annotated[str | None, typer.Option(help="random, or lookup: attention begins as one.")] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps at most.", min=1)] = None,
    hard: Annotated[bool | None, typer.Option("--hard/--plain", help="Near-misses.")] = None,
    thought: Annotated[bool, typer.Option("--thought", help="Chain of thought.")] = False,
    hops: Annotated[bool, typer.Option("--hops", help="Every hop is asked for.")] = False,
    against: Annotated[
        str | None, typer.Option(help="Who proposes inputs to train on: hardest, or an adversary.")
    ] = None,
    width: Annotated[int | None, typer.Option(help="The width of the stream.", min=2)] = None,
    rate: Annotated[float | None, typer.Option(help="The highest learning rate.", min=0.0)] = None,
    save: Annotated[Path | None, typer.Option(help="A folder for the trained model.")] = None,
    curve: Annotated[Path | None, typer.Option(help="An SVG file for the learning curve.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Trains one model and judges it on fresh inputs: a measurement, never a proof.

    Example: limen train "index(n=20,S=32)" "softmax(h=1,d=64)" --start lookup --steps 200
    """
    from limen.render.training import lines_of
    from limen.training.experiment import spec_of

    said = {"start": start, "steps": steps, "hard": hard, "against": against, "width": width, "rate": rate}
    said |= {"thought": thought or None, "hops": hops or None, "seed": seed or None}
    given = {name: value for name, value in said.items() if value is not None}
    spec = spec_of(what, architecture, cell, size, given)
    found = _trained(spec, what if what in ids("experiments") else None, save, curve)
    _print(found, lines_of(found), as_json)


def _trained(spec: Spec, name: str | None, folder: Path | None, curve: Path | None) -> TrainReport:
    """Trains; the model goes into a folder that other commands take, the learning curve into a file."""
    from limen.model.files import ready
    from limen.model.files import save as save_model
    from limen.render.svg import picture_ready
    from limen.render.training import steps_bar
    from limen.training.reports import train_report
    from limen.training.run import run

    if folder is not None:
        ready(folder)
    if curve is not None:
        picture_ready(curve)
    spec.checked()
    with steps_bar(spec.steps + spec.first_steps) as watch:
        result, model = run(spec, watch)
    if folder is not None:
        save_model(model, folder)
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves([result]), curve)
    return train_report(result, name, folder)


@app.command("sweep")
def sweep_(
    experiment: Annotated[list[str], typer.Argument(help="Experiments by their ids; all: every one.")],
    size: Annotated[str, typer.Option(help="quick, standard or full.")] = "quick",
    folder: Annotated[Path, typer.Option(help="Where results are kept, one file a run.")] = Path(
        "limen-results"
    ),
    cores: Annotated[
        int | None, typer.Option(help="Processes, one a core; as many as there are unless said.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="The address of a Dask scheduler, tcp://…; its workers run.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed.")] = False,
    as_json: Json = False,
) -> None:
    """Runs what is missing of an experiment; killed anywhere, it goes on where it stopped.

    Example: limen sweep depth --size quick
    """
    from limen.render.sweep import ended_line, lines_of
    from limen.training.experiment import named, size_of
    from limen.training.reports import sweep_report
    from limen.training.sweep import due, sweep

    found = named(experiment)
    specs = [spec for one in found.values() for spec in one.specs(size_of(size))]
    missing = len(due(specs, folder, retry))
    done = sweep(specs, folder, _runs(cores, scheduler), retry, ended_line(missing))
    said = sweep_report(experiment, size, done, folder)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(1 if said.failed else 0)


def _runs(cores: int | None, scheduler: str | None) -> Runs:
    """Who runs: a Dask cluster, or one process a core."""
    if scheduler is not None:
        from limen.training.cluster import cluster

        return cluster(scheduler)
    from limen.training.local import local

    return local(cores or len(os.sched_getaffinity(0)))


@app.command("results")
def results_(
    experiment: Annotated[list[str], typer.Argument(help="Experiments by their ids; all: every one.")],
    size: Annotated[
        str | None, typer.Option(help="quick, standard or full; the largest there is unless said.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="A folder of results; those that are shipped unless said.")
    ] = None,
    sql: Annotated[str | None, typer.Option(help="A query on the table `runs`, by DuckDB.")] = None,
    out: Annotated[Path | None, typer.Option(help="A .parquet or .csv file for all runs.")] = None,
    chart: Annotated[Path | None, typer.Option(help="An SVG file for the chart.")] = None,
    as_json: Json = False,
) -> None:
    """What the result files say, cell by cell; a failure counts only beside a control that succeeded.

    Example: limen results depth --sql "select architecture, avg(accuracy) from runs group by 1"
    """
    from limen.render.results import lines_of
    from limen.training.experiment import named, size_of
    from limen.training.judged import section

    asked = None if size is None else size_of(size)
    sections = [section(name, asked, folder) for name in named(experiment)]
    said = _resulted(experiment, sections, sql, out)
    if chart is not None:
        from limen.render.plots import picture, section_chart

        picture(section_chart(sections[0]), chart)
    _print(said, lines_of(said), as_json)


def _resulted(names: list[str], found: list[Section], sql: str | None, out: Path | None) -> ResultsReport:
    """The report, and a file of all runs where one was asked for."""
    from limen.training.query import export, query
    from limen.training.reports import ResultsReport, experiment_report, run_reports

    rows = [row for one in found for row in run_reports(one.name, one.cells)]
    if out is not None:
        export(rows, out)
    return ResultsReport(
        experiment=", ".join(names),
        experiments=tuple(map(experiment_report, found)),
        rows=tuple(rows),
        found=UNSET if sql is None else tuple(query(rows, sql)),
    )


@app.command("check")
def check_(
    certificate: Annotated[
        Path,
        typer.Argument(help="A certificate, as JSON; a folder of them; or a proof, *.v, which Coq checks."),
    ],
    model: Annotated[
        Path | None, typer.Option(help="The folder of the model; the certificate's own if left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Re-checks a certificate: runs the task and the model again, and nothing else.

    Example: limen check weights/certificate.json
    """
    from limen.checks.reader import all_checked, checked
    from limen.render.check import folder_lines

    if not certificate.is_dir():
        said = checked(certificate, model or certificate.parent)
        _print(said, [said.headline], as_json)
        raise typer.Exit(0 if said.valid else 1)
    if model is not None:
        raise BadInput("--model is for one certificate; those of a folder have their models beside them")
    found = all_checked(certificate)
    _print(found, folder_lines(found), as_json)
    raise typer.Exit(2 if found.malformed else 0 if found.valid else 1)


@app.command("test")
def test_(
    entry: Annotated[
        str, typer.Argument(help="Your task, mixer or construction: FILE.py:NAME; or an id of the catalogue.")
    ],
    as_json: Json = False,
) -> None:
    """Holds a task, a mixer or a construction to the laws of the catalogue; exit 1 if one is broken.

    Example: limen test examples/own.py:Majority
    """
    from limen.laws.held import LawsReport, Subject
    from limen.render.laws import heading, line, summary

    subject, held = Subject.parse(entry), []
    _progress(heading(subject.entry, subject.kind, subject.names), as_json)
    for one in subject.held():
        held.append(one)
        _progress(line(one), as_json)
    said = LawsReport.of(subject, held)
    _print(said, [summary(said)], as_json)
    raise typer.Exit(0 if said.holds else 1)


def _progress(line: str, as_json: bool) -> None:
    """A line at once, since the next may take a while."""
    if not as_json:
        typer.echo(line)


@app.command("schema")
def schema_(
    name: Annotated[str, typer.Argument(help=f"A command: {', '.join(SCHEMAS)}.")],
) -> None:
    """The JSON Schema of what a command prints with --json.

    Example: limen schema decide
    """
    from limen.schemas import schema_of

    typer.echo(json.dumps(schema_of(name), ensure_ascii=False, indent=1))


def _known(form: str | None, known: Iterable[str]) -> None:
    if form is not None and form not in known:
        raise unknown("format", form, known)


def _print(said: Report, lines: list[str], as_json: bool) -> None:
    """For scripts or for people."""
    typer.echo(said.to_json() if as_json else "\n".join(lines))
