"""How many full layers do two and three hops take from a random start, and does the order of layers matter?

This is the first experiment that [ye2026] asks for, and its third check: full layers against hops, and the
same layers in another order. The tables have four parts, so that each hop depends on the question, and a
model that misses the part is right on a quarter. Smaller tables, of two parts and of three, are for three
hops and for answers without hop labels. `full` also has states and windows in the place of full layers.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

FULL = "softmax(h=4,d=16)"
STATE = "gated_delta(h=1,d=8)"
ORDERS = {
    "state first": f"{STATE},2*{FULL}",
    "state between": f"{FULL},{STATE},{FULL}",
    "state last": f"2*{FULL},{STATE}",
}
INSTEAD = {  # of full layers; a window of W tokens keeps the last W - 1, 32 numbers each
    "1 full, then 2 states of 16": f"{FULL},2*gated_delta(h=1,d=4)",
    "1 full, then 2 states of 256": f"{FULL},2*gated_delta(h=1,d=16)",
    "1 full, then 2 windows of 256": f"{FULL},2*window(h=1,d=16,W=9)",
    "window of 64 first": f"window(h=1,d=16,W=3),2*{FULL}",
    "2 layers, each full | state": f"2*({FULL}|{STATE})",
}
FOUR = {  # two full layers and two states
    "full, state, full, state": f"{FULL},{STATE},{FULL},{STATE}",
    "2 full, 2 states": f"2*{FULL},2*{STATE}",
    "2 states, 2 full": f"2*{STATE},2*{FULL}",
}
UNIT = "unit_softmax(h=4,d=16)"  # a full layer with QK-norm
_SETTINGS = {"hard": True, "queries": 8, "batch": 32, "rate": 1e-3, "warmup": 100, "every": 100}
_LABELS = {"hop labels": True, "answers alone": False}


def _cell(name: str, stack: str, labels: str, seeds: int, steps: int, panel: str) -> ExperimentCell:
    return ExperimentCell(
        f"{name}, {labels}",
        "composition(m=4,n1=4)",
        stack,
        name,
        labels,
        None if name == "3 full" else f"3 full, {labels}",
        ("random",),
        seeds,
        floor=1 / 4,
        settings=_SETTINGS | {"hops": _LABELS[labels], "steps": steps},
        panel=panel,
    )


def _layers(labels: str, seeds: int, steps: int) -> list[ExperimentCell]:
    stacks = {"3 full": f"3*{FULL}", "2 full": f"2*{FULL}", "1 full": FULL}
    return [_cell(name, stack, labels, seeds, steps, "full layers") for name, stack in stacks.items()]


def _small(
    sizes: str, k: int, labels: str, seeds: int, steps: int, control: str | None, first: tuple[str, ...] = ()
) -> ExperimentCell:
    """k full layers with QK-norm on few values, 16 texts a step; `first`: smaller sizes, taught before."""
    how = f", after {' and '.join(first)}" if first else ""
    m = int(sizes[2])
    return ExperimentCell(
        f"{k} full, {labels}, {sizes}{how}",
        f"composition({sizes})",
        f"{k}*{UNIT}",
        m if "n2" not in sizes else f"{k} full",
        labels if "n2" in sizes else f"{k} full, {labels}{', smaller m first' if first else ''}",
        control,
        ("random",),
        seeds,
        floor=1 / m,  # who misses one part, or the hop before: m = n_l
        settings=_SETTINGS
        | {"batch": 16, "hops": _LABELS[labels], "steps": steps}
        | {"curriculum": tuple(f"composition({smaller})" for smaller in first)},
        panel="three hops, m = n1 = n2 = 2" if "n2" in sizes else "two hops, m = n1",
    )


def _without_labels(seeds: int) -> list[ExperimentCell]:
    """Two hops among 2, 3 and 4 values without hop labels, at once and after smaller m; beside it, with."""
    alone, few, some, more = "answers alone", "m=2,n1=2", "m=3,n1=3", "m=4,n1=4"
    control = f"3 full, {alone}, {some}, after {few}"
    return [
        _small(few, 3, alone, seeds, 4000, None),
        _small(few, 2, alone, seeds, 4000, None),
        _small(few, 3, "hop labels", seeds, 2000, None),
        _small(few, 2, "hop labels", seeds, 2000, None),
        _small(some, 3, alone, seeds, 4000, control),
        _small(some, 3, alone, seeds, 4000, None, (few,)),
        _small(some, 2, alone, seeds, 4000, None, (few,)),
        _small(more, 3, alone, seeds, 9000, None, (few, some)),
        _small(more, 2, alone, seeds, 9000, None, (few, some)),
    ]


def _three_hops(seeds: int) -> list[ExperimentCell]:
    sizes = "m=2,n1=2,n2=2"
    control = f"4 full, hop labels, {sizes}"
    return [
        _small(sizes, 4, "hop labels", seeds, 2000, None),
        *(_small(sizes, k, "hop labels", seeds, 2000, control) for k in (3, 2)),
        *(_small(sizes, k, "answers alone", seeds, 4000, None) for k in (4, 3)),
    ]


_OTHERS = {
    "two full layers and a state, by order": ORDERS,
    "two full layers and two states, by order": FOUR,
    "others in the place of full layers": INSTEAD,
}


def _others(panel: str, seeds: int, steps: int) -> list[ExperimentCell]:
    return [_cell(name, stack, "hop labels", seeds, steps, panel) for name, stack in _OTHERS[panel].items()]


EXPERIMENT = Experiment(
    title="Two and three hops: full layers and their order",
    shows=(
        Finding(
            "From a random start and with hop labels three full layers learn in 1,000 steps two hops that "
            "depend on the question; one and two do not.",
            learned=("3 full, hop labels",),
            not_learned=("2 full, hop labels", "1 full, hop labels"),
        ),
        Finding(
            "Two full layers and a recurrence with a state of 64 numbers learn them in these steps if the "
            "recurrence stands first or between, and not if it stands last ({state last, hop labels}), "
            "where accuracy still rises at the end: this order is slower, not shown to fail.",
            learned=("state first, hop labels", "state between, hop labels"),
            not_learned=("state last, hop labels",),
        ),
        Finding(
            "Two full layers and two such recurrences learn them with every seed in each of three orders: "
            "alternating, recurrences first, and full layers first, which takes the most steps. "
            "So at equal counts the order does not decide here.",
            learned=tuple(f"{order}, hop labels" for order in FOUR),
        ),
        Finding(
            "Three hops, with two values and two parts each, are learned by four full layers in 600 steps "
            "with hop labels and every seed. After 2,000 three are right on "
            "{3 full, hop labels, m=2,n1=2,n2=2}, and two, which have one label less, on "
            "{2 full, hop labels, m=2,n1=2,n2=2}: no two seeds alike, and one still rises.",
            learned=("4 full, hop labels, m=2,n1=2,n2=2",),
            not_learned=tuple(f"{k} full, hop labels, m=2,n1=2,n2=2" for k in (3, 2)),
        ),
        Finding(
            "Without hop labels three full layers learn two hops with two values and two parts in 600 to 700 "
            "steps, where hop labels take 300. With three of each they stay where who misses the part is "
            "({3 full, answers alone, m=3,n1=3}) for 4,000 steps; if two of each are taught first, every "
            "seed learns them in at most 1,000 steps more, and then four of each in at most 1,600.",
            learned=(
                *(f"3 full, {labels}, m=2,n1=2" for labels in _LABELS),
                "3 full, answers alone, m=3,n1=3, after m=2,n1=2",
                "3 full, answers alone, m=4,n1=4, after m=2,n1=2 and m=3,n1=3",
            ),
            not_learned=("3 full, answers alone, m=3,n1=3",),
        ),
        Finding(
            "Taught so, two full layers learn two hops as well: with two and three values and parts with "
            "every seed, with four with two of three seeds ({2 full, answers alone, m=4,n1=4, after m=2,n1=2 "
            "and m=3,n1=3} on average). So what they do not learn in 1,000 steps at once, with hop labels "
            "and without QK-norm, is a matter of the settings, not of their number.",
            learned=(
                *(f"2 full, {labels}, m=2,n1=2" for labels in _LABELS),
                "2 full, answers alone, m=3,n1=3, after m=2,n1=2",
                "2 full, answers alone, m=4,n1=4, after m=2,n1=2 and m=3,n1=3",
            ),
        ),
    ),
    silent=(
        "At 8 to 22 tokens no theorem rules fewer layers out, nor any order: this is what training reaches "
        "in these steps, at one rate. That three layers do not learn three hops is said of hop labels and "
        "2,000 steps, without smaller sizes first. Without hop labels three hops were learned by none "
        "({4 full, answers alone, m=2,n1=2,n2=2} with four layers, "
        "{3 full, answers alone, m=2,n1=2,n2=2} with three, after 4,000 steps), which says nothing about "
        "either. Smaller sizes count with all the steps that they were given, though most stop early."
    ),
    came_about=(
        "A second reader gave 3,000 steps in the place of 1,000 (not shipped). With the recurrence last two "
        "full layers then learn the task in 2,200: 99.9% on seed 0 and 100.0% on seed 2. Two full layers "
        "alone reach 25.9% on seed 0.",
        "One full layer before two states of 16 numbers was begun and stopped for lack of time: 20.6% on "
        "seed 0 (not shipped).",
        "The four layers were given 3,000 steps from the start, because of the first remark. The order that "
        "begins with a recurrence and alternates was left out for lack of time.",
        "Smaller tables, and QK-norm, were tried on the validation seed (not shipped). Three layers without "
        "hop labels and two values of two parts: at 1e-3 right after 1,100 steps, at 3e-3 after 1,300, at "
        "1e-2 on half of them after 1,900, when it was stopped. Four values at once, at 3e-3: still on a "
        "quarter after 1,300. Three hops: at 1e-3 right after 600, at 3e-3 on 97% after 1,000. So 1e-3 was "
        "taken for all.",
        "Three values were first run at once, with three seeds. The curriculum was added when these had "
        "failed, and tried on the validation seed: three values take 2,700 steps, four values get to 92.5% "
        "in 6,000, so they were given 9,000. Two full layers were run on more values because they had "
        "learned two. Without QK-norm two full layers, taught so, come to 79.3% of four values on seed 0 "
        "and still rise (not shipped).",
    ),
    x="m",
    quick=tuple(_layers("hop labels", 1, 1000)[:2]),
    standard=(
        *_layers("hop labels", 3, 1000),
        *_others("two full layers and a state, by order", 3, 1000),
        *_others("two full layers and two states, by order", 3, 3000),
        *_without_labels(3),
        *_three_hops(3),
    ),
    full=(
        *_layers("hop labels", 10, 5000),
        *(cell for panel in _OTHERS for cell in _others(panel, 10, 5000)),
        *_layers("answers alone", 10, 50000),
        *_without_labels(10),
        *_three_hops(10),
    ),
)
