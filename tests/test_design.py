"""Designs: costs that a run shows, a front that nothing beats, and theorems that anyone can check again."""

import json
import re
from operator import ge
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from fixtures.cli import limen
from fixtures.judged import refused
from fixtures.speed import loads_torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from limen.core.architecture import Architecture, Part
from limen.core.catalogue import ids
from limen.core.certificate import Bound, Fits, decode
from limen.core.construction import construct
from limen.core.mixer import Mixer, State, Streaming
from limen.core.tally import LEVELS, ONE, SEEN, Tally, blocks, finished, latest, opened, own
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.decisions.families import FAMILIES
from limen.decisions.placement import Offer, files_of
from limen.designs import Wish, design, verdicts
from limen.designs.candidates import candidates, full_layers, letter, thin_layers
from limen.designs.cost import Cost, cache_bits, cost, projections
from limen.designs.neighbours import neighbours
from limen.designs.search import FrontRow, Judged, Killed, fates, judge, with_row
from limen.designs.verdicts import Standing, hoped
from limen.designs.wish import sized
from limen.errors import BadInput
from limen.mixers._cache import Cache
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.mixers.top_k import TopK
from limen.mixers.window import Window
from limen.tasks.facts import chain

WIDTH = 12
DENSE = [Softmax, Window, Linear, GatedDelta, Mamba2]  # what `step` multiplies is what it needs
SPARSE = [BlockSparse, TopK]
MIXERS = [m for kind in (*DENSE, *SPARSE) for m in kind.examples() if not m.sees_future]
LEVELLED = [m for m in LogLinear.examples() if m.over == "gated_delta"]  # others multiply by an e of zeros
SMALL = Wish.parse(["eva", "equality", "composition(m=7,n1=3)"], 20000, layers=2, width=64, budget=None)
DEEP = ("--task", "eva", "--task", "composition(m=7000000,n1=15)", "--context", "134217728")
LONG = ("--task", "eva", "--task", "composition(m=4000,n1=15)", "--context", "65536")
CHAINS = [name for name in ids("tasks") if chain(Task.parse(name)) is not None]
NARROW = ("--layers", "4", "--width", "64")


@given(
    st.sampled_from(
        [ONE, SEEN, LEVELS, latest(5), finished(3), blocks(3), opened(3, 2), opened(1, 4), own(4), blocks(1)]
    ),
    st.integers(0, 200),
)
def test_a_tally_adds_up_what_each_token_counts(tally: Tally, n: int) -> None:
    assert tally.upto(n) == sum(tally.at(t) for t in range(1, n + 1))


def after(mixer: Mixer, t: int) -> tuple[dict[str, torch.Tensor], State]:
    assert isinstance(mixer, Streaming)
    generator = torch.Generator().manual_seed(0)
    w = mixer.initial(WIDTH, generator, torch.float64)
    state = mixer.start(w, (1,))
    for _ in range(t):
        state, _y = mixer.step(w, state, torch.randn(1, WIDTH, generator=generator, dtype=torch.float64))
    return w, state


def flops(mixer: Mixer, t: int) -> int:
    return projections(mixer, WIDTH) + sum(factor * tally.at(t) for factor, tally in mixer.mixing())


@pytest.mark.parametrize("t", [1, 2, 9, 16, 23])
@pytest.mark.parametrize(
    "mixer", [*(m for kind in DENSE for m in kind.examples() if not m.sees_future), *LEVELLED], ids=str
)
def test_the_flops_of_a_token_are_what_torch_counts(mixer: Mixer, t: int) -> None:
    w, state = after(mixer, t - 1)
    assert isinstance(mixer, Streaming)
    with FlopCounterMode(display=False) as counter:
        mixer.step(w, state, torch.ones(1, WIDTH, dtype=torch.float64))
    assert flops(mixer, t) == counter.get_total_flops()


