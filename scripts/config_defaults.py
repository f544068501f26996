"""Writes src/limen/hf/defaults.json: what transformers' config classes say by themselves.

    make defaults

A list of the kinds of layers that a class works out from their number is asked for at many numbers, and told
as a rule: some first kinds, a cycle, a last kind.
"""

import dataclasses
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from limen.hf import families
from limen.hf.weights import types, words

FILE = Path(__file__).parents[1] / "src/limen/hf/defaults.json"
READERS = families()
ALWAYS = ("num_hidden_layers", "max_position_embeddings")
# The field that sets how often the odd kind of a cycle comes; no class says which of its fields does.
PERIODS = {
    "afmoe": "global_attn_every_n_layers",
    "bailing_hybrid": "layer_group_size",
    "cohere2": "sliding_window_pattern",
    "cohere2_moe": "sliding_window_pattern",
    "exaone4": "sliding_window_pattern",
    "exaone_moe": "sliding_window_pattern",
    "gemma3_text": "sliding_window_pattern",
    "llama4_text": "no_rope_layer_interval",
    "modernbert-decoder": "global_attn_every_n_layers",
    "qwen3_5_moe_text": "full_attention_interval",
    "qwen3_5_text": "full_attention_interval",
    "qwen3_next": "full_attention_interval",
    "qwen4_exp_text": "full_attention_interval",
}
# Other names in real files, which a class takes or means, and no map of it says.
OLDER = {"bloom": {"hidden_size": "n_embed"}, "nemotron_h": {"n_groups": "mamba_num_groups"}}
EXPERTS = ("deepseek_v32", "glm_moe_dsa", "mistral_large4_text")
OLDER |= {name: {"n_routed_experts": "num_experts"} for name in EXPERTS}
COUNTS = (64, 63, 62, 61, 48, 47, 30, 13, 12)  # numbers of layers at which a rule must hold


def default(cls: type[PreTrainedConfig], name: str) -> Any:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    field = fields.get(cls.attribute_map.get(name, name)) or fields.get(name)
    if field is None or field.default is dataclasses.MISSING:
        return None
    return list(field.default) if isinstance(field.default, tuple) else field.default


def rule(kinds: Callable[[int], list[str]]) -> dict[str, Any]:
    """The shortest one that holds at all COUNTS."""
    longest = kinds(max(COUNTS))
    for last in (None, longest[-1]):
        for first in range(4):
            for period in range(1, 13):
                found = {"first": longest[:first], "cycle": longest[first : first + period], "last": last}
                if all(follow(found, count) == kinds(count) for count in COUNTS):
                    return {key: value for key, value in found.items() if value}
    raise ValueError(f"no rule for {longest}")


def follow(found: dict[str, Any], count: int) -> list[str]:
    kinds = [*found["first"], *found["cycle"] * count][:count]
    return [*kinds[:-1], found["last"]] if found["last"] else kinds


def layers(model_type: str, cls: type[PreTrainedConfig]) -> dict[str, Any] | None:
    """The rule for the kinds of layers; None where the class knows no kinds, or only as many as it likes."""

    def kinds(count: int) -> list[str]:
        config = cls(num_hidden_layers=count)
        config.allow_global_per_layer_attribute_access = True
        return list(config.layer_types)

    if model_type in FIXED:
        return {"cycle": list(cls().layer_types)}
    if model_type in WINDOWS_LATE:
        return {"cycle": ["full_attention"]}
    config = cls()
    if getattr(config, "layer_types", None) is None:
        return None
    return rule(kinds) | ({"period": PERIODS[model_type]} if model_type in PERIODS else {})


FIXED = ("nemotron_h", "zamba2")  # one list, whatever the number of layers
WINDOWS_LATE = (
    "dots1",
    "qwen2",
    "qwen2_moe",
    "qwen3",
)  # windows from layer max_window_layers on: the reader's


