"""Do transformers' own classes learn two hops from English?

The facts and questions are those of `language_hops`, and the layers are those of transformers: LFM2, Olmo
Hybrid, Qwen3-Next, Llama and Mamba-2, at the size of our own models, and a real model with its weights. They
read plain rows: the facts, then questions behind each other. Their full layers have no convolution, so the
first of three layers must bring a key and its value together, and the name that stands before is its label,
as the city is after the second layer. It needs transformers (`pip install 'limen[hf]'`); without it a run
ends in one line that says so.
"""

from collections.abc import Mapping
from typing import Any

from limen.training.experiment import Experiment, ExperimentCell, Finding

_FULL, _GATED = "softmax(h=4,d=16)", "gated_softmax(h=4,d=16)"
_DELTA, _MAMBA = "gated_delta(h=4,d=16,c=5)", "mamba2(h=8,d=16,s=16,c=5)"
_CONVOLUTION = "window(h=4,d=16,W=5)"  # of LFM2: it sees as many words as this window
_STACKS = {  # the layers in words: the class, the stack, and the control
    "lfm2: convolution, full, full": (f"{_CONVOLUTION},2*{_FULL}", None),
    "lfm2: convolution, full, convolution": (
        f"{_CONVOLUTION},{_FULL},{_CONVOLUTION}",
        "lfm2: convolution, full, full",
    ),
    "olmo_hybrid: delta, full, full": (f"{_DELTA},2*{_FULL}", None),
    "olmo_hybrid: delta, full, delta": (f"{_DELTA},{_FULL},{_DELTA}", "olmo_hybrid: delta, full, full"),
    "qwen3_next: delta, full, full": (f"{_DELTA},2*{_GATED}", None),
    "qwen3_next: delta, full, delta": (f"{_DELTA},{_GATED},{_DELTA}", "qwen3_next: delta, full, full"),
    "llama: full, full, full": (f"3*{_FULL}", None),
    "mamba2: mamba2, mamba2, mamba2": (f"3*{_MAMBA}", "llama: full, full, full"),
}
_WORDS = {"words": True, "hard": True, "hops": True, "warmup": 50, "every": 100, "rate": 5e-3}


def _cell(
    name: str, settings: Mapping[str, Any], seeds: int, rates: tuple[float, ...] = ()
) -> ExperimentCell:
    """A stack of one class; Mamba-2 has no MLP."""
    stack, control = _STACKS[name]
    model_type, _, layers = name.partition(": ")
    told = {"model_type": model_type} | ({"hidden": 0} if model_type == "mamba2" else {})
    return ExperimentCell(
        name,
        "facts(m=4,n1=1)",
        stack,
        layers,
        model_type,
        control,
        seeds=seeds,
        settings={**_WORDS, **told, **settings},
        rates=rates,
    )


def _story(layers: str, model_type: str, stack: str, control: str | None) -> ExperimentCell:
    """stories15M, which `make lm` fetches, with other layers: none of its weights is left out."""
    return ExperimentCell(
        f"stories15m: {layers}",
        "facts(m=4,n1=1)",
        stack,
        layers,
        "stories15m",
        control,
        seeds=3,
        settings={**_WORDS, **_STORIES, "model_type": model_type},
    )


_STORIES = {
    "begins": "build/lm/stories15m",
    "width": 288,
    "hidden": 768,
    "batch": 8,
    "steps": 3000,
    "rate": 1e-3,
}
_WINDOW, _WHOLE = "window(h=6,d=48,W=4)", "softmax(h=6,d=48)"
_SHORT = {"batch": 8, "steps": 1600}
_CLUSTER = {"batch": 32, "steps": 8000}

EXPERIMENT = Experiment(
    title="Two hops in transformers' own classes",
    shows=(
        Finding(
            "LFM2 of transformers with a convolution and two full layers learns two hops in one pass: "
            "{lfm2: convolution, full, full} are right; one in four is chance.",
            learned=("lfm2: convolution, full, full",),
        ),
        Finding(
            "With a convolution in the place of the second full layer a model answers both kinds of one hop "
            "({lfm2: convolution, full, convolution @ hop 1 alone} and "
            "{lfm2: convolution, full, convolution @ hop 2 alone}) and is right on "
            "{lfm2: convolution, full, convolution} of two hops in one pass, below one in four, since it "
            "chooses among all words.",
            not_learned=("lfm2: convolution, full, convolution",),
        ),
    ),
    silent=(
        "Other classes: Olmo Hybrid, Qwen3-Next, Llama, Mamba-2 and stories15M are cells of `full`, which "
        "have no runs here. No rate was searched for the stack with one full layer. No theorem rules it out "
        "on texts of 64 words, so its failure is what training did in this budget. Two things help that "
        "`language_hops` does without: the name that stands before is a label after the first layer, and "
        "questions stand behind each other in a row. Nor is it shown that a chain of thought repairs "
        "anything: after one the model with two full layers is right on {lfm2: convolution, full, full @ "
        "chain of thought}, the other on {lfm2: convolution, full, convolution @ chain of thought}. In "
        "training thoughts stand behind many other questions, and here directly behind the facts; whether "
        "that is why was not looked at."
    ),
    x="the layers",
    came_about=(
        "At first a row had one question of each kind, the label was the city after the first layer, and "
        "the rate 0.003. So Olmo Hybrid with one layer of the gated delta rule and one full layer was right "
        "on 24.8% and 25.0% of one hop after 1,600 steps (shipped until this experiment was changed), "
        "Qwen3-Next on 25.4% and 24.4%, and Llama with three full layers was stopped after 800 steps.",
        "Then one change after the other was tried on seed 100 (none of these runs is shipped): LFM2 with "
        "two full layers and the old rows was at chance after 700 steps; with rows of twelve questions and "
        "the city as a label after the second layer after 800, Olmo Hybrid with two full layers after 500; "
        "with recurrences that begin to forget as slowly as ours after 600, and at a rate of 0.01 after "
        "500.",
        "What helped was the label of the name before. Llama with three full layers was still at chance "
        "after 700 steps at 0.003. LFM2 had the name in 50% after 400 steps at 0.003, in 100% after 300 at "
        "0.01, where it did not find the city in 500; at 0.005 it was right on 99.2% of two hops after 700 "
        "steps. So 0.005 was chosen, and the stack with one full layer took it over.",
        "The first run of that stack was lost when it ended, because the program had been changed "
        "meanwhile; the shipped one has the same seed and, step by step, the same accuracies.",
        "stories15M with all layers full was tried for 30 steps of four texts: 1.2 CPU seconds a step, "
        "looks included; the loss fell from 15.4 after 15 steps to 13.1, and both kinds of one hop were "
        "below 10%. There was no time for the hundreds of steps that it takes.",
    ),
    gates=("hop 1 alone", "hop 2 alone"),
    quick=(_cell("lfm2: convolution, full, full", _SHORT, 1),),
    standard=tuple(_cell(name, _SHORT, 2) for name in list(_STACKS)[:2]),
    full=(
        *(_cell(name, _CLUSTER, 5, (2e-3, 5e-3, 1e-2)) for name in _STACKS),
        _story("all six layers full", "llama", f"6*{_WHOLE}", None),
        _story(
            "the second one full, windows of 4",
            "ministral",
            f"{_WINDOW},{_WHOLE},4*{_WINDOW}",
            "stories15m: all six layers full",
        ),
    ),
)
