"""Does the hierarchy of hops show in small language models of English?

Facts in English stand in a text of 64 words: who was mayor of which city, and who was born where; for three
hops also who lived where, 96 words; of eight people 128 words. A language model of as many layers as hops
learns to predict every next word: of the facts, of questions of one hop, of questions of several hops that
are answered at once, and of questions that are answered after a chain of thought. Full layers are attention
behind a convolution over five words. In the stacks that are compared, the last layer is a window, or a
recurrence with a state of fixed size. The accuracy is that on all hops in one pass. A failure counts only
where the same model answers every kind of one hop.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from limen.training.experiment import Experiment, ExperimentCell, Finding

_FULL = "conv_softmax(h={h},d=16,c=5)"
_LESS = {  # what may stand in the place of a full layer
    "window of 2": "window(h={h},d=16,W=2)",
    "gated delta rule": "gated_delta(h={h},d=16,c=5)",
    "gated delta rule, keys of 2": "gated_delta(h={h},d=16,c=5,d_k=2)",
    "window of 8": "window(h={h},d=16,W=8)",
    "Mamba-2, states of 16": "mamba2(h={h},d=16,s=16,c=5)",
    "Mamba-2, states of 2": "mamba2(h={h},d=16,s=2,c=5)",
}
_SMALLER = {  # whose control is the larger state
    "gated delta rule, keys of 2": "gated delta rule",
    "Mamba-2, states of 2": "Mamba-2, states of 16",
}
_WORDS = {"words": True, "hard": True, "hops": True, "warmup": 50, "every": 100}
_STANDARD = _WORDS | {"batch": 8, "steps": 1600, "rate": 3e-3}
_CLUSTER = _WORDS | {"steps": 8000, "rate": 3e-3}


def _cells(
    task: str,
    fulls: Iterable[int],
    less: Iterable[str],
    seeds: int,
    settings: Mapping[str, Any],
    rates: tuple[float, ...] = (),
    before: str = "",
) -> list[ExperimentCell]:
    """As many layers as there are hops: all of them full, then so many full and the others less."""
    L = task.count("=")
    stacks = [("", L), *((kind, k) for kind in less for k in fulls)]
    return [
        ExperimentCell(
            before + _named(kind, k, L),
            task,
            ",".join([_FULL] * k + [_LESS.get(kind, "")] * (L - k)).format(h=settings.get("width", 64) // 16),
            kind or "full",
            f"{k} of {L} layers full",
            before + _named(_SMALLER.get(kind, ""), k if kind in _SMALLER else L, L) if kind else None,
            ("random",),
            seeds,
            settings=settings,
            panel=before.removesuffix(": "),
            rates=rates if kind else (),
        )
        for kind, k in stacks
    ]


def _named(kind: str, k: int, L: int) -> str:
    return ", ".join(["full"] * k + [kind] * (L - k))


_TWO, _THREE = "facts(m=4,n1=1)", "facts(m=4,n1=1,n2=1)"
_LONGER = [  # the same stacks with a schedule twice as long
    replace(cell, name=f"{cell.name}, 3,200 steps", x=f"{cell.x}, twice as long")
    for cell in _cells(_TWO, (1,), ["window of 2", "gated delta rule"], 3, _STANDARD | {"steps": 3200})[1:]
]
_THREE_HOPS = _cells(
    _THREE, (2,), ["window of 2"], 3, _STANDARD | {"steps": 2400}, before="three hops: "
)  # one full layer more for one hop more
_EIGHT = _cells(
    "facts(m=8,n1=1)",
    (1,),
    ["window of 2"],
    3,
    _STANDARD | {"batch": 4, "steps": 2400},
    before="eight people: ",
)  # half as many texts with twice as many questions
_RATES = (1e-3, 4e-3, 1e-2)
_TRIED = {
    "full, window of 2": (1e-3, 3e-3, 1e-2)
}  # by cell of the standard size: rates on the validation seed

EXPERIMENT = Experiment(
    title="Hops in small language models",
    shows=(
        Finding(
            "Two full layers learn two hops in one pass: {full, full} are right; one in four is chance.",
            learned=("full, full",),
        ),
        Finding(
            "With a window of two words in the place of the second one a model answers both kinds of one "
            "hop, is right on {full, window of 2} of two hops in one pass, and on "
            "{full, window of 2 @ chain of thought} after a chain of thought that it writes.",
            not_learned=("full, window of 2",),
        ),
        Finding(
            "With a schedule twice as long it is right on {full, window of 2, 3,200 steps} in one pass, and "
            "on {full, window of 2, 3,200 steps @ chain of thought} after a chain of thought.",
            not_learned=("full, window of 2, 3,200 steps",),
        ),
        Finding(
            "A recurrence in its place does learn two hops, later: a gated delta rule with 1,024 numbers is "
            "right on {full, gated delta rule} in as many steps as two full layers, where one of three seeds "
            "has learned them, and on {full, gated delta rule, 3,200 steps} with a schedule twice as long, "
            "where all three have after 2,300 steps at most.",
            learned=("full, gated delta rule", "full, gated delta rule, 3,200 steps"),
        ),
        Finding(
            "With keys of two numbers, 128 in all, it is right on {full, gated delta rule, keys of 2}; two "
            "of three seeds had risen when the steps ended, so this says nothing of the size of a state.",
            no_statement=("full, gated delta rule, keys of 2",),
        ),
        Finding(
            "Three full layers learn three hops in one pass: {three hops: full, full, full} are right. With "
            "a window of two words in the place of the third one {three hops: full, full, window of 2} are "
            "right, and with two of three seeds the accuracy was still rising when the steps ended: with a "
            "full layer less three hops are slower to learn, and that is all that is shown.",
            learned=("three hops: full, full, full",),
            not_learned=("three hops: full, full, window of 2",),
        ),
        Finding(
            "With eight people instead of four two full layers learn two hops with two of three seeds in "
            "2,400 steps, {eight people: full, full}.",
            learned=("eight people: full, full",),
        ),
        Finding(
            "With a window in the place of the second one {eight people: full, window of 2} are right, "
            "where one in eight is chance. One seed of two full layers failed as well, so this says nothing "
            "of the window.",
            no_statement=("eight people: full, window of 2",),
        ),
    ),
    silent=(
        "More than the seeds in the table: where it names none, there is one. No theorem rules out any of "
        "these stacks on texts of 64 words: the depth rule speaks of texts from 250,000 tokens on. So a "
        "failure here is what training did in this budget, and nothing more. The city is a label after the "
        "first layer, in every stack. Whether models without this label learn two hops was not tried here. "
        "A second layer with a state may note while it reads who was born under which mayor, since the "
        "mayors stand first: that is no second look-up, but it answers the question. A window of two does "
        "not reach back to it. So it is not shown that one full layer and a state chain two look-ups, nor "
        "that a stack with a window never rises: on the seed on which its rates were tried it did (see the "
        "remark). Nor is it shown that three hops need three full layers: who lived where stands before who "
        "was mayor, so a first full layer can note beside a mayor where he lived, and a question then takes "
        "two look-ups. Whether the model with a window learned this was not looked at, nor how two of three "
        "of eight people come to twice the chance. Mamba-2 is a cell of `full`, which has no runs here."
    ),
    came_about=(
        "Settings were found on seed 0 of the two full layers, in runs that are not shipped: six people "
        "(slower: one kind of one hop after 600 steps), questions with the year at their end (slower), a "
        "width of 32 (25.0% after 1,000 steps), 600 steps with two people before 400 with four (24.6%).",
        "Mamba-2 was planned for the standard size and never run; the gated delta rule took its place. Its "
        "first run, on seed 100 at the rate of the full layers, ended at 92.3% (not shipped); no other rate "
        "was tried. The cells with 3,200 steps were added after one of its seeds had ended at 70.9%.",
        "Rates for the window were tried on seed 100, the seed of all searches: 25.5% at 0.001, 44.2% at "
        "0.003, 25.3% at 0.01. The first of them answered one kind of one hop on 79.9%.",
        "Three hops were tried with 1,600 steps first, where three full layers ended at 44.0% and were "
        "rising (not shipped). No rate was searched for three hops, nor for eight people. With one seed of "
        "eight people it was said here that the window does not learn what two full layers do; the second "
        "seed of two full layers, which ended at 92.3% after 2,400 steps, took that back. On three hops the "
        "window had one seed at first, at 57.7%.",
        "At first `First` was no part of the question. Then the same question had two right next words, and "
        "a model that was right on 99.8% in one pass was right on 27.1% after a chain of thought.",
    ),
    x="the last layer",
    gates=("hop 1 alone", "hop 2 alone", "hop 3 alone"),
    quick=tuple(_cells(_TWO, (1,), list(_LESS)[:1], 1, _STANDARD)),
    standard=tuple(
        replace(cell, rates=_TRIED.get(cell.name, ()), panel=cell.panel or "two hops")
        for cell in (*_cells(_TWO, (1,), list(_LESS)[:3], 3, _STANDARD), *_LONGER, *_THREE_HOPS, *_EIGHT)
    ),
    full=(
        *_cells("facts(m=8,n1=1)", (1, 0), _LESS, 5, _CLUSTER, _RATES, "two hops: "),
        *_cells("facts(m=8,n1=1,n2=1)", (2, 1, 0), _LESS, 5, _CLUSTER, _RATES, "three hops: "),
    ),
)
