"""`limen audit` for people: a real model's stack at a glance, its cache in bytes, and where it stops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import PRACTICAL, in_bytes, plural
from limen.render.depth import HOPS, WORST
from limen.render.depth import lines_of as depth_lines
from limen.render.learned import lines_of as learned_lines
from limen.render.words import short

if TYPE_CHECKING:
    from limen.audits.report import (
        AuditReport,
        AuditsReport,
        BlockReport,
        BudgetReport,
        EngineReport,
        LayerAudit,
        LimitReport,
        ShareReport,
    )

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
_POINTS = tuple(2**i for i in range(10, 21, 2))  # lengths at which the fixed-size state is told


def lines_of(report: AuditReport) -> list[str]:
    """One model in full, or only what matters for serving."""
    if report.brief:
        return [_head(report), *_brief(report), *_answer(report)]
    theory = ["", *_depth(report), "", *_limits(report), *_learned(report)]
    return [*_glance(report), "", *_cache(report), *theory, *_answer(report)]


def figures(report: AuditReport) -> list[str]:
    """What a card says of it."""
    limits = ", ".join(f"{limit.task} from n = {limit.size:,}" for limit in _by_state(report)[:3])
    ruled_out = f"ruled out: {limits}, …" if limits else "the state rules out no task"
    more = report.depth.hops_per_step
    steps = f"{more} more with each thinking token (by some weights; training may find fewer)"
    fixed = in_bytes(report.state_bytes)
    return [
        f"cache {in_bytes(report.cache_bytes)}: {_per_token(report)}; fixed-size part {fixed}",
        f"{plural(report.depth.hops, 'question-dependent hop')} in one pass, {steps}",
        ruled_out,
    ]


def _glance(report: AuditReport) -> list[str]:
    lines = [_head(report)]
    lines += [f"  {report.strip[i : i + WIDTH]}" for i in range(0, len(report.strip), WIDTH)]
    counted = Counter((layer.letter, _described(layer)) for layer in report.layers)
    lines += [f"  {kind} {count:>3} × {what}" for (kind, what), count in counted.items()]
    return lines


def _head(report: AuditReport) -> str:
    return f"{report.source}: {report.model_type}, {plural(len(report.layers), 'layer')}"


def _described(layer: LayerAudit) -> str:
    """The mixers of a layer with their sizes, in words."""
    return ", then ".join(" beside ".join(map(_words, stage)) for stage in layer.stages) or layer.kind


def _words(block: BlockReport) -> str:
    sizes, words = dict(block.sizes), []
    if (h := sizes.pop("heads", None)) is not None:
        h_kv, d = sizes.pop("kv_heads", h), sizes.pop("head_dim", None)
        heads = (
            plural(h, "head") if h_kv == h else f"{plural(h, 'query head')} sharing {plural(h_kv, 'KV head')}"
        )
        words.append(f"{heads}{'' if d is None else f' of size {d}'}")
    words += [
        _SIZES.get(name, f"{name.replace('_', ' ')} {{}}").format(f"{size:,}") for name, size in sizes.items()
    ]
    shared = [] if block.kv is None else [f"keys and values of layer {block.kv}"]
    return f"{block.what} ({', '.join([*words, *shared])})"


def _cache(report: AuditReport) -> list[str]:
    rows = [*_parts(report), *_fit(report)]
    remarks = [f"  note: {remark}" for remark in _notes(report)]
    return [_asked_for(report), *_lined(rows), _held(report), *remarks]


def _brief(report: AuditReport) -> list[str]:
    """The memory as a ledger: what takes how much of it, and why."""
    budget = report.budget
    rows = [("cache", report.cache_bytes if budget is None else budget.needed, _keys(report))]
    if report.weights_bytes is not None:
        rows.insert(0, ("weights", report.weights_bytes, _stored(report)))
    if report.weights_bytes is not None and budget is not None:
        rows += [(share.what, share.size, _why(share)) for share in budget.shares]
        rows.append(("in all", sum(size for _, size, _ in rows), f"of {in_bytes(budget.total)}"))
    lines = [f"  {name:<17} {in_bytes(size):>10}  {why}" for name, size, why in rows]
    fit = [row for row in _fit(report) if row[0] in ("vLLM would print", "what fits")]
    if report.weights_bytes is None and budget is not None:
        fit = _fit(report)
    notes = [f"  note: {note}" for note in _notes(report)]
    return [_asked_for(report), *lines, *_lined(fit), *notes]


def _notes(report: AuditReport) -> list[str]:
    """The remarks; in brief without fields that are ignored and the layout of blocks."""
    left_out = ("ignored, because", "blocks of", "blocks for") if report.brief else ()
    return [remark for remark in report.remarks if not remark.startswith(left_out)]


def _keys(report: AuditReport) -> str:
    fixed = f", {in_bytes(report.state_bytes)} of fixed size" if report.state_bytes else ""
    return f"{_precision(report)}: {_per_token(report)}{fixed}"


def _stored(report: AuditReport) -> str:
    weights = report.weights
    return f"{weights.scheme}; {in_bytes(weights.tensors)} in files" if weights else "given, or of the file"


def _lined(rows: list[tuple[str, str]]) -> list[str]:
    return [f"  {name:<17} {value}" for name, value in rows]


def _asked_for(report: AuditReport) -> str:
    several = "" if report.sequences == 1 else f", {report.sequences:,} sequences"
    if report.brief and report.budget is not None:
        each = "each of " if report.gpus > 1 else ""
        return (
            f"Memory of {each}{_place(report)} for {report.context:,} tokens{several}, engine {report.engine}"
        )
    if report.gpus > 1:
        several += f", one of {report.gpus} ranks"
    return f"Cache of {report.context:,} tokens{several} ({_precision(report)}; engine: {report.engine})"


def _place(report: AuditReport) -> str:
    """The GPUs."""
    assert report.budget is not None  # asked only where there are some
    total = in_bytes(report.budget.total)
    return (
        f"{report.gpus} × {report.budget.gpu} ({total})" if report.budget.gpu else f"{report.gpus} × {total}"
    )


def _precision(report: AuditReport) -> str:
    names = {
        report.kv_dtype: {"keys and values", "index keys"},
        f"recurrences {report.state_dtype}": {"recurrent state"},
        f"convolutions {report.conv_dtype}": {"convolution"},
    }
    return ", ".join(name for name, uses in names.items() if uses & set(report.keeps))


def _parts(report: AuditReport) -> list[tuple[str, str]]:
    parts = (
        ("  of all tokens", report.growing_bytes),
        ("  of windows", report.window_bytes),
        ("recurrent states", report.recurrent_bytes),
        ("convolutions", report.convolution_bytes),
        ("padding", report.padding_bytes),
    )
    rows = [("keys and values", _per_token(report))] if report.kv_bytes_per_token else []
    rows += [(name, _exact(size)) for name, size in parts if size]
    rows.append(("total", _exact(report.cache_bytes)))
    least = report.minimal_bytes
    return [*rows, ("minimum needed", _exact(least))] if least < report.cache_bytes else rows


def _fit(report: AuditReport) -> list[tuple[str, str]]:
    """Beside the weights, in the memory that there is."""
    budget = report.budget
    if budget is None:
        return []
    if report.weights_bytes is None or report.room is None:
        unknown = [("weights", f"not counted: {report.uncounted}; give them with --weights 15GiB")]
        return [*_pool(report), *unknown]
    rows = [("weights", _exact(report.weights_bytes)), *_split(report)]
    rows += [(share.what, _share(share)) for share in budget.shares]
    short = f"none: what is above takes {_exact(-report.room)} more than there is"
    rows.append(("memory left", _exact(report.room) if report.room >= 0 else short))
    rows += _printed(budget)
    most = report.longest_context or 0
    batch, n = report.largest_batch or 0, f"{report.context:,} tokens"
    many = f"no sequence of {n}" if not batch else f"at most {plural(batch, 'sequence')} of {n}"
    ever = "any context" if most >= PRACTICAL else f"a context of at most {most:,} tokens"
    together = "" if report.sequences == 1 else f" with {report.sequences:,} sequences"
    return [*rows, ("what fits", f"{ever if most else 'no context'}{together}; {many}")]


def _share(share: ShareReport) -> str:
    return f"{_exact(share.size)}: {_why(share)}"


def _why(share: ShareReport) -> str:
    """Who says that it is so large."""
    if share.assumed:
        return f"assumed ({share.assumed}; {share.option})"
    return f"{share.rule or 'as given'} ({share.option})"


def _pool(report: AuditReport) -> list[tuple[str, str]]:
    """As vLLM prints it, if the cache has all the memory: all that is known without the weights."""
    if report.concurrency is None or report.tokens is None:
        return []
    pool = f"if all {in_bytes(report.memory or 0)} are for the cache"
    tokens = f"{report.tokens:,} tokens, maximum concurrency {report.concurrency:.2f}x"
    return [("vLLM prints", f"{tokens}, {pool}")]


def _printed(budget: BudgetReport) -> list[tuple[str, str]]:
    """As vLLM would print it at its start."""
    if budget.tokens is None or budget.concurrency is None:
        return []
    if budget.concurrency < 1:
        return [("vLLM would print", "an error: the cache of one sequence does not fit")]
    unsure = ", if what is assumed is so" if any(share.assumed for share in budget.shares) else ""
    tokens = f"about {budget.tokens:,} tokens, maximum concurrency {budget.concurrency:.2f}x"
    return [("vLLM would print", tokens + unsure)]


def _answer(report: AuditReport) -> list[str]:
    """By engine, by GPU, and in one line at the end."""
    lines, verdict = [*_engines(report), *_gpus(report)], answer_of(report)
    return [*(["", *lines] if lines else []), *(["", *verdict] if verdict else [])]


def answer_of(report: AuditReport) -> list[str]:
    """Why what was asked for fails, or that it fits; nothing where no device was named."""
    return [f"FAILS: {reason}" for reason in report.failures] or _fits(report)


def _fits(report: AuditReport) -> list[str]:
    """That it fits, or that nobody knows."""
    budget = report.budget
    if budget is None:
        places = [one.gpu for one in report.on_gpus if one.gpus]
        return [f"FITS on {len(places)} of {len(report.on_gpus)} kinds of GPU"] if places else []
    if report.room is None:
        return ["NOT COUNTED: without the size of the weights nobody knows whether it fits (--weights 15GiB)"]
    each = f" on each of {report.gpus} GPUs" if report.gpus > 1 else ""
    takes = f"weights of {in_bytes(report.weights_bytes or 0)} and a cache of {in_bytes(report.cache_bytes)}"
    spare = f"{in_bytes(report.room - budget.needed)} to spare"
    if not budget.shares:
        alone = "nothing else is counted, and engines need more"
        return [f"FITS: {takes} in {in_bytes(budget.total)}{each}, {spare}; {alone}"]
    place = f"the {in_bytes(budget.left)} that {report.engine} leaves of {in_bytes(budget.total)}{each}"
    return [f"FITS: {takes} in {place}, {spare}"]


def _engines(report: AuditReport) -> list[str]:
    """One row an engine: what fits, and what makes the request fit where it does not."""
    if not report.engines:
        return []
    head = ("engine", "weights", "", "for cache", "longest context", "sequences", "request", "makes it fit")
    return _table([head, *(_engine(one) for one in report.engines)], left=(0, 2, 6, 7))


def _engine(one: EngineReport) -> tuple[str, ...]:
    if one.weights_bytes is None or one.room is None:
        return (one.engine, "not counted", *("",) * 6)
    left = in_bytes(one.room) if one.room >= 0 else "none"
    context = _up_to(one.longest_context)
    batch, scheme = f"{one.largest_batch or 0:,}", one.scheme.partition(",")[0].partition(" in ")[0]
    verdict = "fits" if one.fits else f"{in_bytes(one.missing or 0)} short"
    ways = [one.change, f"{one.gpus} GPUs" if one.gpus else None]
    change = "" if one.fits else ", or ".join(filter(None, ways)) or "none is known"
    return (one.engine, in_bytes(one.weights_bytes), scheme, left, context, batch, verdict, change)


def _gpus(report: AuditReport) -> list[str]:
    """One row a GPU: how many of them hold the request."""
    if not report.on_gpus:
        return []
    head = ("GPU", "memory", "how many", "longest context", "sequences")
    rows = [
        (
            one.gpu,
            in_bytes(one.total),
            *(
                (f"{one.gpus}", _up_to(one.longest_context), f"{one.largest_batch or 0:,}")
                if one.gpus
                else ("none", "", "")
            ),
        )
        for one in report.on_gpus
    ]
    return _table([head, *rows], left=(0,))


def _table(rows: list[tuple[str, ...]], left: tuple[int, ...]) -> list[str]:
    """Columns as wide as they must be; those of `left` begin at the left, numbers end at the right."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        "  ".join(
            f"{cell:<{w}}" if i in left else f"{cell:>{w}}"
            for i, (cell, w) in enumerate(zip(row, wide, strict=True))
        )
        for row in rows
    ]
    return [f"  {line}".rstrip() for line in cells]


