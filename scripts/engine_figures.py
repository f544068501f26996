"""Figures that engines printed, each beside the audit's.

    make engines FILE=figures.json CONFIGS=folder

A figure names a config of the folder, an engine, and what it was asked and printed.  The exit code is 1
if any differs.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from limen.audits import Audit, Request, audit

ENGINES = {"llama.cpp": "llamacpp", "ik_llama.cpp": "llamacpp", "sglang": "sglang", "vllm": "vllm"}
BYTES = ("kv_bytes", "window_bytes", "recurrent_bytes", "convolution_bytes", "state_bytes", "cache_bytes")
PRINTED = {"sglang": 2**30 / 100}  # how finely an engine prints: GiB with two decimals


class Line(NamedTuple):
    name: str
    theirs: float
    ours: float
    equal: bool


def engine_of(figure: dict[str, Any]) -> str:
    name = figure["engine"].split(" ")[0]
    return ENGINES.get(name, name.split("-")[0])


def request_of(figure: dict[str, Any], prefix_caching: bool = True, async_scheduling: bool = True) -> Request:
    """What the engine was started with: in fields, or in the words that it printed.

    Whether vLLM cached prefixes and had two batches in flight it does not print: all are tried.
    """
    engine, slots = engine_of(figure), figure.get("slots")
    pool = re.search(r"(\d+)/1 seqs\)", figure.get("printed", ""))
    shared = engine == "llamacpp" and pool is not None and int(pool[1]) > 1
    return Request(
        context=figure.get("context", 131_072),
        sequences=int(pool[1]) if shared and pool else figure.get("sequences", 1),
        tensor_parallel=figure.get("tensor_parallel", 1),
        slots=slots - 1 if slots and engine == "sglang" else slots,
        unified=shared,
        prefix_caching=prefix_caching,
        async_scheduling=async_scheduling,
        speculative=figure.get("speculative", 0),
        draft_layers=figure.get("draft_layers", 0),
        kv_dtype=figure["kv_dtype"],
        conv_dtype=figure.get("conv_dtype"),
        state_dtype=figure.get("state_dtype"),
        engine=engine,
    )


def compared(figure: dict[str, Any], found: Audit) -> Iterator[Line]:
    for name in BYTES:
        if (theirs := figure.get(name)) is not None:
            ours = getattr(found, name)
            if name == "kv_bytes" and figure.get("window_bytes") is not None:
                ours -= found.window_bytes  # the engine prints windows by themselves
            step = PRINTED.get(found.request.engine)
            equal = abs(theirs - ours) <= step / 2 + 1 if step else theirs == ours
            if step and name == "state_bytes":
                equal = abs(theirs - ours) <= step + 1  # a sum of two that are rounded
            if step and name == "kv_bytes":
                equal = abs(theirs - ours) <= step + 1
            yield Line(name, theirs, ours, equal)
    if (theirs := figure.get("attention_block_size")) is not None:
        yield Line("block_tokens", theirs, found.block_tokens or 0, theirs == found.block_tokens)
    if (theirs := figure.get("blocks_per_request")) is not None:
        yield Line("blocks a request", theirs, found.blocks or 0, theirs == found.blocks)
    yield from _capacity(figure, found)


def _capacity(figure: dict[str, Any], found: Audit) -> Iterator[Line]:
    """Tokens and concurrency of the blocks that there were; their number where the pool is known."""
    if figure.get("blocks") is None or found.blocks is None or found.block_bytes is None:
        return
    blocks = figure["blocks"]
    if (pool := figure.get("pool_gib")) is not None:
        ours = int(pool * 2**30) // found.block_bytes
        yield Line("blocks", blocks, ours, blocks == ours)
    if printed := re.search(r"([\d.]+)x", figure["printed"]):
        ours = round(blocks / found.blocks, 2)
        yield Line("concurrency", float(printed[1]), ours, float(printed[1]) == ours)
    if printed := re.search(r"([\d,]+) tokens;", figure["printed"]):
        theirs = int(printed[1].replace(",", ""))
        groups = sum(count for _, count in found.plan.groups) if found.plan else 1
        older = blocks // groups * (found.block_tokens or 0)
        ours = (
            older
            if "older print" in figure.get("note", "")
            else blocks * found.request.context // found.blocks
        )
        yield Line("tokens", theirs, ours, theirs == ours)


def main(file: Path, configs: Path) -> int:
    wrong = total = 0
    for figure in sorted(json.loads(file.read_text()), key=lambda figure: figure.get("id", 0)):
        config = json.loads((configs / f"{figure['config']}.json").read_text())
        for cached, ahead in product((True, False), repeat=2):
            lines = [*compared(figure, audit(config, figure["config"], request_of(figure, cached, ahead)))]
            if all(line.equal for line in lines):
                break
        how = ("" if cached else ", without prefix caching") + ("" if ahead else ", one batch in flight")
        print(f"{figure.get('id')}: {figure['engine']}, {figure['config']}{how}")  # noqa: T201 - its output
        for name, theirs, ours, equal in lines:
            print(f"    {name:<18} {theirs:>18,} {ours:>18,}  {'equal' if equal else 'DIFFERS'}")  # noqa: T201
            wrong, total = wrong + (not equal), total + 1
    print(f"\n{total} numbers, {total - wrong} equal to the printed digits, {wrong} not")  # noqa: T201
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
