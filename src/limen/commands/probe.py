"""Ask a language model of this machine: tasks as text, or which of its layers it needs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import LARGEST_SEED, PathLike
from limen.core import quantities
from limen.core.option import Argument, Option
from limen.core.quantities import plural
from limen.errors import BadInput
from limen.files.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from limen.probes.language import Language
    from limen.probes.log import Log
    from limen.probes.report import LayersReport, ProbeReport

_RESULTS = Path("limen-results")


def _shipped() -> tuple[str, ...]:
    from limen.probes.saved import shipped

    return shipped()


@overload
def probe(
    model: str,
    *,
    layers: Literal[False] = False,
    tasks: Sequence[str] | None = None,
    n: Sequence[int] | None = None,
    hops: Sequence[int] = (1, 2, 3),
    thinking: bool = True,
    contexts: int = 20,
    device: str = "cpu",
    dtype: str = "float32",
    batch: int = 64,
    budget: float | None = None,
    folder: PathLike = _RESULTS,
    save: PathLike | None = None,
    seed: int = 0,
    tell: Tell | None = None,
) -> ProbeReport: ...


@overload
def probe(
    model: str,
    *,
    layers: Literal[True],
    n: Sequence[int] | None = None,
    window: int = 32,
    sinks: int = 4,
    contexts: int = 20,
    device: str = "cpu",
    dtype: str = "float32",
    batch: int = 64,
    budget: float | None = None,
    folder: PathLike = _RESULTS,
    save: PathLike | None = None,
    seed: int = 0,
    tell: Tell | None = None,
) -> LayersReport: ...


@command(
    example="limen probe smollm2-135m --layers",
    answers=(
        Shown("limen.probes.report:ProbeReport", "limen.render.probe:lines_of"),
        Shown(
            "limen.probes.report:LayersReport",
            "limen.render.probe:layer_lines",
            picture="limen.render.probe:layers_picture",
        ),
    ),
)
def probe(
    model: Annotated[
        str,
        Argument(
            "A folder of transformers, a .gguf file, FILE.py:FACTORY; or results: a saved .json file, or "
            "those that are shipped, of smollm2-135m and stories15m.",
            local=True,
            shipped=_shipped,
        ),
    ],
    *,
    layers: Annotated[
        bool, Option("Put windows on all but k attention layers, and see what is still copied.")
    ] = False,
    tasks: Annotated[
        Sequence[str] | None,
        Option(
            "A task, such as recall. May be repeated. Default: all.", flag="--task", complete=_complete.told
        ),
    ] = None,
    n: Annotated[
        Sequence[int] | None,
        Option("Sizes: 4,8,16. Default: some of each task.", parse=quantities.numbers, least=2, most=512),
    ] = None,
    hops: Annotated[
        Sequence[int],
        Option("Hops of facts: 1..3.", parse=quantities.ranges, line="1..3", least=1, most=12),
    ] = (1, 2, 3),
    thinking: Annotated[bool, Option("Facts also by chain of thought.")] = True,
    window: Annotated[int, Option("With --layers: tokens of a window.", least=1)] = 32,
    sinks: Annotated[int, Option("With --layers: first tokens that windows see.", least=0)] = 4,
    contexts: Annotated[int, Option("Contexts of each row; below 20 nothing is concluded.", least=1)] = 20,
    device: Annotated[str, Option("cpu, cuda, cuda:1, mps, …", local=True)] = "cpu",
    dtype: Annotated[
        str, Option("float32, bfloat16 or float16.", complete=_complete.of("float32", "bfloat16", "float16"))
    ] = "float32",
    batch: Annotated[int, Option("Texts that are run at once.", least=1)] = 64,
    budget: Annotated[
        float | None,
        Option("How long at most: 60s, 5m. The same command continues.", parse=quantities.seconds),
    ] = None,
    folder: Annotated[PathLike, Option("Folder for what is measured.", local=True)] = _RESULTS,
    save: Annotated[PathLike | None, Option("Save the results in this .json file.", local=True)] = None,
    seed: Annotated[int, Option("Seed of the texts.", least=0, most=LARGEST_SEED)] = 0,
    tell: Tell | None = None,
) -> ProbeReport | LayersReport:
    """Answers are measurements of one model, never proofs. It may be stopped at any time, and the same
    command continues: results are kept after each context.
    """
    from msgspec.structs import replace

    from limen.files.folder import ready_file, ready_folder
    from limen.probes.saved import is_saved, read_report, write_report

    set_apart = {
        "--task": bool(tasks),
        "--hops": tuple(hops) != (1, 2, 3),
        "--no-thinking": not thinking,
        "--window": window != 32,
        "--sinks": sinks != 4,
    }
    if is_saved(model):  # no torch is loaded
        changed = [bool(n), save is not None, budget is not None, (contexts, seed) != (20, 0)]
        if any(changed) or any(set_apart.values()) or (device, dtype) != ("cpu", "float32"):
            raise BadInput(
                f"{model}: results that are there are shown as they are: options of asking are for a model"
            )
        return read_report(model, layers)
    others = ("--task", "--hops", "--no-thinking") if layers else ("--window", "--sinks")
    if given := [name for name in others if set_apart[name]]:
        raise BadInput(f"{given[0]} {'does not go with' if layers else 'goes with'} --layers")
    if save is not None and Path(save).suffix != ".json":
        raise BadInput(f"{save}: results are saved as a .json file")
    from limen.probes.asking import SIZES, Probe, asks, probed
    from limen.probes.layers import LayerProbe, probed_layers
    from limen.probes.opening import opened

    wanted = asks(tasks or SIZES, n, hops)
    if save is not None:
        ready_file(Path(save))
    ready_folder(Path(folder))
    language = opened(model, device, dtype, batch)
    told = _line(tell is not None)
    if layers:
        size = 64 if n is None else n[0]
        if n is not None and len(n) != 1:
            raise BadInput(f"--layers copies lists of one length, got {len(n)}: give one number to --n")
        settings = {"n": size, "window": window, "sinks": sinks, "seed": seed}
        log = _log(Path(folder), "layers", language, settings, budget)
        measured = LayerProbe(language, log, **settings, contexts=contexts, tell=told)
        report: ProbeReport | LayersReport = probed_layers(measured)
    else:
        log = _log(Path(folder), "tasks", language, {"seed": seed}, budget)
        put = Probe(language, log, contexts, seed, told)
        rows = probed(put, wanted, n is not None, thinking)
        report = replace(rows, proved=_proved(model))
    if save is not None:
        write_report(Path(save), report)
    return report


def _line(watched: bool) -> Callable[[str], None]:
    """Lines on standard error, with CPU seconds."""

    def told(text: str) -> None:
        if watched:
            sys.stderr.write(f"{time.process_time():.0f} s: {printable(text)}\n")
            sys.stderr.flush()

    return told


def _log(folder: Path, kind: str, language: Language, settings: dict[str, int], budget: float | None) -> Log:
    """The file of this model and these settings; texts that others share are not computed twice."""
    from limen.probes.log import Log

    folder.mkdir(parents=True, exist_ok=True)
    sizes = "-".join(f"{name}{value}" for name, value in settings.items())
    path = folder / f"probe-{kind}-{language.fingerprint}-{sizes}.jsonl"
    head = {"probe": kind, "model": language.name, "weights": language.fingerprint, **settings}
    return Log(path, head, budget)


def _proved(model: str) -> tuple[str, ...]:
    """What the audit says of the same config, in sentences; nothing where there is no config."""
    from limen.audits.loading import load
    from limen.audits.reading import audit
    from limen.audits.report import report
    from limen.audits.request import Request

    path = Path(model)
    if not (path.is_dir() or path.suffix == ".gguf"):
        return ()
    try:
        audited = report(audit(*load(model), Request()))
    except BadInput as error:
        return (f"the audit does not read this config: {error}",)
    reached = audited.depth
    lines = [
        f"{audited.full_layers} of {len(audited.layers)} layers keep every token",
        f"some weights of this shape chain {plural(reached.hops, 'question-dependent hop')} in one pass, and "
        f"{reached.hops_per_step} more with each step of chain of thought; a trained model may chain fewer",
    ]
    lines += [f"{one.task}: {one.meaning}" for one in audited.limits]
    return tuple(lines)