def _split(report: AuditReport) -> list[tuple[str, str]]:
    """By what they are, where more than one precision is stored; and what an engine adds to them."""
    weights = report.weights
    if weights is None:
        return []
    parts = (
        ("quantised", weights.quantised),
        ("scales", weights.scales),
        ("in 16 bits", weights.half),
        ("in 32 bits", weights.single),
    )
    rows = []
    if weights.quantised:
        told = ", ".join(f"{in_bytes(size)} {name}" for name, size in parts if size)
        rows.append(("  in files", f"{_exact(weights.tensors)}: {told} ({weights.scheme})"))
    if weights.added:
        rows.append(("  engine adds", f"{_exact(weights.added)}: rotary tables, copies for latent attention"))
    return rows


def _per_token(report: AuditReport) -> str:
    early, late = report.kv_bytes_per_token, report.kv_bytes_per_late_token
    later = "" if late == early else f", {late:,} once the windows are full"
    return f"{early:,} bytes per token{later}"


def _held(report: AuditReport) -> str:
    """Bits per token that the part which does not grow can hold, at most."""
    if not report.state_bytes:
        return "  No part of the cache has a fixed size."
    points = [point for point in report.state_bits_per_token if point.tokens in _POINTS]
    first, *others = (f"{point.bits:,.0f}{{}} at {short(point.tokens)}" for point in points)
    told = ", ".join([first.format(" bits per token"), *(other.format("") for other in others)])
    return f"  Fixed-size state divided by context: at most {told}"


