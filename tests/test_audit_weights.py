"""Bytes of weights: what checkpoints, llama.cpp and vLLM print, beside the count from a few sizes (facts)."""

import json
import runpy
import struct
from pathlib import Path
from typing import Any

import pytest

from limen.audits import Request, audit, load
from limen.errors import BadInput
from limen.hf.layer_sizes import NotCounted
from limen.hf.stored.checkpoint import headers
from limen.hf.stored.names import ModuleNames
from limen.hf.stored.ranks import Ranks
from limen.hf.stored.weights import in_files, listed, on_ranks

GIB = 2**30
LLAMA = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256} | {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}
QWEN = {"model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "vocab_size": 151936} | {
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
}
QWEN_8B = (
    QWEN
    | {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36}
    | {
        "num_attention_heads": 32,
        "tie_word_embeddings": False,
    }
)
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
MINIMAX = {
    "model_type": "minimax_m2",
    "hidden_size": 3072,
    "intermediate_size": 1536,
    "vocab_size": 200064,
} | {
    "num_hidden_layers": 62,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_local_experts": 256,
    "tie_word_embeddings": False,
    "quantization_config": FP8 | {"modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]},
}
GPT_OSS = {"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32} | {
    "quantization_config": {"quant_method": "mxfp4"}
}
# Bits a weight of an 8B Llama: llama.cpp, tools/quantize/README.md at b21e4de.
BITS = {"iq1_s": 2.0042, "iq1_m": 2.1460, "iq2_xxs": 2.3824, "iq2_xs": 2.5882, "iq2_s": 2.7403} | {
    "iq2_m": 2.9294,
    "iq3_xxs": 3.2548,
    "iq3_xs": 3.4977,
    "iq3_s": 3.6606,
    "iq3_m": 3.7628,
    "iq4_xs": 4.4597,
    "iq4_nl": 4.6818,
    "q2_k_s": 2.9697,
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q3_k_m": 3.9960,
    "q3_k_l": 4.2979,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_k_s": 5.5704,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
    "f16": 16.0005,
}


def in_file(config: dict[str, Any], scheme: str | None = None) -> int:
    model = listed(config, "config")
    return in_files(model, model.packing(scheme)).total


@pytest.mark.parametrize(
    ("config", "scheme", "total_size"),
    [
        (GPT_OSS, None, 13_761_264_768),  # openai/gpt-oss-20b, its index
        (QWEN, None, 3_441_149_952),  # Qwen/Qwen3-1.7B, its index
        (MINIMAX, None, 230_121_630_720),  # MiniMaxAI/MiniMax-M2, as hf-mem reads its headers
    ],
)
def test_the_tensors_of_a_checkpoint_to_the_byte(
    config: dict[str, Any], scheme: str | None, total_size: int
) -> None:
    assert in_file(config, scheme) == total_size


def test_a_checkpoint_in_awq_as_vllm_prints_it() -> None:
    assert round(in_file(QWEN_8B, "awq") / GIB, 2) == 5.68  # "Checkpoint size: 5.68 GiB", v0.20


@pytest.mark.parametrize(("file_type", "bits"), BITS.items())
def test_bits_a_weight_of_llama_cpps_file_types(file_type: str, bits: float) -> None:
    numbers = sum(matrix.numbers for matrix in listed(LLAMA, "config").matrices)
    assert round(8 * in_file(LLAMA, file_type) / numbers, 4) == bits


def test_figures_that_engines_printed_stand_beside_the_audits(capsys: pytest.CaptureFixture[str]) -> None:
    """`make engines`: none is off by more than 3 % without a stated reason, and as many are met as before."""
    script = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "engine_figures.py"))
    assert script["main"](Path(__file__).parents[1] / "scripts" / "weight_figures.json") == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith(
        "75 figures, 60 compared: 44 equal as printed or within 0.1 %, 3 off by more than 3 %"
    )


def test_what_vllm_holds_on_one_rank() -> None:
    model = listed(LLAMA, "config")
    (rank,) = on_ranks(model, model.packing(), Ranks())
    assert round(rank.total / GIB, 4) == 14.9888  # "Loading model weights took 14.9888 GB"
    assert rank.added == 131072 * 128 * 2
    halves = on_ranks(model, model.packing(), Ranks(tensor=2, pipeline=2))
    assert len(halves) == 2 and 4 * halves[0].half > rank.half  # norms are on every rank


def test_the_four_forms_of_a_skip_list() -> None:
    name = "model.layers.3.mlp.shared_expert.up_proj"
    for form in (
        name,
        "layers.3",
        "model.language_model.layers.3*",
        "*.ffn.shared_expert.*",
        "re:.*shared_exp.*",
    ):
        assert name in ModuleNames((form,)), form
    for form in ("layers.33", "layers.30*", "up", "re:shared_expert", "*.mlp.experts.*"):
        assert name not in ModuleNames((form,)), form
    with pytest.raises(NotCounted, match="take too long"):
        assert name in ModuleNames(("re:(a+)+$",))


def test_what_is_not_known_is_not_counted_and_fails_nothing() -> None:
    strange = LLAMA | {"quantization_config": {"quant_method": "quark"}}
    with pytest.raises(NotCounted, match="quark"):
        listed(strange, "config").packing()
    with pytest.raises(NotCounted, match="NVFP4"):
        listed(LLAMA, "nvidia--Llama-NVFP4.json").packing()
    result = audit(strange, "config", Request(memory=GIB))
    assert result.weights_bytes is None and result.failures == [] and "quark" in str(result.uncounted)


def test_files_beside_a_config_are_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    plain = audit(*load(str(tmp_path)), Request())
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    quantised = audit(*load(str(tmp_path)), Request())
    assert (quantised.weights_bytes or 0) < (plain.weights_bytes or 0)
    index = {"metadata": {"total_size": 9_000_000_000}, "weight_map": {}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert audit(*load(str(tmp_path)), Request()).weights_bytes == 9_000_000_000


def test_a_safetensors_header_that_lies_is_refused(tmp_path: Path) -> None:
    def written(tensors: object, data: bytes, claims: int | None = None) -> Path:
        text = json.dumps(tensors).encode()
        file = tmp_path / "model.safetensors"
        file.write_bytes(struct.pack("<Q", len(text) if claims is None else claims) + text + data)
        return file

    tensor = {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]}
    assert headers([written({"a.weight": tensor}, bytes(8))]).half == 8
    for tensors, data, claims in (
        ({"a": tensor}, b"", None),
        ({"a": tensor}, bytes(8), 2**62),
        ({"a": tensor | {"shape": [2**40, 2**40]}}, bytes(8), None),
        ({"a": tensor | {"dtype": "F3"}}, bytes(8), None),
        ({"a": tensor, "b": tensor}, bytes(8), None),
        ({"a": 3}, b"", None),
    ):
        with pytest.raises(BadInput):
            headers([written(tensors, data, claims)])
