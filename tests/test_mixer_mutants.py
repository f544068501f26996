"""The laws have teeth: a mixer with one line sabotaged breaks one of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MIXERS = Path(__file__).parents[1] / "src/limen/mixers"
LAWS = {
    "values": "definition_recurrence_and_fast_form_agree",
    "causality": "the_future_changes_nothing",
    "gradients": "gradients_of_the_fast_form_are_those_of_the_definition",
    "size": "state_bits_are_what_a_step_carries",
}

# law that breaks, mixer that shows it, file, what is wrong, the line before and after
MUTANTS = [
    ("causality", "softmax", "softmax", "mask removed", "scores.masked_fill(future, -math.inf)", "scores"),
    ("values", "softmax", "softmax", "mask removed", "causal=not self.bidirectional", "causal=False"),
    ("causality", "linear", "linear", "mask removed", "(q @ k.mT).tril() @ v)", "(q @ k.mT) @ v)"),
    ("values", "linear", "linear", "off by one chunk", "0, 0, 1, 0))", "0, 0, 0, 1))"),
    ("gradients", "linear", "linear", "gradient cut", "tril() @ v + q @ S", "tril() @ v + q @ S.detach()"),
    ("values", "gated_linear", "gated_linear", "gate ignored", "S = α.mT * S + k.mT @ v", "S = S + k.mT @ v"),
    ("values", "gated_linear", "gated_linear", "gate ignored", "right.q * left.α", "right.q"),
    ("values", "gated_delta", "gated_delta", "gate ignored", "S = α_t * S\n", "S = S\n"),
    ("values", "kda", "kda", "gate ignored", "S = α_t.mT * S ", "S = S "),
    ("values", "delta", "_chunks", "state after a chunk", "before = [S]", "before = [added[..., 0, :, :]]"),
    ("values", "delta", "_delta", "nothing erased", "Chunks(M, N, Q - M @ e,", "Chunks(M, N, Q,"),
    ("values", "mamba2", "_decay", "decay one token late", "g * causal.tril(-1)", "g * causal"),
    ("values", "window", "window", "window too wide", "q, k, v, 0, self.W)", "q, k, v, 0, self.W + 1)"),
    ("size", "window", "window", "a token too many", "min(n, self.W - 1)", "min(n, self.W)"),
    ("size", "mamba", "mamba", "convolution forgotten", "(self.s + self.c - 1)", "self.s"),
    ("size", "log_linear", "log_linear", "levels forgotten", "(n - 1).bit_count() + 1 if n", "1 if n"),
    ("values", "log_linear", "log_linear", "a level off", "CHUNK.bit_length() - 1 +", "CHUNK.bit_length() +"),
    ("causality", "block_sparse", "block_sparse", "a late block", "j < i // self.B", "j <= i // self.B"),
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
    sabotaged.name, sabotaged.source = f"limen.mixers.{file}", source
    for name in [name for name in sys.modules if name.startswith("limen.mixers.")]:
        del sys.modules[name]
    try:
        getattr(laws, law)(lookup("mixers", mixer, Mixer)())
        said.append(None)
    except Broken as broken:
        said.append(str(broken))
print(json.dumps(said))
"""


def source(file: str, before: str, after: str) -> str:
    text = (MIXERS / f"{file}.py").read_text()
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
