"""SECURITY.md: what is executed and what never is, tried; and each test that it names is there."""

import ast
import json
import os
import pickle
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen

from limen.errors import BadInput
from limen.model.opening import opened
from limen.training.query import query

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text()
SOURCES = sorted((ROOT / "src").rglob("*.py"))


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """A tiny model as transformers saves it."""
    transformers = import_module("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(vocab_size=8, max_position_embeddings=16, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


@pytest.mark.hf
@pytest.mark.parametrize("model_type", ["llama", "evil"])
def test_no_code_of_a_hugging_face_folder_is_run(model_type: str, llama: Path) -> None:
    """A folder may bring a model class and name it in its config; it is read without it, or refused."""
    mark, config = llama / "ran", llama / "config.json"
    (llama / "modeling_evil.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Evil: pass\n")
    named = {"AutoConfig": "modeling_evil.Evil", "AutoModelForCausalLM": "modeling_evil.Evil"}
    config.write_text(
        json.dumps(json.loads(config.read_text()) | {"auto_map": named, "model_type": model_type})
    )
    try:
        opened(str(llama))
    except BadInput:
        assert model_type == "evil"
    assert not mark.exists()


@pytest.mark.hf
def test_a_pickle_is_never_opened(llama: Path) -> None:
    mark = llama / "ran"
    (llama / "pytorch_model.bin").write_bytes(pickle.dumps(Evil(mark)))
    assert callable(opened(str(llama)))  # the safetensors beside it are read
    for weights in llama.glob("*.safetensors"):
        weights.unlink()
    with pytest.raises(BadInput, match=r"no \*\.safetensors"):
        opened(str(llama))
    assert not mark.exists()
    pickle.loads((llama / "pytorch_model.bin").read_bytes())
    assert mark.exists()  # who opens it runs it


def test_a_function_to_bound_runs_in_another_process(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    (tmp_path / "mine.py").write_text(
        f"import os\nopen({str(told)!r}, 'w').write(str(os.getpid()))\ndef f(tokens): return tokens[0]\n"
    )
    ran = limen("bound", f"{tmp_path}/mine.py:f", "--cut", "1", "--alphabet", "2", "--length", "3")
    assert ran.returncode == 0 and told.read_text() != str(os.getpid())


@pytest.mark.parametrize("sql", ["select * from '{}'", "copy runs to '{}'", "attach '{}' as other"])
def test_a_query_reads_and_writes_no_files(sql: str, tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a\n1\n")
    with pytest.raises(BadInput, match="DuckDB"):
        query([], sql.format(file))
    with pytest.raises(BadInput, match="DuckDB"):
        query([], f"set enable_external_access = true; {sql.format(file)}")
    assert file.read_text() == "a\n1\n"


UNSAFE = {"eval", "exec", "pickle", "marshal", "shelve", "cloudpickle"}
ALLOWED = {  # of Limen's own: annotations of the functions in commands/, formulas in weights.txt
    "commands/_parameter.py": ["eval"],
    "hf/formulas.py": ["eval", "eval"],
}


def unsafe(text: str) -> list[str]:
    """What in a module could turn data into code: builtins that are called, modules that are imported."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += [node.func.id]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module or ""]
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.load", "os.system", "os.popen"):
            found += [ast.unparse(node)]
    return [name for name in found if name.split(".")[0] in UNSAFE or name in ("torch.load", "os.system")]


def test_no_module_can_turn_a_file_into_code() -> None:
    found = {path: unsafe(path.read_text()) for path in SOURCES}
    assert {
        str(path.relative_to(ROOT / "src/limen")): names for path, names in found.items() if names
    } == ALLOWED
    assert "trust_remote_code=True" not in "".join(path.read_text() for path in SOURCES)
    assert unsafe("import pickle\neval('1')\ntorch.load(x)\nmodel.eval()") == ["pickle", "eval", "torch.load"]


def test_a_config_gives_values_and_never_a_formula(tmp_path: Path) -> None:
    """Every field in turn is a text that would leave a mark, were it evaluated."""
    mark, path = tmp_path / "ran", tmp_path / "config.json"
    classes = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']"
    evil = f"{classes}[0].__init__.__globals__['system']('touch {mark}')"  # needs no builtins
    config = json.loads((ROOT / "examples/configs/gpt_oss_120b.json").read_text())
    for field in config:
        path.write_text(json.dumps(config | {field: evil}))
        ran = limen("audit", str(path), "--memory", "80GiB")
        assert ran.returncode in (0, 1, 2) and "Traceback" not in ran.stderr, field
    assert len(config) > 5 and not mark.exists()


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 30
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(), (file, test)


def test_the_limits_that_the_page_names_are_the_limits() -> None:
    from limen.bounds.function import MOST_INPUTS
    from limen.coq.run import SECONDS
    from limen.files import strict_json
    from limen_check import files

    assert (files.MOST_JSON, files.MOST_WEIGHTS, files.BITS) == (16 * 2**20, 2**30, 2**14)
    assert files.PARTS == 2**20
    assert (files._DEPTH, strict_json._DEEPEST, strict_json._DIGITS) == (32, 64, 1234)
    assert (strict_json.LONGEST, MOST_INPUTS, SECONDS) == (64 * 2**20, 2**20, 300)
