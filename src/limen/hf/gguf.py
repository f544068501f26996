"""GGUF: the header of a model's file, as the config that its model was made from.

The header is the metadata (`general.architecture`, `llama.block_count`, …) and the name, shape and type of
each tensor.  Nothing behind it is read.  Every length is looked at before it is believed: a file that is cut
short, or that claims more than it has, is an error.

Read in llama.cpp's sources of August 2026: gguf-py/gguf/constants.py, src/llama-model.cpp, src/models/.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from limen.core.errors import BadInput, shortened, unknown
from limen.hf.fields import Fields

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LAYERS = 1024
_PAIRS, _TENSORS, _STRINGS, _TEXT, _LIST = 2**12, 2**17, 2**21, 2**16, 2**12  # more are nobody's
_TYPES = {  # numbers of a block, and its bytes
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}


class Header(dict[str, Any]):
    """The config; and how many numbers its tensors hold, in how many bytes, where all of them are there."""

    parameters: int | None = None
    weights: int | None = None


@dataclass
class _Reader:
    data: mmap.mmap
    where: str
    at: int = 0
    strings: int = 0

    def wrong(self, what: str) -> BadInput:
        return BadInput(f"{self.where}: {what}, at byte {self.at:,} of a GGUF file of {len(self.data):,}")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.wrong(f"cut short: {size:,} bytes are missing or claimed too many")
        self.at += size
        return self.data[self.at - size : self.at]

    def one(self, kind: int) -> Any:
        form = _FIXED[kind]
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def count(self, most: int, what: str) -> int:
        found: int = self.one(10)
        if found > most:
            raise self.wrong(f"{shortened(found)} {what}, at most {most:,} are read")
        return found

    def skip_texts(self, count: int) -> None:
        """Past so many strings: a model has hundreds of thousands."""
        data, at, end, length = self.data, self.at, len(self.data), struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > end:
                raise self.wrong("cut short inside a list of strings")
            at += 8 + length(data, at)[0]
        if at > end:
            raise self.wrong("cut short inside a list of strings")
        self.at, self.strings = at, self.strings + count

    def text(self) -> str:
        return self.take(self.count(_TEXT, "letters of a name")).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """None for what no reader asks for: long lists, long texts, lists of texts."""
        if kind in _FIXED:
            return self.one(kind)
        if kind == _STRING:
            size: int = struct.unpack_from("<Q", self.take(8))[0]
            if size > len(self.data) - self.at:
                raise self.wrong("cut short inside a string")
            self.at += size
            short = size <= _TEXT
            return self.data[self.at - size : self.at].decode("utf-8", "replace") if short else None
        if kind != _ARRAY:
            raise self.wrong(f"no type of metadata has the number {kind}")
        return self.array()

    def array(self) -> list[Any] | None:
        kind = self.one(4)
        if kind == _STRING:
            self.skip_texts(self.count(_STRINGS - self.strings, "strings"))
            return None
        if kind not in _FIXED:
            raise self.wrong(f"a list of type {kind}")
        size, count = struct.calcsize(_FIXED[kind]), self.one(10)
        if count * size > len(self.data) - self.at:
            raise self.wrong(f"cut short inside a list of {shortened(count)}")
        if count > _LIST:
            self.at += count * size
            return None
        return [self.one(kind) for _ in range(count)]


def header(path: Path, where: str) -> Header:
    """Of a file whose metadata describe a decoder that the readers know."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _header(_Reader(data, where))
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{where}: cannot be read as a GGUF file: {error}") from error


def _header(r: _Reader) -> Header:
    if r.take(4) != _MAGIC:
        raise r.wrong("not a GGUF file: it does not begin with GGUF")
    version = r.one(4)
    if version not in _VERSIONS:
        raise r.wrong(f"version {version}; 2 and 3 are read, little-endian")
    tensors, pairs = r.count(_TENSORS, "tensors"), r.count(_PAIRS, "pairs of metadata")
    found: dict[str, Any] = {}
    for _ in range(pairs):
        key = r.text()
        found[key] = r.value(r.one(4))
    config = Header(_config(found, r.where))
    if found.get("split.count", 1) in (0, 1):
        config.parameters, config.weights = _weights(r, tensors)
    return config


