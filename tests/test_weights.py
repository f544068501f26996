"""The table of weights (hf/weights.txt): what its lines mean, and that each of them means something."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from limen.hf import read
from limen.hf.fields import Fields, defaults
from limen.hf.formulas import FUNCTIONS
from limen.hf.weights import NotCounted, Tensor, TensorKind, parameters, tensors, types
from limen.hf.weights_table import TableLine, entry_of, headers, parsed

SMALL = {"vocab_size": 1000, "intermediate_size": 96, "moe_intermediate_size": 32, "num_local_experts": 4}
MORE: dict[str, dict[str, Any]] = {  # what a type's own sizes do not say
    "bailing_moe_linear": {"num_experts": 4, "use_qk_norm": True},
    "chatglm": {"padded_vocab_size": 1000, "vocab_size": 1000, "ffn_hidden_size": 96},
    "minimax_m1": {"attn_type_list": [0, 1] * 40},
    "minimax_text_01": {"attn_type_list": [0, 1] * 40},
    "minimax_m3": {"dense_intermediate_size": 64, "first_k_dense_replace": 3},
    "nemotron-nas": {
        "num_hidden_layers": 3,
        "block_configs": [
            {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 2.5}},
            {"attention": {"no_op": True}, "ffn": {"no_op": True}},
            {"attention": {"replace_with_linear": True}, "ffn": {"replace_with_linear": True}},
        ],
    },
    "dots1": {"n_routed_experts": 4},
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe_text": {"head_dim": 128},
    "lfm2_moe": {"num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]},
    "mimo_v2_flash": {"swa_num_attention_heads": 64, "swa_num_key_value_heads": 8},
    "mllama_text_model": {"cross_attention_layers": [3]},
    "qwen": {"ffn_hidden_size": 96},
}


def listed(config: dict[str, Any]) -> dict[str, Tensor]:
    made = tensors(Fields(config, config["model_type"], "x"), read(config, "x").layers)
    names = Counter(tensor.name for tensor in made)
    assert max(names.values()) == 1, names.most_common(1)
    return {tensor.name: tensor for tensor in made}


def test_every_type_that_is_read_has_its_weights() -> None:
    assert types() == set(defaults())


@pytest.mark.parametrize("model_type", sorted(types()))
def test_a_list_of_tensors_holds_what_is_counted(model_type: str) -> None:
    """No name comes twice, and each tensor is made up of its matrices."""
    given = {} if "intermediate_size" in defaults()[model_type].fields else SMALL
    config = {"model_type": model_type, **given, **MORE.get(model_type, {})}
    weights = listed(config)
    count = parameters(Fields(config, model_type, "x"), read(config, "x").layers)
    assert count == sum(tensor.numbers for tensor in weights.values())
    for name, tensor in weights.items():
        assert tensor.numbers == tensor.experts * sum(tensor.stacked) * tensor.columns > 0
        assert name == name.strip(".") and ".." not in name and "{" not in name


def test_a_tensor_says_what_an_engine_must_know() -> None:
    """Whose matrices stand in it, of how many experts, and of which kind it is."""
    weights = listed({"model_type": "gpt_oss", "num_hidden_layers": 1, "num_local_experts": 32})
    experts = weights["model.layers.0.mlp.experts.gate_up_proj"]
    assert (experts.kind, experts.experts, experts.stacked, experts.columns) == (
        TensorKind.EXPERTS, 32, (2880, 2880), 2880,
    )  # fmt: skip
    assert weights["model.layers.0.mlp.experts.gate_up_proj_bias"].shape == (32, 5760)
    kinds = {name.removeprefix("model.layers.0."): tensor.kind for name, tensor in weights.items()}
    assert (
        kinds["model.embed_tokens.weight"] is TensorKind.EMBEDDING
        and kinds["lm_head.weight"] is TensorKind.HEAD
    )
    assert (
        kinds["mlp.router.weight"] is TensorKind.ROUTER and kinds["input_layernorm.weight"] is TensorKind.NORM
    )
    assert kinds["self_attn.q_proj.bias"] is TensorKind.BIAS and kinds["self_attn.sinks"] is TensorKind.RAW


def test_layers_that_are_alike_differ_in_their_place_alone() -> None:
    weights = listed({"model_type": "qwen3_moe", "num_hidden_layers": 3, "mlp_only_layers": [1]})
    by_layer = [
        {
            name.removeprefix(f"model.layers.{i}."): t.shape
            for name, t in weights.items()
            if f"layers.{i}." in name
        }
        for i in range(3)
    ]
    assert by_layer[0] == by_layer[2] != by_layer[1]
    assert "mlp.gate_proj.weight" in by_layer[1] and "mlp.experts.gate_up_proj" in by_layer[0]


def test_what_is_not_known_is_said_in_its_sentence() -> None:
    config = {"model_type": "minimax_m3", **SMALL, "dense_intermediate_size": 64, "moe_layer_freq": [0, 1]}
    with pytest.raises(NotCounted, match="moe_layer_freq does not say layer 2"):
        listed(config)


def every_line(lines: Iterable[TableLine]) -> Iterator[TableLine]:
    for line in lines:
        yield line
        yield from every_line(line.below)


@pytest.mark.parametrize("name", sorted(headers()))
def test_an_entry_changes_what_is_there(name: str) -> None:
    """What is dropped stood in the older entry, and a part that is named is in the table."""
    older, body = headers()[name]
    own, before = parsed(body), entry_of(older) if older else parsed(())
    assert set(own.dropped) <= {line.path for line in before.lines}
    assert {f"part {line.part}" for line in every_line(own.lines) if line.part} <= set(headers())
    assert not set(own.letters) & {
        *FUNCTIONS,
        "i",
        "j",
        "head",
        "kinds",
        "kind",
        "what",
        "attends",
        "own",
        "kv",
    }


def test_no_letter_hides_a_field_and_no_part_is_idle() -> None:
    entries = {name: parsed(body) for name, (_, body) in headers().items()}
    letters = {letter for entry in entries.values() for letter in entry.letters}
    fields = {field for known in defaults().values() for field in {*known.fields, *known.names.values()}}
    assert not letters & fields
    used = {f"part {line.part}" for entry in entries.values() for line in every_line(entry.lines)}
    used |= {older for older, _ in headers().values()}
    used |= {
        f"part {entry.letters['drafter'][1:-1]}" for entry in entries.values() if "drafter" in entry.letters
    }
    assert {name for name in headers() if name.startswith("part ")} <= used
