"""Files, lines, and how long functions are, by package: python benchmarks/sizes.py [BEFORE/src]."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[1] / "src"


def functions(path: Path) -> Iterator[int]:
    """Lines of each function, its docstring left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = node.body[0]
            text = isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant)
            docs = (
                (said.end_lineno or 0) - said.lineno + 1 if text and isinstance(said.value.value, str) else 0
            )
            yield (node.end_lineno or 0) - node.lineno + 1 - docs


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    packages: dict[str, list[Path]] = {}
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).with_suffix("").parts[:2]
        packages.setdefault(room[0] if room[0] == "limen_check" else "/".join(room), []).append(path)
    print(f"{'package':26} {'files':>5} {'lines':>6} {'functions':>9} {'median':>6} {'90 %':>5}")
    for name, files in [*packages.items(), ("together", [*chain(*packages.values())])]:
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        long = [length for path in files for length in functions(path)]
        middle, most = (median(long), quantiles(long, n=10)[-1]) if len(long) > 1 else (sum(long), sum(long))
        print(f"{name:26} {len(files):5} {lines:6,} {len(long):9,} {middle:6.0f} {most:5.0f}")


if __name__ == "__main__":
    main()