def _weights(r: _Reader, tensors: int) -> tuple[int | None, int | None]:
    """Numbers and bytes; no bytes where a type is not known."""
    numbers, size, known = 0, 0, True
    for _ in range(tensors):
        r.text()
        dimensions = r.one(4)
        if dimensions > 8:
            raise r.wrong(f"a tensor of {dimensions} dimensions")
        count = prod(r.one(10) for _ in range(dimensions))
        kind = r.one(4)
        r.one(10)
        numbers += count
        if kind in _TYPES:
            block, packed = _TYPES[kind]
            size += -(-count // block) * packed
        else:
            known = False
    return (numbers or None), (size if known and numbers else None)


# What llama.cpp calls a model, and what transformers does.
_PLAIN = {
    **{name: name for name in ("llama", "qwen2", "qwen3", "gemma", "gemma2", "cohere2", "starcoder2")},
    **{name: name for name in ("stablelm", "granite", "granitemoe", "smollm3", "olmoe", "nemotron")},
    **{name: name for name in ("seed_oss", "arcee", "apertus", "dots1", "exaone4", "bloom", "mpt", "gpt2")},
    "qwen2moe": "qwen2_moe",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3",
    "qwen3vlmoe": "qwen3_moe",
    "qwen2vl": "qwen2",
    "mistral3": "ministral3",
    "phi2": "phi",
    "phi3": "phi3",
    "gemma3": "gemma3_text",
    "gpt-oss": "gpt_oss",
    "glm4": "glm4",
    "glm4moe": "glm4_moe",
    "command-r": "cohere",
    "olmo2": "olmo2",
    "ernie4_5": "ernie4_5",
    "ernie4_5-moe": "ernie4_5_moe",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "minimax-m2": "minimax_m2",
    "gptneox": "gpt_neox",
    "internlm2": "llama",
}
_FIELDS = {  # of every type: our name, llama.cpp's
    "hidden_size": "embedding_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "max_position_embeddings": "context_length",
}


@dataclass(frozen=True)
class _Metadata:
    """Of one architecture: keys without its name before them."""

    found: dict[str, Any]
    arch: str
    where: str

    def __getitem__(self, key: str) -> Any:
        return self.found.get(f"{self.arch}.{key}")

    def integer(self, key: str) -> int:
        value = self[key]
        if type(value) is not int or value < 1:
            said = "is missing" if value is None else f"is {shortened(value)}"
            raise BadInput(f"{self.where}: {self.arch}.{key} {said}; expected a number from 1 on")
        return value

    @property
    def layers(self) -> int:
        """Without those that only predict ahead."""
        ahead, count = self["nextn_predict_layers"], self.integer("block_count")
        if count > _LAYERS:
            raise BadInput(f"{self.where}: {self.arch}.block_count is {count}; at most {_LAYERS} are read")
        return count - (ahead if type(ahead) is int else 0)

    def listed(self, key: str) -> list[int]:
        """A number for each layer, or one for all."""
        value, count = self[key], self.layers
        if isinstance(value, list) and len(value) >= count and all(type(one) in (int, bool) for one in value):
            return value[:count]
        return [self.integer(key)] * count


def _config(found: dict[str, Any], where: str) -> dict[str, Any]:
    arch = found.get("general.architecture")
    if not isinstance(arch, str):
        raise BadInput(f"{where}: general.architecture is missing in its metadata")
    meta = _Metadata(found, arch, where)
    if arch not in _PLAIN and arch not in _OTHERS:
        raise unknown(f"architecture of llama.cpp ({where})", arch, [*_PLAIN, *_OTHERS])
    common = {name: meta[key] for name, key in _FIELDS.items() if meta[key] is not None}
    common |= {"num_hidden_layers": meta.layers}
    own = _OTHERS[arch](meta) if arch in _OTHERS else {"model_type": _PLAIN[arch]} | _windows(meta)
    whole = common | own
    fields = Fields({}, whole["model_type"], where)
    return {key: value for key, value in whole.items() if fields.takes(key) or key in _KEPT}


_KEPT = ("layer_types", "layers_block_type", "num_hidden_layers")  # lists that every reader takes


_WINDOWS = ("gemma2", "gemma3", "gpt-oss", "cohere2", "exaone4", "olmo2")  # of those that llama.cpp gives one


def _windows(meta: _Metadata) -> dict[str, Any]:
    """Every layer full, but where llama.cpp knows windows: in the order of the type, or as a pattern says."""
    if meta.arch not in _WINDOWS:
        return {
            "sliding_window": None,
            "use_sliding_window": False,
            "layer_types": ["full_attention"] * meta.layers,
        }
    W, pattern = meta["attention.sliding_window"], meta["attention.sliding_window_pattern"]
    if not W:
        return {"sliding_window": None, "layer_types": ["full_attention"] * meta.layers}
    said: dict[str, Any] = {"sliding_window": W}
    if meta.arch == "olmo2":  # OLMo 3 goes by the same name
        said["model_type"] = "olmo3"
    if isinstance(pattern, list):
        kinds = ("full_attention", "sliding_attention")
        said["layer_types"] = [kinds[bool(one)] for one in meta.listed("attention.sliding_window_pattern")]
    return said


def _latent(meta: _Metadata) -> dict[str, Any]:
    """Of files that keep latents: older ones have no key_length_mla, and their keys are kept whole."""
    if meta["attention.key_length_mla"] is None:
        older = "made before llama.cpp kept latents (no attention.key_length_mla): convert the model again"
        raise BadInput(f"{meta.where}: {meta.arch}: {older}")
    d_r = meta.integer("rope.dimension_count")
    return {
        "model_type": "deepseek_v3",
        "kv_lora_rank": meta.integer("attention.kv_lora_rank"),
        "q_lora_rank": meta["attention.q_lora_rank"],
        "qk_rope_head_dim": d_r,
        "qk_nope_head_dim": meta.integer("attention.key_length_mla") - d_r,
        "v_head_dim": meta.integer("attention.value_length_mla"),
        "num_key_value_heads": meta.integer("attention.head_count"),
        "head_dim": d_r,
    }


def _mamba(meta: _Metadata) -> dict[str, Any]:
    sizes = {name: meta.integer(f"ssm.{key}") for name, key in _SSM.items()}
    return {"model_type": "mamba", "intermediate_size": sizes["inner"], "state_size": sizes["s"]} | {
        "conv_kernel": sizes["c"]
    }


_SSM = {"inner": "inner_size", "s": "state_size", "c": "conv_kernel"}


def _mamba2(model_type: str, names: tuple[str, ...], kinds: Callable[[_Metadata], dict[str, Any]]) -> Any:
    """Of Mamba-2 the number of heads stands as the rank of the time step."""

    def config(meta: _Metadata) -> dict[str, Any]:
        inner, h = meta.integer("ssm.inner_size"), meta.integer("ssm.time_step_rank")
        if inner % h:
            raise BadInput(
                f"{meta.where}: ssm.inner_size is {inner}, no multiple of ssm.time_step_rank = {h}"
            )
        sizes = h, inner // h, meta.integer("ssm.state_size"), meta["ssm.group_count"] or 1
        values = (*sizes, meta.integer("ssm.conv_kernel"), inner / meta.integer("embedding_length"))
        heads = max(meta.listed("attention.head_count_kv")) if meta["attention.head_count_kv"] else None
        own = {} if heads is None else {"num_key_value_heads": heads}
        if isinstance(q := meta["attention.head_count"], list):
            own["num_attention_heads"] = max(q)
        return {"model_type": model_type, **dict(zip(names, values, strict=True)), **own, **kinds(meta)}

    return config


_BAMBA = ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_expand")
_M2 = ("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "expand")
_NEMOTRON = ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "expand")


def _by_keys(other: str) -> Callable[[_Metadata], dict[str, Any]]:
    """Layers without heads of keys are of another kind."""

    def kinds(meta: _Metadata) -> dict[str, Any]:
        heads = meta.listed("attention.head_count_kv")
        return {"layer_types": ["full_attention" if h else other for h in heads]}

    return kinds


def _nemotron(meta: _Metadata) -> dict[str, Any]:
    """Neither keys nor an MLP: a recurrence."""
    heads, sizes = meta.listed("attention.head_count_kv"), meta.listed("feed_forward_length")
    kinds = (
        "full_attention" if h else "mlp" if m else "linear_attention"
        for h, m in zip(heads, sizes, strict=True)
    )
    return {"layers_block_type": list(kinds)}


def _jamba(meta: _Metadata) -> dict[str, Any]:
    sizes = {name: meta.integer(f"ssm.{key}") for name, key in _SSM.items()}
    heads = meta.listed("attention.head_count_kv")
    return {
        "model_type": "jamba",
        "mamba_expand": sizes["inner"] / meta.integer("embedding_length"),
        "mamba_d_state": sizes["s"],
        "mamba_d_conv": sizes["c"],
        "num_key_value_heads": max(heads),
    } | _by_keys("linear_attention")(meta)


def _delta(model_type: str) -> Callable[[_Metadata], dict[str, Any]]:
    """Value heads stand as the rank of the time step, key heads as groups."""

    def config(meta: _Metadata) -> dict[str, Any]:
        inner, h_v = meta.integer("ssm.inner_size"), meta.integer("ssm.time_step_rank")
        every = meta["full_attention_interval"] or 4
        kinds = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(meta.layers)]
        if isinstance(said := meta["attention.recurrent_layers"], list):
            kinds = ["linear_attention" if one else "full_attention" for one in said[: meta.layers]]
        if isinstance(heads := meta["attention.head_count_kv"], list):
            heads = max(heads)
        return {
            "model_type": model_type,
            "linear_num_key_heads": meta.integer("ssm.group_count"),
            "linear_num_value_heads": h_v,
            "linear_key_head_dim": meta.integer("ssm.state_size"),
            "linear_value_head_dim": inner // h_v,
            "linear_conv_kernel_dim": meta.integer("ssm.conv_kernel"),
            "num_key_value_heads": heads,
            "layer_types": kinds,
        }

    return config


