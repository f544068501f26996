"""Figures that engines printed, each beside the audit's.

    make engines                                        the weights of weight_figures.json
    make engines FILE=figures.json CONFIGS=folder       caches

A figure names a model, an engine, and what it was asked and printed.  Of caches the models are configs in a
folder, and the exit code is 1 if any differs.  Of weights they stand in the file itself: the fields that the
count depends on and that transformers' class does not say.  `what` is `tensors` (bytes in a checkpoint),
`files` (with headers), `rank` (what an engine holds on one rank: `tensor`, `pipeline`, `backend`), `bits` of
a weight, `kv` (memory left for the cache, by the `terms` printed), `tokens` in a `pool`, or `activation`.
The exit code is 1 if one is off by more than 3 % and the file states no reason.
"""

import json
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from limen.audits import Audit, Request, audit
from limen.hf.engines import Asked, engine
from limen.hf.gpus import Device
from limen.hf.layer_sizes import NotCounted
from limen.hf.stack import Stack
from limen.hf.stored.ranks import Ranks
from limen.hf.stored.weights import in_files, listed, on_ranks

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


def weights_of(figure: dict[str, Any], config: dict[str, Any]) -> float:
    """The audit's figure for the weights, in bytes."""
    model = listed(config, figure["model"])
    packing = model.packing(figure.get("scheme"))
    if figure["what"] == "rank":
        ranks = Ranks(figure.get("tensor", 1), figure.get("pipeline", 1), figure.get("backend"))
        return on_ranks(model, packing, ranks)[0].total  # what is printed is the first stage's
    split = in_files(model, packing)
    if figure["what"] == "bits":
        return 8 * split.total / sum(matrix.numbers for matrix in model.matrices)
    return split.file if figure["what"] == "files" else split.total


def cache_of(figure: dict[str, Any], config: dict[str, Any] | None) -> float:
    """What vLLM has left for its cache, by the terms that it printed, in bytes."""
    terms = figure["terms"]
    weights = terms["weights"] * 2**30 if config is None else weights_of(figure | {"what": "rank"}, config)
    names = {"overhead": "non_torch", "activation": "activation", "cuda_graphs": "graphs"}
    sizes = {option: int(terms.get(name, 0) * 2**30) for option, name in names.items()}
    options = Asked(gpu_memory_utilization=terms["util"], **sizes)
    total, stack = int(terms["total"] * 2**30), Stack("", (), None)
    return engine("vllm").budget(Device(total), options, stack, 0).left - weights


def tokens_of(figure: dict[str, Any], config: dict[str, Any]) -> float:
    """The tokens of whole blocks in the memory that was left."""
    found = audit(config, figure["model"], Request(engine="vllm", tensor_parallel=figure.get("tensor", 1)))
    assert found.block_bytes is not None and found.block_tokens is not None
    return int(figure["pool"] * 2**30) // found.block_bytes * found.block_tokens


def computed(figure: dict[str, Any], configs: dict[str, Any]) -> float | str:
    """The audit's figure in the printed unit, or why there is none."""
    if (why_not := figure.get("why_not")) is not None:
        return str(why_not)
    config = configs.get(figure.get("model"))
    try:
        if figure["what"] == "tokens":
            return tokens_of(figure, config)
        value = cache_of(figure, config) if figure["what"] == "kv" else weights_of(figure, config)
    except NotCounted as reason:
        return f"not counted: {reason}"
    return value / 2**30 if figure["unit"] == "GiB" else value


def of_weights(data: dict[str, Any]) -> int:
    """Prints each beside the audit's; 1 if one is off by more than 3 % and no reason is stated."""
    near = off = left = unexplained = 0
    for figure in data["figures"]:
        ours, theirs = computed(figure, data["models"]), figure["value"]
        if isinstance(ours, str):
            left += 1
            print(f"{figure['id']:<24} not compared: {ours}")  # noqa: T201 - its output
            continue
        error, reason = ours / theirs - 1, figure.get("reason", "")
        digits = len(str(theirs).partition(".")[2])
        close = round(ours, digits) == theirs or abs(error) <= 0.001
        far = abs(error) > 0.03
        near, off, unexplained = near + close, off + far, unexplained + (far and not reason)
        word = "" if close else f"OFF: {reason}" if far else f"near: {reason}" if reason else "near"
        print(f"{figure['id']:<24} {theirs:>19,} {ours:>21,.4f} {100 * error:+8.4f} %  {word}")  # noqa: T201
    count = len(data["figures"]) - left
    within = f"{near} equal as printed or within 0.1 %, {off} off by more than 3 %, {unexplained} of them"
    print(f"\n{len(data['figures'])} figures, {count} compared: {within} without a reason")  # noqa: T201
    return 1 if unexplained or not count else 0


def main(file: Path, configs: Path | None = None) -> int:
    data = json.loads(file.read_text())
    if isinstance(data, dict):
        return of_weights(data)
    assert configs is not None
    return of_caches(data, configs)


def of_caches(figures: list[dict[str, Any]], configs: Path) -> int:
    wrong = total = 0
    for figure in sorted(figures, key=lambda figure: figure.get("id", 0)):
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
    paths = [Path(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(paths or [Path(__file__).with_name("weight_figures.json")])))
