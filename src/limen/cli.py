"""The command line.  Exit 0: it ran and the property holds; 1: the property fails; 2: bad input."""

import io
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from limen import __version__
from limen.core.catalogue import KINDS, ids, summary
from limen.core.errors import BadInput

app = typer.Typer(
    name="limen",
    help="Where an attention architecture stops: what it can compute, what it cannot, what fools it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_LONGEST = 2000  # letters of an error: a stranger's number may have more
_STEPS, _THOUGHT = 2**20, 2**10  # steps of chain of thought; as many as hops are counted for
_EXTRAS = dict.fromkeys(("torch", "jaxtyping"), "run")  # what `pip install limen` does not bring
_EXTRAS |= dict.fromkeys(("altair", "jinja2", "vl_convert"), "report") | {"transformers": "hf"}
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]


def main() -> NoReturn:
    """Runs the command line; whatever the user got wrong is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):  # a path or a name may hold what the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="limen", standalone_mode=False)
    except BadInput as error:
        _fail(str(error))
    except typer.TyperException as error:
        _fail(error.format_message())
    except typer.Abort:
        sys.exit(130)
    except ModuleNotFoundError as error:
        _fail(_missing(error))
    except MemoryError as error:
        _fail(f"not enough memory: {error}")
    except BrokenPipeError:  # whoever reads has read enough
        sys.stdout = None  # nothing is left to be written at the end
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    said = " ".join(message.split())
    typer.echo(f"limen: {said if len(said) <= _LONGEST else said[: _LONGEST - 1] + '…'}", err=True)
    sys.exit(2)


def _missing(error: ModuleNotFoundError) -> str:
    """Which extra has the package that this command needs; any other error is ours."""
    found = re.search(r"No module named '(\w+)", str(error))
    if found is None or found[1] not in _EXTRAS:
        raise error
    return f"this needs the package {found[1]}: pip install 'limen[{_EXTRAS[found[1]]}]'"


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
    kinds = [kind] if kind else list(KINDS)
    found = {name: ids(name) for name in kinds}
    lines = []
    for name, entries in found.items() if not as_json else ():
        width = max(map(len, entries), default=0)
        lines += [f"{name} ({len(entries)})"] if entries else []
        for entry in entries:
            lines.append(f"  {entry:{width}}  {summary(name, entry)}")
            if kind == "theorems":
                from limen.render.theory import formal_line

                lines.append(f"  {'':{width}}    {formal_line(entry)}")
    _print("list", found, lines, as_json)


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
    from limen.render.show import architecture_lines, show_architecture, show_task, task_lines

    first = text.split("(")[0].strip()
    if first in ids("tasks"):
        shown: dict[str, Any] = show_task(text, count, hard, seed)
        lines = task_lines(shown)
    else:
        shown = show_architecture(text, quantities.tokens(context if tokens is None else tokens))
        lines = architecture_lines(shown)
    _print("show", shown, lines, as_json)


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
    picture: Annotated[Path | None, typer.Option(help="An SVG file for the attention on one input.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Builds explicit weights for a task, runs and checks them.

    Example: limen solve "eva(n=1000)" --precision bf16
    """
    from limen.render.solve import Request, least, solution

    request = Request(task, by, precision, check, seed)
    if smallest is not None:
        shown, lines, good = least(request, smallest, over)
    else:
        shown, lines, good = solution(request, save, picture)
    _print("solve", shown, lines, as_json)
    raise typer.Exit(0 if good else 1)


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
    as_json: Json = False,
) -> None:
    """CAN, CANNOT or OPEN: which theorem or construction, both sides in bits, and where it flips.

    Example: limen decide "eva(n=488)" "linear(h=1,d=16,p=16)"
    """
    from limen.render.decide import decided

    shown, lines = decided(task, architecture, steps, over, save, proof)
    _print("decide", shown, lines, as_json)
    raise typer.Exit(0 if proof is None or shown["proof"] else 1)


@app.command()
def depth(
    architecture: Annotated[str, typer.Argument(help="The architecture in its text form, or a config.json.")],
    steps: Annotated[int, typer.Option(help="Steps of chain of thought.", min=0, max=_THOUGHT)] = 0,
    as_json: Json = False,
) -> None:
    """How many hops a stack can chain in one pass, which layers decide it, and what is certified.

    Example: limen depth "12*(3*linear(h=16,d=128),softmax(h=16,d=128))"
    """
    from limen.depths import depth as found
    from limen.render.depth import lines_of
    from limen.render.stack import stack_of

    shown = found(stack_of(architecture), steps)
    _print("depth", shown, lines_of(shown), as_json)


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
    picture: Annotated[Path | None, typer.Option(help="An SVG file for the front.")] = None,
    as_json: Json = False,
) -> None:
    """The cheapest layer stacks that no theorem rules out for all the tasks, and what kills the cheaper ones.

    Example: limen design --task eva --task "composition(m=2048,n1=32)" --context 131072
    """
    from limen.core import quantities
    from limen.designs import Wish
    from limen.render.design import designed

    wish = Wish.parse(task, quantities.tokens(context), layers, width, budget)
    shown, lines, good = designed(wish, picture)
    _print("design", shown, lines, as_json)
    raise typer.Exit(0 if good else 1)


