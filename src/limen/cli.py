"""The command line.  Exit 0: it ran and the property holds; 1: the property fails; 2: bad input."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from msgspec import UNSET

from limen import __version__
from limen.commands import completions
from limen.commands.schemas import SCHEMAS
from limen.core.catalogue import KINDS, ids
from limen.errors import BadInput, unknown
from limen.files.missing import advice
from limen.files.own import admit
from limen.files.printable import printable, printable_json
from limen.model.memory import out_of_memory, refused, within_what_is_free

if TYPE_CHECKING:
    from collections.abc import Iterable

    from limen.adversary.report import FoolReport
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
    help="Find out where an attention architecture stops: what it can and cannot compute, what fools it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_CERTIFICATE = "certificate.json"
_LONGEST = 2000  # letters of an error: a stranger's number may have more
_DEVICE = 2**20  # bytes: no device has less
_STEPS, _THOUGHT = 2**20, 2**10  # steps of chain of thought; as many as hops are counted for
# commands whose texts may name file.py:Name
_WITH_YOURS = "audit", "compare", "decide", "depth", "design", "protocol", "show", "solve", "test", "train"
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="latex: print a booktabs table.", autocompletion=completions.of("latex")),
]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.", min=0)]
TaskText = Annotated[
    str,
    typer.Argument(help='A task, such as "eva(n=512)".', autocompletion=completions.entries("tasks")),
]
StackText = Annotated[
    str,
    typer.Argument(
        help='An architecture, such as "2*linear(h=8,d=64),softmax(h=8,d=64)", or a config.json.',
        autocompletion=completions.stacks,
    ),
]
Context = Annotated[str, typer.Option(help="Number of tokens in a sequence: 4096, 128k, 1M.")]
Experiments = Annotated[
    list[str],
    typer.Argument(help="Ids of experiments, or all.", autocompletion=completions.experiments),
]
Picture = Annotated[
    Path | None,
    typer.Option(help="Draw a picture into this file: .svg, .png or .pdf."),
]


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
    said = printable(" ".join(message.split()))
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
    """Find out where an attention architecture stops: what it can and cannot compute, what fools it.

    Start with: limen list, limen show eva, limen decide eva linear.
    """


@app.command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            help=f"One of {', '.join(KINDS)}. Default: all of them.", autocompletion=completions.of(*KINDS)
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the catalogue, one line for each entry.

    Example: limen list mixers
    """
    from limen.commands.glances import catalogue
    from limen.render.show import catalogue_lines

    said = catalogue([kind] if kind else KINDS)
    _print(said, catalogue_lines(said, proofs=kind == "theorems"), as_json)


