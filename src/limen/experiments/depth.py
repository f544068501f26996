"""Does accuracy drop when a question has more hops than full layers, whatever the number of linear layers?

This is the first experiment that [ye2026] asks for, together with its first check: one full layer and a
hundred linear layers against two full layers. The task is `composition`. If the tables have parts (w),
every hop depends on the question, and in long texts L hops need L + 1 full layers, or L full layers after a
recurrence.
If they have one part, tables can be combined before the question is read, and two full layers do two hops.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

FULL = "softmax(h=1,d=32)"
WIDE = "softmax(h=2,d=32)"  # a second head gets past the average over the parts, at which one head stays
PLAIN = {"hard": True, "queries": 8, "steps": 600}
PARTS = {"hard": True, "queries": 8, "hops": True}
SMALLEST = {1: 16, 2: 4, 3: 2}  # m by the number of hops
SLOWER = {
    3: {"batch": 32, "rate": 1.5e-3}
}  # the last layer begins as a lookup; faster, it forgets before it is due


def _plain(series: str, behind: str, seeds: int, control: str | None, m: int = 16) -> ExperimentCell:
    """Cells with two hops in tables that can be combined before the question: a full layer, then `behind`."""
    stack = f"{FULL},{behind}" if behind else FULL
    name = f"m={m}: {stack}"
    return ExperimentCell(
        name,
        f"composition(m={m},n1=1)",
        stack,
        series,
        f"m = {m}",
        control,
        seeds=seeds,
        settings=PLAIN,
        panel="plain chains",
    )


def _plain_cells(seeds: int) -> tuple[ExperimentCell, ...]:
    two = f"m=16: {FULL},{FULL}"
    large, linear = f"m=16: {FULL},2*gated_delta(h=1,d=32)", f"m=8: {FULL},2*linear(h=1,d=64)"
    return (
        _plain("two full", FULL, seeds, None),
        ExperimentCell(
            "m=16: two full, random start",
            "composition(m=16,n1=1)",
            f"{FULL},{FULL}",
            "two full, random start",
            "m = 16",
            two,
            ("random",),
            settings=PLAIN,
            panel="plain chains",
        ),
        _plain("one full", "", 1, two),
        _plain("full + 2 gated delta, d = 2", "2*gated_delta(h=1,d=2)", seeds, large),
        _plain("full + 2 gated delta, d = 4", "2*gated_delta(h=1,d=4)", 1, large),
        _plain("full + 2 gated delta, d = 32", "2*gated_delta(h=1,d=32)", seeds, None),
        _plain("full + 2 linear, d = 2", "2*linear(h=1,d=2)", 1, linear, 8),
        _plain("full + 2 linear, d = 8", "2*linear(h=1,d=8)", 1, linear, 8),
        _plain("full + 2 linear, d = 64", "2*linear(h=1,d=64)", 1, None, 8),
    )


def _grid(L: int, W: int, seeds: int, steps: int) -> tuple[ExperimentCell, ...]:
    """Cells with L hops by k full layers: alone, before small or large states, and after a recurrence."""
    m = SMALLEST[L]
    task = f"composition(m={m}{''.join(f',n{l}={W}' for l in range(1, L))})"
    stacks = {(k, "k full"): f"{k}*{WIDE}" for k in range(1, L + 2)}
    for k in range(1, L + 1):
        stacks[k, "k full + 2 small"] = f"{k}*{WIDE},2*gated_delta(h=1,d=2)"
        stacks[k, "k full + 2 large"] = f"{k}*{WIDE},2*gated_delta(h=1,d=32)"
        stacks[k, "1 large + k full"] = f"gated_delta(h=1,d=32),{k}*{WIDE}"
    names = {(k, word): f"{L} hops: {word.replace('k', str(k), 1)}" for k, word in stacks}
    control = names[L + 1, "k full"]
    return tuple(
        ExperimentCell(
            names[at],
            task,
            stack,
            at[0],
            at[1],
            None if names[at] == control else control,
            seeds=seeds,
            floor=1 / W if L > 1 else None,
            settings=PARTS | SLOWER.get(L, {}) | {"steps": steps},
            panel=f"{L} hop{'s' * (L > 1)} that depend{'s' * (L == 1)} on the question",
        )
        for at, stack in stacks.items()
    )


def _hundred(m: int, d: int, steps: int) -> ExperimentCell:
    """A cell with a trained stack of 1 + 2 layers, grown by 98 layers that start as zero, and trained on."""
    control = None if d == 64 else f"m={m}: 1 full + 100 linear, d = 64"
    stack = f"{FULL},100*linear(h=1,d={d})"
    grows = {
        "first": f"{FULL},2*linear(h=1,d={d})",
        "first_steps": 500,
        "steps": steps,
        "every": 20,
        "locals": 3,
    }
    name = f"m={m}: 1 full + 100 linear, d = {d}"
    return ExperimentCell(
        name,
        f"composition(m={m},n1=1)",
        stack,
        f"full + 100 linear, d = {d}",
        f"m = {m}",
        control,
        settings=PLAIN | grows,
        panel="plain chains",
    )


EXPERIMENT = Experiment(
    title="Hops against full layers, and one full layer with a hundred linear layers",
    shows=(
        Finding(
            "From the lookup start two full layers learn two hops in tables of one part.",
            learned=(f"m=16: {FULL},{FULL}",),
        ),
        Finding(
            "From a random start, with one head, they stay at chance in this budget "
            "({m=16: two full, random start}). No control began at random, so this is no statement.",
            no_statement=("m=16: two full, random start",),
        ),
        Finding(
            "One full layer followed by small states does not learn them; followed by larger ones it does.",
            learned=(f"m=16: {FULL},2*gated_delta(h=1,d=32)", f"m=8: {FULL},2*linear(h=1,d=64)"),
            not_learned=(
                f"m=16: {FULL}",
                f"m=16: {FULL},2*gated_delta(h=1,d=2)",
                f"m=16: {FULL},2*gated_delta(h=1,d=4)",
                f"m=8: {FULL},2*linear(h=1,d=2)",
                f"m=8: {FULL},2*linear(h=1,d=8)",
            ),
        ),
        Finding(
            "If the hops depend on the question (W = 4 from the second one on), full layers alone learn one "
            "hop with two layers, two hops with three and three hops with four, and none of them with one "
            "layer less.",
            learned=("1 hops: 2 full", "2 hops: 3 full", "3 hops: 4 full"),
            not_learned=("1 hops: 1 full", "2 hops: 2 full", "3 hops: 3 full"),
        ),
        Finding(
            "One full layer followed by small states learns one such hop and not two.",
            learned=("1 hops: 1 full + 2 small",),
            not_learned=("2 hops: 1 full + 2 small",),
        ),
        Finding(
            "With a large state before or after it, one full layer learns one hop and two.",
            learned=tuple(
                f"{L} hops: {word}" for L in (1, 2) for word in ("1 full + 2 large", "1 large + 1 full")
            ),
        ),
        Finding(
            "Of the stacks that were tried only four full layers learned three hops; one to three full "
            "layers with states of either size did not.",
            learned=("3 hops: 4 full",),
            not_learned=tuple(
                f"3 hops: {word}"
                for k in (1, 2, 3)
                for word in (f"{k} full + 2 small", f"{k} full + 2 large", f"1 large + {k} full")
            ),
        ),
        Finding(
            "One full layer with a hundred linear layers: a stack with two of them was trained first, then "
            "98 that add nothing were put behind it and all were trained on for a few steps. With d = 64 the "
            "small stack had learned the task and the grown one keeps it; with d = 2 neither learned it "
            "({m=8: 1 full + 100 linear, d = 2}). A hundred layers were never trained from the start.",
            learned=("m=8: 1 full + 100 linear, d = 64",),
            not_learned=("m=8: 1 full + 100 linear, d = 2",),
        ),
    ),
    silent=(
        "No cell lies below a proved bound: float32 states of these sizes have enough bits in theory. So a "
        "failure is one of this budget, and whether a stack lacks capacity, structure or training is not "
        "decided. That full attention needs the lookup start is not shown either: one random start was "
        "tried, with one head and one rate. Three full layers after a large state, which suffice in theory, "
        "do not learn three hops ({3 hops: 1 large + 3 full}). The hundred linear layers had tables of 8 "
        "entries, the two full layers tables of 16: they are not held against each other."
    ),
    x="stack, or number k of full layers",
    quick=_plain_cells(3),
    standard=(
        *_plain_cells(3),
        *_grid(1, 4, 3, 600),
        *_grid(2, 4, 3, 900),
        *_grid(3, 4, 1, 1000),
        _hundred(8, 64, 60),
        _hundred(8, 2, 60),
    ),
    full=(
        *_plain_cells(5),
        *(cell for L in (1, 2, 3) for cell in _grid(L, 8, 5, 20000)),
        _hundred(8, 64, 2000),
        _hundred(8, 2, 2000),
    ),
)
