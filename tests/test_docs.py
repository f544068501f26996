"""What the documents say is what one gets."""

import re
import shlex
import subprocess
import sys
import tomllib
from operator import attrgetter
from pathlib import Path

import pytest
from fixtures.cli import limen

import limen as limen_package
from limen import __version__
from limen.core.catalogue import ids
from limen.page.start import glossary

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKING = [
    *PAGES,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "proofs/README.md")),
]
LINKING += [ROOT / "proofs/README.md", *sorted((ROOT / "src").glob("**/*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def sessions() -> list[tuple[str, str, str]]:
    """(page, command, promised output) for every `$ command` in a console block."""
    found = []
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text()):
            for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = piece.partition("\n")
                found.append((page.name, command, output))
    return found


@pytest.mark.parametrize(
    ("page", "command", "output"), [s for s in sessions() if not s[1].startswith("make")]
)
def test_a_command_in_the_documents_prints_what_they_say(
    page: str, command: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    if program == "limen":
        result = limen(*arguments)  # here: a process of its own would load everything again
    else:
        result = subprocess.run([BIN / program, *arguments], capture_output=True, text=True, check=False)
    assert _unfolded(result.stdout + result.stderr) == _unfolded(output)


def _unfolded(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_there_are_commands_to_test() -> None:
    assert {page for page, _, _ in sessions()} >= {"README.md", "architecture.md"}


def test_the_line_of_the_readme_for_who_serves_a_model_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^\| serve one \| `limen (.*)` \|$", (ROOT / "README.md").read_text(), re.M)
    result = limen(*shlex.split(command))
    assert result.returncode == 0 and "what fits         a context of at most" in result.stdout


@pytest.mark.parametrize("page", LINKING, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_path_in_the_documents_exists(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    known = {found.name for found in LINKING} | {"proof.md"}  # the latter: of each theorem
    assert set(re.findall(r"[\w-]+\.md\b", text)) <= known  # pages that are named without a link


def test_the_page_of_the_package_shows_as_it_is_wherever_it_is_put() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / package["readme"]).read_text()
    assert text.startswith("# Limen") and "](" not in text and "<img" not in text


def test_every_citation_is_in_the_bibliography() -> None:
    keys = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "src/limen/papers.bib").read_text(), re.M))
    cited = {
        (key, path.name)
        for path in [*ROOT.glob("src/limen/**/*.py"), *PAGES]
        for key in re.findall(r"\[([a-z]+\d{4}[a-z0-9]*)\]", path.read_text())
    }
    assert cited, "nobody cites anything"
    assert {(key, name) for key, name in cited if key not in keys} == set()
    assert keys - {key for key, _ in cited} == set(), "nobody cites these"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_page_of_bounds_names_every_theorem() -> None:
    table = (ROOT / "docs/bounds.md").read_text().partition("## The theorems")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", table, re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == ids("theorems")


def test_the_newest_section_of_the_changes_is_the_version_of_the_package() -> None:
    """Or what comes after it."""
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert sections[0] == "Unreleased" or sections[0].split()[0] == __version__
    assert sum(title.split()[0] == __version__ for title in sections) == 1
    released = [title for title in sections if title != "Unreleased"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", title) for title in released)
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1] == __version__  # type: ignore[index]


def test_the_glossary_of_the_page_is_that_of_the_documents() -> None:
    inside = ROOT / "src/limen/page/glossary.md"
    assert inside.read_text() == (ROOT / "docs/glossary.md").read_text()
    assert {"Eva", "hop", "prefix, cut", "margin", "state, state bits"} <= {
        str(word) for word, _ in glossary()
    }
    assert {"κ (kappa)", "φ (phi)"} <= {str(word) for word, _ in glossary()}


def test_every_module_that_the_page_of_the_house_names_is_there() -> None:
    named = set(
        re.findall(r"`(?:src/limen/)?(\w+(?:/\w+)*(?:\.py|/))`", (ROOT / "docs/architecture.md").read_text())
    )
    assert {"decisions/decide.py", "core/report.py", "render/"} <= named
    places = (ROOT / "src/limen", ROOT)
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()


def test_every_function_that_the_page_about_python_names_is_there() -> None:
    named = set(
        re.findall(r"\blimen\.((?:demo\.|experiment\.)?\w+)[`(]", (ROOT / "docs/python.md").read_text())
    )
    assert {"decide", "table", "check", "demo.orthogonal", "experiment.show"} <= named
    assert all(callable(attrgetter(name)(limen_package)) for name in named - {"errors"})
