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
    return tuple(sorted({name.partition(".")[0] for name in measured()}))


def measured() -> tuple[str, ...]:
    """The results that are shipped, each by itself: smollm2-135m.layers, smollm2-135m.tasks, …"""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.json")))


def is_saved(name: str) -> bool:
    """Whether a text names results and not a model."""
    return name.endswith(".json") or (name in shipped() and not Path(name).exists())


def is_measured(name: str) -> bool:
    """Whether a text names results of a probe and no experiment."""
    return name.endswith(".json") or name in (*shipped(), *measured())


def read_report(name: str, layers: bool) -> ProbeReport | LayersReport:
    """Saved results; of shipped ones, those about tasks or about layers."""
    if name.endswith(".json"):
        return _read(Path(name))
    path = _SHIPPED / f"{name}.{'layers' if layers else 'tasks'}.json"
    if name in shipped() and not path.is_file():
        raise BadInput(f"{name}: no results about {'layers' if layers else 'tasks'} are shipped")
    return _read(path)


def read_measured(name: str) -> ProbeReport | LayersReport:
    """The results with this name; of a model without more, those about tasks."""
    return _read(_SHIPPED / f"{name}.json") if name in measured() else read_report(name, layers=False)


def _read(path: Path) -> ProbeReport | LayersReport:
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
