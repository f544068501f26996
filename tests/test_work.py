"""How much is looked at, counted, not timed: a search that grows again is a hump for users."""

from collections import Counter
from collections.abc import Callable

import pytest

from limen.constructions.counting_by_softmax import CountingBySoftmax
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.decisions import placement
from limen.decisions.decide import decide
from limen.decisions.depths import depth
from limen.decisions.placement import Offer, solves
from limen.designs import Wish, design, verdicts
from limen.solutions.range import _reach
from limen.tasks.composition import Composition
from limen.tasks.counting import Counting
from limen.theorems.composition_depth import convex, search, search_stages
from limen.theorems.composition_depth.levels import Levels, Wires

REPEATED = "{}*(3*linear(h=16,d=128),softmax(h=16,d=128))"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the gaps of chain and stages are evaluated, and Newton's steps; nothing is remembered."""
    count: Counter[str] = Counter()

    def counted(home: object, name: str) -> None:
        whole: Callable[..., object] = getattr(home, name)

        def one(*args: object) -> object:
            count[name] += 1
            return whole(*args)

        monkeypatch.setattr(home, name, one)

    search._searched.cache_clear()
    search_stages.free.cache_clear()
    counted(search.GapC, "__call__")
    counted(search_stages, "gap")
    counted(convex.ConvexProgram, "_step")
    return count


@pytest.mark.parametrize(
    ("task", "stack"),
    [  # of 300 drawn pairs those that took longest: 80,000 to 240,000 values each
        ("composition(m=35184372088832,n1=16384,n2=4096,n3=32768,n4=1)", "4*softmax(h=8,d=128)"),
        ("composition(m=4096,n1=512,n2=128,n3=2)", "3*softmax(h=4,d=64)"),
        ("facts(m=524288,n1=1,n2=2,n3=2,n4=64,n5=1)", "4*softmax(h=4,d=128,p=8)"),
        ("composition(m=16,n1=2,n2=1,n3=2,n4=128)", "2*(2*linear(h=16,d=128),softmax(h=16,d=128,p=8))"),
    ],
)
def test_the_size_that_flips_a_verdict_is_not_searched_for_blindly(
    work: Counter[str], task: str, stack: str
) -> None:
    verdict = decide(Task.parse(task), Architecture.parse(stack))
    assert verdict.flips is None
    assert work["__call__"] + work["gap"] <= 6_000


@pytest.mark.parametrize("repeats", [1, 2, 3, 4, 5, 6, 7])
def test_depth_looks_at_no_more_for_a_few_repeats_than_for_many(work: Counter[str], repeats: int) -> None:
    """Two to five repeats took 60,000 to 120,000 values, six and more none."""
    depth(Architecture.parse(REPEATED.format(repeats)))
    assert work["__call__"] + work["gap"] <= 20_000 and work["_step"] <= 800


@pytest.mark.parametrize(("steps", "values"), [(2, 60_000), (3, 90_000)])
def test_thoughts_of_one_layer_are_not_searched_twice(work: Counter[str], steps: int, values: int) -> None:
    """They took 76,000 and 120,000 values: a search that did not end early was done again for a wider gap."""
    depth(Architecture.parse("softmax(h=8,d=64)"), steps)
    assert work["__call__"] + work["gap"] <= values


def test_a_design_places_constructions_once_for_alike_orders() -> None:
    """Of 11,500 stacks of 48 layers, 1,900 kinds of orders: each took every construction again."""
    verdicts._looked_at.cache_clear()
    verdicts._promised.cache_clear()
    design(Wish.parse(["counting", "dyck"], 131_072, 48, 2048, None, 8))
    assert verdicts._looked_at.cache_info().misses <= 4_000


def test_no_sizes_are_sought_where_none_can_exclude_and_some_where_they_do() -> None:
    """Route stages at the least sizes found, and smaller ones; route chain where its inequality holds."""
    for bits in (Wires(0, 40, 160), Wires(64, 64, 64), Wires(0, 2048, 2**20)):
        least = search_stages.smallest_by_stages(bits, 4, 4000.0)
        assert least is not None
        task, _ = least
        assert not search_stages.hopeless(task, bits)
        assert search_stages.hopeless(Composition(2, task.n), bits)
        assert search_stages.hopeless(task, bits._replace(w=bits.w << 60))
    bits = Levels((640, 640, 640), (640, 640, 640), (0, 0, 0))
    task = Composition(2**60, (2**40, 2**20))
    rows = [search.GapC.of(bits)(row) for row in search._searched(task, bits, 1e-4, ())[1]]
    assert max(rows) > 0 and not search.hopeless(task, bits)
    assert search.hopeless(Composition(2**60, (2**40, 2)), bits)


def test_the_kernel_is_not_asked_for_a_margin_below_the_rounding_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement, "files_of", lambda offered: pytest.fail("the kernel is asked"))
    assert "too small for the kernel" in str(
        solves(Offer(CountingBySoftmax(Counting(10**4)), False, "float32"))
    )


def test_a_range_asks_the_kernel_about_few_sizes() -> None:
    """Where it is asked at all ends at 2^11, which costs nothing to find: six of eleven sizes."""
    names: list[str] = []
    reach = _reach(CountingBySoftmax(Counting(8, 2)), "n", "float32", names.append)
    assert reach.log2_size == 9
    assert len(names) <= 6
