"""GGUF headers: written here byte by byte, read as configs; hostile ones are one line."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen
from fixtures.gguf import LLAMA, QWEN35, gguf, saved, text, value
from fixtures.speed import loops

from limen.audits import Request, audit, load
from limen.errors import BadInput


def test_a_header_is_read_as_the_config_it_comes_from(tmp_path: Path) -> None:
    """The figures are those that llama.cpp printed for the model."""
    config = load(saved(tmp_path, gguf(QWEN35)))
    found = audit(*config, Request(engine="llamacpp", context=32768))
    assert (found.kv_bytes, found.recurrent_bytes, found.convolution_bytes) == (671088640, 62914560, 2949120)
    assert found.stack.positions == 262144 and not any("ignored" in line for line in found.remarks)


@pytest.mark.parametrize(
    ("metadata", "strip", "row"),
    [
        (LLAMA, "FF", 2 * 2 * 2 * 16),
        (
            {**LLAMA, "general.architecture": "gpt-oss"}
            | {key.replace("llama", "gpt-oss"): n for key, n in LLAMA.items() if key.startswith("llama")}
            | {"gpt-oss.attention.sliding_window": 8, "gpt-oss.attention.key_length": 16},
            "WF",
            2 * 2 * 2 * 16,
        ),
        (
            {
                "general.architecture": "deepseek2",
                "deepseek2.block_count": 1,
                "deepseek2.embedding_length": 64,
                "deepseek2.attention.head_count": 4,
                "deepseek2.attention.head_count_kv": 1,
                "deepseek2.attention.kv_lora_rank": 32,
                "deepseek2.attention.key_length_mla": 24,
                "deepseek2.attention.value_length_mla": 16,
                "deepseek2.rope.dimension_count": 8,
            },
            "F",
            32 + 8,
        ),
        (
            {
                "general.architecture": "granitehybrid",
                "granitehybrid.block_count": 2,
                "granitehybrid.embedding_length": 64,
                "granitehybrid.attention.head_count": 4,
                "granitehybrid.attention.head_count_kv": [0, 2],
                "granitehybrid.ssm.conv_kernel": 4,
                "granitehybrid.ssm.state_size": 8,
                "granitehybrid.ssm.group_count": 1,
                "granitehybrid.ssm.time_step_rank": 4,
                "granitehybrid.ssm.inner_size": 128,
            },
            "LF",
            2 * 2 * 16,
        ),
        (
            {
                "general.architecture": "lfm2",
                "lfm2.block_count": 2,
                "lfm2.embedding_length": 64,
                "lfm2.attention.head_count": 4,
                "lfm2.attention.head_count_kv": [0, 2],
                "lfm2.shortconv.l_cache": 3,
            },
            "KF",
            2 * 2 * 16,
        ),
    ],
    ids=lambda case: case["general.architecture"] if isinstance(case, dict) else "",
)
def test_architectures_of_llama_cpp(metadata: dict[str, Any], strip: str, row: int, tmp_path: Path) -> None:
    from limen.audits.report import letter

    found = audit(*load(saved(tmp_path, gguf(metadata))), Request())
    assert "".join(map(letter, found.stack.layers)) == strip
    assert found.kv_bytes_per_token == 2 * row


def test_weights_are_those_of_the_tensors(tmp_path: Path) -> None:
    path = saved(tmp_path, gguf(LLAMA, (((64, 100), 12 - 10), ((256, 3), 12), ((64,), 0))))
    found = audit(*load(path), Request(memory=2**20))
    assert found.stack.parameters == 6400 + 768 + 64
    assert found.weights_bytes == 200 * 18 + 3 * 144 + 256
    part = saved(tmp_path, gguf({**LLAMA, "split.count": 2}, (((64, 100), 0),)))
    assert "one of 2" in str(audit(*load(part), Request(memory=2**20)).uncounted)
    strange = saved(tmp_path, gguf(LLAMA, (((64, 100), 999),)))
    alone = audit(*load(strange), Request(memory=2**20))
    assert alone.weights_bytes is None and alone.failures == [] and "not known" in str(alone.uncounted)


def test_a_model_in_parts_is_the_sum_of_its_files(tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{i}-of-00002.gguf" for i in (1, 2))
    first.write_bytes(gguf({**LLAMA, "split.count": 2}, (((64, 100), 0),)))
    assert audit(*load(str(first)), Request()).weights_bytes is None
    second.write_bytes(gguf({"split.count": 2, "split.no": 1}, (((64, 10), 1),)))
    assert audit(*load(str(first)), Request()).weights_bytes == 64 * (100 * 4 + 10 * 2)


def test_every_cut_of_a_header_is_one_line(tmp_path: Path) -> None:
    whole = gguf(LLAMA, (((64, 100), 2),))
    for size in range(len(whole)):
        with pytest.raises(BadInput) as raised:
            load(saved(tmp_path, whole[:size]))
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as a GGUF file"),
        (b"GGML" + bytes(60), "does not begin with GGUF"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(60), "version 50331648"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 1) + bytes(60), "tensors, at most"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63) + bytes(60), "pairs of metadata, at most"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60) + bytes(60), "letters of a name, at most"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IQ", 8, 2**62), "cut short"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 2**62), "cut short"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 2**62), "strings"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<II", 9, 9), "a list of type 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 77), "unknown metadata type"),
        (gguf({"llama.block_count": 2}), "general.architecture is missing"),
        (gguf({"general.architecture": "lama"}), "did you mean 'llama'?"),
        (gguf({**LLAMA, "llama.block_count": 2**32 - 1}), "block_count is 4294967295; expected at most 1024"),
        (gguf({**LLAMA, "llama.block_count": "two"}), "llama.block_count is 'two'"),
        (
            gguf({**LLAMA, "llama.attention.head_count_kv": [2, 1]}),
            "head_count_kv is [2, 1]; expected one number",
        ),
        (gguf({**LLAMA, "llama.embedding_length": 0}), "embedding_length is 0"),
        (gguf(LLAMA, (((2**40, 2**40), 0),)), "a tensor of 1208925819614629174706176 numbers"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (text("a") + value(1)) + (text("a") + value(2)),
            "the key 'a' is given twice",
        ),
    ],
)
def test_a_hostile_file_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        audit(*load(saved(tmp_path, content)), Request())
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_of_nothing_but_zeros_is_not_read_for_long(tmp_path: Path) -> None:
    """Empty strings as many as are claimed, in a file with holes of 4 GiB."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 4000) + text("a") + struct.pack("<IIQ", 9, 8, 2**21 - 1)
    path = tmp_path / "model.gguf"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(2**32)

    def read() -> None:
        with pytest.raises(BadInput):
            load(str(path))

    assert loops(read) < 400  # a million strings are some loops over a million numbers, 2^33 of them are not


def test_the_commands_take_a_gguf_file(tmp_path: Path) -> None:
    path = saved(tmp_path, gguf(QWEN35))
    found = json.loads(limen("audit", path, "--json").stdout)
    assert found["model_type"] == "qwen3_5_moe_text" and found["full_layers"] == 10
    cut = saved(tmp_path, gguf(QWEN35)[:100])
    lost = limen("audit", cut)
    assert lost.returncode == 2 and lost.stdout == "" and lost.stderr.count("\n") == 1
