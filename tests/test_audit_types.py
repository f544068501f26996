"""What is read of each model type, against transformers itself, byte for byte, or by known figures."""

import importlib.util
import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from fixtures.tiny_models import (
    F,
    L,
    Shape,
    cached_bytes,
    default_bytes,
    model_of,
    plain,
    tensors_of_words,
    tiny,
    weights_of_words,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from limen.audits.report import letter
from limen.core.architecture import Architecture
from limen.decisions import placement
from limen.errors import BadInput
from limen.hf import read, reader_of
from limen.hf.engines import Asked, engine
from limen.hf.fields import Fields, defaults
from limen.hf.gguf_names import architectures
from limen.hf.stack import Bits, Stack, Use
from limen.hf.weights import NotCounted, parameters, tensors, types

TYPES = sorted(
    name for name in defaults() if name in CONFIG_MAPPING
)  # the others are tested by their figures


def as_saved(config: Any) -> list[dict[str, Any]]:
    """A config as transformers writes it, whole and without what is its class's default."""
    return [json.loads(json.dumps(form, default=str)) for form in (config.to_dict(), config.to_diff_dict())]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model_type", TYPES)
def test_the_bytes_are_those_of_a_real_cache(model_type: str) -> None:
    config = tiny(model_type)
    stacks = [read(form, "config.json") for form in as_saved(config)]
    for n, sequences in ((3, 1), (8, 3), (25, 2)):
        held = cached_bytes(config, n, sequences)
        assert {held_by_transformers(stack, n, sequences) for stack in stacks} == {held}


def held_by_transformers(stack: Stack, n: int, sequences: int = 1) -> int:
    asked = Asked(context=n, sequences=sequences)
    return engine("transformers").bytes_of(stack.tensors, n, asked, Bits())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "model_type", ["falcon_h1", "gemma3_text", "kimi_linear", "llama4_text", "nemotron_h", "qwen3_next"]
)
def test_the_bytes_are_those_of_a_real_cache_at_full_size(model_type: str) -> None:
    """On the meta device; the config says nothing but its type."""
    stack = read({"model_type": model_type}, "config.json")
    assert held_by_transformers(stack, 20) == default_bytes(model_type, 20)


@pytest.mark.long
def test_the_defaults_are_those_of_the_installed_transformers() -> None:
    made = _script()
    assert made.text() == made.FILE.read_text()
    assert made.names() == made.FILE.with_name("names.json").read_text()
    assert made.known() == made.FILE.with_name("known.json").read_text()


@cache
def _script() -> Any:
    path = Path(__file__).parents[1] / "scripts/config_defaults.py"
    spec = importlib.util.spec_from_file_location("config_defaults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model_type", [name for name in TYPES if defaults()[name].layers])
@pytest.mark.parametrize("count", [7, 10])
def test_layers_that_are_not_listed_follow_the_rule_of_the_class(model_type: str, count: int) -> None:
    cls, rule = CONFIG_MAPPING[model_type], defaults()[model_type].layers
    assert rule is not None
    given = {} if model_type in _script().FIXED else {"num_hidden_layers": count}
    for every in (None, 3) if rule.period else (None,):
        sizes = given if every is None else {**given, rule.period: every}
        config = cls(**sizes)
        config.allow_global_per_layer_attribute_access = True
        fields = Fields({"model_type": model_type, **sizes}, model_type, "config.json")
        assert list(reader_of(model_type).kinds(fields)) == list(config.layer_types)


