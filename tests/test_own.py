"""What is yours, in a file or a package: used like the catalogue's, and only where you ask for it."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from fixtures.cli import limen

import limen as api
from limen.core import catalogue
from limen.core.catalogue import ids, summary
from limen.core.construction import constructions_for
from limen.core.task import Task
from limen.files import own

EXAMPLE = Path(__file__).parents[1] / "examples" / "own.py"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy in a folder of its own, so that no other test has asked for it."""
    shutil.copy(EXAMPLE, tmp_path / "mine.py")
    monkeypatch.chdir(tmp_path)
    return "mine.py"


def test_a_task_a_mixer_and_a_construction_are_decided_solved_bounded_and_played(mine: str) -> None:
    task, stack = f"{mine}:Majority(n=9)", f"{mine}:Total(d=1)"
    decided = json.loads(limen("decide", task, stack, "--json").stdout)
    assert (decided["task"], decided["architecture"], decided["verdict"]) == (task, stack, "open")
    assert decided["argued"][0]["construction"] == f"{mine}:MajorityByTotal"  # the kernel has no rule for it
    solved = limen("solve", task, "--by", f"{mine}:MajorityByTotal", "--check", "exhaustive")
    assert solved.returncode == 0 and "all 512 inputs: 0 wrong" in solved.stdout
    bounded = json.loads(limen("bound", task, "--json").stdout)
    assert (bounded["rows"], bounded["rank"]) == (6, 5)  # how many ones, up to five
    played = limen("protocol", task, stack)
    assert played.returncode == 0 and "bit for bit" in played.stdout
    assert "->" in limen("show", task).stdout and "16 bits" in limen("show", stack).stdout


def test_a_task_of_ones_own_is_trained_and_its_model_attacked(mine: str) -> None:
    task = f"{mine}:Majority(n=9)"
    trained = limen("train", task, "softmax(h=1,d=8)", "--steps", "4", "--save", "learned", "--json")
    assert json.loads(trained.stdout)["task"] == task
    fooled = json.loads(limen("fool", "learned", task, "--budget", "2s", "--json").stdout)
    assert fooled["found"] and fooled["claim"] == "wrong_answer"  # after four steps it knows nothing


def test_a_model_with_a_mixer_of_ones_own_is_said_to_need_a_factory_and_does(mine: str) -> None:
    task = f"{mine}:Majority(n=9)"
    trained = limen("train", task, f"{mine}:Total(d=1)", "--steps", "2", "--save", "learned")
    assert trained.returncode == 0 and "hand the model in as file.py:factory" in trained.stderr
    refused = limen("fool", "learned", task)
    assert refused.returncode == 2 and "only entries of the catalogue are allowed" in refused.stderr


def test_what_is_saved_of_yours_is_said_to_be_refused_and_is(mine: str) -> None:
    """A certificate that names a file would have whoever checks it run that file."""
    done = limen("solve", f"{mine}:Majority(n=3)", "--save", "mine")
    assert done.returncode == 0 and "limen check` will refuse it" in done.stderr
    assert done.stderr.count("\n") == 1
    refused = limen("check", "mine/run.json")
    assert refused.returncode == 2 and "only entries of the catalogue" in refused.stderr
    assert limen("solve", "eva(n=3)", "--save", "ours").stderr == ""


def test_python_takes_them_as_text_and_as_objects(mine: str) -> None:
    text = api.decide(f"{mine}:Majority(n=9)", f"{mine}:Total(d=1)")
    task = Task.parse(f"{mine}:Majority(n=9)")
    assert api.decide(task, f"{mine}:Total(d=1)") == text
    assert constructions_for(task) == [f"{mine}:MajorityByTotal"]


def test_a_function_at_hand_is_bounded_at_its_hardest_cut() -> None:
    def lookup(tokens: tuple[int, ...]) -> int:
        return tokens[tokens[-1]]

    found = api.bound(lookup, alphabet=3, length=4)
    assert (found.task, found.cut) == ("lookup", 3)
    assert found.rows == 27
    parity = api.bound(lambda tokens: sum(tokens) % 2, 2, alphabet=2, length=4)
    assert (parity.cut, parity.rows) == (2, 2)
    for wrong, said in (({"alphabet": 2}, "length=…"), ({"alphabet": 2, "length": 64}, "inputs")):
        with pytest.raises(ValueError, match=said):
            api.bound(lookup, **wrong)


@pytest.mark.parametrize(("name", "count"), [("Majority", 9), ("Total", 13), ("MajorityByTotal", 5)])
def test_the_laws_hold_for_the_example(mine: str, name: str, count: int) -> None:
    done = limen("test", f"{mine}:{name}")
    assert done.returncode == 0 and f"{count} laws, 0 broken" in done.stdout
    assert done.stdout.count("  holds   ") == count