def _depth(report: AuditReport) -> list[str]:
    """As `limen depth` says it."""
    lines = depth_lines(report.depth)[1:]
    return ["Depth: " + lines[0], *(line for line in lines[1:] if WORST not in line)]


def _by_state(report: AuditReport) -> list[LimitReport]:
    """Without the one about hops."""
    return [limit for limit in report.limits if limit.needs_bits is not None]


def _limits(report: AuditReport) -> list[str]:
    limits, full = _by_state(report), report.full_layers
    if not limits:
        if not full:
            return ["Limits: no theorem applies to such a stack"]
        keep = "layer keeps" if full == 1 else "layers keep"
        return [f"Limits: the state rules out no task, since {full} {keep} every token"]
    width = max(len(limit.task) for limit in limits)
    lines = ["Limits: tasks ruled out from length n on, whatever the weights (in the worst case)"]
    for limit in limits:
        sides = f"needs {plural(limit.needs_bits or 0, 'bit')}, has {limit.has_bits:,}"
        lines.append(f"  {limit.task:<{width}}  n = {limit.size:>15,}  {limit.theorem}: {sides}")
    return lines


def _learned(report: AuditReport) -> list[str]:
    lines = learned_lines(report.learned)
    return ["", *lines] if lines else []


def lines_of_several(report: AuditsReport) -> list[str]:
    return side_by_side(report.models)