@pytest.mark.parametrize("t", [1, 4, 5, 9, 20, 23])
def test_sparse_attention_pays_for_what_it_reads(t: int) -> None:
    x = torch.randn(t, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    one = x.new_ones(1, 1, 1)
    for sparse in BlockSparse.examples():
        pair, m = sparse.key_size + sparse.d, t // sparse.B
        queries, messages = one.expand(sparse.h, 1, sparse.key_size), one.expand(sparse.h, m, sparse.key_size)
        last = torch.tensor([[t - 1]])
        _, scores, earlier = sparse._look(queries, Cache(messages, one.expand(sparse.h, m, sparse.d)), last)
        visible = sparse._visible(scores, earlier, last)
        read, pooled = int(visible.sum()) + sparse.h * m, sparse.h * sparse.B * (t % sparse.B == 0)
        assert flops(sparse, t) == projections(sparse, WIDTH) + 2 * pair * (read + pooled)
    for top in TopK.examples():
        w = top.initial(WIDTH, torch.Generator().manual_seed(0), torch.float64)
        chosen = int(top.chosen(w, x[-1:], x @ w["IK"]).sum())
        index = 2 * top.h_i * top.d_i * t
        mixed = 2 * top.h * (top.key_size + top.d) * chosen
        assert flops(top, t) == projections(top, WIDTH) + index + mixed


def numbers(state: State) -> int:
    if isinstance(state, torch.Tensor):
        return state.numel()
    return sum(map(numbers, state)) if isinstance(state, tuple) else 0


@pytest.mark.parametrize("mixer", [*MIXERS, *LEVELLED], ids=str)
def test_the_cache_is_the_most_that_a_run_carries(mixer: Mixer) -> None:
    w, state = after(mixer, 0)
    assert isinstance(mixer, Streaming)
    most = 0
    for n in range(1, 22):
        state, _ = mixer.step(w, state, torch.ones(1, WIDTH, dtype=torch.float64))
        most = max(most, numbers(state))
        assert cache_bits(Part(mixer, p=8), n) == 8 * most


def test_the_cost_of_a_stack_by_hand() -> None:
    """Width 64: projections 4·64², an MLP of 8·64² numbers, two FLOPs each; 128 numbers a token kept."""
    one = Architecture.parse("softmax(h=1,d=64)")
    assert cost(one, 64, n=2) == Cost(2 * 128 * 16, 2 * 98304 + 2 * 128 * (1 + 2), 98304 + 2 * 128 * 2)
    assert cost(one, 64, n=2).cache_bytes == 512
    two = cost(Architecture.parse("2*softmax(h=1,d=64)"), 64, n=2)
    assert tuple(two) == tuple(2 * x for x in cost(one, 64, n=2))


@pytest.mark.parametrize("width", [64, 192, 2048])
def test_every_layer_that_is_looked_at_has_a_price_and_a_letter(width: int) -> None:
    wish = Wish((Task.parse("eva"),), 1000, width=width)
    for layer in (*thin_layers(wish), *full_layers(wish)):
        assert cost(Architecture((layer,)), width, 1000).decode > 16 * width**2 and letter(layer)


def dominates(a: FrontRow, b: FrontRow) -> bool:
    prices = (
        a.cost.cache_bits <= b.cost.cache_bits,
        a.cost.prefill <= b.cost.prefill,
        a.cost.decode <= b.cost.decode,
    )
    return all(prices) and all(x >= y for x, y in zip(a.standings, b.standings, strict=True))


def standing(said: Standing) -> Judged:
    """A task that stands so: can only with evidence, so with some."""
    eva = Task.parse("eva(n=4)")
    evidence = decide(eva, Architecture.parse("softmax")).evidence if said is Standing.CAN else None
    return Judged(eva, said is Standing.SHALLOW, None, evidence)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(1, 3), st.integers(1, 3)), max_size=9))
def test_the_front_is_what_nothing_else_dominates(sizes: list[tuple[int, ...]]) -> None:
    rows = [
        FrontRow(Architecture(()), Cost(*size[:3]), tuple(standing(Standing(s)) for s in size[3:]))
        for size in sizes
    ]
    front: list[FrontRow] = []
    for row in rows:
        front = with_row(front, row)
    assert all(any(dominates(kept, row) for kept in front) for row in rows)
    assert not any(dominates(a, b) for a in front for b in front if a is not b)


def test_what_is_not_on_the_front_is_ruled_out_or_beaten() -> None:
    found = design(SMALL)
    assert len(found.front) > 2 and found.killed
    on_it, seen = {row.architecture for row in found.front}, 0
    for candidate in candidates(SMALL):
        price = cost(candidate.architecture, SMALL.width, SMALL.context)
        row = judge(SMALL.tasks, candidate.architecture, price)
        if isinstance(row, FrontRow) and candidate.architecture not in on_it and candidate.plain is None:
            seen += 1
            assert any(dominates(other, row) for other in found.front), row
    assert seen > 50


