"""The laws have teeth: a mixer with one line sabotaged breaks one of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAWS = {
    "values": "assert_same_values(mixer, 70)",
    "causality": "assert_causal(mixer, 70, 33)",
    "gradients": "assert_gradients_agree(mixer, 40)",
    "size": "assert_state_bits_are_carried(mixer)",
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


@pytest.mark.parametrize(("law", "mixer", "file", "what", "before", "after"), MUTANTS)
def test_a_sabotaged_mixer_breaks_a_law(
    law: str, mixer: str, file: str, what: str, before: str, after: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "src/limen", tmp_path / "limen", ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path / f"limen/mixers/{file}.py"
    source = target.read_text()
    assert before in source, f"{what}: the line to sabotage is gone"
    target.write_text(source.replace(before, after))
    code = (
        "from limen.core.catalogue import lookup; from limen.core.mixer import Mixer; import laws\n"
        f"mixer = lookup('mixers', {mixer!r}, Mixer)()\n"
        f"laws.{LAWS[law]}"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT / "tests")])
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "\nAssertionError" in result.stderr
