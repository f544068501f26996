"""Results of probes as files: those that a person saved, and those that Limen ships, by name."""

from __future__ import annotations

from pathlib import Path

import msgspec

from limen.errors import BadInput
from limen.files.folder import content_of, write_whole
from limen.probes.report import LayersReport, ProbeReport

_SHIPPED = Path(__file__).parent / "results"


def shipped() -> tuple[str, ...]:
    """The names of the models whose results are shipped."""
    return tuple(sorted({path.name.partition(".")[0] for path in _SHIPPED.glob("*.json")}))


def is_saved(name: str) -> bool:
    """Whether a text names results and not a model."""
    return name.endswith(".json") or (name in shipped() and not Path(name).exists())


def read_report(name: str, layers: bool) -> ProbeReport | LayersReport:
    """Saved results; of shipped ones, those about tasks or about layers."""
    path = (
        Path(name) if name.endswith(".json") else _SHIPPED / f"{name}.{'layers' if layers else 'tasks'}.json"
    )
    if name in shipped() and not path.is_file():
        raise BadInput(f"{name}: no results about {'layers' if layers else 'tasks'} are shipped")
    content = content_of(path)
    try:
        if b'"ranking"' in content:
            return msgspec.json.decode(content, type=LayersReport)
        return msgspec.json.decode(content, type=ProbeReport)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path}: no results of limen probe: {error}") from error


def write_report(path: Path, report: ProbeReport | LayersReport) -> None:
    """The report as its JSON, whole or not at all."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