@pytest.mark.long
@pytest.mark.parametrize(
    ("tasks", "context", "layers", "width", "budget"),
    [
        (["eva", "composition(L=7,m=4)"], 512, 12, 64, None),  # 7 full layers: between 6 and 8
        (["eva", "composition(L=5,m=4)"], 512, 9, 128, 1_000_000),
        (["composition(m=16,n1=4)"], 128, 6, 64, None),  # also a stack of full layers alone
        (["eva", "equality"], 1024, 8, 256, None),
        (["sparse_average", "index"], 2048, 5, 256, 500_000),
        (["recall"], 4096, 12, 512, None),
        (["eva"], 4096, 24, 2048, 20_000_000),
    ],
)
def test_no_neighbour_of_a_listed_stack_is_better(
    tasks: list[str], context: int, layers: int, width: int, budget: int | None
) -> None:
    wish = Wish.parse(tasks, context, layers, width, budget)
    found = design(wish)
    assert found.affordable
    for row in found.front:
        for near in neighbours(row.architecture):
            assert len(near.architecture.layers) == layers
            price = cost(near.architecture, width, context)
            other = judge(wish.tasks, near.architecture, price)
            if isinstance(other, FrontRow) and dominates(other, row):
                assert (other.cost, other.standings) == (row.cost, row.standings), near


@pytest.mark.long
def test_no_stack_that_was_compared_is_better_than_a_listed_one_but_for_an_idle_linear_layer() -> None:
    """`linear,H,D,H` costs less than `D,H,D,H` and does as much: docs/design.md says it is not listed."""
    wish = Wish.parse(["dyck(n=256,k=2,D=4)", "composition(m=8,n1=4)"], 512, layers=4, width=256, budget=None)
    front, better = design(wish).front, []
    for one in candidates(wish):
        price = cost(one.architecture, wish.width, wish.context)
        above = [row for row in front if price.within(row.cost) and price != row.cost]
        hope = [hoped(task, one.architecture) for task in wish.tasks]
        if any(all(map(ge, hope, row.standings)) for row in above):
            found = judge(wish.tasks, one.architecture, price)
            if isinstance(found, FrontRow) and any(dominates(found, row) for row in above):
                better.append(one)
    assert better and all(one.plain is not None for one in better)


def test_as_many_full_layers_as_hops_are_the_least_that_chain_them() -> None:
    """Seven hops behind a recurrence take seven full layers (κ = F); six chain too few."""
    wish = Wish.parse(["eva", "composition(L=7,m=4)"], 512, layers=12, width=64, budget=None)
    able = [row for row in design(wish).front if set(row.standings) == {Standing.CAN}]
    full = [sum(letter(layer) in "FH" for layer in row.architecture.layers) for row in able]
    assert able and set(full) == {7}


def numbers_in(svg: str) -> dict[str, set[str]]:
    """Each stack of a picture, and the numbers that it has there."""
    found: dict[str, set[str]] = {}
    for mark in re.findall(r"<g><title>(.*?)</title>(.*?)</g>", svg):
        found.setdefault(mark[0], set()).update(re.findall(r">(\d+)</text>", mark[1]))
    return found


@pytest.mark.parametrize("budget", [(), ("--budget", "200000"), ("--budget", "1000")])
def test_a_stack_has_the_same_number_in_the_picture_as_in_the_text(
    tmp_path: Path, budget: tuple[str, ...]
) -> None:
    path, wish = tmp_path / "front.svg", ("--task", "eva(n=1000)", "--context", "1024", *NARROW, *budget)
    shown = limen("design", *wish, "--picture", str(path)).stdout
    drawn = numbers_in(path.read_text())
    listed = dict(re.findall(r"^ *(\d+)  .*\n +(\S*=\S*)$", shown, re.M))
    assert listed and {stack: {number} for number, stack in listed.items()} == {
        stack: numbers for stack, numbers in drawn.items() if numbers
    }


def test_the_picture_of_the_page_has_the_numbers_of_its_first_example() -> None:
    docs = Path(__file__).parents[1] / "docs"
    shown = (docs / "design.md").read_text().partition("```console")[2].partition("What becomes of nearby")[0]
    listed = dict(re.findall(r"^ *(\d+)  .*\n +(\S*=\S*)$", shown, re.M))
    drawn = {s: n for s, n in numbers_in((docs / "design.svg").read_text()).items() if n}
    assert len(listed) == 10 and {stack: {number} for number, stack in listed.items()} == drawn


