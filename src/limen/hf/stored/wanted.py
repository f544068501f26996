"""Schemes by name, for a model that is not quantised: fp8, awq, nf4, mlx-4bit, …

A group size may follow: awq-g64. Linear maps and experts are quantised, the rest stays in 16 bits, as
publishers do; in MXFP4 the experts alone, where there are any (gpt-oss).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from limen.errors import unknown
from limen.hf.stored import schemes
from limen.hf.stored.mixtures import FILE_TYPES
from limen.hf.stored.packing import WITH_EMBEDDINGS, Packed
from limen.hf.stored.schemes import Scheme
from limen.hf.weights_table import TensorKind

PLAIN = {"float32": 4, "fp32": 4, "f32": 4, "bfloat16": 2, "float16": 2, "fp16": 2, "half": 2}
# By name, the scheme with groups of g, and g where none is asked for.
_GROUPED: dict[str, tuple[Callable[[int], Scheme], int]] = {
    "awq": (lambda g: schemes.awq(4, g), 128),
    "gptq": (lambda g: schemes.gptq(4, g), 128),
    "gptq-8bit": (lambda g: schemes.gptq(8, g), 128),
    "w4a16": (lambda g: schemes.packed(4, g), 128),
    "int4": (lambda g: schemes.packed(4, g), 128),
    "w8a16": (lambda g: schemes.packed(8, g), 128),
    "nvfp4": (lambda g: schemes.nvfp4(g, static=True), 16),
    **{f"mlx-{b}bit": (lambda g, b=b: schemes.mlx(b, g), 64) for b in (2, 3, 4, 5, 6, 8)},  # type: ignore[misc]
}
_WHOLE: dict[str, Callable[[], Scheme]] = {
    "fp8": schemes.fp8_block,
    "float8": schemes.fp8_block,
    "fp8-tensor": lambda: schemes.fp8_tensor(static=True),
    "fp8-channel": schemes.fp8_channel,
    "w8a8": schemes.int8_channel,
    "mxfp4": schemes.mxfp4,
    "mxfp8": schemes.mxfp8,
    "int8": schemes.bnb_int8,
    "nf4": schemes.bnb_4bit,
    "nf4-double": lambda: schemes.bnb_4bit(twice=True),
    "mlx-mxfp4": lambda: schemes.mlx(4, 32, "mxfp4"),
}
SCHEMES = ("bfloat16", "float16", "float32", *_WHOLE, *_GROUPED, *FILE_TYPES)


def wanted(name: str, experts: bool) -> Packed:
    """A scheme by its name; `experts`: whether the model has any."""
    if (size := PLAIN.get(name)) is not None:
        return Packed(name, None, schemes.plain(size))
    word, g = name, None
    if group := re.fullmatch(r"(.+)-g(\d{1,5})", name):
        word, g = group[1], int(group[2])
    if word in _GROUPED and g != 0:
        make, usual = _GROUPED[word]
        scheme = make(g or usual)
    elif word in _WHOLE and g is None:
        scheme = _WHOLE[word]()
    else:
        raise unknown("scheme of weights", name, SCHEMES)
    if word.startswith("mlx-"):
        return Packed(scheme.name, scheme, kinds=WITH_EMBEDDINGS, unit=g or 64)
    if word == "mxfp4" and experts:
        return Packed("MXFP4 experts", scheme, kinds=(TensorKind.EXPERTS,))
    return Packed(scheme.name, scheme)
