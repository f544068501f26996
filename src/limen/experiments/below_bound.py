"""Do trained models stay below what is proved, and how far below?

Every number that a theorem counts is rounded to p bits from the first step of training on: states where one
player's tokens end and the next one's begin, replies of full layers, messages of blocks. So cells lie below
a bound that the kernel has accepted, and the red line in the chart is its ceiling: the accuracy that no
weights exceed on inputs drawn at random. Where there is no ceiling, the theorem says that some input is
answered wrongly. A control has what the cell lacks, and is trained in the same way.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

RATES = (1e-3, 3e-3, 1e-2)
FULL = "unit_softmax(h=1,d=8,d_k=64,p=4)"  # 40 bits a reply
STATES = {  # of 16, 16 and 24 bits
    "linear": "linear(h=1,d=3,d_k=1,p=4)",
    "gated_delta": "gated_delta(h=1,d=2,p=4)",
    "mamba2": "mamba2(h=1,d=8,s=1,c=1,p=3)",  # its norm leaves directions alone, so it has many channels
}
_HYBRID = {"hops": True, "queries": 32, "warmup": 100, "every": 100, "rate": 1e-3}
_FULLS = {1: "one full layer", 2: "two full layers"}


def _hybrids(
    m: int,
    n1: int,
    states: tuple[str, ...],
    seeds: int,
    steps: int,
    easier: tuple[int, ...] = (),
    rates: tuple[float, ...] = (),
) -> list[ExperimentCell]:
    """Two hops: a recurrence before one full layer, and before two as the control."""
    curriculum = tuple(f"composition(m={size},n1={n1})" for size in easier)
    task, tokens = f"composition(m={m},n1={n1})", m * (n1 + 1) + 2
    where = "" if (m, n1) == (32, 1) else f"m={m}, n1={n1}: "
    return [
        ExperimentCell(
            f"{where}{name}, {_FULLS[count]}",
            task,
            f"{STATES[name]},{f'2*{FULL}' if count == 2 else FULL}",
            name,
            _FULLS[count],
            None if count == 2 else f"{where}{name}, {_FULLS[2]}",
            ("random",),
            seeds,
            settings=_HYBRID | {"steps": steps} | ({"curriculum": curriculum} if curriculum else {}),
            panel=f"two hops, {tokens} tokens",
            rates=rates,
        )
        for name in states
        for count in (2, 1)
    ]


_SMALL, _STATE = "unit_softmax(h=1,d=6,d_k=64,p=2)", "linear(h=1,d=1,d_k=1,p=4)"  # of 16 and of 8 bits
_ORDERS = {
    "linear between two full layers": f"{_SMALL},{_STATE},{_SMALL}",
    "linear behind one full layer": f"{_SMALL},{_STATE}",
}


def _orders(seeds: int) -> list[ExperimentCell]:
    """The same two hops with the full layer first: a recurrence behind it, or between it and another."""
    control = next(iter(_ORDERS))
    return [
        ExperimentCell(
            name,
            "composition(m=32,n1=1)",
            stack,
            "linear, after full",
            _FULLS[2 if name == control else 1],
            None if name == control else control,
            ("random",),
            seeds,
            settings=_HYBRID | {"steps": 2000},
            panel="two hops, 66 tokens",
        )
        for name, stack in _ORDERS.items()
    ]


_TABLES = {  # the rate is the best on the validation seed, or within two points of it
    "linear": {
        "linear(h=1,d=2,p=2)": (12, 3e-3),
        "linear(h=1,d=3,d_k=4,p=2)": (32, 1e-3),
        "linear(h=1,d=7,p=1)": (56, 1e-2),
        "linear(h=1,d=16,p=4)": (1088, 1e-2),
    },
    "gated_delta": {
        "gated_delta(h=1,d=2,p=3)": (12, 3e-3),
        "gated_delta(h=1,d=4,p=2)": (32, 1e-2),
        "gated_delta(h=1,d=4,p=3)": (48, 3e-3),
        "gated_delta(h=1,d=16,p=4)": (1024, 3e-3),
    },
    "mamba2": {
        "mamba2(h=1,d=2,s=2,c=1,p=3)": (12, 3e-3),
        "mamba2(h=1,d=4,s=4,c=1,p=2)": (32, 3e-3),
        "mamba2(h=1,d=4,s=4,c=1,p=3)": (48, 3e-3),
        "mamba2(h=1,d=16,s=16,c=1,p=4)": (1024, 3e-3),
    },
}


def _tables(names: tuple[str, ...], seeds: int, rates: tuple[float, ...] = RATES) -> list[ExperimentCell]:
    """A table of 16 values, 64 bits, through states of fewer bits, and of more as the control."""
    return [
        ExperimentCell(
            f"eva: {stack}",
            "eva(n=16)",
            stack,
            bits,
            name,
            None if bits > 64 else f"eva: {list(_TABLES[name])[-1]}",
            ("random",),
            seeds,
            settings={"queries": 16, "steps": 1500, "every": 100, "rate": rate},
            panel="a table of 64 bits through one state",
            rates=rates,
        )
        for name in names
        for stack, (bits, rate) in _TABLES[name].items()
    ]


_SUM = "two_sum(n=16,M=128)"
_SUMS = {
    "unit_softmax(h=4,d=8,d_k=16,p=4)": ("full attention", 1e-3),
    "block_sparse(h=1,d=1,B=2,k=1,p=1)": ("blocks of 2", 3e-3),
    "block_sparse(h=1,d=1,B=4,k=1,p=1)": ("blocks of 4", 3e-3),
}


def _sums(seeds: int, rates: tuple[float, ...] = RATES) -> list[ExperimentCell]:
    """2-Sum with one block opened and messages of 2 bits; full attention as the control."""
    control = f"2-Sum: {next(iter(_SUMS))}"
    return [
        ExperimentCell(
            f"2-Sum: {stack}",
            _SUM,
            stack,
            what,
            "2-Sum",
            None if f"2-Sum: {stack}" == control else control,
            ("random",),
            seeds,
            settings={"queries": 16, "steps": 4000, "every": 200, "rate": rate},
            panel="2-Sum, 17 tokens",
            rates=rates,
        )
        for stack, (what, rate) in _SUMS.items()
    ]


_SETS = {  # by size: the layer, the bits of its reply, and how it is trained
    8: ("unit_softmax(h=1,d=5,d_k=32,p=1)", 7, {"batch": 32, "steps": 5000, "rate": 1e-3}),
    16: (
        "unit_softmax(h=2,d=1,d_k=64,p=2)",
        12,
        {"batch": 64, "steps": 10000, "rate": 3e-3, "width": 128, "hidden": 256},
    ),
}


def _layers(n: int, seeds: int, rates: tuple[float, ...] = RATES) -> list[ExperimentCell]:
    """Disjointness of two sets of n, n bits: two layers, and one whose replies have fewer bits."""
    layer, bits, settings = _SETS[n]
    return [
        ExperimentCell(
            f"disjointness n={n}: {word}",
            f"disjointness(n={n})",
            stack,
            word,
            "disjointness",
            None if word == "two layers" else f"disjointness n={n}: two layers",
            ("random",),
            seeds,
            settings=settings | {"hard": True, "every": 100, "warmup": 100},
            panel=f"disjointness, {2 * n} tokens, replies of {bits} bits",
            rates=rates,
        )
        for word, stack in (("two layers", f"2*{layer}"), ("one layer", layer))
    ]


EXPERIMENT = Experiment(
    title="Trained below the theorems",
    shows=(
        Finding(
            "Linear attention with a state of 16 bits and two full layers learn two hops. With one full "
            "layer less, which is proved to miss some, the same stack is right on {linear, one full layer}; "
            "one in 32 is chance, and the commonest value of the text is right more often.",
            learned=("linear, two full layers",),
            not_learned=("linear, one full layer",),
        ),
        Finding(
            "In the place of linear attention the gated delta rule and two full layers learn them in 3,000 "
            "steps with every seed, and with one are right on {gated_delta, one full layer}.",
            learned=("gated_delta, two full layers",),
            not_learned=("gated_delta, one full layer",),
        ),
        Finding(
            "Mamba-2 of 24 bits and two full layers learn them in 3,000 steps with two of three seeds "
            "({mamba2, two full layers} on average). So nothing is said of it and one, and none was trained.",
            learned=("mamba2, two full layers",),
        ),
        Finding(
            "A table of 64 bits is learned by each recurrence with a large state. With fewer bits than the "
            "table has none learns it. What is learned rises with the state, its size and its bits together, "
            "and stays below half of the ceiling.",
            learned=tuple(f"eva: {list(stacks)[-1]}" for stacks in _TABLES.values()),
            not_learned=tuple(f"eva: {stack}" for stacks in _TABLES.values() for stack in list(stacks)[:-1]),
            rising=tuple(tuple(f"eva: {stack}" for stack in stacks) for stacks in _TABLES.values()),
        ),
        Finding(
            "Two layers whose replies have 7 bits learn with two of three seeds whether two sets of 8 are "
            "disjoint ({disjointness n=8: two layers} on average), for which one layer needs 8. So nothing "
            "is said of one layer, which is right on {disjointness n=8: one layer}.",
            learned=("disjointness n=8: two layers",),
            no_statement=("disjointness n=8: one layer",),
        ),
        Finding(
            "Full attention learns 2-Sum. With one block opened and messages of 2 bits a layer stays near "
            "guessing ({2-Sum: block_sparse(h=1,d=1,B=2,k=1,p=1)} and "
            "{2-Sum: block_sparse(h=1,d=1,B=4,k=1,p=1)}).",
            learned=(f"2-Sum: {next(iter(_SUMS))}",),
            not_learned=tuple(f"2-Sum: {stack}" for stack in list(_SUMS)[1:]),
        ),
    ),
    silent=(
        "That no cell is above its ceiling is certain beforehand, if theorem and program are right: what is "
        "measured is how far below training stays. A gap between the two is no gap of the theorem: weights "
        "that training does not find may reach the ceiling, and the ceiling may be too high. Nor is the "
        "bound what stops training on eva. A state of b bits could hold b/4 of the 16 values and be right on "
        "more than b/64 of the questions, 3/16 at 12 bits and 7/8 at 56: no cell reaches that. And states of "
        "the same sizes with many more bits than the table do not learn it either (below)."
    ),
    came_about=(
        "Settings were not fixed beforehand. Those below were changed after results had been seen, of seeds "
        "0, 1 and 2 as well. Runs that were dropped are not shipped.",
        "Disjointness began with sets of 16, where seven configurations of two layers reached 62 to 90%. "
        "Then came sets of 8 in two shapes. In 3,000 steps two layers reached 100.0, 100.0 and 92.2%, so "
        "they were given 5,000, and seed 2 still misses 99%. Rates were searched in 3,000 steps; a search in "
        "5,000 that ended later bears them out.",
        "A sketch outside this project had reached 100% on sets of 16, with replies of 12 bits, on seeds 0 "
        "and 1, where two runs here reached 96.8 and 85.5%. With the same weights and batches it agrees with "
        "this trainer in outputs, gradients and the losses of 60 steps, to 1e-5, and on seeds 2 to 5 it is "
        "right on 53, 57, 58 and 70% after 600 steps: its seeds were lucky. What fails are single places: a "
        "head that was right on all others took the wrong keys for four of 16.",
        "Against that these were tried on seed 0 or 1, 900 steps each, and did not help: GELU, biases and "
        "starts as in the sketch, one table of full width, the rate 1e-3, four heads or two with p=1. "
        "`unit_softmax` begins with queries √d_k times shorter than keys, which its norm takes out again, "
        "but which steps of AdamW turn further. With queries as long as keys seed 0 went from 82.8 to 100%, "
        "and seed 1 stayed at 78.9% after 1,500 steps; two heads of 6 bits then took seed 1 to 100% and left "
        "seed 0 at 86%; with width 128 seeds 0 and 1 reached 99.7 and 99.9%, and seed 2 was at 72% after "
        "1,300 steps. Two hops became slower with the longer queries: linear attention took 1,100 steps, the "
        "gated delta rule 1,800 of 2,000. So the start was left as it is, none of these runs is shipped, and "
        "there is still no control at 12 bits.",
        "A curriculum does not cure sets of 8 either: with sets of 4 in the first half of 4,000 steps two of "
        "four seeds (101 to 104) reach 100%, the others 83.5 and 74.0%.",
        "2-Sum began modulo 256 at rate 3e-3, with full attention at 99.0, 98.3 and 99.95% in 2,000 steps of "
        "32 questions, and at 97.2, 98.6 and 99.1% in 4,000 of 16: no control. Modulo 128 and at 1e-3 it is "
        "one. The rates of its blocks were carried over from modulo 256; a search that ended later bears "
        "them out.",
        "eva was run at 1e-2 in all cells before rates were searched. Mamba-2 with the large state, a "
        "control, rose by that from 76.0, 83.1 and 64.7% to 100%; on the validation seed it reaches 76.8% at "
        "the rate that was chosen, so three of four seeds learn. The gated delta rule with 12 bits fell from "
        "17.6% to {eva: gated_delta(h=1,d=2,p=3)}.",
        "The gated delta rule reached 90.1, 99.8 and 99.9% in 1,500 steps, so it was given 3,000, at the "
        "same rate; no rate was searched.",
        "Mamba-2 began with two channels of two numbers (16 bits), and its control ended at 4.0% after 1,500 "
        "steps: z_0 was not passed on, since its norm leaves of two channels one angle. As four channels of "
        "one number (d=4, s=1), as eight of two (d=8, s=2, p=1) and as eight of one (d=8, s=1, p=2) the same "
        "16 bits pass z_0 on and do not take the first hop in 600 to 1,000 steps, at 1e-3 or 3e-3, nor does "
        "d=2 with W_O begun a tenth as large; with longer queries (above) d=4 begins it at step 900.",
        "A curriculum (m=8, 16, 32) takes Mamba-2 through both hops, and stops a few of 32 symbols short, on "
        "the validation seed: at 3e-3 77% with d=4, p=4 and 92% with d=6, p=3 (cut short), 93.7% with d=8, "
        "p=2 in 3,000 steps (93.4% at 1e-3), 97.4% with d=12, p=2, and with m=16 alone before 88.7% in "
        "4,000. With d=16, p=1 it was at 60% after 500 steps at m=8. From then on there was no curriculum.",
        "With d=12, p=2 (24 bits) the validation seed had 100% after 1,600 steps at 1e-3, and at 3e-3 lost "
        "z_0 again after 300. Seed 0 then ended at 55.9% in 3,000 steps. In 5,000 seeds 0 and 1 reached "
        "100.0 and 99.95%, and seed 2 ended at 66.3%: its loss rose again from 7.3 at step 300 to 9.2 at "
        "step 800. A guess, not tested, was that numbers which a SiLU has bent fill two of the four codes of "
        "two bits. So the 24 bits became eight channels of three. On the validation seed they had begun the "
        "first hop after 1,100 steps, where the run was stopped for want of time. In 3,000 steps seeds 0 and "
        "1 reached 100.0 and 99.95%, and seed 2, still rising, 88.6%. In 5,000 steps seed 2 had 98.0% at one "
        "look and ended at 96.1%, so the control is left as it was in 3,000, with two of three seeds. No "
        "other rate was tried at this shape, and no stack with one full layer.",
        "One full layer before a recurrence of 8 bits is ruled out at m=32 if replies have 16 bits. Its "
        "control, linear attention between two such layers (`full`), did not take the first hop in 1,500 "
        "steps on the validation seed: one number of state leaves one number to read. Two hops at m=48 "
        "were prepared and not run.",
        "Two hops were also tried at m=64, n1=1, where three attempts at a control failed, and at m=32, "
        "n1=4, where one did. They are left to `full`, and nothing is said of them.",
        "Trained again by a second reader on seed 7, which was not used before: linear attention with two "
        "full layers is right on 100.0%, with one on 6.6%; on eva linear(h=1,d=7,p=1) on 42.8% and "
        "gated_delta(h=1,d=4,p=3) on 31.1%.",
        "Tried by the same reader on eva, with 16 bits a number (256 bits), seeds 0, 1, 2, rate 3e-3, 1,500 "
        "steps: linear(h=1,d=3,d_k=4) is right on 29.9%, gated_delta(h=1,d=4) on 32.6%, "
        "mamba2(h=1,d=4,s=4,c=1) on 35.5%. So these sizes fail with enough bits as well.",
    ),
    x="bits of the state",
    quick=tuple(_tables(("linear",), 1, ())),
    standard=(
        *_tables(tuple(_TABLES), 3),
        *_sums(3),
        *_hybrids(32, 1, ("linear",), 3, 1500, rates=RATES),
        *_hybrids(32, 1, ("gated_delta", "mamba2"), 3, 3000),
        *_layers(8, 3),
    ),
    full=(
        *_tables(tuple(_TABLES), 10),
        *_sums(10),
        *_layers(16, 10),
        *_layers(8, 10),
        *_orders(10),
        *_hybrids(32, 1, tuple(STATES), 10, 3000),
        *_hybrids(48, 1, ("linear",), 10, 3000),
        *_hybrids(64, 1, tuple(STATES), 3, 9000, (16, 32)),
        *_hybrids(32, 4, tuple(STATES), 3, 9000, (8, 16)),
    ),
)
