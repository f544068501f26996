"""Results as a table that DuckDB queries and exports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from limen.core.measurement import Outcome
from limen.errors import BadInput
from limen.files.folder import ready_file
from limen.training.reports import RunReport
from limen.training.spec import Spec

COLUMNS = {
    "experiment": "VARCHAR",
    "cell": "VARCHAR",
    "task": "VARCHAR",
    "architecture": "VARCHAR",
    "start": "VARCHAR",
    "seed": "INTEGER",
    "steps": "INTEGER",
    "accuracy": "DOUBLE",
    "drawn": "VARCHAR",
    "best": "DOUBLE",
    "chance": "DOUBLE",
    "floor": "DOUBLE",
    "stop": "VARCHAR",
    "state_bits": "HUGEINT",
    "held_bits": "HUGEINT",
    "needs_bits": "HUGEINT",
    "provable": "BOOLEAN",
    "ceiling": "DOUBLE",
    "control": "VARCHAR",
    "learned": "VARCHAR",
    "reached": "INTEGER",
    "seeds": "INTEGER",
    "shifts": "VARCHAR",  # JSON, as are the next two: shifts->>'needle'
    "spec": "VARCHAR",
    "versions": "VARCHAR",
    "seconds": "DOUBLE",
    "date": "VARCHAR",
    "digest": "VARCHAR",
}
_FORMATS = {".parquet": "PARQUET", ".csv": "CSV"}


def query(rows: Iterable[RunReport], sql: str) -> list[dict[str, Any]]:
    """The rows of an SQL query on the table `runs`; it can neither read nor write files."""
    import duckdb

    connection = _filled(rows)
    connection.execute("SET enable_external_access = false")
    try:
        cursor = connection.execute(sql)
    except duckdb.Error as error:
        raise BadInput(f"DuckDB: {error}; the table is runs({', '.join(COLUMNS)})") from error
    if cursor is None:
        raise BadInput("the SQL is empty: ask the table runs, as in select cell, accuracy from runs")
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def export(rows: Iterable[RunReport], path: Path) -> None:
    """Writes a Parquet or CSV file, by its ending."""
    if path.suffix not in _FORMATS:
        raise BadInput(f"{path}: expected a file that ends in {' or '.join(_FORMATS)}")
    ready_file(path)
    target = str(path).replace("'", "''")
    _filled(rows).execute(f"COPY runs TO '{target}' (FORMAT {_FORMATS[path.suffix]})")


def _filled(rows: Iterable[RunReport]) -> Any:
    """A database in memory with the table `runs`."""
    import duckdb

    connection, declared = duckdb.connect(), ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    connection.execute(f"CREATE TABLE runs ({declared})")
    values = [[_value(getattr(row, name)) for name in COLUMNS] for row in rows]
    if values:
        connection.executemany(f"INSERT INTO runs VALUES ({', '.join('?' * len(COLUMNS))})", values)
    return connection


def _value(value: Any) -> Any:
    if isinstance(value, dict | Spec):
        return msgspec.json.encode(value, order="sorted").decode()
    return value.value if isinstance(value, Outcome) else value
