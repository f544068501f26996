"""Every rate that `fool` prints names its distribution, and every find says whether that can draw it."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from fixtures.cli import limen
from fixtures.networks import net, random_model

from limen import api
from limen.adversary.resume import keep
from limen.adversary.schedule import Fooled
from limen.adversary.strategies.coordinates import Coordinates
from limen.adversary.strategies.duplicates import Duplicates
from limen.adversary.strategies.jumps import Jumps
from limen.adversary.strategies.low_entropy import LowEntropy
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.adversary.strategies.random_texts import RandomTexts
from limen.commands.check import checked
from limen.commands.fool import checking
from limen.core.catalogue import ids, lookup
from limen.core.task import Task, Tokens
from limen.errors import BadInput
from limen.model.sampler import Sampler
from limen.model.target import Target
from limen.render.fool import fool_picture, lines_of
from limen.tasks.recall import Recall

MODELS = Path(__file__).parents[1] / "benchmarks/models"
RECALL = cast(Recall, Task.parse("recall(n=4,V=16)"))
EVA = Task.parse("eva(n=3)")


def first_place(tokens: torch.Tensor) -> torch.Tensor:
    """What follows the first token that equals the question: right unless that one is a value."""
    at = (tokens[:, :-1] == tokens[:, -1:]).int().argmax(1)
    return tokens.gather(1, (at + 1)[:, None])[:, 0]


def halves(rng: np.random.Generator, count: int) -> Tokens:
    return RECALL.halves(rng, count)[0]


class Declared:
    """Keys from the lower half, values from the upper, and it says so."""

    def __call__(self, rng: np.random.Generator, count: int) -> Tokens:
        return halves(rng, count)

    def support(self, tokens: Tokens) -> Any:
        return (tokens[:, :8:2] < 8).all(-1) & (tokens[:, 1:8:2] >= 8).all(-1)


def test_every_rate_names_its_distribution_and_speaks_of_no_other() -> None:
    said = api.fool(lambda tokens: tokens.gather(1, tokens[:, -1:])[:, 0], EVA, 0.1)
    drawn = "texts, each with up to 256 questions of the task, from inputs drawn uniformly from all that "
    drawn += "the task allows"
    assert not said.found and said.random_distribution == drawn
    assert json.loads(said.to_json())["random_distribution"] == drawn
    picture = fool_picture(said)
    for shown in ("\n".join(lines_of(said)), picture, str(said._repr_html_())):
        assert drawn in shown and "of texts drawn this way" in shown and "of all texts" not in shown


def test_the_share_that_is_printed_is_no_less_than_the_bound() -> None:
    said = api.fool(lambda tokens: tokens.gather(1, tokens[:, -1:])[:, 0], EVA, 0.1)
    assert said.random_upper95 is not None
    (line,) = (line for line in lines_of(said) if "95 %" in line)
    printed = float(line.rpartition("a share of ")[2].split()[0])
    assert said.random_upper95 <= printed < 1.01 * said.random_upper95


def test_a_shortcut_that_one_distribution_hides_fails_on_random_texts_of_the_task() -> None:
    said = api.fool(first_place, RECALL, 5.0)
    assert said.random_failures > 0 and said.strategy == "random_texts" and said.inputs[0].drawn is True
    assert "; the sampler can draw this" in "\n".join(lines_of(said))


def test_after_each_text_its_own_questions_are_asked_of_every_task() -> None:
    for task in (task for name in ids("tasks") for task in lookup("tasks", name, Task).examples()):
        target = Target(task, first_place)
        for text in task.sample(np.random.default_rng(5), 50)[0][:, : task.cut]:
            assert target.ends is None or np.array_equal(target.ends, task.queries(text)), task


def test_after_each_text_all_its_questions_are_asked_whatever_the_others_have() -> None:
    task = Task.parse("cgram(n=8,c=3,V=4)")
    texts = task.sample(np.random.default_rng(5), 50)[0][:, : task.cut]
    for text, ends in zip(texts, Target(task, first_place).questions(texts), strict=True):
        assert set(map(tuple, ends.tolist())) == set(map(tuple, task.queries(text).tolist()))


def test_a_text_after_which_nothing_can_be_asked_is_no_failure_and_stops_no_search() -> None:
    task = Task.parse("cgram(n=8,c=3,V=4)")
    assert not len(task.queries(np.zeros(8, dtype=np.int64)))
    asked = Target(task, lambda tokens: tokens[:, 0]).ask(np.zeros((2, 8), dtype=np.int64))
    assert not asked.wrong.any() and np.isinf(asked.margin).all()
    right = Target(task, lambda tokens: torch.as_tensor(answers_where_promised(task, tokens.numpy())))
    assert Needle(64).search(right).witness is None


def answers_where_promised(task: Task, tokens: Tokens) -> Tokens:
    answers = np.zeros(len(tokens), dtype=np.int64)
    fine = np.asarray(task.promised(tokens))
    answers[fine] = task.answer(tokens[fine])
    return answers


def test_of_many_questions_each_text_is_asked_its_own_draw() -> None:
    # If all texts of a batch were asked the same ones, 0 failures in it would say little of the others.
    task = Task.parse("eva(n=512)")
    ends = Target(task, first_place).questions(np.zeros((3, 512), dtype=np.int64))
    assert ends.shape == (3, 256, 1) and len({ends[i].tobytes() for i in range(3)}) == 3
    assert all(len(np.unique(one)) == 256 for one in ends)


def test_what_random_testing_asks_need_not_be_what_the_sampler_draws_and_no_line_denies_it() -> None:
    said = api.fool(lambda tokens: torch.zeros(len(tokens), 2), "two_sum(n=3,M=6)", 1.0)
    assert said.strategy == "random_texts" and [one.drawn for one in said.inputs] == [False]
    shown = "\n".join(lines_of(said))
    assert "the sampler never draws this" in shown and "testing never draws" not in shown
    assert "up to 256 questions of the task, from inputs with at most one partner of q, drawn" in shown


@pytest.mark.parametrize(
    ("sampler", "drawn", "words"),
    [
        (Declared(), False, "the sampler never draws this"),
        (halves, None, "not known whether the sampler draws this"),
    ],
)
def test_a_find_outside_the_owners_support_is_marked_so(sampler: Any, drawn: bool | None, words: str) -> None:
    said = api.fool(first_place, RECALL, 5.0, sampler=sampler)
    name = getattr(sampler, "__qualname__", "Declared")
    assert said.found and (said.random_failures, said.random_distribution) == (
        0,
        f"inputs drawn by {name}, taken as independent",
    )
    assert said.inputs[0].drawn is drawn and said.inputs[0].right != said.inputs[0].given
    assert f"right {said.inputs[0].right}, given {said.inputs[0].given}; {words}" in "\n".join(lines_of(said))
    assert words in fool_picture(said)


def test_a_find_of_the_owners_distribution_is_not_simplified_out_of_it() -> None:
    said = api.fool(lambda tokens: tokens[:, 1], RECALL, 5.0, sampler=Declared())
    assert said.strategy == "random_texts" and said.random_failures > 0
    assert said.inputs[0].drawn is True and len(set(said.inputs[0].tokens[1:8:2])) == 2


class Listed(Declared):
    def support(self, tokens: Tokens) -> Any:
        return super().support(tokens).tolist()


def test_a_find_with_nothing_simpler_is_shown_as_it_is() -> None:
    assert api.fool(lambda tokens: torch.zeros(len(tokens), 2), "is_tree(n=4)", 5.0).found
    assert api.fool(lambda tokens: tokens[:, 1], RECALL, 5.0, sampler=Listed()).inputs[0].drawn is True


def test_inputs_of_the_owners_sampler_are_asked_their_own_question_alone() -> None:
    def first(rng: np.random.Generator, count: int) -> Tokens:
        return np.column_stack([rng.integers(3, size=(count, 3)), np.zeros(count, dtype=np.int64)])

    found = RandomTexts(512).search(Target(EVA, lambda tokens: tokens[:, 0], sampler=Sampler.of(first)))
    assert (found.tried, found.failed) == (512, 0)
    assert RandomTexts(512).search(Target(EVA, lambda tokens: tokens[:, 0])).failed > 0


def test_strategies_begin_at_the_owners_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(RECALL, random_model("linear(h=1,d=2)", RECALL), sampler=Sampler.of(Declared()))
    assert target.ends is None  # the questions, which the task knows

    def never(*given: object) -> None:
        raise AssertionError("the task was asked for texts")

    monkeypatch.setattr(Recall, "sample", never)
    begun = (RandomTexts(1), Needle(16), LowEntropy(16), Jumps(16), Coordinates(16))
    for strategy in (*begun, Duplicates(), Neighbourhood(1)):
        before = target.forwards
        strategy.search(target)
        assert target.forwards > before


def raises(rng: np.random.Generator, count: int) -> Tokens:
    raise ZeroDivisionError("my bug")


class Denies(Declared):
    def support(self, tokens: Tokens) -> Any:
        return np.zeros(len(tokens), dtype=bool)


class Mumbles(Declared):
    def support(self, tokens: Tokens) -> Any:
        return 1


BAD: dict[str, tuple[object, str]] = {
    "raises": (raises, "the sampler raises failed: ZeroDivisionError: my bug"),
    "text": (lambda rng, count: "abc", "expected integer tokens of shape (…, 9), got <U3"),
    "floats": (lambda rng, count: halves(rng, count) * 1.0, "got float64 of shape"),
    "ragged": (lambda rng, count: [[1], [1, 2]], "failed: ValueError"),
    "shorter": (lambda rng, count: halves(rng, count)[:, 1:], "expected integer tokens of shape (…, 9)"),
    "too few": (lambda rng, count: halves(rng, count + 1)[1:-1], "was asked for"),
    "one": (lambda rng, count: halves(rng, 1)[0], "was asked for 1 inputs, tokens of shape (1, 9)"),
    "unknown tokens": (lambda rng, count: halves(rng, count) + 16, "is outside 0..15"),
    "not promised": (lambda rng, count: np.zeros((count, 9), dtype=int), "is not defined on 0 0 0"),
    "denied": (Denies(), "the sampler Denies drew an input that its own support denies"),
    "no support": (Mumbles(), "the support of the sampler Mumbles gave int64 of shape ()"),
    "no function": (3, "not a sampler: 3"),
    "no name": ("halves", "'halves' is not a sampler: expected file.py:function"),
    "no file": ("nowhere.py:halves", "there is no file nowhere.py"),
}


@pytest.mark.parametrize("sampler", BAD)
def test_a_sampler_that_does_not_draw_inputs_is_named_with_what_it_did(sampler: str) -> None:
    with pytest.raises(BadInput) as error:
        api.fool(first_place, RECALL, 0.1, sampler=cast(Any, BAD[sampler][0]))
    assert BAD[sampler][1] in str(error.value) and "\n" not in str(error.value)


MINE = """
import numpy as np
from limen.core.task import Task

