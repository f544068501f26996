"""Published figures beside what Limen proves or counts: agreements and contradictions alike.

>>> import limen
>>> [one.says for one in limen.outside(about="memory").comparisons]
['agrees']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.core.option import Option
from limen.core.quantities import plural
from limen.core.report import Report
from limen.errors import unknown

if TYPE_CHECKING:
    from limen.decisions.depths import HopCounts

_LEARNED = 0.05  # error up to which a published run counts as having learned
_BITS = 16  # of a number of a state, in what is proved

Says = Literal["agrees", "contradicts", "same for us", "silent"]


class OutsideFigure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure that others published, and how it was read."""

    source: str
    table: str
    setting: str
    metric: str
    value: float | int | str | list[float]
    evidence: str
    kind: str
    sd: float | None = None
    ours: str | None = None  # what Limen says of the same setting


class OutsideComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one source beside ours, and what the two make together."""

    about: str
    title: str
    says: Says
    sentence: str
    figures: tuple[OutsideFigure, ...]


class OutsideReport(Report, frozen=True, kw_only=True, tag="limen/outside/1"):
    """All comparisons, or those about one thing."""

    comparisons: tuple[OutsideComparison, ...]

    @property
    def headline(self) -> str:
        shown = [figure for one in self.comparisons for figure in one.figures]
        count = len({(one.source, one.table, one.setting, one.metric) for one in shown})
        words = [one.says for one in self.comparisons]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        return f"{count} published figures in {len(words)} comparisons: {counts}"


class OutsideJudgement(NamedTuple):
    """What a comparison says, and our figure for each setting."""

    says: Says
    sentence: str
    ours: Mapping[str, str] = {}


class Comparing(NamedTuple):
    """Which figures are compared, and how."""

    about: str
    title: str
    chosen: tuple[tuple[str, str], ...]  # beginnings of the source and of the table
    judge: Callable[[Sequence[OutsideFigure]], OutsideJudgement]


@command(
    example="limen outside --about hops",
    answers=(Shown("limen.commands.outside:OutsideReport", "limen.render.outside:lines_of"),),
)
def outside(
    *,
    about: Annotated[
        str | None,
        Option(
            "hops, perplexity, needle, recall, state, memory or other. Default: all.",
            complete=_complete.of("hops", "perplexity", "needle", "recall", "state", "memory", "other"),
        ),
    ] = None,
) -> OutsideReport:
    """Many figures were read from notes that quote a table: each says how. No run here was tuned to them."""
    known = sorted({one.about for one in _COMPARED})
    if about is not None and about not in known:
        raise unknown("kind of figure", about, known)
    wanted = [one for one in _COMPARED if about in (None, one.about)]
    return OutsideReport(comparisons=tuple(_compared(one, figures()) for one in wanted))


def figures() -> list[OutsideFigure]:
    """All figures of the data file."""
    content = (files("limen.commands") / "outside.json").read_bytes()
    return msgspec.json.decode(content, type=list[OutsideFigure])


def _compared(beside: Comparing, every: Sequence[OutsideFigure]) -> OutsideComparison:
    chosen = [
        one
        for one in every
        if any(
            one.source.startswith(source) and one.table.startswith(table) for source, table in beside.chosen
        )
    ]
    judged = beside.judge(chosen)
    return OutsideComparison(
        about=beside.about,
        title=beside.title,
        says=judged.says,
        sentence=judged.sentence,
        figures=tuple(msgspec.structs.replace(one, ours=judged.ours.get(one.setting)) for one in chosen),
    )


def _number(figure: OutsideFigure) -> float:
    assert isinstance(figure.value, float | int)
    return float(figure.value)


def _chains(stack: str) -> HopCounts:
    from limen.core.architecture import Architecture
    from limen.decisions.depths import hops_of

    return hops_of(Architecture.parse(stack))


def _ratio(setting: str) -> str:
    """A stack of sixteen layers, r of KDA for each full one: `KDA:MLA 3:1`."""
    linear, full = (int(part) for part in re.findall(r"(\d+):(\d+)", setting)[0])
    if linear == 0:
        return "16*softmax"
    return f"{16 // (linear + full)}*({linear}*kda,softmax)"


def _perplexity(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    hops = {row.setting: _chains(_ratio(row.setting)).hops for row in rows}
    deepest = max(rows, key=lambda row: hops[row.setting])
    best = min(rows, key=_number)
    ours = {setting: f"{plural(count, 'hop')} in one pass" for setting, count in hops.items()}
    if deepest is best:
        return OutsideJudgement("agrees", "The stack that chains most hops has the lowest perplexity.", ours)
    return OutsideJudgement(
        "contradicts",
        f"More hops do not mean a lower perplexity: {best.setting} has the lowest ({best.value}) and chains "
        f"{hops[best.setting]}, {deepest.setting} chains {hops[deepest.setting]} and has {deepest.value}. "
        "Text like that of the validation set hardly asks for chains.",
        ours,
    )


def _equal_depth(
    stacks: Mapping[str, str], what: str
) -> Callable[[Sequence[OutsideFigure]], OutsideJudgement]:
    """For models whose stacks Limen cannot tell apart, however far their figures are."""

    def judge(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
        known = {
            row.setting: next((s for begin, s in stacks.items() if row.setting.startswith(begin)), None)
            for row in rows
        }
        hops = {setting: _chains(stack).hops for setting, stack in known.items() if stack}
        alike = [row for row in rows if row.setting in hops and hops[row.setting] == min(hops.values())]
        values = [_number(row) for row in alike]
        return OutsideJudgement(
            "same for us",
            f"{len(alike)} models with {min(hops.values())} hops each have {what} from {min(values):g} to "
            f"{max(values):g}: what Limen proves does not tell them apart.",
            {setting: f"{plural(count, 'hop')} in one pass" for setting, count in hops.items()},
        )

    return judge


def _equal_layout(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    values = [_number(row) for row in rows]
    return OutsideJudgement(
        "same for us",
        f"{len(rows)} models with full layers at the same places have needle accuracies from {min(values):g} "
        f"to {max(values):g}. The depth rule counts them alike.",
    )


def _windows(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    values = [_number(row) for row in rows if "window" in row.setting]
    lightning = max(_number(row) for row in rows if "window" not in row.setting)
    return OutsideJudgement(
        "same for us",
        "With one full layer in eight no theorem rules a needle out, beside windows or linear layers; "
        f"the windows reached {min(values):g} to {max(values):g}, lightning attention {lightning:g}.",
    )


def _pure_is_least(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    pure = next(_number(row) for row in rows if row.setting.startswith("pure linear"))
    full = next(_number(row) for row in rows if row.setting.startswith("full"))
    others = [_number(row) for row in rows if not row.setting.startswith(("pure linear", "full"))]
    agrees: Says = "agrees" if pure < min(*others, full) else "contradicts"
    more = f"; but {sum(value > full for value in others)} of {len(others)} hybrids are above the full model"
    return OutsideJudgement(
        agrees,
        f"A state of fixed size alone is last ({pure:g}), as the direction of streaming_state is; full "
        f"attention has {full:g}{more}, which no theorem here says.",
    )


def _states(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    """The bound: N bindings of 8 bits need 8N bits, a state of S numbers has 16 S."""
    ours, broken = {}, []
    for row in rows:
        if match := re.search(r"(?:pure )?state (?:of )?(\d+)(?: numbers)?, N=(\d+)", row.setting):
            numbers, count = map(int, match.groups())
            has, needs = _BITS * numbers, 8 * count
            ours[row.setting] = (
                f"needs {needs:,} bits, has {has:,}: {'ruled out' if needs > has else 'not ruled out'}"
            )
            if needs > has and _number(row) < _LEARNED:
                broken.append(row.setting)
    held = next(row for row in rows if row.metric.startswith("bits"))
    if broken:
        return OutsideJudgement("contradicts", f"Beyond the bound, and learned: {', '.join(broken)}.", ours)
    return OutsideJudgement(
        "agrees",
        f"No figure is beyond the bound of streaming_state at {_BITS} bits a number. It is far away: "
        f"{held.value} bits a number were stored: the bound comes {_BITS / _number(held):.0f} times later.",
        ours,
    )


def _one_layer_more(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    errors = {row.setting: _number(row) for row in rows}
    hybrid = next(error for setting, error in errors.items() if setting.startswith("hybrid"))
    window = next(error for setting, error in errors.items() if "window" in setting)
    pure = next(error for setting, error in errors.items() if setting.startswith("pure state 64"))
    says: Says = "agrees" if hybrid < window and hybrid < pure else "contradicts"
    return OutsideJudgement(
        says,
        f"One layer that keeps every token lifts the limit of the state (error {hybrid:g} after {pure:g}); a "
        f"window does not ({window:g}): it is a state of fixed size too.",
    )


def _can_is_not_learned(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    error = _number(rows[0])
    return OutsideJudgement(
        "contradicts" if error > _LEARNED else "agrees",
        f"Weights of softmax layers that recall are written down (limen solve recall); this training run of "
        f"two full layers has error {error:g}. That weights exist does not mean that they are learned.",
        {rows[0].setting: "weights exist"},
    )


def _renamed(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    known = {row.setting: _chains(f"{row.setting.split()[0]}*softmax").plain for row in rows}
    beyond = [row.setting for row in rows if _number(row) > known[row.setting]]
    ours = {setting: f"weights for {hops} plain hops are known" for setting, hops in known.items()}
    if beyond:
        return OutsideJudgement(
            "contradicts", f"Learned beyond the weights that we know: {'; '.join(beyond)}.", ours
        )
    pairs = ", ".join(f"{_number(row):g} of {known[row.setting]}" for row in rows)
    return OutsideJudgement(
        "agrees", f"Learned hops of those that known weights chain, by layers: {pairs}.", ours
    )


def _induction(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    best: dict[int, int] = {}
    for row in rows:
        hops, depth = map(int, re.findall(r"\d+", row.setting))
        if _number(row) <= _LEARNED:
            best[depth] = max(best.get(depth, 0), hops)
    known = {depth: _chains(f"{depth}*softmax").plain for depth in best}
    beyond = [depth for depth in best if best[depth] > known[depth]]
    pairs = ", ".join(f"{best[depth]} of {known[depth]} at depth {depth}" for depth in sorted(best))
    ours = {
        row.setting: f"weights for {known[depth]} plain hops are known"
        for row in rows
        if (depth := int(re.findall(r"\d+", row.setting)[1])) in known
    }
    return OutsideJudgement(
        "contradicts" if beyond else "agrees",
        f"Hops learned with an error of at most {_LEARNED:.0%}, of those that known weights chain: {pairs}.",
        ours,
    )


def _log_linear(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    values = {row.setting: _number(row) for row in rows}
    pairs = [
        (values[name], value)
        for setting, value in values.items()
        if "log-linear" in setting and (name := setting.replace(" + log-linear", "")) in values
    ]
    higher = sum(after > before for before, after in pairs)
    return OutsideJudgement(
        "agrees" if higher == len(pairs) else "contradicts",
        f"A log-linear layer has a state for each power of two, so more bits cross a cut: it is higher in "
        f"{higher} of {len(pairs)} pairs.",
    )


def _few_full(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    hybrid, full = _chains("10*(7*linear,softmax)").hops, _chains("80*softmax").hops
    return OutsideJudgement(
        "silent",  # how many hops their tasks ask for is not published
        f"A stack with ten full layers of eighty chains {hybrid} hops in one pass, one of eighty full layers "
        f"{full}. That ten were too few for the tasks in question is theirs, not ours.",
        {rows[0].setting: f"{plural(hybrid, 'hop')} in one pass"},
    )


def _bytes(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    from limen.audits.reading import audit
    from limen.audits.request import Request

    counted = int(audit({"model_type": "gpt_oss"}, "gpt-oss-120b", Request()).kv_bytes_per_token)
    row = rows[0]
    return OutsideJudgement(
        "agrees" if counted == row.value else "contradicts",
        f"vLLM printed {row.value:,} bytes a token for gpt-oss-120b; the audit counts {counted:,}.",
        {row.setting: f"{counted:,} bytes a token"},
    )


def _nothing(rows: Sequence[OutsideFigure]) -> OutsideJudgement:
    return OutsideJudgement("silent", "No theorem here is about it: it is what training finds.")


_COMPARED = (
    Comparing(
        "perplexity",
        "Kimi Linear: perplexity by the share of full layers",
        (("Kimi Linear", "Table 1"),),
        _perplexity,
    ),
    Comparing(
        "needle",
        "Kimi Linear: RULER at equal depth",
        (("Kimi Linear", "Table 5"),),
        _equal_depth(
            {  # 27 layers, of which 4, 8, …, 24 and 27 are full
                "MLA": "27*softmax",
                "GDN-H": "6*(3*gated_delta,softmax),2*gated_delta,softmax",
                "Kimi Linear 3:1": "6*(3*kda,softmax),2*kda,softmax",
            },
            "RULER averages",
        ),
    ),
    Comparing(
        "needle",
        "MiniMax-01: three kinds of linear layers, 7:1",
        (("MiniMax-01", "Table 3"),),
        _equal_layout,
    ),
    Comparing(
        "needle", "MiniMax-01: windows instead of linear layers", (("MiniMax-01", "Table 4"),), _windows
    ),
    Comparing(
        "needle",
        "Needles by length, size and mixer",
        (
            ("MiniMax-01", "Figure 7"),
            ("Complex KDA", "Table 7"),
            ("thunlp", ""),
            ("Gated DeltaNet-2", ""),
        ),
        _nothing,
    ),
    Comparing("recall", "Linear, hybrid and full models of 1.3B", (("Wang", ""),), _pure_is_least),
    Comparing("recall", "MQAR with and without log-linear states", (("Log-Linear", "Table 2"),), _log_linear),
    Comparing(
        "recall",
        "MQAR, an independent replication; convolutions and curricula",
        (("independent replication", ""), ("Boesch", "")),
        _nothing,
    ),
    Comparing("state", "Bits in a recurrent state", (("CCH", "REPORT B-i"),), _states),
    Comparing(
        "state",
        "One full layer, or one window, beside a small state",
        (("CCH arXiv 2607.14144", "REPORT B-"),),
        _one_layer_more,
    ),
    Comparing(
        "state", "Two full layers that did not learn", (("CCH", "REPORT anomaly"),), _can_is_not_learned
    ),
    Comparing("hops", "Renamed variables: hops by layers", (("Lutz", "accuracy per depth"),), _renamed),
    Comparing("hops", "Induction hops by layers", (("Sanford", "T=100"),), _induction),
    Comparing("hops", "MiniMax on leaving hybrids", (("MiniMax, Why", ""),), _few_full),
    Comparing(
        "memory",
        "Bytes of a token, as an engine printed them",
        (("alvarobartt/hf-mem issue 60", ""),),
        _bytes,
    ),
    Comparing(
        "other",
        "State tracking; accuracies over all hops; memory of engines without a config here",
        (
            ("Complex KDA", "Table 1"),
            ("CCH", "REPORT Exp C"),
            ("Lutz", "results table"),
            ("alvarobartt/hf-mem PR", ""),
            ("lablup", ""),
            ("tobocop2", ""),
        ),
        _nothing,
    ),
)
