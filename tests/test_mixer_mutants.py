"""The laws have teeth: a mixer with one line sabotaged breaks one of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LIMEN = Path(__file__).parents[1] / "src/limen"
LAWS = {
    "values": "definition_recurrence_and_fast_form_agree",
    "causality": "the_future_changes_nothing",
    "gradients": "gradients_of_the_fast_form_are_those_of_the_definition",
    "size": "state_bits_are_what_a_step_carries",
}

# law that breaks, mixer that shows it, file, what is wrong, the line before and after
MUTANTS = [
    (
        "causality",
        "softmax",
        "mixers._full",
        "mask gone",
        "scores.masked_fill(future, -math.inf)",
        "scores",
    ),
    ("values", "softmax", "mixers._full", "mask gone", "causal=not self.sees_future", "causal=False"),
    ("causality", "linear", "mixers.linear", "mask gone", "(q @ k.mT).tril() @ v)", "(q @ k.mT) @ v)"),
    (
        "values",
        "linear",
        "mixers.recurrence.chunks",
        "a chunk off",
        "before[-1] + added_c",
        "before[-1] * 2 + added_c",
    ),
    (
        "gradients",
        "linear",
        "mixers.recurrence.rule",
        "gradient cut",
        "summed(k.mT @ v)",
        "summed(k.mT @ v).detach()",
    ),
    ("values", "gated_linear", "mixers.recurrence.rule", "gate ignored", "right.q * left.α", "right.q"),
    ("values", "gated_delta", "mixers._delta", "gate ignored", "S if α is None else α.mT * S", "S"),
    ("values", "kda", "mixers._delta", "rows fade alike", "α.mT * S", "α.mT.mean(-2, keepdim=True) * S"),
    ("values", "kda", "mixers.recurrence.erasing_rows", "gate ignored", "c = G.exp()", "c = (0 * G).exp()"),
    (
        "values",
        "mamba2",
        "mixers.recurrence.chunks",
        "state after",
        "before = [S]",
        "before = [added[..., 0, :, :]]",
    ),
    (
        "values",
        "delta",
        "mixers.recurrence.erasing",
        "nothing erased",
        "before, alpha=-1)",
        "before, alpha=0)",
    ),
    ("gradients", "delta", "mixers.recurrence.erasing", "keys unread", ".baddbmm_(X.mT, q)", ""),
    (
        "gradients",
        "gated_delta",
        "mixers.recurrence.erasing",
        "a gate's way cut",
        "between + since.mT",
        "since.mT",
    ),
    ("values", "rwkv7", "mixers.rwkv7", "faded first", "r.mT @ (κ @ S)", "r.mT @ (κ @ (g.exp().mT * S))"),
    ("values", "rwkv7", "mixers.recurrence.erasing_rows", "faded first", "(G - g).exp() * e", "G.exp() * e"),
    (
        "values",
        "retnet",
        "mixers.retnet",
        "fades twice",
        "widened(self.rates(x)).log()",
        "2 * widened(self.rates(x)).log()",
    ),
    ("values", "s4d", "mixers.s4d", "a token late", "p[..., 1:]", "p[..., :-1]"),
    (
        "size",
        "s4d",
        "mixers.s4d",
        "real parts alone",
        "return 2 * self.d * self.s * p",
        "return self.d * self.s * p",
    ),
    ("values", "mamba2", "mixers.recurrence.decay", "a token late", "@ causal.tril(-1)", "@ causal"),
    (
        "values",
        "window",
        "mixers._ends",
        "window too wide",
        "*self.heads(w, x), *self.sight)",
        "*self.heads(w, x), self.sight[0], self.sight[1] + 1)",
    ),
    ("size", "window", "mixers._ends", "a token too many", "sum(self.sight) - 1)", "sum(self.sight))"),
    ("size", "mamba", "mixers.mamba", "convolution forgotten", "(self.s + self.c - 1)", "self.s"),
    ("size", "log_linear", "mixers.log_linear", "levels gone", "(n - 1).bit_count() + 1 if n", "1 if n"),
    (
        "values",
        "log_linear",
        "mixers.recurrence.levels",
        "a level off",
        ", chunk.bit_length()\n",
        ", chunk.bit_length() - 1\n",
    ),
    (
        "causality",
        "block_sparse",
        "mixers.block_sparse",
        "a late block",
        "j < i // self.B",
        "j <= i // self.B",
    ),
    ("values", "softmax", "mixers._full", "the first asks", "last = x[..., -1:, :]", "last = x[..., :1, :]"),
    (
        "values",
        "block_sparse",
        "mixers.block_sparse",
        "the first asks",
        "x[..., -1:, :], B",
        "x[..., :1, :], B",
    ),
    ("values", "nsa", "mixers.nsa", "the first asks", "x[..., -1:, :], B", "x[..., :1, :], B"),
    ("causality", "nsa", "mixers.nsa", "a late block", "pending = (c >= ready)", "pending = (c > ready)"),
    ("values", "nsa", "mixers.nsa", "a window too wide", "> i - self.W", "> i - self.W - 1"),
    ("values", "top_k", "mixers.top_k", "the first asks", "x[..., -1:, :], I", "x[..., :1, :], I"),
]

# In a process of its own, since every module of mixers is loaded anew for each of them.
RUN = """
import importlib.abc, importlib.util, json, sys
from limen.core.catalogue import lookup
from limen.core.mixer import Mixer
from limen.laws import Broken, mixer as laws

class Sabotaged(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    name = source = ""
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None
    def get_source(self, name):
        return self.source

sabotaged, said = Sabotaged(), []
sys.meta_path.insert(0, sabotaged)
for law, mixer, file, source in json.load(sys.stdin):
    sabotaged.name, sabotaged.source = f"limen.{file}", source
    for name in [name for name in sys.modules if name.startswith("limen.mixers.")]:
        del sys.modules[name]
    from limen.mixers.recurrence.loops import PLAIN, running_by  # anew; what is sabotaged is torch's form
    try:
        with running_by(PLAIN):
            getattr(laws, law)(lookup("mixers", mixer, Mixer)())
        said.append(None)
    except Broken as broken:
        said.append(str(broken))
print(json.dumps(said))
"""


def source(file: str, before: str, after: str) -> str:
    text = LIMEN.joinpath(*file.split(".")).with_suffix(".py").read_text()
    assert before in text, f"{file}: the line to sabotage is gone: {before}"
    return text.replace(before, after)


@pytest.fixture(scope="module")
def broken() -> list[str | None]:
    """What each law says of each mutant, and of the mixer as it is."""
    asked = [[LAWS[law], mixer, file, source(file, *lines)] for law, mixer, file, _, *lines in MUTANTS]
    asked += [[LAWS[law], mixer, file, source(file, "", "")] for law, mixer, file, *_ in MUTANTS[:1]]
    run = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    said: list[str | None] = json.loads(run.stdout)
    return said


@pytest.mark.parametrize("which", range(len(MUTANTS)), ids=lambda i: "-".join(MUTANTS[i][:4]))
def test_a_sabotaged_mixer_breaks_a_law(which: int, broken: list[str | None]) -> None:
    assert broken[which]


def test_without_sabotage_it_keeps_the_law(broken: list[str | None]) -> None:
    assert broken[len(MUTANTS) :] == [None]