def test_decide_agrees() -> None:
    for row in design(SMALL).front:
        for judged in row.judged:
            said = decide(judged.task, row.architecture).answer
            assert said is not Answer.CANNOT and (said is Answer.OPEN or judged.standing is Standing.CAN)
    for killed in design(SMALL).killed[:10]:
        assert decide(killed.task, killed.architecture).answer is Answer.CANNOT


def test_a_linear_layer_first_saves_a_full_one() -> None:
    wish = Wish.parse(["composition(m=16,n1=4)"], 128, layers=6, width=64, budget=None)
    least = min(
        sum(letter(layer) == "F" for layer in row.architecture.layers)
        for row in design(wish).front
        if row.standings == (Standing.CAN,)
    )
    assert least == 2  # hops; without it three
    late = Architecture.parse("2*softmax(h=1,d=64),4*linear(h=1,d=64,phi=relu)")
    row = judge(wish.tasks, late, cost(late, 64, 128))
    assert isinstance(row, FrontRow) and row.standings == (Standing.SHALLOW,)


def test_a_full_layer_less_is_ruled_out_by_the_depth_of_long_chains() -> None:
    wish = Wish.parse(["eva", "composition(m=7000000,n1=15)"], 2**27, layers=4, width=64, budget=None)
    stack = Architecture.parse("2*linear(h=1,d=64,phi=relu),2*softmax(h=1,d=64)")
    row = judge(wish.tasks, stack, cost(stack, 64, 2**27))
    assert isinstance(row, FrontRow) and row.standings[0] is Standing.CAN
    killed = {
        f.change: f.outcome.evidence.certificate for f in fates(wish, row) if isinstance(f.outcome, Killed)
    }
    less, none = killed["one full layer fewer"], killed["no full layer"]
    assert isinstance(less, Bound) and less.theorem == "composition_depth" and less.excludes
    assert isinstance(none, Bound) and none.theorem == "streaming_state" and none.excludes


def certificates(shown: object) -> list[Bound | Fits]:
    if isinstance(shown, list):
        return [found for item in shown for found in certificates(item)]
    if not isinstance(shown, dict):
        return []
    if "kind" in shown:
        witness = decode(json.dumps({"schema": "limen/certificate/2", **shown}).encode())
        assert isinstance(witness, Bound | Fits)
        return [witness]
    return [found for item in shown.values() for found in certificates(item)]


def test_every_certificate_of_a_design_holds() -> None:
    result = limen("design", *LONG, *NARROW, "--json")
    shown = json.loads(result.stdout)
    assert result.returncode == 0 and shown["schema"] == "limen/design/1" and shown["feasible"]
    found = certificates(shown)
    assert {type(witness) for witness in found} == {Bound, Fits}
    assert all(refused(witness) is None for witness in found if isinstance(witness, Bound))
    for row in shown["front"]:
        for said in row["verdicts"]:
            assert (said["verdict"] == "can") is (said["certificate"] is not None)
            for witness in certificates(said["certificate"]):
                assert isinstance(witness, Fits)
                way = construct(Task.parse(said["task"]), said["construction"])
                assert refused(witness, files_of(Offer(way, False, witness.precision))) is None


def test_no_stack_keeps_less_than_the_floor() -> None:
    wish = ("--task", "eva(n=1000)", "--context", "1001", "--layers", "1", "--width", "64", "--json")
    said = json.loads(limen("design", *wish).stdout)["floors"][0]
    floor, less = said["bytes"], said["certificate"]
    assert floor == 1246 and less["needs_bits"] == 9966  # ⌈1000·log₂1000⌉
    assert less["has_bits"] == 9965
    at, below = (limen("design", *wish, "--budget", str(budget)) for budget in (floor, floor - 1))
    assert json.loads(at.stdout)["forbidden_by"] is None
    assert below.returncode == 1
    said = json.loads(below.stdout)
    assert said["front"] == [] and not said["feasible"]
    assert said["forbidden_by"]["theorem"] == "streaming_state"
    assert said["forbidden_by"]["has_bits"] == 8 * (floor - 1) < said["forbidden_by"]["needs_bits"]
    assert said["cheapest"]["cache_bytes"] > floor


