"""`limen audit`: a real model's stack at a glance, its cache in bytes, and where it stops."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from limen.audits import Audit, Limit, Request, audit, load
from limen.core.catalogue import identifier
from limen.core.quantities import plural
from limen.depths import depth
from limen.hf.stack import Block, ModelLayer, Use
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.top_k import TopK
from limen.mixers.window import Window
from limen.render.depth import ASYMPTOTIC, WORST
from limen.render.depth import lines_of as depth_lines
from limen.render.words import in_bytes, short

LENGTHS = tuple(2**i for i in range(10, 21, 2))  # at which bits a token are shown: 1k … 1M
LETTERS = {
    "F": "full attention",
    "W": "attention within a window",
    "S": "attention to chosen tokens or blocks",
    "L": "recurrence",
    "K": "short convolution",
    "H": "full attention and a recurrence in one layer",
    "·": "no mixer",
}
WIDTH = 100  # letters of a strip in one line
_SIZES = {
    "state_numbers": "a state of {} numbers",
    "convolution": "a convolution over {} tokens",
    "window": "a window of {} tokens",
    "latent": "latents of size {}",
    "block": "blocks of {} tokens",
    "blocks": "{} blocks read",
    "top_k": "{} chosen",
}


@dataclass(frozen=True)
class Shown:
    """One model: what was found, its depth, and both as fields."""

    audit: Audit
    depth: dict[str, Any]
    depth_lines: list[str]

    @property
    def name(self) -> str:
        """The folder of a config.json, or the file's own name."""
        path = Path(self.audit.source)
        if path.name == "config.json" and path.parent.name:
            path = path.parent
        return path.name.removesuffix(".json")

    @property
    def strip(self) -> str:
        return "".join(map(letter, self.audit.stack.layers))

    @property
    def figures(self) -> list[str]:
        """What a card says of it."""
        found, hops = self.audit, self.depth
        limits = ", ".join(f"{limit.name} from n = {limit.n:,}" for limit in found.limits[:3])
        ruled_out = f"ruled out: {limits}, …" if limits else "no task is ruled out by its state"
        fixed, steps = in_bytes(found.state_bytes), f"{hops['hops_per_step']} more with each step of thought"
        return [
            f"cache {in_bytes(found.cache_bytes)}: {_per_token(found)}; fixed-size part {fixed}",
            f"{plural(hops['hops'], 'hop')} in one pass, {steps}; {ruled_out}",
        ]

    @property
    def fields(self) -> dict[str, Any]:
        return _fields(self)

    @property
    def lines(self) -> list[str]:
        return _lines(self)


def audited(paths: list[str], request: Request, card: Path | None) -> tuple[dict[str, Any], list[str]]:
    """One model in full, several side by side; `card` draws them."""
    from limen.render.card import card_ready, save_card

    if card is not None:
        card_ready(card, len(paths))
    found = [shown(audit(*load(path), request)) for path in paths]
    if card is not None:
        save_card(card, found)
    if len(found) == 1:
        return found[0].fields, found[0].lines
    return {"models": [one.fields for one in found]}, _side_by_side(found)


def shown(found: Audit) -> Shown:
    """With its depth, in the model's own layer numbers."""
    numbers = [layer.index for layer in found.stack.layers for _ in layer.stages]
    reached = depth(found.stack.architecture, 0, numbers, far=False)
    return Shown(found, reached, depth_lines(reached))


def letter(layer: ModelLayer) -> str:
    """A layer in one letter."""
    kinds = {_kind(block) for block in layer.blocks}
    if not kinds:
        return "·"
    if "L" in kinds and kinds & {"F", "S"}:
        return "H"
    return next(kind for kind in "SFWLK" if kind in kinds)


def _kind(block: Block) -> str:
    mixer = block.part.mixer
    if isinstance(mixer, Window):
        return "W"
    if isinstance(mixer, TopK | BlockSparse):
        return "S"
    if block.part.full:
        return "F"
    return "L" if any(kept.use is Use.RECURRENT for kept in block.kept) else "K"


