"""What `pip install limen` brings alone: theory, audit and kernel; running weights takes an extra."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import limen

HEAVY = ("altair", "jaxtyping", "jinja2", "torch", "transformers", "vl_convert")
WITHOUT = f"""
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY}:
            return None
        return next((s for f in found if (s := f.find_spec(name, path, target)) is not None), None)
found, sys.meta_path = sys.meta_path, [Without()]
from limen.cli import main
main()
"""
CONFIG = {"model_type": "gpt_oss", "num_hidden_layers": 4}


def light(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show", "eva(n=8)"),
        ("show", "2*linear(h=1,d=16,p=16),softmax(h=1,d=4)"),
        ("decide", "eva(n=488)", "linear(h=1,d=16,p=16)"),
        ("decide", "eva(n=4096)", "softmax(h=8,d=128)"),
        ("depth", "3*linear,softmax"),
        ("bound", "eva(n=64)"),
        ("design", "--task", "eva", "--context", "4096", "--layers", "2", "--width", "64"),
        ("audit", "CONFIG", "--context", "4096"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_the_theory_needs_no_torch_and_says_the_same(arguments: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    asked = [str(path) if a == "CONFIG" else a for a in arguments]
    without, with_all = light(*asked, "--json"), limen(*asked, "--json")
    assert without.returncode == 0, without.stderr
    assert json.loads(without.stdout) == json.loads(with_all.stdout)


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("solve", "eva(n=16)"), "torch", "run"),
        (("protocol", "eva(n=4)", "linear(h=1,d=2)"), "torch", "run"),
        (("table", "--out", "OUT"), "jinja2", "report"),
    ],
)
def test_a_command_that_needs_more_says_what_to_install(
    arguments: tuple[str, ...], package: str, extra: str, tmp_path: Path
) -> None:
    said = light(*(str(tmp_path / "out") if a == "OUT" else a for a in arguments))
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr == f"limen: this needs the package {package}: pip install 'limen[{extra}]'\n"
    assert not (tmp_path / "out").exists()


def test_certificates_of_both_sides_are_checked_without_torch(tmp_path: Path) -> None:
    for stack, kind in (("linear(h=1,d=4)", "bound"), ("softmax(h=1,d=16)", "fits")):
        path = tmp_path / kind / "certificate.json"
        path.parent.mkdir()
        assert light("decide", "eva(n=128)", stack, "--save", str(path)).returncode == 0
        said = light("check", str(path))
        assert said.returncode == 0 and said.stdout.startswith(f"{kind}: valid."), said.stderr