def test_an_impossible_wish_says_why_and_what_the_cheapest_costs() -> None:
    result = limen("design", "--task", "eva(n=100000)", "--context", "131072", "--budget", "100000")
    assert result.returncode == 1
    assert "NOTHING IS LEFT within 100,000 bytes" in result.stdout
    assert "streaming_state: eva(n=100000) needs 1,660,965 bits, there are 800,000" in result.stdout
    assert "24*mamba2(h=64,d=64,s=16)" in result.stdout.split("The smallest stack that is not ruled out")[1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ids("tasks"))
def test_a_task_by_its_id_is_as_long_as_the_context(name: str) -> None:
    try:
        task = sized(name, 5000)
    except BadInput as error:
        assert "give its sizes" in str(error) and name == "retrieval"
        return
    if name in FAMILIES:
        n = next(n for n in range(4, 5003) if FAMILIES[name](n) == task)
        grown = FAMILIES[name](n + 1)
    else:
        more = next(more for more in (1, 2) if _fits(task, more))
        grown = task.resized(task.grows, task.sizes[task.grows] + more)
    assert task.length <= 5000 < grown.length


@pytest.mark.parametrize("name", [name for name in ids("tasks") if name not in (*CHAINS, "retrieval")])
def test_stacks_that_have_the_same_rows_of_layers_are_offered_the_same(name: str) -> None:
    """The law by which a design places constructions once: every stack of 9 layers, and the first alike."""
    task, first = sized(name, 5000), dict[object, Architecture]()
    for candidate in candidates(Wish.parse([name], 5000, layers=9, width=128, budget=None)):
        alike = first.setdefault(candidate.rows, candidate.architecture)
        assert verdicts._by_rows(task, alike)
        assert verdicts._looked_at(task, candidate.architecture) == verdicts._looked_at(task, alike)


def _fits(task: Task, more: int) -> bool:
    try:
        task.resized(task.grows, task.sizes[task.grows] + more)
    except BadInput:
        return False
    return True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--task", "eva(n=1000)", "--context", "1000"),
            "eva(n=1000) has 1,001 tokens, more than the context of 1,000",
        ),
        (("--task", "evva", "--context", "1000"), "no task named 'evva'"),
        (("--task", "eva", "--context", "1"), "no instance of eva is as short as 1 tokens"),
        (("--task", "eva", "--context", "0"), "context"),
        (("--task", "eva", "--context", "100", "--width", "100"), "multiple of 64, got 100"),
        (("--task", "eva", "--context", "100", "--layers", "0"), "layers"),
        (("--context", "100"), "task"),
    ],
)
def test_a_wish_that_makes_no_sense_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = limen("design", *arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_picture_shows_every_stack_of_the_front(tmp_path: Path) -> None:
    path = tmp_path / "front.svg"
    rows = json.loads(limen("design", *DEEP, *NARROW, "--picture", str(path), "--json").stdout)["front"]
    titles = [title.text for title in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(titles) == sorted(2 * [row["architecture"] for row in rows])  # in both panels


def test_classes_of_evidence_stand_apart_and_open_never_comes_first() -> None:
    wish = ("design", "--task", "eva(n=1000)", "--task", "equality(n=400)", "--context", "1024", *NARROW)
    front = json.loads(limen(*wish, "--json").stdout)["front"]
    classes = [row["weights"] for row in front]
    assert classes[0] == "all" and set(classes) == {"all", "some", "none"}
    assert classes == sorted(classes, key=["all", "some", "none"].index)
    for row in front:
        can = [said["verdict"] == "can" for said in row["verdicts"]]
        assert row["weights"] == ("all" if all(can) else "some" if any(can) else "none")
    shown = limen(*wish).stdout
    assert shown.index("CAN: ") < shown.index("PARTLY: ") < shown.index("OPEN: ")


def test_query_heads_share_the_kv_heads_that_are_wished_for() -> None:
    size = ("--context", "1024", "--layers", "2", "--width", "512")
    wish = ("design", "--task", "eva(n=1000)", *size, "--json")
    many, few = (json.loads(limen(*wish, "--kv-heads", kv).stdout) for kv in ("8", "2"))
    assert "kv_heads" not in many["front"][0]["architecture"]  # every head has its own
    assert "kv_heads=2" in few["front"][0]["architecture"]
    caches = {one["kv_heads"]: one["cache_bytes"] for one in few["groupings"]}
    assert caches[2] == few["front"][0]["cache_bytes"] < caches[4] < caches[8]


def test_a_design_loads_no_torch() -> None:
    assert not loads_torch("design", "--task", "eva", "--context", "4096", *NARROW)