def side_by_side(reports: Sequence[AuditReport]) -> list[str]:
    """One column a model."""
    rows: dict[str, list[str]] = {
        "": [one.name for one in reports],
        "type": [one.model_type for one in reports],
        "layers": [f"{len(one.layers)}" for one in reports],
        "full layers": [f"{one.full_layers}" for one in reports],
        "bytes per token": [f"{one.kv_bytes_per_token:,}" for one in reports],
        "  windows full": [f"{one.kv_bytes_per_late_token:,}" for one in reports],
        "keys and values": [in_bytes(one.kv_bytes) for one in reports],
        "fixed-size part": [in_bytes(one.state_bytes) for one in reports],
        "total cache": [in_bytes(one.cache_bytes) for one in reports],
    }
    brief = all(one.brief for one in reports)
    if not brief:
        rows |= {
            "fixed bits/token": [_here(one) for one in reports],
            "hops, one pass": [f"{one.depth.hops}" for one in reports],
            "hops per thought": [f"{one.depth.hops_per_step}" for one in reports],
            "eva ruled out": [_from(one, "eva") for one in reports],
            "index ruled out": [_from(one, "index") for one in reports],
        }
    if any(one.budget for one in reports):
        rows |= {
            "weights": [_or_not(one, in_bytes(one.weights_bytes or 0)) for one in reports],
            "longest context": [_or_not(one, _up_to(one.longest_context)) for one in reports],
            "sequences": [_or_not(one, f"{one.largest_batch or 0:,}") for one in reports],
            "the request": [_or_not(one, _verdict(one)) for one in reports],
        }
    wide = [max(len(cells[i]) for cells in rows.values()) for i in range(len(reports))]
    first = reports[0]
    table = [
        f"{name:<17}" + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, wide, strict=True))
        for name, cells in rows.items()
    ]
    head = f"{first.context:,} tokens, {plural(first.sequences, 'sequence')}, engine {first.engine}"
    if first.budget:
        named = f" {first.budget.gpu}," if first.budget.gpu else ""
        head += f", {first.gpus} ×{named} {in_bytes(first.budget.total)}"
    strips = [f"{one.name}: {one.strip[:WIDTH]}" for one in reports]
    through = {one.name: " and ".join(one.depth.argued) for one in reports if one.depth.argued}
    argued = [f"{name}: weights are argued, and not built, through {by}." for name, by in through.items()]
    numbers = [f"{one.name}, precision: {_precision(one)}" for one in reports]
    reasons = [f"FAILS: {one.name}: {reason}" for one in reports for reason in one.failures]
    reasons += [
        f"note: {one.name}: {remark}"
        for one in reports
        for remark in _notes(one)
        if one.failures or remark.startswith("weights are counted in")
    ]
    reasons += [
        f"note: {one.name}: weights are not counted: {one.uncounted}" for one in reports if one.uncounted
    ]
    used = {letter for one in reports for letter in one.strip}
    if brief:
        return [head, *table, *numbers, *reasons]
    return [
        head,
        *table,
        *numbers,
        HOPS,
        *argued,
        *reasons,
        *strips,
        ", ".join(f"{k} {LETTERS[k]}" for k in LETTERS if k in used),
    ]


def _up_to(most: int | None) -> str:
    return "any" if (most or 0) >= PRACTICAL else f"{most or 0:,}"


def _or_not(report: AuditReport, text: str) -> str:
    return text if report.room is not None else "not counted"


def _verdict(report: AuditReport) -> str:
    missing = report.budget and report.budget.missing
    return "fits" if not missing else f"{in_bytes(missing)} short"


def _here(report: AuditReport) -> str:
    """Bits per token of the fixed-size state, at the context asked for."""
    return next(f"{p.bits:,.0f}" for p in report.state_bits_per_token if p.tokens == report.context)


def _from(report: AuditReport, task: str) -> str:
    return next((f"n ≥ {limit.size:,}" for limit in _by_state(report) if limit.task == task), "no")


def _exact(count: int) -> str:
    return plural(count, "byte") if count < 1024 else f"{in_bytes(count)} ({count:,} bytes)"