def _fields(shown: Shown) -> dict[str, Any]:
    found, hops = shown.audit, shown.depth
    request, layers = found.request, found.stack.layers
    held = {n: found.held_bits_per_token(n) for n in (*LENGTHS, request.context)}
    return {
        "source": found.source,
        "model_type": found.stack.model_type,
        "architecture": str(found.stack.architecture),
        "strip": shown.strip,
        "layers": [_layer_fields(found, layer) for layer in layers],
        "full_layers": _full_layers(found),
        "context": request.context,
        "trained_for": found.stack.positions,
        "sequences": request.sequences,
        "engine": request.engine,
        "tensor_parallel": request.tensor_parallel,
        "kv_dtype": found.kv_dtype,
        "conv_dtype": found.conv_dtype,
        "state_dtype": found.state_dtype,
        "kv_bytes_per_token": _number(found.kv_bytes_per_token),
        "kv_bytes_per_late_token": _number(found.kv_bytes_per_late_token),
        "kv_bytes": found.kv_bytes,
        "window_bytes": found.window_bytes,
        "recurrent_bytes": found.recurrent_bytes,
        "convolution_bytes": found.convolution_bytes,
        "state_bytes": found.state_bytes,
        "padding_bytes": found.padding_bytes,
        "block_tokens": found.block_tokens,
        "memory": request.memory,
        "parameters": found.stack.parameters,
        "weights_bytes": found.weights_bytes,
        "fits": found.fits,
        "longest_context": found.longest_context,
        "largest_batch": found.largest_batch,
        "failures": found.failures,
        "tokens": found.tokens,
        "concurrency": found.concurrency,
        "cache_bytes": found.cache_bytes,
        "minimal_bytes": found.minimal_bytes,
        "state_bits_per_token": [{"tokens": n, "bits": held[n]} for n in sorted(held)],
        "depth": hops,
        "remarks": found.remarks,
        "limits": [*map(_limit_fields, found.limits), _hops_fields(hops)],
    }


def _layer_fields(found: Audit, layer: ModelLayer) -> dict[str, Any]:
    n = found.request.context
    bits = [block.part.state_bits(n) for block in layer.blocks]
    sizes = {name: size for block in layer.blocks for name, size in block.sizes}
    return {
        "index": layer.index,
        "mixer": "|".join(identifier(block.part.mixer) for block in layer.blocks) or None,
        "kind": ", ".join(block.what for block in layer.blocks) or layer.kind,
        "heads": sizes.pop("heads", None),
        "kv_heads": sizes.pop("kv_heads", None),
        "head_dim": sizes.pop("head_dim", None),
        "keeps_every_token": None in bits,
        "state_bits": sum(known) if (known := [b for b in bits if b is not None]) else None,
        **sizes,
    }


def _full_layers(found: Audit) -> int:
    """Layers that keep every token."""
    return sum(any(block.part.full for block in layer.blocks) for layer in found.stack.layers)


def _limit_fields(limit: Limit) -> dict[str, Any]:
    b = limit.bound
    return {
        "task": limit.name,
        "theorem": b.theorem,
        "size": limit.n,
        "meaning": f"{b.task} is ruled out: it needs {b.needs_bits:,} bits and has {b.has_bits:,}",
    }


def _hops_fields(hops: dict[str, Any]) -> dict[str, Any]:
    """A certificate at a size that can be written, or else an asymptotic statement and no size."""
    certified = hops["certified"]
    if "reason" in certified:
        meaning = f"no bound is known: {certified['reason']}"
    elif certified["n"] is not None:
        meaning = f"{certified['task']} is ruled out, at this size and beyond"
    else:
        meaning = ASYMPTOTIC
    task = f"composition of {plural(certified['hops'], 'hop')}, each depending on the question"
    return {"task": task, "theorem": "composition_depth", "size": certified["n"], "meaning": meaning}


def _lines(shown: Shown) -> list[str]:
    found = shown.audit
    return [*_glance(shown), "", *_cache(found), "", *_depth(shown), "", *_limits(shown)]


def _glance(shown: Shown) -> list[str]:
    found, drawn = shown.audit, shown.strip
    layers = found.stack.layers
    lines = [f"{found.source}: {found.stack.model_type}, {plural(len(layers), 'layer')}"]
    lines += [f"  {drawn[i : i + WIDTH]}" for i in range(0, len(drawn), WIDTH)]
    counted = Counter((letter(layer), _described(layer)) for layer in layers)
    lines += [f"  {kind} {count:>3} × {what}" for (kind, what), count in counted.items()]
    return lines