@pytest.mark.parametrize(
    ("config", "strip"),
    [
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-E"}, "L·LF··"),
        (
            {
                "model_type": "kimi_linear",
                "num_hidden_layers": 4,
                "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 8},
            },
            "LLLF",
        ),
        (
            {"model_type": "jamba", "num_hidden_layers": 9, "attn_layer_period": 3, "attn_layer_offset": 1},
            "LFLLFLLFL",
        ),
        ({"model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2]}, "LLFL"),
        ({"model_type": "lfm2", "num_hidden_layers": 4, "full_attn_idxs": [1]}, "KFKK"),
        (
            {"model_type": "gemma3", "text_config": {"num_hidden_layers": 9, "sliding_window_pattern": 3}},
            "WWFWWFWWF",
        ),
        (
            {"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"], "num_hidden_layers": 2},
            "LF",
        ),
        (
            {"model_type": "qwen2", "num_hidden_layers": 4, "use_sliding_window": True, "sliding_window": 9}
            | {"max_window_layers": 2},
            "FFWW",
        ),
        ({"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128]}, "WSS"),
        ({"model_type": "falcon_h1", "num_hidden_layers": 2}, "HH"),
        ({"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": None}, "FF"),  # v0.3, Nemo
        ({"model_type": "mistral", "num_hidden_layers": 2}, "WW"),
        (
            {"model_type": "qwen2", "num_hidden_layers": 2, "use_sliding_window": None}
            | {"max_window_layers": 0},
            "FF",
        ),
    ],
)
def test_configs_of_the_hub_are_read_as_they_are_written(config: dict[str, Any], strip: str) -> None:
    assert strip_of(config) == strip


SHARED = {"num_hidden_layers": 8, "index_topk_freq": 3}


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "cohere2_moe", "num_hidden_layers": 9, "sliding_window_pattern": 3},
        {"model_type": "cohere2_moe", "num_hidden_layers": 9, "first_k_dense_replace": 3}
        | {"prefix_dense_sliding_window_pattern": 2},
        {"model_type": "exaone_moe", "num_hidden_layers": 6, "sliding_window_pattern": 2},
        {"model_type": "inkling_text", "num_hidden_layers": 4, "local_layer_ids": [0, 2]},
        {"model_type": "modernbert-decoder", "num_hidden_layers": 5, "global_attn_every_n_layers": 2},
        {"model_type": "qwen2_moe", "num_hidden_layers": 6, "use_sliding_window": True, "sliding_window": 9}
        | {"max_window_layers": 3},
        {"model_type": "qwen4_exp_text", "num_hidden_layers": 6, "full_attention_interval": 3},
        {"model_type": "qwen4_exp_text", "layer_types": [L, F], "num_hidden_layers": 2},
    ],
)
def test_layers_that_other_fields_decide_are_those_of_the_class(config: dict[str, Any]) -> None:
    theirs = CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    theirs.allow_global_per_layer_attribute_access = True
    alike = {F: "indexed_attention"} if config["model_type"] == "qwen4_exp_text" else {}
    ours = [alike.get(layer.kind, layer.kind) for layer in read(config, "x").layers]
    assert ours == list(theirs.layer_types)


def test_modernbert_looks_back_half_as_far_as_local_attention() -> None:
    config = {"model_type": "modernbert-decoder", "local_attention": 96}
    windows = {dict(b.sizes).get("window") for layer in read(config, "x").layers for b in layer.blocks}
    assert windows == {None, CONFIG_MAPPING[config["model_type"]].from_dict(dict(config)).sliding_window}


@pytest.mark.parametrize("model_type", ["glm5_next_text", "glm_moe_dsa", "mistral_large4_text"])
@pytest.mark.parametrize(
    "said", [{}, {"index_skip_topk_offset": 4}, {"index_topk_pattern": "FSSFSSSF"}, {"index_topk_freq": 1}]
)
def test_layers_that_share_an_index_keep_no_keys_of_it(model_type: str, said: dict[str, Any]) -> None:
    config = {"model_type": model_type, **SHARED, **said}
    theirs = CONFIG_MAPPING[model_type].from_dict(dict(config))
    own = [
        any(k.use is Use.INDEX for b in layer.blocks for k in b.kept) for layer in read(config, "x").layers
    ]
    chosen = zip(theirs.indexer_types, theirs.layer_types, strict=True)
    assert own == [kind == "full" and layer == "indexed_attention" for kind, layer in chosen]


def test_other_names_of_a_field_are_taken() -> None:
    """As the classes take them: what a number is called decides nothing."""
    for model_type, other, real in (
        ("longcat_flash", {"num_hidden_layers": 6}, {"num_layers": 3}),
        ("inkling_text", {"sconv_kernel_size": 3}, {"conv_kernel_size": 3}),
        ("deepseek_v3", {"num_local_experts": 9}, {"n_routed_experts": 9}),
        ("glm_moe_dsa", {"num_experts": 9}, {"n_routed_experts": 9}),
    ):
        found = [read({"model_type": model_type, **said}, "x") for said in (other, real, {})]
        one, two, silent = ((stack.tensors, stack.parameters) for stack in found)
        assert one == two != silent
    with pytest.raises(BadInput, match="num_hidden_layers is 8, not twice that"):
        read({"model_type": "longcat_flash", "num_layers": 3, "num_hidden_layers": 8}, "x")


def strip_of(config: dict[str, Any]) -> str:
    return "".join(map(letter, read(config, "config.json").layers))


def test_the_documents_say_how_many_types_there_are() -> None:
    root = Path(__file__).parents[1]
    assert f"exact to the byte for {len(defaults())} model types" in (root / "README.md").read_text()
    page = (root / "docs/audit.md").read_text()
    assert f"each of the {len(TYPES)} model types" in page
    assert f"\n{len(defaults()) - len(TYPES)} further types" in page
    assert f"The tensors of the {len(TYPES)} types" in page and types() == set(defaults())
    assert f"It knows {len(architectures())} of llama.cpp's architectures" in page