@app.command()
def bound(
    target: Annotated[str, typer.Argument(help="A task in its text form, or FILE.py:NAME.")],
    cut: Annotated[
        int | None, typer.Option(help="Of a function: how many tokens are read before the rest asks.")
    ] = None,
    alphabet: Annotated[int | None, typer.Option(help="Of a function: tokens are 0..A-1.")] = None,
    length: Annotated[int | None, typer.Option(help="Of a function: how many tokens it takes.")] = None,
    seconds: Annotated[float, typer.Option(help="Of a function: how long it may run.", min=0.1)] = 60.0,
    as_json: Json = False,
) -> None:
    """What every architecture needs for a task; for your own function, from its communication matrix.

    Example: limen bound "two_sum(n=1024,M=4096)"
    """
    from limen.render.bound import bounded

    shown, lines = bounded(target, cut, alphabet, length, seconds)
    _print("bound", shown, lines, as_json)


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
    block: Annotated[int, typer.Option(help="vllm: tokens of a block, at least.", min=1)] = 16,
    speculative: Annotated[int, typer.Option(help="vllm: tokens drafted ahead.", min=0)] = 0,
    batched: Annotated[int, typer.Option(help="vllm: tokens scheduled in one step.", min=1)] = 8192,
    prefix_caching: Annotated[bool, typer.Option(help="vllm: keeps states at block boundaries.")] = True,
    async_scheduling: Annotated[bool, typer.Option(help="vllm: two steps are under way at a time.")] = True,
    draft_layers: Annotated[int, typer.Option(help="vllm: layers that a drafter (MTP) adds.", min=0)] = 0,
    card: Annotated[Path | None, typer.Option(help="A file for a picture of it: .svg or .html.")] = None,
    as_json: Json = False,
) -> None:
    """From a model's config to its cache in bytes, its state and its limits; several side by side.

    Example: limen audit examples/configs/gpt_oss_120b.json --context 131072
    """
    from limen.audits import Request
    from limen.core import quantities
    from limen.render.audit import audited

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
    shown, lines = audited(paths, request, card)
    _print("audit", shown, lines, as_json)
    failed = any(one["failures"] for one in shown.get("models", [shown]))
    raise typer.Exit(1 if failed else 0)


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
    picture: Annotated[Path | None, typer.Option(help="An SVG file for the exchange.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Runs a model as a conversation between players and counts its bits against the theorem's formula.

    Example: limen protocol "composition(m=4,n1=4)" "linear(h=1,d=4),softmax(h=2,d=4)"
    """
    from limen.render.protocol import Request, played

    request = Request(task, architecture, players, arithmetic, model, seed)
    if decompose:
        from limen.render.decomposition import decomposed

        shown, lines, good = decomposed(request, rows, seconds, save)
    else:
        shown, lines, good = played(request, save, picture)
    _print("protocol", shown, lines, as_json)
    raise typer.Exit(0 if good else 1)


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
    from limen.render.evidence import tabled
    from limen.tables.cell import EvidenceError

    try:
        shown, lines = tabled(row or [], column or [], full, out, form)
    except EvidenceError as error:
        typer.echo(f"limen: the evidence does not hold: {error}", err=True)
        raise typer.Exit(1) from error
    _print("table", shown, lines, as_json)


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
    from limen.render.check import exit_code, lines_of

    if certificate.is_dir() and model is not None:
        raise BadInput("--model is for one certificate; those of a folder have their models beside them")
    shown = (
        all_checked(certificate)
        if certificate.is_dir()
        else checked(certificate, model or certificate.parent)
    )
    _print("check", shown, lines_of(shown), as_json)
    raise typer.Exit(exit_code(shown))


def _print(kind: str, fields: Mapping[str, Any], lines: list[str], as_json: bool) -> None:
    """For scripts or for people."""
    shown = json.dumps({"schema": f"limen/{kind}/1", **fields}, ensure_ascii=False)
    typer.echo(shown if as_json else "\n".join(lines))
