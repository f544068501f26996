"""A stranger's file, text or process: it ends soon, in one line and with exit code 2, whatever it holds."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import LIMEN
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.audits import Request as Audited
from limen.audits import audit, load
from limen.bounds.bound import bound
from limen.commands.check import checked
from limen.commands.show import show_task
from limen.conversation.play import ProtocolRequest, play
from limen.coq.forms import forms
from limen.core.architecture import Architecture
from limen.core.certificate import SCHEMA, decode
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.text import spell_stack
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.files.strict_json import read_object
from limen.hf.fields import defaults
from limen.model.files import load as load_model
from limen.solutions.run import Attempt

CEILING = """
from limen.theorems import Case
from limen.theorems.streaming_state import StreamingState
from limen.core.architecture import Architecture
from limen.core.task import Task
case = Case(Task.parse("eva(n=886440)"), Architecture.parse("linear(state_bits=3179091)"), 0, "average")
print(StreamingState.at(case).ceiling)
"""


def test_no_verdict_depends_on_what_was_imported_before() -> None:
    """The ceiling of this case has other last digits at another precision."""
    asked = (CEILING, "import limen.constructions.eva_by_softmax" + CEILING)
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for code in asked
    ]
    assert len({one.stdout for one in said}) == 1


# ------------------------------------------------------------------ texts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 500 + "linear" + ")" * 500, "nested parentheses"),
        ("linear(h=\u0661\u0662)", "expected a value for h"),
        ("linear(h=9^4096)", "more than 4096 bits"),
        ("linear(h=2^99999999999999999999)", "more than 4096 bits"),
        ("1000000000*softmax", "more than 4096 layers"),
        ("linear(h=\u00e9)", "expected a value for h"),
    ],
)
def test_an_architecture_that_nobody_means(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Architecture.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("composition(m=4,n1=2,n01=3)", "no key of composition named 'n01'"),
        ("composition(m=4,n\u0661=2)", "expected"),
        ("turing(n=9^4096)", "more than 4096 bits"),
        ("nearest_neighbor(D=1000000000)", "must be below 2\\^62"),
    ],
)
def test_a_task_that_nobody_means(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Task.parse(text)


def test_powers_are_read_up_to_the_limit_and_not_beyond() -> None:
    assert Task.parse("eva(n=2^4095)").length == 2**4095 + 1
    assert Architecture.parse("linear(h=1^99999999999)") == Architecture.parse("linear(h=1)")
    with pytest.raises(BadInput):
        Task.parse("eva(n=2^4096)")


def test_sizes_are_divided_as_whole_numbers() -> None:
    """The rank of mamba is ⌈d/32⌉: a float knows no 2^4000."""
    assert f"r={2**3995}" in Architecture.parse("mamba(d=2^4000,s=1)").spelled
    assert "r=3" in Architecture.parse("mamba(d=65,s=1)").spelled


WORDS = "eva composition linear softmax fixed ( ) , = | * n n1 m h d kv p f 2 10^9 2^4095 -1 \u0661 \u00e9"


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=14).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    for kind in (Task, Architecture, Precision):
        try:
            assert kind.parse(str(kind.parse(text))) == kind.parse(text)
        except BadInput:
            continue


@pytest.mark.long
def test_many_different_layers_are_spelled_at_once() -> None:
    """Comparing every stretch with every other took half a minute."""
    layers = [f"linear(d={i})" for i in range(4000)]
    assert spell_stack(layers) == ",".join(layers)
    assert spell_stack(layers * 2) == f"2*({','.join(layers)})"


@pytest.mark.parametrize(
    "task", ["eva(n=10^300)", "eva(n=10^9)", "turing(n=2^4000)", "dyck(n=8,D=10^300)", "index(n=4,S=10^30)"]
)
def test_sizes_beyond_all_memory_are_refused_before_it_is_asked_for(task: str) -> None:
    for what in (
        lambda: Attempt(task).run(),
        lambda: show_task(Task.parse(task)),
        lambda: play(ProtocolRequest(task, "linear")),
    ):
        with pytest.raises(BadInput):
            what()
    bound(Task.parse(task))  # on paper any size is as good as another


@pytest.mark.parametrize(
    ("task", "by", "precision", "check", "message"),
    [
        ("eva(n=10000000)", "random_signs", "float32", "1", "random words"),
        ("eva(n=100000)", "linear", "float32", "1", "weights is too large"),
        ("eva(n=4)", None, "exact", None, "exact integers"),
        ("eva(n=4)", None, "bf16", "1000000000", "are tried"),
        ("eva(n=4)", None, "bf16", "\u0663", "must be exhaustive or a number"),
        ("eva(n=100)", None, "bf16", "exhaustive", "has more than 4194304 inputs"),
    ],
)
def test_weights_that_nobody_holds_or_runs(
    task: str, by: str | None, precision: str, check: str | None, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        Attempt(task, by, precision, check).run()


@pytest.mark.parametrize(
    ("task", "architecture"),
    [
        ("counting(n=16000)", "linear(state_bits=100000000)"),
        ("counting(n=10^300)", "linear"),
        ("two_sum(M=2^4095)", "softmax"),
        ("eva(n=10000000)", "softmax(h=8,d=64,d_k=512)"),
    ],
)
def test_a_verdict_at_any_size_is_soon_there(task: str, architecture: str) -> None:
    assert decide(Task.parse(task), Architecture.parse(architecture)).reason


@pytest.mark.parametrize("architecture", ["linear(h=10^9,d=10^9)", "4096*softmax(h=100,d=100)"])
def test_random_weights_that_nobody_holds(architecture: str) -> None:
    with pytest.raises(BadInput, match="weights is too large"):
        play(ProtocolRequest("eva(n=4)", architecture))


def test_shares_are_written_in_ascii() -> None:
    with pytest.raises(BadInput, match="no protocol named"):
        play(ProtocolRequest("eva(n=4)", "linear", "\u00b2,3"))


# ------------------------------------------------------------------ files

BOUND = {
    "schema": SCHEMA,
    "kind": "bound",
    "task": "eva(n=488)",
    "architecture": "linear(h=1,d=16,p=16)",
    "theorem": "streaming_state",
}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{}", "not UTF-8 at byte 0"),
        (b"[" * 200_000, "nested more than 64 deep"),
        (b'{"a":' * 200_000, "nested more than 64 deep"),
        (b'{"a":' + b"[" * 70 + b"]" * 70 + b"}", "nested more than 64 deep"),
        (b'{"a": 1, "a": 2}', "the key 'a' is given twice"),
        (b'{"b": {"a": 1, "a": 1}}', "the key 'a' is given twice"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "the number 10000000000000000000… has 5001 digits"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": Infinity}', "Infinity is not a number"),
        (b'{"a": 1e999}', "1e999 is not a number"),
        (b"[1]", "expected an object, got list"),
        (b"", "not JSON: Expecting value"),
    ],
)
def test_json_from_a_stranger(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"^file: {message}"):
        read_object(content, "file")
    with pytest.raises(BadInput):
        decode(content)
    for name in ("model.json", "model.safetensors", "config.json"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput):
        load_model(tmp_path)
    with pytest.raises(BadInput):
        audit(*load(str(tmp_path)), Audited())


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "machine", "task": "counting(n=16000)", "architecture": "linear(state_bits=9)", "bits": 9},
        {"task": "nearest_neighbor(D=1000000000)"},
        {"architecture": "(" * 500},
        {"sizes": {"t": 1.5}},
        {"task": "turing(n=9^4096)"},
    ],
)
def test_a_certificate_about_nothing(changed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    fields = BOUND | changed
    if "bits" in changed:
        del fields["theorem"]
    path.write_text(json.dumps(fields))
    with pytest.raises(BadInput):
        checked(path, tmp_path)


@pytest.mark.parametrize("form", forms())
def test_a_proof_whose_powers_nobody_writes_out(form: str, tmp_path: Path) -> None:
    task = "composition(m=8,n1=1)"  # of two hops: a form in stages has the sizes of one
    sizes = dict.fromkeys(forms()[form].names(2), 10**10)
    claim = {"task": task, "architecture": "linear(h=1,d=1)", "steps": 0, "form": form, "sizes": sizes}
    path = tmp_path / "proof.v"
    path.write_text(f"(* limen/proof/1 {json.dumps(claim)} *)\n")
    if sizes:
        with pytest.raises(BadInput, match="are not written out"):
            checked(path, tmp_path)
    path.write_text(f"(* limen/proof/1 {json.dumps(claim | {'steps': -1})} *)\n")
    with pytest.raises(BadInput, match=">= 0"):
        checked(path, tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="is not text"):
        checked(path, tmp_path)


@pytest.mark.parametrize(
    "field",
    [
        {"hidden_size": float("nan")},
        {"hidden_size": float("inf")},
        {"hidden_size": 10**400},
        {"num_hidden_layers": 10**9},
        {"num_hidden_layers": 4000},
        {"layer_types": ["full_attention"] * 4000},
        {"per_layer_config": {"0": 3}},
        {"num_attention_heads": True},
        {"model_type": "rwkv7", "hidden_size": 64, "head_dim": 128},
        {"model_type": "hgrn2", "hidden_size": 64, "expand_ratio": 2**40},
    ],
)
def test_a_config_that_no_model_has(field: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        audit({"model_type": "llama"} | field, "config", Audited())


VALUES = st.one_of(
    st.integers(-3, 10),
    st.sampled_from([64, 2**31, 2**48, 2**63, 10**40, "", "mamba", None, True]),
    st.floats(),
    st.lists(st.sampled_from(["full_attention", "linear_attention", "sliding_attention", 3]), max_size=4),
    st.dictionaries(st.text(max_size=2), st.integers(0, 4), max_size=2),
)
COMMON = {"num_hidden_layers", "hidden_size", "num_attention_heads", "layer_types", "per_layer_config"}


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_config_is_read_or_refused(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(defaults())))
    fields = st.dictionaries(st.sampled_from(sorted({*defaults()[kind].fields} | COMMON)), VALUES, max_size=3)
    config = {"num_hidden_layers": 2} | data.draw(fields) | {"model_type": kind}
    try:
        audit(config, "config", Audited(context=64))
    except BadInput:
        return


# ------------------------------------------------------------------ processes


def test_an_error_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    """Also where the terminal cannot show what is wrong, and where a number has no end."""
    (tmp_path / "config.json").write_bytes(b"[" * 200_000)
    for arguments in (
        ["audit", str(tmp_path)],
        ["depth", "softmax", "--steps", "9" * 30],
        ["list", b"\xff"],
        ["show", f"linear(h={'9' * 4000})"],
    ):
        ended = subprocess.run([LIMEN, *arguments], capture_output=True, check=False)
        assert ended.returncode == 2, arguments
        lines = ended.stderr.decode().splitlines()
        assert len(lines) == 1 and lines[0].startswith("limen: ") and len(lines[0]) < 2100


def test_whoever_reads_half_of_the_output_sees_no_traceback() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{LIMEN} list | head -1; exit ${{PIPESTATUS[1]}}"], capture_output=True, check=True
    )
    assert b"Traceback" not in done.stderr


def test_the_child_of_a_users_function_dies_with_the_command(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    function = f"{Path(__file__).with_name('fixtures') / 'strange_function.py'}:forever"
    command = [LIMEN, "bound", function, "--cut", "2", "--alphabet", "2", "--length", "4", "--seconds", "500"]
    with subprocess.Popen(command, env=os.environ | {"LIMEN_TEST_PID": str(told)}) as limen:
        while not (told.exists() and told.read_text()):
            assert limen.poll() is None
            time.sleep(0.05)
        limen.send_signal(signal.SIGKILL)
    child = Path("/proc") / told.read_text() / "stat"
    for _ in range(200):
        if not child.exists() or child.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(int(told.read_text()), signal.SIGKILL)
    pytest.fail("the child is still running")