def _short(model_type: str) -> Callable[[_Metadata], dict[str, Any]]:
    def config(meta: _Metadata) -> dict[str, Any]:
        heads = meta.listed("attention.head_count_kv")
        own = {"model_type": model_type, "conv_L_cache": meta.integer("shortconv.l_cache")}
        return own | {"num_key_value_heads": max(heads)} | _by_keys("conv")(meta)

    return config


_OTHERS: dict[str, Callable[[_Metadata], dict[str, Any]]] = {
    "deepseek2": _latent,
    "mamba": _mamba,
    "mamba2": _mamba2("mamba2", _M2, lambda meta: {}),
    "jamba": _jamba,
    "falcon-h1": _mamba2("falcon_h1", _BAMBA, lambda meta: {"mamba_d_ssm": meta.integer("ssm.inner_size")}),
    "granitehybrid": _mamba2("granitemoehybrid", _BAMBA, _by_keys("linear_attention")),
    "nemotron_h": _mamba2("nemotron_h", _NEMOTRON, _nemotron),
    "nemotron_h_moe": _mamba2("nemotron_h", _NEMOTRON, _nemotron),
    "qwen3next": _delta("qwen3_next"),
    "qwen35": _delta("qwen3_5_text"),
    "qwen35moe": _delta("qwen3_5_moe_text"),
    "lfm2": _short("lfm2"),
    "lfm2moe": _short("lfm2_moe"),
}