@app.command()
def show(
    text: Annotated[
        str,
        typer.Argument(
            help="Any id of the catalogue, a task or an architecture with its sizes, or a config.json.",
            autocompletion=completions.everything,
        ),
    ],
    count: Annotated[
        int | None, typer.Option(help="Of a task: how many inputs to draw. Default: 2.", min=1, max=1000)
    ] = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Of a task: draw inputs that are near-misses.")
    ] = False,
    context: Annotated[
        str | None,
        typer.Option(
            help="For an architecture: the position of the cut, such as 4096 or 128k. Default: 1024."
        ),
    ] = None,
    tokens: Annotated[str | None, typer.Option(hidden=True, help="The old name of --context.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Explain an id, a task or an architecture.

    A bare id: what it is, its keys with defaults and ranges, a theorem's statement and proof.
    A task with its sizes: some inputs with their answers.
    An architecture: what it carries past a cut.

    Example: limen show "eva(n=8)" --hard
    """
    from limen.commands.glances import kind_of, show_entry, show_stack, show_task
    from limen.commands.stacks import stack_of
    from limen.core import quantities
    from limen.core.task import Task
    from limen.render.show import entry_lines, stack_lines, task_lines

    where = context if tokens is None else tokens
    if (kind := kind_of(text)) is not None and (count, hard, where) == (None, False, None):
        entry = show_entry(kind, text)
        _print(entry, entry_lines(entry), as_json)
    elif Task.names(text):
        drawn = show_task(Task.parse(text), count or 2, hard, seed)
        _print(drawn, task_lines(drawn), as_json)
    else:
        _meant(text)
        stack = show_stack(stack_of(text), quantities.tokens(where or "1024"))
        _print(stack, stack_lines(stack), as_json)


def _meant(text: str) -> None:
    """A slip in an id of a kind that is no mixer: the nearest id is named."""
    near = get_close_matches(text, [name for kind in KINDS for name in ids(kind)], n=1)
    if near and near[0] not in ids("mixers") and text not in ids("mixers"):
        raise BadInput(f"no entry named {text!r}; did you mean {near[0]!r}? limen list shows all of them")


@app.command()
def solve(
    task: TaskText,
    by: Annotated[
        str | None,
        typer.Option(
            help="The construction: its id, or the part after _by_. Default: the simplest.",
            autocompletion=completions.constructions,
        ),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            help="float64, float32, bf16, significand(t=5), fixed(f=8), …",
            autocompletion=completions.precisions,
        ),
    ] = "float32",
    check: Annotated[
        str | None,
        typer.Option(
            help="exhaustive: try every input. A number: try so many plain and so many hard inputs.",
            autocompletion=completions.of("exhaustive"),
        ),
    ] = None,
    smallest: Annotated[
        str | None,
        typer.Option(
            help="Find the least that works: precision, width, or precision,width (one for each width).",
            autocompletion=completions.of("precision", "width", "precision,width"),
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(help="With --smallest or --range: the size of the task that grows. Default: the first."),
    ] = None,
    reach: Annotated[
        bool, typer.Option("--range", help="Show how far the weights are certified in each number format.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Save the weights and the certificate in this folder.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the attention on one input: .svg, .png or .pdf.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Build weights that solve a task, run them and check them.

    Example: limen solve "eva(n=1000)" --precision bf16
    """
    from limen.render.solve import least_lines, lines_of, range_lines
    from limen.solutions import Attempt, certified_range

    attempt = Attempt(task, by, precision, check, seed)
    if reach:
        far = certified_range(attempt.construction, over)
        _print(far, range_lines(far), as_json)
        raise typer.Exit(0 if far.works else 1)
    if smallest == "precision,width":
        _frontier(attempt, picture, as_json)
    if smallest is not None:
        least = attempt.least(smallest, over)
        _print(least, least_lines(least), as_json)
        raise typer.Exit(0 if least.works else 1)
    said = _solved(attempt, save, picture)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.correct else 1)


def _frontier(attempt: Attempt, picture: Path | None, as_json: bool) -> NoReturn:
    """Precision against width, and its picture."""
    from limen.render.solve import frontier_lines, frontier_picture
    from limen.render.svg import picture_ready, save_picture
    from limen.solutions import frontier

    if picture is not None:
        picture_ready(picture)
    said = frontier(attempt.construction, attempt.how, attempt.seed)
    if picture is not None:
        save_picture(picture, frontier_picture(said))
    _print(said, frontier_lines(said), as_json)
    raise typer.Exit(0 if said.works else 1)


def _solved(attempt: Attempt, save: Path | None, picture: Path | None) -> SolveReport:
    """Runs the weights and writes what was asked for; what cannot be written is refused before."""
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
        _note_yours(save, f"{found.task} {model.frame.architecture.sized}", "`limen check` will refuse it")
    return found.report


def _note_yours(folder: Path, text: str, then: str) -> None:
    """Says of what was saved that it names a file of the user's, which no other command will run."""
    from limen.files.own import named

    if yours := named(text):
        typer.echo(printable(f"note: {folder} uses {yours[0]}, your own code, so {then}"), err=True)


@app.command()
def decide(
    task: TaskText,
    architecture: StackText,
    steps: Annotated[int, typer.Option(help="Steps of chain of thought.", min=0, max=_STEPS)] = 0,
    over: Annotated[
        str | None,
        typer.Option(help="Which size of the task to vary to find the flip. Default: the task's own choice."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the certificate in this file.")] = None,
    proof: Annotated[
        Path | None,
        typer.Option(help="Write a Coq proof of this CANNOT to a .v file; exit 1 if there is none."),
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(
            help="can, cannot or open: exit 1 if the verdict is a different one.",
            autocompletion=completions.verdicts,
        ),
    ] = None,
    form: Format = None,
    as_json: Json = False,
) -> None:
    """Say CAN, CANNOT or OPEN for a task and an architecture.

    Names the theorem or the construction, both sides in bits, and the size at which the verdict flips.

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
    _print(said, verdict(said).splitlines() if form else lines_of(said), as_json)
    missed = expect is not None and said.verdict != expect
    raise typer.Exit(1 if missed or (proof is not None and not said.proof) else 0)


def _decided(
    task: str, architecture: str, steps: int, over: str | None, save: Path | None, proof: Path | None
) -> DecideReport:
    """The verdict; its certificate and its proof are written where asked."""
    from msgspec.structs import replace

    from limen.commands.stacks import is_text, stack_of
    from limen.coq.forms import proved
    from limen.core.task import Task
    from limen.core.text import left_out
    from limen.decisions.decide import decide, keep
    from limen.files.folder import ready_file

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
            f"the task comes first, then the architecture: try limen decide {architecture!r} {task!r}"
        )


@app.command()
def compare(
    architectures: Annotated[
        list[str],
        typer.Argument(
            help="Two or more architectures or config.json files.", autocompletion=completions.stacks
        ),
    ],
    context: Context = "128k",
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare on this task; may be repeated. A bare id means the largest instance that fits.",
            autocompletion=completions.entries("tasks"),
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare stacks: memory, hops, and where they differ.

    It shows what each stack keeps, how many hops it chains, and which tasks only some of them can solve.

    Example: limen compare "2*(3*linear(h=8,d=64),softmax(h=8,d=64))" "8*linear(h=8,d=64)" --context 1M
    """
    from limen.commands.compare import compare
    from limen.core import quantities
    from limen.render.compare import lines_of

    said = compare(architectures, quantities.tokens(context), task or ())
    _print(said, lines_of(said), as_json)


@app.command()
def depth(
    architecture: StackText,
    steps: Annotated[int, typer.Option(help="Steps of chain of thought.", min=0, max=_THOUGHT)] = 0,
    as_json: Json = False,
) -> None:
    """Count the hops that a stack can chain in one pass.

    Hops are weights that exist, not a promise about a trained model. Also says which layers they need,
    and from which length on one more hop is proved impossible.

    Example: limen depth "12*(3*linear(h=16,d=128),softmax(h=16,d=128))"
    """
    from limen.commands.stacks import stack_of
    from limen.decisions.depths import depth
    from limen.render.depth import lines_of

    said = depth(stack_of(architecture), steps)
    _print(said, lines_of(said), as_json)


@app.command()
def separation(
    hops: Annotated[int, typer.Argument(help="L, the number of hops of the task.", min=2, max=16)],
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Show the papers' separations at one size.

    Five stacks with the same heads and bits try the same task: L+1 full layers, L full layers, L-1 full
    layers with linear layers in every gap, one full layer with L steps of chain of thought, and an encoder.
    The exit code is 1 if a verdict differs from the papers'. L = 2 takes seconds, L = 3 takes minutes.

    Example: limen separation 2
    """
    from limen.commands.demo.separation import separation
    from limen.render.separation import lines_of, separation_picture
    from limen.render.svg import picture_ready, save_picture

    if picture is not None:
        picture_ready(picture)
    said = separation(hops)
    if picture is not None:
        save_picture(picture, separation_picture(said))
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.holds else 1)


@app.command()
def concentration(
    task: TaskText,
    picture: Picture = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare the attention of a retrieval head with its bounds.

    It shows how much weight two heads put on wrong tokens: the slide's, with keys and
    queries scaled by log²n, and Limen's, with sign vectors.
    The exit code is 1 if a measured weight exceeds the bound that follows from the head's score gap.

    Example: limen concentration "retrieval(n=64,D=8,V=16)"
    """
    from limen.commands.demo.concentration import concentration
    from limen.core.task import Task
    from limen.render.concentration import concentration_picture, lines_of
    from limen.render.svg import picture_ready, save_picture

    if picture is not None:
        picture_ready(picture)
    said = concentration(Task.parse(task), seed)
    if picture is not None:
        save_picture(picture, concentration_picture(said))
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.holds else 1)


@app.command()
def orthogonal(
    dimensions: Annotated[int, typer.Argument(help="k, the number of dimensions.", min=1)],
    gamma: Annotated[str, typer.Option(help="Largest absolute inner product of two unit vectors.")] = "0.5",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show how many nearly orthogonal vectors fit.

    Unit vectors of k dimensions. The lower bounds come from the axes, a union bound and one draw of random
    signs, and the upper bound is Welch's.

    Example: limen orthogonal 64 --gamma 0.5
    """
    from limen.commands.demo.orthogonal import orthogonal
    from limen.render.show import orthogonal_lines

    said = orthogonal(dimensions, gamma, seed)
    _print(said, orthogonal_lines(said), as_json)


@app.command()
def design(
    task: Annotated[
        list[str],
        typer.Option(
            help="A task; may be repeated. A bare id means the largest instance that fits.",
            autocompletion=completions.entries("tasks"),
        ),
    ],
    context: Context,
    layers: Annotated[int, typer.Option(help="Number of layers.", min=1, max=512)] = 24,
    width: Annotated[int, typer.Option(help="Width of the residual stream, a multiple of 64.")] = 2048,
    kv_heads: Annotated[int, typer.Option(help="KV heads that the query heads of a layer share.", min=1)] = 8,
    budget: Annotated[
        str | None, typer.Option(help="Memory that one sequence may take: 512MiB, 2GB, 100000.")
    ] = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Find the cheapest layer stacks for some tasks.

    Stacks with weights for every task come first, then those that no theorem rules out.
    Also says why nearby stacks fail. Exit 1 if nothing is left.

    Example: limen design --task eva --task "composition(m=2048,n1=32)" --context 131072
    """
    from limen.core import quantities
    from limen.designs import Wish
    from limen.designs import design as search
    from limen.render.design import lines_of
    from limen.render.front import front_picture
    from limen.render.svg import picture_ready, save_picture

    most = None if budget is None else quantities.memory(budget)
    wish = Wish.parse(task, quantities.tokens(context), layers, width, most, kv_heads)
    if picture is not None:
        picture_ready(picture)
    said = search(wish).report
    if picture is not None:
        save_picture(picture, front_picture(said))
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.feasible else 1)


@app.command()
def bound(
    target: Annotated[
        str,
        typer.Argument(
            help="A task, or a Python function of your own: FILE.py:NAME.",
            autocompletion=completions.entries("tasks"),
        ),
    ],
    cut: Annotated[
        int | None, typer.Option(help="Of a function: how many tokens come before the cut.")
    ] = None,
    alphabet: Annotated[
        int | None, typer.Option(help="Of a function: number of token ids, 0 to alphabet-1.")
    ] = None,
    length: Annotated[int | None, typer.Option(help="Of a function: number of tokens of an input.")] = None,
    seconds: Annotated[
        float, typer.Option(help="Of a function: how many seconds it may run.", min=0.1)
    ] = 60.0,
    form: Format = None,
    as_json: Json = False,
) -> None:
    """Say what every architecture needs for a task.

    For a function of your own the answer comes from its communication matrix.

    Example: limen bound "two_sum(n=1024,M=4096)"
    """
    from limen.bounds.bound import bound_of
    from limen.render.bound import lines_of
    from limen.render.latex import bound

    _known(form, ["latex"])
    said = bound_of(target, cut, alphabet, length, seconds)
    _print(said, bound(said).splitlines() if form else lines_of(said), as_json)


@app.command()
def audit(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="One or more: a config.json, its folder, a .gguf file, or a model name on the hub."
        ),
    ],
    context: Context = "128k",
    sequences: Annotated[int, typer.Option(help="Number of sequences at a time.", min=1)] = 1,
    kv_dtype: Annotated[
        str | None,
        typer.Option(help="Precision of the KV cache: bfloat16, q8_0, … Default: the config's."),
    ] = None,
    conv_dtype: Annotated[
        str | None, typer.Option(help="Precision of convolution states. Default: the engine's.")
    ] = None,
    state_dtype: Annotated[
        str | None,
        typer.Option(help="Precision of recurrent states. Default: the config's, otherwise the engine's."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="llamacpp, mlx, sglang, transformers or vllm; minimal counts what the next token needs.",
            autocompletion=completions.engines,
        ),
    ] = "minimal",
    tensor_parallel: Annotated[
        int, typer.Option(help="Number of ranks that share the heads; bytes are per rank.", min=1)
    ] = 1,
    memory: Annotated[
        str | None, typer.Option(help="Memory of the device, such as 24GiB; says what fits.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Size of the weights, such as 15GiB. Default: counted from the config.")
    ] = None,
    weights_dtype: Annotated[
        str | None, typer.Option(help="Precision of the weights. Default: the config's.")
    ] = None,
    max_cache: Annotated[
        str | None, typer.Option(help="Exit 1 if the cache is larger than this, such as 4GiB.")
    ] = None,
    needs: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit 1 if a theorem rules this task out; may be repeated.",
            autocompletion=completions.entries("tasks"),
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Recurrent states in the pool. Default: one per sequence.", min=1),
    ] = None,
    checkpoints: Annotated[int, typer.Option(help="llamacpp: checkpoints kept of each state.", min=0)] = 0,
    ubatch: Annotated[int, typer.Option(help="llamacpp: tokens in one physical batch.", min=1)] = 512,
    unified: Annotated[
        bool, typer.Option("--unified", help="llamacpp: all sequences share one pool of cells.")
    ] = False,
    swa_full: Annotated[
        bool, typer.Option("--swa-full", help="llamacpp: windows get as many cells as the context.")
    ] = False,
    swa_ratio: Annotated[
        float | None, typer.Option(help="sglang: window tokens per full token. Default: 0.8.")
    ] = None,
    page: Annotated[
        int | None,
        typer.Option(help="sglang: tokens in a page. Default: 1, or 64 with a token index.", min=1),
    ] = None,
    block: Annotated[int, typer.Option(help="vllm: least number of tokens in a block.", min=1)] = 16,
    speculative: Annotated[int, typer.Option(help="vllm: speculative tokens.", min=0)] = 0,
    batched: Annotated[int, typer.Option(help="vllm: most tokens scheduled in one step.", min=1)] = 8192,
    prefix_caching: Annotated[bool, typer.Option(help="vllm: keep states at block boundaries.")] = True,
    async_scheduling: Annotated[bool, typer.Option(help="vllm: run two steps at a time.")] = True,
    draft_layers: Annotated[int, typer.Option(help="vllm: layers that a draft model (MTP) adds.", min=0)] = 0,
    card: Annotated[
        Path | None, typer.Option(help="Draw the result into this file: .svg, .png, .pdf or .html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute a model's cache, state and limits from its config.

    Several models are put side by side.

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
        memory=None if memory is None else _device(memory),
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


def _device(text: str) -> int:
    """The memory of a device; a number without its unit is a slip."""
    from limen.core import quantities

    if (size := quantities.memory(text)) < _DEVICE:
        raise BadInput(f"--memory {text}: no device has {size:,} bytes; write the unit, such as 24GiB")
    return size


@app.command()
def protocol(
    task: TaskText,
    architecture: Annotated[
        str | None,
        typer.Argument(
            help="An architecture; it gets random weights. Or give --model.",
            autocompletion=completions.stacks,
        ),
    ] = None,
    players: Annotated[
        str | None,
        typer.Option(
            help="The id of a protocol, or how many tokens each player holds: 16,4,1,1.",
            autocompletion=completions.entries("protocols"),
        ),
    ] = None,
    arithmetic: Annotated[
        str,
        typer.Option(
            help="integers, integers(f=8,top=6,window=16), float64, bf16, …",
            autocompletion=completions.ways_to_calculate,
        ),
    ] = "integers",
    model: Annotated[Path | None, typer.Option(help="Folder of a saved model.")] = None,
    decompose: Annotated[
        bool,
        typer.Option(
            "--decompose", help="Run the proof of the lower bound: find two inputs with identical messages."
        ),
    ] = False,
    rows: Annotated[
        int, typer.Option(help="With --decompose: number of tables examined at once.", min=2)
    ] = 50_000,
    seconds: Annotated[
        float, typer.Option(help="With --decompose: how many seconds to search.", min=0.0)
    ] = 60.0,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the model and the certificate in this folder; a search resumes from it."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the exchange into this file: .svg, .png or .pdf.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Run a model as a conversation and count its bits.

    The players are those of the lower bound; the bits are compared with the theorem's formula.

    Example: limen protocol "composition(m=4,n1=4)" "linear(h=1,d=4),softmax(h=2,d=4)"
    """
    from limen.conversation.play import ProtocolRequest
    from limen.render.protocol import lines_of

    request = ProtocolRequest(task, architecture, players, arithmetic, model, seed)
    if decompose:
        from limen.adversary.decompose import decompose as search
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
    row: Annotated[
        list[str] | None,
        typer.Option(help="Only the row with this id; may be repeated.", autocompletion=completions.rows),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the column with this id; may be repeated.", autocompletion=completions.columns
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the weights on more inputs.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for report.html, report.json and certificates.")] = Path(
        "limen-report"
    ),
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Print the table as markdown, latex or csv.",
            autocompletion=completions.of("markdown", "latex", "csv"),
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(help="Number of processes. Default: one per core.", min=1)
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the table of architectures × tasks, with evidence.

    Every cell gets its evidence on the spot, and it is checked. Writes report.html, which opens from a file.

    Example: limen table --row linear --column eva
    """
    from limen.render.table import FORMATS, printed
    from limen.tables.cell import EvidenceError

    _known(form, FORMATS)
    try:
        said = _tabled(row or [], column or [], full, out, cores)
    except EvidenceError as error:
        typer.echo(printable(f"limen: the evidence does not hold: {error}"), err=True)
        raise typer.Exit(1) from error
    lines = [FORMATS[form](said)] if form else [*printed(said), "", f"report: {printable(str(said.page))}"]
    typer.echo(printable_json(said.to_json()) if as_json else "\n".join(lines))  # in colours of its own


def _tabled(rows: list[str], columns: list[str], full: bool, out: Path, cores: int | None) -> TableReport:
    """Builds the table and writes the folder, once everything has been checked."""
    import msgspec
    from msgspec.structs import replace

    from limen.render.page.page import page
    from limen.render.progress import cells_bar
    from limen.tables.build import PAGE, REPORT, build, named_columns, refuse, write
    from limen.tables.curves import curves
    from limen.tables.workers import workers

    refuse(out)
    named = named_columns(columns)
    with workers(_processes(cores) if len(named) > 1 else 1) as pool:
        charts = None if pool is None else pool.submit(curves, named)
        with cells_bar() as progress:
            table = build(rows, named, full, progress, pool)
        drawn = curves(named) if charts is None else charts.result()
    said = table.report
    content = msgspec.json.format(said.to_json().encode(), indent=1)
    write(table, out, {REPORT: content, PAGE: page(said, drawn)})
    return replace(said, page=str(out / PAGE))


@app.command()
def train(
    what: Annotated[
        str,
        typer.Argument(
            help="The id of an experiment, or a task.",
            autocompletion=completions.entries("experiments", "tasks"),
        ),
    ],
    architecture: Annotated[
        str | None,
        typer.Argument(
            help="With a task: the architecture. Its p, where given, rounds the state.",
            autocompletion=completions.stacks,
        ),
    ] = None,
    cell: Annotated[
        str | None, typer.Option(help="Of an experiment: which cell. Default: the first.")
    ] = None,
    size: Annotated[
        str,
        typer.Option(
            help="Of an experiment: quick, standard or full.",
            autocompletion=completions.of(*completions.SIZES),
        ),
    ] = "quick",
    start: Annotated[
        str | None,
        typer.Option(
            help="Weights to start from: random, or lookup (attention starts as a lookup).",
            autocompletion=completions.of("random", "lookup"),
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Most training steps.", min=1)] = None,
    hard: Annotated[
        bool | None, typer.Option("--hard/--plain", help="Train on near-misses, or on plain inputs.")
    ] = None,
    thought: Annotated[bool, typer.Option("--thought", help="Train with chain of thought.")] = False,
    hops: Annotated[bool, typer.Option("--hops", help="Also ask for the result of every hop.")] = False,
    queries: Annotated[int | None, typer.Option(help="How many questions a sequence asks.", min=1)] = None,
    dense: Annotated[
        bool | None,
        typer.Option("--dense/--last", help="Ask for the answer so far at every token, or once at the end."),
    ] = None,
    mixed: Annotated[bool, typer.Option("--mixed", help="Also teach smaller sizes of the task.")] = False,
    distribution: Annotated[
        str | None,
        typer.Option(
            help="How plain inputs are drawn. Of recall: halves, as MQAR has them. Default: uniformly."
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option(help="A smaller stack to train first; it then grows by layers of zeros.")
    ] = None,
    first_steps: Annotated[int | None, typer.Option(help="Steps to train that stack.", min=1)] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Who proposes inputs to train on: hardest, adversary (all of them), or the id of one.",
            autocompletion=completions.of("hardest", "adversary"),
        ),
    ] = None,
    width: Annotated[int | None, typer.Option(help="Width of the residual stream.", min=2)] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Size of the MLP after each layer. 0 means no MLP.", min=0)
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Highest learning rate.", min=0.0)] = None,
    save: Annotated[Path | None, typer.Option(help="Save the trained model in this folder.")] = None,
    curve: Annotated[
        Path | None, typer.Option(help="Draw the learning curve into this file: .svg, .png or .pdf.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train one model and test it on fresh inputs.

    The result is a measurement, never a proof.

    Example: limen train "index(n=20,S=32)" "softmax(h=1,d=64)" --start lookup --steps 200
    """
    from limen.render.training import lines_of
    from limen.training.experiment import spec_of

    said = {"start": start, "steps": steps, "hard": hard, "against": against, "width": width, "rate": rate}
    said |= {"hidden": hidden, "distribution": distribution}
    said |= {"queries": queries, "dense": dense, "first": first, "first_steps": first_steps}
    said |= {"thought": thought or None, "hops": hops or None, "mixed": mixed or None, "seed": seed or None}
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
        again = "other commands refuse it; hand the model in as file.py:factory"
        _note_yours(folder, model.frame.architecture.sized, again)
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves([result]), curve)
    return train_report(result, name, folder)


@app.command("sweep")
def sweep_(
    experiment: Experiments,
    size: Annotated[
        str,
        typer.Option(help="quick, standard or full.", autocompletion=completions.of(*completions.SIZES)),
    ] = "quick",
    folder: Annotated[Path, typer.Option(help="Folder for the results, one file per run.")] = Path(
        "limen-results"
    ),
    cores: Annotated[
        int | None, typer.Option(help="Number of processes. Default: one per core.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the workers of this Dask scheduler, tcp://…")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed runs again.")] = False,
    as_json: Json = False,
) -> None:
    """Run what is missing of an experiment.

    It may be stopped at any time: the next call continues from there.

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

    return local(_processes(cores))


def _processes(cores: int | None) -> int:
    """As many as were asked for, or one per core that may be used; not every system tells which those are."""
    usable = getattr(os, "sched_getaffinity", None)
    return cores or (len(usable(0)) if usable else os.cpu_count() or 1)


@app.command("results")
def results_(
    experiment: Experiments,
    size: Annotated[
        str | None,
        typer.Option(
            help="quick, standard or full. Default: the largest there is.",
            autocompletion=completions.of(*completions.SIZES),
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of results. Default: the results that Limen ships.")
    ] = None,
    sql: Annotated[str | None, typer.Option(help="An SQL query on the table `runs`, run by DuckDB.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all runs to this .parquet or .csv file.")] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the chart into this file: .svg, .png or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the results of experiments, cell by cell.

    A failure counts only beside a control that succeeded.

    Example: limen results depth --sql "select architecture, avg(accuracy) from runs group by 1"
    """
    from limen.render.results import lines_of
    from limen.training.experiment import named, size_of
    from limen.training.judged import section

    asked, found = None if size is None else size_of(size), named(experiment)
    if chart is not None and len(found) > 1:
        raise BadInput(f"--chart draws one experiment, but {len(found)} were named")
    sections = [section(name, asked, folder) for name in found]
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


@app.command("fool")
def fool_(
    model: Annotated[
        str, typer.Argument(help="A folder saved by Limen or by transformers, or FILE.py:FACTORY.")
    ],
    task: TaskText,
    budget: Annotated[str, typer.Option(help="How long to search: 60s, 5m.")] = "60s",
    claim: Annotated[
        str | None,
        typer.Option(help="wrong_answer, same_answer or state_collision. Default: the first one found."),
    ] = None,
    arithmetic: Annotated[
        str | None,
        typer.Option(help="For a Limen model: bf16, fixed(f=4), … Default: the precision of its weights."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Save the certificate in this file.")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw a picture into this file: .svg, .png or .pdf.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Save the search in this file. The same command continues it."),
    ] = None,
    sampler: Annotated[
        str | None,
        typer.Option(help="FILE.py:FUNCTION that draws your own inputs. Default: the task's sampler."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Search for an input that fools a model.

    What is found is written as a certificate that anyone can check.

    Exit 0: fooled, or proved right on every input; 1: neither, which proves nothing.

    Example: limen fool benchmarks/models/gated "eva(n=16)" --budget 10s
    """
    from limen.core.quantities import seconds
    from limen.render.fool import lines_of

    what = model, task, arithmetic, sampler, seed
    said = _fooled(what, seconds(budget), claim, out, picture, resume)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.claim is not None else 1)


def _fooled(
    what: tuple[str, str, str | None, str | None, int],
    seconds: float,
    claim: str | None,
    out: Path | None,
    picture: Path | None,
    resume: Path | None,
) -> FoolReport:
    """Attacks, and writes what was asked for; what cannot be written is refused before."""
    from msgspec.structs import replace

    from limen.adversary.report import kept
    from limen.adversary.schedule import fool, report
    from limen.core.task import Task
    from limen.files.folder import ready_file, refuse_foreign, write_whole
    from limen.files.own import named
    from limen.model.opening import opened
    from limen.model.run import runnable
    from limen.model.sampler import Sampler
    from limen.model.target import Target
    from limen.render.fool import fool_picture, progress
    from limen.render.svg import picture_ready, save_picture

    model, text, arithmetic, drawn, seed = what
    admit(text)  # of the model a function may be named, which is run when it is opened
    task, precision = Task.parse(text), None if arithmetic is None else runnable(arithmetic)
    task.drawable()
    for file in (out, resume):
        if file is not None:
            ready_file(file)
    if out is not None:
        refuse_foreign(out.parent, out.name, out.name, kind="limen/certificate/")
    if picture is not None:
        picture_ready(picture)
    sampler = None if drawn is None else Sampler.of(drawn)
    target = Target(task, opened(model), precision, seed, sampler=sampler)
    said = report(fool(target, seconds, claim, model, progress(), resume))
    if picture is not None:
        save_picture(picture, fool_picture(said))
    if out is None or said.certificate is None:
        return said
    write_whole(out, kept(said))
    _note_yours(out, text, "`limen check` will refuse it")
    return replace(said, file=str(out), check=None if named(text) else _checking(out, model))


def _checking(file: Path, model: str) -> str | None:
    """The command that checks it, as a shell reads it; None if it holds what cannot be printed as it is."""
    plain = f"./{file}" if str(file).startswith("-") else str(file)  # a name, not an option
    command = shlex.join(["limen", "check", plain, "--model", model])
    return command if command.isprintable() else None


@app.command("check")
def check_(
    certificate: Annotated[
        Path,
        typer.Argument(help="A certificate (JSON), a folder of certificates, or a Coq proof (*.v)."),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The model: a folder, or file.py:factory. Default: the certificate's folder."),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Name the kernel's rules, files and lines behind each answer."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a certificate, a folder of them, or a Coq proof.

    If the certificate is about a run, the task and the model are run again. The exit code is 1 if it does not
    hold.

    Example: limen check weights/certificate.json
    """
    from limen.commands.check import all_checked, checked
    from limen.files.paths import is_folder
    from limen.render.check import folder_lines, indented

    if not is_folder(certificate):
        said = checked(certificate, model, verbose)
        _print(said, [said.headline, *indented(said)], as_json)
        raise typer.Exit(0 if said.valid else 1)
    if model is not None:
        raise BadInput(
            "--model works with one certificate; certificates in a folder use the models stored beside them"
        )
    found = all_checked(certificate, verbose)
    _print(found, folder_lines(found), as_json)
    raise typer.Exit(2 if found.malformed else 0 if found.valid else 1)


@app.command("test")
def test_(
    entry: Annotated[
        str,
        typer.Argument(
            help="Your task, mixer or construction as FILE.py:NAME, or an id of the catalogue.",
            autocompletion=completions.entries("tasks", "mixers", "constructions"),
        ),
    ],
    as_json: Json = False,
) -> None:
    """Test a task, mixer or construction of your own.

    It must obey the laws that every entry of the catalogue obeys. The exit code is 1 if a law is broken.

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
        typer.echo("\n".join(map(printable, line.split("\n"))))


@app.command("sparse")
def sparse_(
    task: TaskText,
    blocks: Annotated[str, typer.Option(help="Block sizes, separated by commas.")] = "4,16,64",
    opened: Annotated[int, typer.Option(help="Number of blocks that a token reads.", min=1, max=2**20)] = 1,
    bits: Annotated[
        str, typer.Option(help="Bits of a block's message: even numbers, separated by commas.")
    ] = "2,8,32,128,512",
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Show the limits of block-sparse attention on 2-Sum.

    It prints how many bits a message must have. For shorter messages it prints the highest accuracy and the
    rates of missed and invented pairs.

    Example: limen sparse "two_sum(n=1024,M=2^20)" --blocks 16,64
    """
    from limen.commands.demo.sparse import capacities
    from limen.core.quantities import numbers
    from limen.render.sparse import lines_of
    from limen.render.svg import picture_ready

    if picture is not None:
        picture_ready(picture)
    said = capacities(task, numbers(blocks), opened, numbers(bits))
    if picture is not None:
        from limen.render.plots import capacity_chart
        from limen.render.plots import picture as drawn

        drawn(capacity_chart(said), picture)
    _print(said, lines_of(said), as_json)


@app.command("average")
def average_(
    tokens: Annotated[
        int, typer.Option(help="Number of tokens. Every token asks for an average.", min=2, max=512)
    ] = 16,
    q: Annotated[int, typer.Option("--sets", help="Size of each token's set.", min=1, max=8)] = 2,
    size: Annotated[int, typer.Option(help="Size of each token's vector.", min=1, max=1024)] = 3,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Average real vectors over one set of positions per token.

    The error bound holds for all sets and all vectors. The exit code is 1 if nothing is certified.

    Example: limen average --tokens 16 --sets 2 --size 3
    """
    from limen.commands.demo.average import average
    from limen.render.average import lines_of

    said = average(tokens, q, size, seed)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.holds else 1)


@app.command("hierarchy")
def hierarchy_(
    bits: Annotated[
        int,
        typer.Option(
            help="Length of the bit string that the recurrence stores in one number.", min=2, max=48
        ),
    ] = 40,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show that RNN < RNN + CoT < Transformer, case by case.

    A recurrence with a state of one number solves a task with chain of thought, but not in one pass.
    Chain of thought does not recover what a recurrence has forgotten; a Transformer can look back.
    The exit code is 1 if a case does not show its inequality, as with small --bits.

    Example: limen hierarchy --bits 40
    """
    from limen.commands.demo.hierarchy import hierarchy
    from limen.render.hierarchy import lines_of

    said = hierarchy(bits, seed)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.holds else 1)


@app.command()
def machine(
    table: Annotated[
        Path,
        typer.Argument(
            help="A file with lines such as: start _ -> carry _ left. The symbols are 0, 1 and _."
        ),
    ],
    digits: Annotated[
        int, typer.Option(help="Length of the words. All words of this length are run.", min=2)
    ] = 6,
    precision: Annotated[
        str, typer.Option(help="float64, float32, bf16, …", autocompletion=completions.precisions)
    ] = "float32",
    as_json: Json = False,
) -> None:
    """Run your own Turing machine in a model, one token per step.

    The model has a recurrence beside one softmax layer. The machine starts on the blank after the word, and
    its answer is the symbol under the head when it halts. The output lists the running time by length.
    The exit code is 1 if the model ends on a different symbol than the machine.

    Example: limen machine examples/parity.tm --digits 6
    """
    from limen.commands.demo.machine import simulate
    from limen.render.machine import lines_of

    said = simulate(table, digits, precision)
    _print(said, lines_of(said), as_json)
    raise typer.Exit(0 if said.right else 1)


@app.command("schema")
def schema_(
    name: Annotated[
        str,
        typer.Argument(help=f"A command: {', '.join(SCHEMAS)}.", autocompletion=completions.of(*SCHEMAS)),
    ],
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    Example: limen schema decide
    """
    from limen.commands.schemas import schema_of

    typer.echo(json.dumps(schema_of(name), ensure_ascii=False, indent=1))


def _known(form: str | None, known: Iterable[str]) -> None:
    if form is not None and form not in known:
        raise unknown("format", form, known)


def _print(said: Report, lines: list[str], as_json: bool) -> None:
    """For scripts or for people; words out of a file are shown as data."""
    typer.echo(printable_json(said.to_json()) if as_json else "\n".join(map(printable, lines)))