def _described(layer: ModelLayer) -> str:
    """The mixers of a layer with their sizes, in words."""
    return ", then ".join(" beside ".join(map(_words, stage)) for stage in layer.stages) or layer.kind


def _words(block: Block) -> str:
    sizes = dict(block.sizes)
    words = []
    if (h := sizes.pop("heads", None)) is not None:
        h_kv, d = sizes.pop("kv_heads", h), sizes.pop("head_dim", None)
        heads = (
            plural(h, "head") if h_kv == h else f"{plural(h, 'query head')} sharing {plural(h_kv, 'KV head')}"
        )
        words.append(f"{heads}{'' if d is None else f' of size {d}'}")
    words += [
        _SIZES.get(name, f"{name.replace('_', ' ')} {{}}").format(f"{size:,}") for name, size in sizes.items()
    ]
    shared = [] if block.part.kv is None else [f"keys and values of layer {block.part.kv}"]
    return f"{block.what} ({', '.join([*words, *shared])})"


def _cache(found: Audit) -> list[str]:
    request = found.request
    uses = {kept.use for kept, _ in found.stack.tensors}
    precision = ", ".join(
        [found.kv_dtype] * bool(uses & {Use.KV, Use.INDEX})
        + [f"recurrences {found.state_dtype}"] * (Use.RECURRENT in uses)
        + [f"convolutions {found.conv_dtype}"] * (Use.CONVOLUTION in uses)
    )
    several = "" if request.sequences == 1 else f", {request.sequences:,} sequences"
    if request.tensor_parallel > 1:
        several += f", one of {request.tensor_parallel} ranks"
    rows = [("keys and values", _per_token(found))] if found.kv_bytes_per_token else []
    for name, wanted in (
        ("  of all tokens", lambda k: k.grows),
        ("  of windows", lambda k: not k.grows and k.use in (Use.KV, Use.INDEX)),
        ("recurrent states", lambda k: k.use is Use.RECURRENT),
        ("convolutions", lambda k: k.use is Use.CONVOLUTION),
    ):
        if size := found.bytes_of(wanted):
            rows.append((name, _exact(size)))
    if found.padding_bytes:
        rows.append(("padding", _exact(found.padding_bytes)))
    rows.append(("total", _exact(found.cache_bytes)))
    if found.minimal_bytes < found.cache_bytes:
        rows.append(("minimum needed", _exact(found.minimal_bytes)))
    head = f"Cache of {request.context:,} tokens{several} ({precision}; engine: {request.engine})"
    if found.concurrency is not None and found.tokens is not None:
        pool = f"if all {in_bytes(request.memory or 0)} are for the cache"
        rows.append(
            ("vLLM prints", f"{found.tokens:,} tokens, maximum concurrency {found.concurrency:.2f}x, {pool}")
        )
        rows += _beside_weights(found)
    rows += _fit(found)
    remarks = [f"  FAILS: {reason}" for reason in found.failures]
    remarks += [f"  note: {remark}" for remark in found.remarks]
    return [head, *(f"  {name:<17} {size}" for name, size in rows), *_held(found), *remarks]


def _beside_weights(found: Audit) -> list[tuple[str, str]]:
    """The same where the memory holds the weights, too."""
    if found.room is None or (many := found.requests_in(found.room)) is None:
        return []
    tokens, left = f"{int(many * found.request.context):,} tokens", in_bytes(max(found.room, 0))
    return [("", f"{tokens}, maximum concurrency {many:.2f}x, with {left} beside the weights")]


def _fit(found: Audit) -> list[tuple[str, str]]:
    """Beside the weights, in the memory that there is."""
    if found.request.memory is None:
        return []
    if found.weights_bytes is None or found.room is None:
        return [("weights", f"not counted for {found.stack.model_type}; give them with --weights 15GiB")]
    rows = [("weights", _exact(found.weights_bytes)), ("memory left", _exact(max(found.room, 0)))]
    most = found.longest_context or 0
    batch, n = found.largest_batch or 0, f"{found.request.context:,} tokens"
    many = f"no sequence of {n}" if not batch else f"at most {plural(batch, 'sequence')} of {n}"
    ever = (
        "any context" if most >= 2**40 else f"a context of at most {most:,} tokens" if most else "no context"
    )
    return [*rows, ("what fits", f"{ever}; {many}")]


