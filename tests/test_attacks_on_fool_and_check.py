"""What a hostile reader of `limen fool` and `limen check` broke once: none of it may come back."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures.one_layer_models import random_model

from limen.commands.check import all_checked, checked
from limen.core.certificate import SCHEMA
from limen.core.task import Task
from limen.model.files import digest, save
from limen.model.opening import opened

TASK = Task.parse("index(n=3,S=2)")


def test_a_folder_that_is_named_like_a_factory_runs_no_code(tmp_path: Path) -> None:
    """A certificate's own folder is where its model is looked for; nobody named that file."""
    folder = tmp_path / "evil.py:go"
    folder.mkdir()
    (tmp_path / "evil.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\ndef go():\n    return lambda tokens: tokens[:, 0]\n"
    )
    said = {"schema": SCHEMA, "kind": "wrong_answer", "task": "eva(n=4)", "tokens": [0] * 5, "answer": 0}
    said |= {"given": 1, "precision": "unknown", "steps": 0, "weights": None}
    (folder / "found.json").write_text(json.dumps(said))
    assert all_checked(tmp_path).malformed
    assert not (tmp_path / "ran").exists()
    folder.rename(tmp_path / "elsewhere")  # then it is a file that a person names, and it is run
    assert callable(opened(str(folder)))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("precision", ["float32", "fixed(f=1)"])
def test_a_wrong_answer_in_foreign_arithmetic_is_said_to_be_one(tmp_path: Path, precision: str) -> None:
    model = random_model("linear(h=1,d=3)", TASK, "affine", 0, torch.float32)
    save(model, tmp_path)
    said = {"schema": SCHEMA, "kind": "wrong_answer", "task": str(TASK), "precision": precision, "steps": 0}
    found = []
    for tokens in TASK.sample(np.random.default_rng(0), 64)[0]:
        right = int(TASK.answer(tokens))
        one = said | {
            "tokens": tokens.tolist(),
            "answer": right,
            "given": 1 - right,
            "weights": digest(model),
        }
        (tmp_path / "found.json").write_text(json.dumps(one))
        verdict = checked(tmp_path / "found.json", tmp_path)
        found += [verdict.reason] * bool(verdict.valid)
    assert found
    assert all(
        ("not the model's own arithmetic, float32" in says) == (precision != "float32") for says in found
    )