def halves(rng, count):
    print("I am drawing")
    return Task.parse("recall(n=4,V=16)").halves(rng, count)[0]

halves.support = lambda tokens: (tokens[:, :8:2] < 8).all(-1) & (tokens[:, 1:8:2] >= 8).all(-1)

def short(rng, count):
    return halves(rng, count)[:, 1:]

def model():
    def first_place(tokens):
        at = (tokens[:, :-1] == tokens[:, -1:]).int().argmax(1)
        return tokens.gather(1, (at + 1)[:, None])[:, 0]
    return first_place
"""


def test_on_the_command_line_the_sampler_is_named_and_what_is_found_is_checked_as_printed(
    tmp_path: Path,
) -> None:
    mine, out = tmp_path / "my own 'files'" / "mine.py", tmp_path / "found it.json"
    mine.parent.mkdir()
    mine.write_text(MINE)
    command = ["fool", f"{mine}:model", "recall(n=4,V=16)", "--budget", "5s", "--out", str(out)]
    ran = limen(*command, "--sampler", f"{mine}:halves")
    assert ran.returncode == 0 and f"inputs drawn by {mine}:halves" in ran.stdout
    assert "the sampler never draws this" in ran.stdout and "I am drawing" not in ran.stdout
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("check it with: limen "))
    again = limen(*shlex.split(line.partition(": limen ")[2]))
    assert again.returncode == 0 and again.stdout.startswith("wrong_answer: valid.")
    alone = limen("check", str(out))
    assert alone.returncode == 2 and "name the model with --model" in alone.stderr
    short = limen(*command, "--sampler", f"{mine}:short")
    assert short.returncode == 2 and "Traceback" not in short.stderr
    assert f"the sampler {mine}:short drew what the task does not allow" in short.stderr


def test_a_kept_search_remembers_how_its_texts_were_drawn(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    keep(Fooled(Target(RECALL, first_place, sampler=Sampler.of(halves)), "function"), kept, 1.0)
    how = "its distribution is drawn by halves, not drawn"
    for sampler in (None, Declared()):
        with pytest.raises(BadInput, match=how):
            api.fool(first_place, RECALL, 1.0, sampler=sampler, resume=kept)
    assert api.fool(first_place, RECALL, 5.0, sampler=halves, resume=kept).found
    before = json.loads(kept.read_text())
    del before["distribution"]
    kept.write_text(json.dumps(before))
    with pytest.raises(BadInput, match="its distribution is not recorded, not drawn by halves"):
        api.fool(first_place, RECALL, 1.0, sampler=halves, resume=kept)


SMALL: dict[str, Callable[[], Any]] = {
    "limen": lambda: random_model("linear(h=1,d=2)", Task.parse("index(n=8,S=8)")),
    "torch": lambda: net(8),
}


@pytest.mark.parametrize("model", SMALL)
def test_a_vocabulary_smaller_than_the_tasks_is_said_as_such(model: str) -> None:
    said = r"expected a vocabulary of 16 tokens, as recall\(n=2,V=16\) needs; the model has 8, 0\.\.7"
    with pytest.raises(BadInput, match=said):
        api.fool(SMALL[model](), "recall(n=2,V=16)", 1.0)


@pytest.mark.hf
def test_a_hugging_face_model_with_a_small_vocabulary_is_one_line() -> None:
    ran = limen("fool", str(MODELS / "llama"), "eva(n=16)", "--budget", "5s")
    said = "expected a vocabulary of 16 tokens, as eva(n=16) needs; the model has 8, 0..7"
    assert ran.returncode == 2 and said in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_the_command_that_is_printed_is_one_that_works_or_none() -> None:
    assert checking(Path("-f.json"), "m") == "limen check ./-f.json --model m"
    assert checking(Path("a b.json"), "it's") == """limen check 'a b.json' --model 'it'"'"'s'"""
    assert checking(Path("a\nb.json"), "m") is None


def test_a_certificate_whose_model_is_not_beside_it_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_bytes((MODELS / "gated/wrong_answer.json").read_bytes())
    with pytest.raises(
        BadInput, match="about a model that is not in its folder: name the model with --model"
    ):
        checked(path)
    assert checked(path, MODELS / "gated").valid and checked(MODELS / "gated/wrong_answer.json").valid
