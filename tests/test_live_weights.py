"""Weights as transformers itself stores and holds them: folders that it saves, modules that it quantises."""

import json
from pathlib import Path
from typing import Any

import pytest

from limen.audits import Request, audit, load
from limen.hf.stored.split import Split
from limen.hf.stored.towers import tower
from limen.hf.stored.weights import in_files, listed

pytestmark = pytest.mark.hf
SIZES = {"hidden_size": 288, "intermediate_size": 544, "num_hidden_layers": 2, "vocab_size": 1000}
HEADS = {"num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 32}
LLAMA = {"model_type": "llama", **SIZES, **HEADS, "tie_word_embeddings": False}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 96}
GPT_OSS = {"model_type": "gpt_oss", **SIZES, **HEADS, "num_local_experts": 4, "num_experts_per_tok": 2}


def model_of(config: dict[str, Any], dtype: str = "bfloat16") -> Any:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        made = AutoConfig.for_model(**config)
        return AutoModelForCausalLM.from_config(made, dtype=getattr(torch, dtype))


def filled(model: Any) -> Any:
    """The same on the CPU, with some numbers."""
    model.to_empty(device="cpu").tie_weights()
    return model


def bytes_of(model: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in model.parameters())


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize(
    "config",
    [LLAMA, LLAMA | {"tie_word_embeddings": True}, LLAMA | {"model_type": "qwen3_moe", **MOE}, GPT_OSS],
)
def test_a_folder_that_transformers_saves_has_the_bytes_that_are_counted(
    config: dict[str, Any], dtype: str, tmp_path: Path
) -> None:
    """In its headers, in the index of its shards, and in what get_memory_footprint says but for buffers."""
    model = filled(model_of(config, dtype))
    for folder, size in ((tmp_path / "one", "1GB"), (tmp_path / "shards", "500KB")):
        model.save_pretrained(folder, max_shard_size=size)
        config_read, source = load(str(folder))
        headers = audit(config_read, source, Request()).checkpoint.headers
        counted = listed(config_read, source)
        split = in_files(counted, counted.packing())
        assert headers is not None and headers.total == split.total
        assert (headers.half, headers.single) == (split.half, split.single)
    index = json.loads((tmp_path / "shards" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == split.total
    assert split.total == model.get_memory_footprint(return_buffers=False)


@pytest.mark.parametrize("model_type", ["qwen2_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"])
def test_a_vision_tower_that_is_known_has_the_numbers_of_transformers(model_type: str) -> None:
    """From the sizes of its class, which configs write down; a size that is no size is no tower."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    whole = AutoConfig.for_model(model_type)
    with torch.device("meta"):
        seeing = AutoModelForImageTextToText.from_config(whole).model.visual
    config = {"model_type": model_type, "vision_config": whole.vision_config.to_dict()}
    known = tower(config)
    assert sum(matrix.numbers for matrix in known) == sum(tensor.numel() for tensor in seeing.parameters())
    for wrong in (None, -1, 2**40, "x", [2]):
        assert tower(config | {"vision_config": config["vision_config"] | {"depth": wrong}}) == ()


def counted(config: dict[str, Any], own: dict[str, Any]) -> Split:
    model = listed(config | {"quantization_config": own}, "config")
    return in_files(model, model.packing())


@pytest.mark.parametrize(
    "own", [{"weight_block_size": [128, 128]}, {"weight_block_size": None, "activation_scheme": "static"}]
)
def test_modules_in_fp8_hold_what_is_counted(own: dict[str, Any]) -> None:
    from transformers import FineGrainedFP8Config
    from transformers.integrations.finegrained_fp8 import replace_with_fp8_linear

    quantised = FineGrainedFP8Config(**own)
    model = replace_with_fp8_linear(model_of(LLAMA), ["lm_head"], quantised, pre_quantized=True)
    assert bytes_of(model) == counted(LLAMA, {"quant_method": "fp8", **own}).total


def test_experts_in_mxfp4_hold_what_is_counted() -> None:
    """Made alone, since the model around them asks for kernels of a GPU; scales come with a checkpoint."""
    import torch
    from transformers.integrations.mxfp4 import Mxfp4GptOssExperts

    with torch.device("meta"):
        packed = Mxfp4GptOssExperts(model_of(GPT_OSS).config)
    blocks = [tensor for tensor in packed.parameters() if tensor.dtype is torch.uint8]
    split = counted(GPT_OSS, {"quant_method": "mxfp4"})
    assert split.quantised == 2 * sum(tensor.numel() for tensor in blocks)
    assert split.scales == split.quantised // 16