@pytest.mark.parametrize(
    ("name", "right", "wrong", "law"),
    [
        ("Majority", "> self.n", ">= self.n - 1", "sample agrees with answer"),
        ("Total", "return (h,), h @", "return (h,), 2 * h @", "definition recurrence and fast form agree"),
        ("Total", "return self.d * p", "return p", "state bits are what a step carries"),
        ("MajorityByTotal", "[-1, 1]", "[1, -1]", "it is right in float64"),
        ("MajorityByTotal", "return 2.0 if", "return 3.0 if", "it is right in float32"),
    ],
)
def test_a_mistake_breaks_a_law_and_exits_with_1(
    mine: str, name: str, right: str, wrong: str, law: str
) -> None:
    text = Path(mine).read_text(encoding="utf-8")
    assert text.count(right) == 1
    Path(mine).write_text(text.replace(right, wrong), encoding="utf-8")
    done = limen("test", f"{mine}:{name}", "--json")
    broken = [held["law"] for held in json.loads(done.stdout)["laws"] if not held["holds"]]
    assert done.returncode == 1 and law in broken


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("test", "mine.py:Nobody"), "mine.py has no class Nobody"),
        (("test", "nowhere.py:Majority"), "there is no file nowhere.py"),
        (("test", "mine.py:Columns"), "mine.py:Columns is not a task, mixer or construction"),
        (("test", "mine.py:Task"), "mine.py:Task lacks answer, answers"),
        (("test", "majority"), "majority is not in the catalogue; name your own class as file.py:Name"),
        (("test", "mine.py:Majority(n=4)"), "Majority: n must be odd, got 4"),
        (("decide", "mine.py:Total", "linear"), "mine.py:Total is not a task"),
        (
            ("solve", "eva(n=4)", "--by", "mine.py:MajorityByTotal"),
            "a construction for Majority, not for eva",
        ),
    ],
)
def test_bad_input_is_one_line_and_exits_with_2(mine: str, arguments: tuple[str, ...], said: str) -> None:
    done = limen(*arguments)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_file_is_run_from_inside_a_certificate_or_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nclass Task: pass\n")
    monkeypatch.chdir(tmp_path)
    assert limen("decide", "eva(n=488)", "linear(h=1,d=16,p=16)", "--save", "good.json").returncode == 0
    written = Path("good.json").read_text(encoding="utf-8")
    for right, wrong in (("eva(n=488)", "evil.py:Task"), ("linear(h=1", "evil.py:Task(h=1")):
        assert right in written
        Path("bad.json").write_text(written.replace(right, wrong), encoding="utf-8")
        assert limen("check", "bad.json").returncode == 2
    assert limen("solve", "eva(n=4)", "--save", "model").returncode == 0
    header = Path("model/model.json")
    header.write_text(header.read_text(encoding="utf-8").replace("softmax(h=1", "evil.py:Task(h=1"))
    assert "evil.py" in header.read_text(encoding="utf-8")
    assert limen("protocol", "eva(n=4)", "--model", "model").returncode == 2
    assert not Path("ran").exists()
    assert limen("decide", "evil.py:Task", "linear").returncode == 2 and Path("ran").exists()  # when asked


def test_a_package_brings_its_own_by_an_entry_point(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = EntryPoints([EntryPoint("majority", "mine:Majority", "limen.tasks")])
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.setattr(catalogue, "_points", lambda group: installed.select(group=group))
    catalogue._brought.cache_clear()
    try:
        _forget()
        assert "majority" in ids("tasks") and "mine" not in sys.modules  # listed without running it
        assert summary("tasks", "majority").startswith("A task, a mixer and a construction")
        assert api.bound("majority(n=9)").rows == 6
        assert str(Task.parse("majority(n=9)")) == "majority(n=9)"
    finally:
        monkeypatch.undo()
        catalogue._brought.cache_clear()
        _forget()
        sys.modules.pop("mine", None)
    assert "majority" not in ids("tasks")


@pytest.mark.parametrize("place", ["nowhere", "folder", "package.whl"])
def test_installed_packages_are_read_only_where_one_may_bring_an_entry(tmp_path: Path, place: str) -> None:
    files = {
        "mine.py": EXAMPLE.read_text(encoding="utf-8"),
        "mine-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n",
        "mine-1.0.dist-info/entry_points.txt": "[limen.tasks]\nmajority = mine:Majority\n",
    }
    (tmp_path / "mine-1.0.dist-info").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "package.whl", "w") as packed:
        for name in files:
            packed.write(tmp_path / name, name)
    code = "import sys; from limen.core.catalogue import ids; print('majority' in ids('tasks'), *sys.modules)"
    where = {"nowhere": "nowhere", "folder": str(tmp_path), "package.whl": str(tmp_path / place)}[place]
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": where}
    )
    brought, *loaded = done.stdout.split()
    assert (brought == "True") == ("importlib.metadata" in loaded) == (place != "nowhere")


def _forget() -> None:

    catalogue._listed.cache_clear()
    catalogue._brought_as.cache_clear()


def test_the_name_of_a_file_is_read_and_nothing_else() -> None:
    assert own.named("a/b.py:C(n=3),softmax") == ["a/b.py:C"]
    assert own.named("eva(n=3)") == own.named("b.py") == own.named("b.py:") == []
