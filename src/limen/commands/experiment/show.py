"""Show the results of experiments, cell by cell, or what a probed model answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import PathLike
from limen.core.option import Argument, Option
from limen.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from limen.probes.report import LayersReport, ProbeReport
    from limen.training.judged import Section
    from limen.training.reports import ResultsReport


@command(
    example='limen experiment show depth --sql "select architecture, avg(accuracy) from runs group by 1"',
    answers=(
        Shown("limen.training.reports:ResultsReport", "limen.render.experiment.show:lines_of"),
        Shown("limen.probes.report:ProbeReport", "limen.render.probe:lines_of"),
        Shown("limen.probes.report:LayersReport", "limen.render.probe:layer_lines"),
    ),
)
def show(
    *experiment: Annotated[
        str,
        Argument(
            "Ids of experiments, or all; or one file that limen probe saved, or shipped results of it, such "
            "as smollm2-135m.layers.",
            complete=_complete.measured,
            reads=True,
        ),
    ],
    size: Annotated[
        Literal["quick", "standard", "full"] | None,
        Option("quick, standard or full. Default: the largest there is.", noun="size"),
    ] = None,
    folder: Annotated[
        PathLike | None, Option("Folder of results. Default: the results that Limen ships.", local=True)
    ] = None,
    sql: Annotated[str | None, Option("An SQL query on the table `runs`, run by DuckDB.", local=True)] = None,
    out: Annotated[
        PathLike | None, Option("Write all runs to this .parquet or .csv file.", local=True)
    ] = None,
    chart: Annotated[
        PathLike | None, Option("Draw the chart into this file: .svg, .png or .pdf.", local=True)
    ] = None,
) -> ResultsReport | ProbeReport | LayersReport:
    """A failure counts only beside a control that succeeded. What a model answered is shown as `limen probe`
    shows it.
    """
    from limen.probes.saved import is_measured, read_measured
    from limen.training.experiment import named
    from limen.training.judged import section

    if probed := next(filter(is_measured, experiment), None):
        if len(experiment) > 1 or (size, folder, sql, out, chart) != (None,) * 5:
            raise BadInput(f"{probed}: the results of a probe are shown alone and whole, without options")
        return read_measured(probed)
    chosen = named(experiment)
    if chart is not None and len(chosen) > 1:
        raise BadInput(f"--chart draws one experiment, but {len(chosen)} were named")
    sections = [section(name, size, None if folder is None else Path(folder)) for name in chosen]
    report = _report(experiment, sections, sql, None if out is None else Path(out))
    if chart is not None:
        from limen.render.plots import picture, section_chart

        picture(section_chart(sections[0]), Path(chart))
    return report


def _report(
    names: Iterable[str], sections: Sequence[Section], sql: str | None, out: Path | None
) -> ResultsReport:
    """All runs and what a query selects from them; a file of them where one is wanted."""
    from msgspec import UNSET

    from limen.training.query import export, query
    from limen.training.reports import ResultsReport, experiment_report, run_reports

    rows = [row for one in sections for row in run_reports(one.name, one.cells)]
    if out is not None:
        export(rows, out)
    return ResultsReport(
        experiment=", ".join(names),
        experiments=tuple(map(experiment_report, sections)),
        rows=tuple(rows),
        found=UNSET if sql is None else tuple(query(rows, sql)),
    )