def facts(model_type: str, family: str) -> dict[str, Any]:
    cls = CONFIG_MAPPING[model_type]
    counted = sorted(words()) if model_type in types() else ()
    names = [*ALWAYS, *dict.fromkeys((*READERS[family].fields, *counted))]
    fields = {name: value for name in names if (value := default(cls, name)) is not None}
    if model_type in FIXED:
        fields["num_hidden_layers"] = len(cls().layer_types)
    aliases = {name: cls.attribute_map[name] for name in names if name in cls.attribute_map}
    other = {real: alias for alias, real in cls.attribute_map.items() if real in names}
    aliases = other | aliases | OLDER.get(model_type, {})
    found = {"family": family, "names": aliases, "fields": fields, "layers": layers(model_type, cls)}
    return {key: value for key, value in found.items() if value}


def text() -> str:
    """One line a type."""
    transformers.logging.set_verbosity_error()
    read_by = {name: family for family, reader in READERS.items() for name in reader.types}
    lines = [f"{json.dumps(name)}: {json.dumps(facts(name, read_by[name]))}" for name in sorted(read_by)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def boxes() -> dict[str, str]:
    """The type of the decoder inside each model of more than text."""
    known, found = {name for reader in READERS.values() for name in reader.types}, {}
    for model_type in CONFIG_MAPPING:
        try:
            inner = CONFIG_MAPPING[model_type]().get_text_config(decoder=True).model_type
        except (StrictDataclassError, ValueError, TypeError, AttributeError, ImportError):
            continue  # a class that has no default, or no one decoder
        if inner != model_type and inner in known:
            found[model_type] = inner
    return found


def classes() -> dict[str, str]:
    """The type of each class that `architectures` may name."""
    known = {name for reader in READERS.values() for name in reader.types}
    return OWN_CLASSES | {
        cls: model_type
        for model_type, cls in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()
        if model_type in known and isinstance(cls, str)
    }


OWN_CLASSES = {  # of types that transformers has not
    "QWenLMHeadModel": "qwen",
    "BaichuanForCausalLM": "baichuan",
    "ChatGLMModel": "chatglm",
    "ChatGLMForConditionalGeneration": "chatglm",
    "DeciLMForCausalLM": "nemotron-nas",
    "MiMoForCausalLM": "mimo",
    "Phi4MMForCausalLM": "phi4_multimodal",
    "MiniMaxText01ForCausalLM": "minimax_text_01",
    "MiniMaxM1ForCausalLM": "minimax_m1",
    "BailingMoeLinearForCausalLM": "bailing_moe_linear",
    "BailingMoeLinearV2ForCausalLM": "bailing_moe_linear",
    "Plamo2ForCausalLM": "plamo2",
    "YuanForCausalLM": "yuan",
    "Phi4FlashForCausalLM": "phi4flash",
    "HymbaForCausalLM": "hymba",
    "MiniCPMForCausalLM": "minicpm",
    "Step3TextForCausalLM": "step3_text",
}
OWN_BOXES = {  # what transformers does not know by this name
    "step3_vl": "step3_text",
    "kimi_k2": "deepseek_v3",
    "minicpmv": "qwen2",
    "minicpmo": "qwen2",
}


def names() -> str:
    found = {"boxes": OWN_BOXES | boxes(), "architectures": classes()}
    return json.dumps(found, indent=0, sort_keys=True) + "\n"


def known() -> str:
    """Every field that a class takes, one line a type; under "" those of all of them.

    What a class takes beside its fields is read from its code: keys taken out of the keyword arguments.
    """
    transformers.logging.set_verbosity_error()
    fields: dict[str, set[str]] = {}
    for model_type in sorted(name for reader in READERS.values() for name in reader.types):
        cls = CONFIG_MAPPING[model_type]
        code = "".join(inspect.getsource(base) for base in cls.__mro__ if issubclass(base, PreTrainedConfig))
        older = re.findall(r"""kwargs\.(?:get|pop|setdefault)\(\s*["'](\w+)""", code)
        named = {f.name for f in dataclasses.fields(cls)} | set(cls.attribute_map)
        fields[model_type] = named | set(cls().to_dict()) | set(older)
    common = set.intersection(*fields.values())
    lines = {"": common, **{name: found - common for name, found in fields.items()}}
    text = [f"{json.dumps(name)}: {json.dumps(sorted(found))}" for name, found in lines.items()]
    return "{\n" + ",\n".join(text) + "\n}\n"


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    FILE.write_text(text())
    FILE.with_name("names.json").write_text(names())
    FILE.with_name("known.json").write_text(known())