def test_mimo_looks_at_so_many_earlier_tokens_and_at_itself() -> None:
    """As transformers 5.22 and SGLang read sliding_window_size."""
    config = {"model_type": "mimo_v2_flash", "sliding_window": 128, "sliding_window_size": 128}
    theirs = CONFIG_MAPPING["mimo_v2_flash"].from_dict({**config, "swa_num_attention_heads": 64})
    found = read({**config, "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8}, "x")
    windows = {dict(block.sizes)["window"] for layer in found.layers[1:2] for block in layer.blocks}
    assert windows == {theirs.sliding_window} == {129}


def test_layers_that_share_keys_keep_none() -> None:
    config = as_saved(tiny("gemma3n_text"))[0]
    stack = read(config, "x")
    assert [bool(layer.blocks[0].kept) for layer in stack.layers] == [True, True, False, False]
    assert [layer.parts[0].kv for layer in stack.architecture.layers] == [None, None, 0, 1]


SILENT = {"use_cache", "return_dict", "is_encoder_decoder", "output_attentions", "output_hidden_states"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model_type", TYPES)
def test_the_weights_are_those_of_transformers(model_type: str) -> None:
    """Each by its name and sizes, on the meta device, and with each switch of the class turned over."""
    config = tiny(model_type)
    assert _ours(config) == _theirs(config) and _ours(config) is not None
    switches = {key: value for key, value in config.to_dict().items() if isinstance(value, bool)}
    for key, value in switches.items():
        if key not in SILENT and (theirs := _theirs(config, {key: not value})) is not None:
            assert _ours(config, {key: not value}) in (theirs, None), key


Weights = tuple[dict[str, Shape], int, bool]  # sizes by name, how many numbers, whether a head is among them


def _theirs(config: Any, other: dict[str, Any] | None = None) -> Weights | None:
    """None where the class makes no such model."""
    changed = deepcopy(config)
    for key, value in (other or {}).items():
        setattr(changed, key, value)
    try:
        with torch.device("meta"):
            model = model_of(changed)
    except Exception:
        return None
    head = model.get_output_embeddings() is not None
    return tensors_of_words(model), weights_of_words(model), head


def _ours(config: Any, other: dict[str, Any] | None = None) -> Weights | None:
    """None where they are not counted."""
    form = {**as_saved(config)[0], "model_type": config.model_type, **(other or {})}
    head = type(model_of(config)).__name__.endswith(("ForCausalLM", "LMHeadModel"))
    fields, layers = Fields(form, config.model_type, "x"), read(form, "x").layers
    if isinstance(count := parameters(fields, layers, head), NotCounted):
        return None
    return {tensor.name: plain(tensor.shape) for tensor in tensors(fields, layers, head)}, count, head


def test_what_is_not_counted_is_no_number() -> None:
    """And it is said what is missing."""
    for config, said in (
        ({"model_type": "opt", "do_layer_norm_before": False}, "an OPT whose norms come last"),
        ({"model_type": "llama", "vocab_size": "many"}, "vocab_size is 'many'"),
    ):
        found = read(config, "x")
        assert found.parameters is None and said in str(found.uncounted)


def test_a_decoder_inside_is_tied_as_the_model_around_it_says() -> None:
    text = {"model_type": "qwen2_5_vl_text", "num_hidden_layers": 1, "vocab_size": 100, "hidden_size": 64}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32}
    tied, untied = (
        read({"model_type": "qwen2_5_vl", "tie_word_embeddings": tie, "text_config": text}, "x")
        for tie in (True, False)
    )
    assert untied.parameters - tied.parameters == 100 * 64 and tied.inside


@pytest.mark.parametrize(
    ("config", "strip", "numbers"),
    [  # numbers that a token's past leaves behind: of every token, of all states and convolutions
        ({"model_type": "gla", "hidden_size": 1024}, "L" * 24, (0, 24 * 4 * 128 * 256)),
        (
            {"model_type": "delta_net", "hidden_size": 1024, "num_heads": 8},
            "L" * 24,
            (0, 24 * (2**17 + 3 * 3072)),
        ),
        ({"model_type": "retnet"}, "L" * 24, (0, 24 * 8 * 256 * 512)),
        ({"model_type": "gsa", "hidden_size": 1024}, "L" * 24, (0, 24 * 4 * 64 * 512)),
        ({"model_type": "hgrn2", "hidden_size": 1024, "num_heads": 8}, "L" * 24, (0, 24 * 8 * 128 * 128)),
        (
            {"model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12, "num_heads": 32},
            "L" * 12,
            (0, 12 * (12 * 64 * 64 + 2 * 768)),
        ),
        (
            {"model_type": "transformer", "num_hidden_layers": 2, "num_kv_heads": 4},
            "FF",
            (2 * 2 * 4 * 64, 0),
        ),
        (
            {"model_type": "gla", "num_hidden_layers": 2, "hidden_size": 64, "num_heads": 2}
            | {"attn": {"layers": [1], "num_heads": 4, "num_kv_heads": 2, "window_size": None}},
            "LF",
            (2 * 2 * 16, 2 * 16 * 32),
        ),
        (
            {
                "model_type": "mamba2",
                "hidden_size": 1024,
                "head_dim": 64,
                "num_hidden_layers": 1,
                "n_groups": 1,
            }
            | {"fuse_norm": True},
            "L",
            (0, 2048 * 128 + 3 * (2048 + 256)),
        ),
        (
            {
                "model_type": "minimax_m1",
                "num_hidden_layers": 4,
                "attn_type_list": [0, 0, 0, 1],
                "head_dim": 128,
            },
            "LLLF",
            (2 * 8 * 128, 3 * 64 * 128 * 128),
        ),
        (
            {"model_type": "bailing_moe_linear", "num_hidden_layers": 6, "layer_group_size": 5}
            | {"num_key_value_heads": 4},
            "LLLLFF",
            (2 * 2 * 4 * 128, 4 * 16 * 128 * 128),
        ),
        (
            {"model_type": "plamo2", "num_hidden_layers": 4, "attention_window_size": 9, "mamba_num_heads": 8}
            | {"full_attention_idx": [3]},
            "LWLF",
            (2 * 4 * 128, 2 * (8 * 128 * 64 + 3 * 8 * 128) + 9 * 2 * 4 * 128),
        ),
        (
            {"model_type": "nemotron-nas", "num_hidden_layers": 2}
            | {"block_configs": [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}]},
            "F·",
            (2 * 8 * 128, 0),
        ),
        ({"model_type": "chatglm", "num_layers": 1, "multi_query_attention": True}, "F", (2 * 128, 0)),
        ({"architectures": ["QWenLMHeadModel"], "n_layer": 2, "n_embd": 256, "n_head": 2}, "FF", (1024, 0)),
        (
            {"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 1},
            "F",
            (576, 0),
        ),
        (
            {"model_type": "minimax_m3", "num_hidden_layers": 2}
            | {"sparse_attention_config": {"sparse_attention_freq": [0, 1], "sparse_index_dim": 64}},
            "FS",
            (2 * 2 * 4 * 128 + 64, 0),
        ),
        (
            {"model_type": "llava", "text_config": {"num_hidden_layers": 1, "num_key_value_heads": 8}},
            "F",
            (2 * 8 * 128, 0),
        ),
        (
            {"model_type": "baichuan_m1", "num_hidden_layers": 2, "sliding_window_layers": [1]}
            | {"num_key_value_heads": 2, "num_swa_attention_heads": 40, "num_swa_key_value_heads": 8}
            | {"sliding_window": 9},
            "FW",
            (2 * 2 * 256, 2 * 2 * 256 + 2 * 8 * 128 + 9 * 2 * 8 * 128),
        ),
    ],
    ids=lambda value: value.get("model_type", "by its class") if isinstance(value, dict) else "",
)
def test_types_that_transformers_has_not_keep_what_their_code_keeps(
    config: dict[str, Any], strip: str, numbers: tuple[int, int]
) -> None:
    n = 50
    assert strip_of(config) == strip
    stack = read(config, "x")
    held = [0, 0]
    for kept, times in stack.tensors:
        held[not kept.grows] += times * kept.numbers * (1 if kept.grows else kept.rows.needed(n))
    assert tuple(held) == numbers


@pytest.mark.parametrize(("rank", "held"), [(256, True), (255, False)])
def test_a_latent_without_room_for_a_key_and_a_value_is_no_set_of_them(rank: int, held: bool) -> None:
    """r < qk_nope_head_dim + v_head_dim: no weights of one softmax head of these sizes are said to fit."""
    sizes = {"kv_lora_rank": rank, "qk_nope_head_dim": 128, "v_head_dim": 128, "qk_rope_head_dim": 64}
    config = {"model_type": "deepseek_v3", "num_hidden_layers": 1, "num_attention_heads": 4, **sizes}
    stack = read(config, "config").architecture
    assert str(stack) == f"mla(h=4,d=128,d_k=192,r={rank},d_r=64,p=32)"
    (head,) = Architecture.parse("softmax(h=1,d=128)").layers
    assert (placement._held(head, stack.layers[0]) is not None) is held
