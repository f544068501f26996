"""Does thinking aloud close the gap between hybrids and full attention?

This is the third open question of [ye2026]. The model writes the chain i_0, i_1, … token by token. It is
trained with the correct chain as input and tested on the chain that it writes itself.
"""

from limen.training.experiment import Experiment, ExperimentCell, Finding

_FULL, _LARGE = "softmax(h=4,d=16)", "2*linear(h=1,d=64)"
_STACKS = {
    "one full": _FULL,
    "full, linear": f"{_FULL},linear(h=1,d=8)",
    "linear, full": f"linear(h=1,d=8),{_FULL}",
    "two linear, d = 8": "2*linear(h=1,d=8)",
    "two linear, d = 64": _LARGE,
}
_SETTINGS = {"hard": True, "queries": 4, "rate": 1e-3, "warmup": 100, "every": 100}


def _cells(
    L: int, m: int, seeds: int, steps: int, aloud: tuple[str, ...], silent: tuple[str, ...]
) -> tuple[ExperimentCell, ...]:
    """Cells of stacks that think aloud, and of some that answer in one pass."""
    task = f"composition(m={m}{''.join(f',n{l}=1' for l in range(1, L))})"
    return tuple(
        ExperimentCell(
            f"L={L}, {word}: {_STACKS[x]}",
            task,
            _STACKS[x],
            x,
            f"L = {L}, {'thinks aloud' if word == 'thinks' else word}",
            f"L={L}, thinks: {_STACKS[x]}" if word == "one pass" else None,
            ("random",),
            seeds,
            settings=_SETTINGS | {"steps": steps, "thought": word == "thinks"},
        )
        for word, names in (("thinks", aloud), ("one pass", silent))
        for x in names
    )


_ALL = tuple(_STACKS)

EXPERIMENT = Experiment(
    title="Chains of thought, full and hybrid",
    shows=(
        Finding(
            "One full layer and one linear layer that think aloud learn three hops with every seed; one "
            "full layer alone and one behind a linear layer with two seeds of three ({L=3, thinks: "
            "softmax(h=4,d=16)} and {L=3, thinks: linear(h=1,d=8),softmax(h=4,d=16)} on average).",
            learned=tuple(f"L=3, thinks: {_STACKS[x]}" for x in _ALL[:3]),
        ),
        Finding(
            "In one pass the full and the linear layer do not learn them in these steps ({L=3, one pass: "
            "softmax(h=4,d=16),linear(h=1,d=8)}). Of the full layer alone ({L=3, one pass: "
            "softmax(h=4,d=16)}) nothing is said, since thinking aloud it misses one seed.",
            not_learned=(f"L=3, one pass: {_STACKS['full, linear']}",),
            no_statement=(f"L=3, one pass: {_FULL}",),
        ),
    ),
    silent=(
        "Each step of the chain is a single lookup here (W = 1), because the next hop depends only on the "
        "last one. Two linear layers that think were not tried from random starts. The control in one pass "
        "is the same stack that thinks aloud, with other labels: no stack was shown to learn these hops in "
        "one pass. No rate was searched."
    ),
    came_about=(
        "The control of all cells was one full layer that thinks aloud. When one of its seeds had missed "
        "the threshold, the control of each stack in one pass became the same stack that thinks.",
    ),
    x="stack",
    quick=_cells(3, 8, 1, 800, _ALL[:1], _ALL[:1]),
    standard=_cells(3, 8, 3, 800, _ALL[:3], _ALL[:2]),
    full=(
        *_cells(3, 16, 5, 20000, _ALL, _ALL),
        *_cells(8, 16, 5, 50000, _ALL, _ALL),
    ),
)
