"""Precisions: how many bits a number takes, and which ones a config declares for its cache."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from limen.errors import BadInput, shortened, unknown

BITS = {
    "float32": Fraction(32),
    "bfloat16": Fraction(16),
    "float16": Fraction(16),
    "float8": Fraction(8),
    "int8": Fraction(8),
    "int4": Fraction(4),
    # llama.cpp stores 32 numbers at a time: with one scale of 16 bits, or with a scale and a least value
    "q8_0": Fraction(17, 2),
    "q5_1": Fraction(6),
    "q5_0": Fraction(11, 2),
    "q4_1": Fraction(5),
    "q4_0": Fraction(9, 2),
    "iq4_nl": Fraction(9, 2),
    "mxfp4": Fraction(17, 4),  # 32 numbers with one scale of 8 bits
    "nvfp4": Fraction(9, 2),  # 16 numbers with one scale of 8 bits
}
_SHORT = {"f32": "float32", "fp32": "float32", "bf16": "bfloat16", "f16": "float16", "fp16": "float16"}
_SHORT |= {"half": "float16", "q8": "q8_0", "q4": "q4_0"}
_SHORT |= dict.fromkeys(("fp8", "f8", "fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2"), "float8")

# where a model of more than text keeps the decoder
INSIDE = ("text_config", "llm_config", "language_config", "thinker_config")
_STATE = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")


class Declared(NamedTuple):
    """What a config says of dtypes, and in which field; None where it says nothing."""

    model: str | None
    kv: str | None = None
    kv_field: str = ""
    state: str | None = None
    state_field: str = ""
    quantised: bool = False  # whether the weights are stored in something else than the model's dtype


def dtype(name: str, where: str) -> str:
    """The usual name of a precision."""
    name = name.lower().removeprefix("torch.")
    name = _SHORT.get(name, name)
    if name not in BITS:
        raise unknown(f"dtype ({where})", name, BITS)
    return name


def declared(config: Mapping[str, Any], where: str) -> Declared:
    """The dtype of the weights; of the cache's keys where a quantised checkpoint says it; of the states."""
    boxes = [config[name] for name in INSIDE if isinstance(config.get(name), dict)] + [config]
    model = _first(boxes, ("dtype", "torch_dtype"), where)
    state = _first(boxes, _STATE, where)
    kv = next((quantised for box in boxes if (quantised := _quantised(box, where))), (None, ""))
    return Declared(
        dtype(model[0], where) if model else None,
        kv[0],
        kv[1],
        dtype(state[0], where) if state else None,
        state[1] if state else "",
        any(isinstance(box.get("quantization_config"), dict) for box in boxes),
    )


def _first(boxes: list[Any], keys: tuple[str, ...], where: str) -> tuple[str, str] | None:
    named = [(box[key], key) for box in boxes for key in keys if box.get(key) is not None]
    for value, key in named:
        if not isinstance(value, str):
            raise BadInput(f"{where}: {key} is {shortened(value)}; expected the name of a dtype")
    return next(((value, key) for value, key in named if value != "auto"), None)


def _quantised(box: Mapping[str, Any], where: str) -> tuple[str, str] | None:
    """The dtype of a compressed-tensors scheme or of modelopt's algorithm, and the field that says it."""
    quantised = box.get("quantization_config")
    if not isinstance(quantised, dict):
        return None
    scheme, algorithm = quantised.get("kv_cache_scheme"), quantised.get("kv_cache_quant_algo")
    if isinstance(scheme, dict):
        bits, kind = scheme.get("num_bits"), scheme.get("type")
        if (bits, kind) not in ((8, "float"), (8, "int"), (4, "int")):
            got = f"{where}: kv_cache_scheme of {bits!r} bits of type {kind!r}"
            raise BadInput(f"{got}; expected 8 bits of type 'float' or 'int', or 4 of type 'int'")
        return ("float8" if kind == "float" else f"int{bits}"), "quantization_config.kv_cache_scheme"
    if isinstance(algorithm, str):
        return dtype(algorithm.lower(), where), "quantization_config.kv_cache_quant_algo"
    return None