def _per_token(found: Audit) -> str:
    early, late = found.kv_bytes_per_token, found.kv_bytes_per_late_token
    later = "" if late == early else f", {_number(late):,} once the windows are full"
    return f"{_number(early):,} bytes per token{later}"


def _held(found: Audit) -> list[str]:
    """Bits per token that the part which does not grow can hold, at most."""
    if not found.state_bytes:
        return ["  No part of the cache has a fixed size."]
    first, *others = (f"{found.held_bits_per_token(n):,.0f}{{}} at {short(n)}" for n in LENGTHS)
    points = ", ".join([first.format(" bits per token"), *(other.format("") for other in others)])
    return [f"  Fixed-size state divided by context: at most {points}"]


def _depth(shown: Shown) -> list[str]:
    """As `limen depth` says it, but for a length that no text has, which is no limit."""
    lines = [line.partition(" Proved from")[0] for line in shown.depth_lines[1:]]
    return ["Depth: " + lines[0], *(line for line in lines[1:] if WORST not in line)]


def _limits(shown: Shown) -> list[str]:
    found = shown.audit
    if not found.limits:
        full = _full_layers(found)
        which = f"{full} of its layers keep every token" if full else "no theorem speaks about such a stack"
        return [f"Limits: its state rules out no task: {which}"]
    width = max(len(limit.name) for limit in found.limits)
    lines = ["Limits: tasks ruled out from length n on, whatever the weights (in the worst case)"]
    for theorem, group in groupby(found.limits, key=lambda limit: limit.bound.theorem):
        for limit in group:
            needs, has = limit.bound.needs_bits, limit.bound.has_bits
            sides = f"needs {plural(needs or 0, 'bit')}, has {has:,}"
            lines.append(f"  {limit.name:<{width}}  n = {limit.n:>15,}  {theorem}: {sides}")
    return lines


def _side_by_side(shown: list[Shown]) -> list[str]:
    """One column a model."""
    rows: dict[str, list[str]] = {
        "": [one.name for one in shown],
        "type": [one.audit.stack.model_type for one in shown],
        "layers": [f"{len(one.audit.stack.layers)}" for one in shown],
        "full layers": [f"{_full_layers(one.audit)}" for one in shown],
        "bytes per token": [f"{_number(one.audit.kv_bytes_per_token):,}" for one in shown],
        "  windows full": [f"{_number(one.audit.kv_bytes_per_late_token):,}" for one in shown],
        "keys and values": [in_bytes(one.audit.kv_bytes) for one in shown],
        "fixed-size part": [in_bytes(one.audit.state_bytes) for one in shown],
        "total cache": [in_bytes(one.audit.cache_bytes) for one in shown],
        "fixed bits/token": [
            f"{one.audit.held_bits_per_token(one.audit.request.context):,.0f}" for one in shown
        ],
        "hops in one pass": [f"{one.depth['hops']}" for one in shown],
        "hops per step": [f"{one.depth['hops_per_step']}" for one in shown],
        "eva ruled out": [_from(one, "eva") for one in shown],
        "index ruled out": [_from(one, "index") for one in shown],
    }
    wide = [max(len(cells[i]) for cells in rows.values()) for i in range(len(shown))]
    request = shown[0].audit.request
    table = [
        f"{name:<17}" + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, wide, strict=True))
        for name, cells in rows.items()
    ]
    head = f"{request.context:,} tokens, {plural(request.sequences, 'sequence')}, engine {request.engine}"
    strips = [f"{one.name}: {one.strip[:WIDTH]}" for one in shown]
    reasons = [f"FAILS: {one.name}: {reason}" for one in shown for reason in one.audit.failures]
    used = {letter for one in shown for letter in one.strip}
    return [head, *table, *reasons, *strips, ", ".join(f"{k} {LETTERS[k]}" for k in LETTERS if k in used)]


def _from(one: Shown, task: str) -> str:
    return next((f"n ≥ {limit.n:,}" for limit in one.audit.limits if limit.name == task), "no")


def _exact(count: int) -> str:
    return f"{count:,} bytes" if count < 1024 else f"{in_bytes(count)} ({count:,} bytes)"


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)
