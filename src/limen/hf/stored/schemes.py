"""Bytes of one out × in matrix under each scheme: the numbers themselves, and the scales beside them.

⌈x⌉ is rounded up, n = out·in, g numbers of a row share a scale

fp8 block      n                4·⌈out/128⌉·⌈in/128⌉ (E8M0: 1)            transformers' finegrained_fp8
fp8 tensor     n                4 (8 with a static input scale)           modelopt 0.46, transformers' fp8
fp8 channel    n                2·out                                     compressed-tensors 0.20
MXFP4          n/2              out·⌈in/32⌉                               OCP MX 1.0, gpt-oss
MXFP6          n·6/8            out·⌈in/32⌉                               OCP MX 1.0, compressed-tensors 0.20
MXFP8          n                out·⌈in/32⌉                               OCP MX 1.0, modelopt 0.46
int bytes      n                2·out·⌈in/g⌉                              compressed-tensors 0.20
NVFP4          n/2              out·⌈in/16⌉ + 4 (8 with a static input)   modelopt 0.46
packed b bits  4·out·⌈in·b/32⌉  2·out·⌈in/g⌉ + 16 (its shape)             compressed-tensors 0.20
AWQ            n·b/8            2·out·⌈in/g⌉ and b bits of zero points    AutoAWQ 0.2.9
GPTQ           n·b/8            AWQ's and 4·in (g_idx)                    GPTQModel 5
int8           n                4·out + 1                                 bitsandbytes 0.48, LLM.int8
nf4            n/2              4·⌈n/64⌉ + 64 + ~80 (table, JSON)         bitsandbytes 0.50
nf4 twice      n/2              ⌈n/64⌉ + 4·⌈n/64/256⌉ + 64 + 1024 + ~170  its double quantisation
MLX            n·b/8            4·⌈n/g⌉ (MXFP4, NVFP4 modes: 1 a group)   mlx 0.30
llama.cpp      out·⌈in/block⌉·bytes of a block, scales inside             ggml-common.h, b21e4de
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Formula = Callable[[int, int], int]  # of out and in
BLOCKS = {  # numbers of a block of llama.cpp's, and its bytes
    "f32": (1, 4),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q4_0": (32, 18),
    "q4_1": (32, 20),
    "q5_0": (32, 22),
    "q5_1": (32, 24),
    "q8_0": (32, 34),
    "iq4_nl": (32, 18),
    "mxfp4": (32, 17),
    "q2_K": (256, 84),
    "q3_K": (256, 110),
    "q4_K": (256, 144),
    "q5_K": (256, 176),
    "q6_K": (256, 210),
    "iq1_s": (256, 50),
    "iq1_m": (256, 56),
    "iq2_xxs": (256, 66),
    "iq2_xs": (256, 74),
    "iq2_s": (256, 82),
    "iq3_xxs": (256, 98),
    "iq3_s": (256, 110),
    "iq4_xs": (256, 136),
}


@dataclass(frozen=True)
class Scheme:
    """How a matrix is stored."""

    name: str
    values: Formula
    scales: Formula
    tensors: int = 2  # that a file has for one matrix
    plain: int = 0  # bytes of a number, where nothing is quantised
    block: tuple[int, int] = (1, 1)  # rows and columns that share a scale, which no two ranks can share


def up(size: int, unit: int) -> int:
    """⌈size/unit⌉."""
    return -(-size // unit)


def plain(size: int) -> Scheme:
    """Numbers as they are, of so many bytes each."""
    return Scheme(f"{8 * size} bit", lambda out, width: size * out * width, lambda out, width: 0, 1, size)


def fp8_block(rows: int = 128, columns: int = 128, scale: int = 4) -> Scheme:
    return Scheme(
        f"fp8 in blocks of {rows}×{columns}",
        lambda out, width: out * width,
        lambda out, width: scale * up(out, rows) * up(width, columns),
        block=(rows, columns),
    )


def fp8_tensor(static: bool = False, scale: int = 4) -> Scheme:
    """`static`: with a scale of the input."""
    scales = 2 if static else 1
    return Scheme(
        "fp8 per tensor", lambda out, width: out * width, lambda out, width: scale * scales, 1 + scales
    )


def fp8_channel() -> Scheme:
    return Scheme("fp8 per channel", lambda out, width: out * width, lambda out, width: 2 * out)


def mxfp4(g: int = 32) -> Scheme:
    return Scheme("MXFP4", lambda out, width: up(out * width, 2), lambda out, width: out * up(width, g))


def mxfp6(g: int = 32) -> Scheme:
    return Scheme("MXFP6", lambda out, width: up(out * width * 6, 8), lambda out, width: out * up(width, g))


def mxfp8(g: int = 32) -> Scheme:
    return Scheme("MXFP8", lambda out, width: out * width, lambda out, width: out * up(width, g))


def nvfp4(g: int = 16, static: bool = False) -> Scheme:
    held = 8 if static else 4
    return Scheme(
        "NVFP4" if g == 16 else f"NVFP4, groups of {g}",
        lambda out, width: up(out * width, 2),
        lambda out, width: out * up(width, g) + held,
        held // 4 + 2,
    )


def packed(bits: int, g: int | None, zeros: bool = False, ordered: bool = False) -> Scheme:
    """compressed-tensors' integers in words of 32 bits; g = None: one scale a row."""

    def scales(out: int, width: int) -> int:
        groups = 1 if g is None else up(width, g)
        zero = 4 * up(out * bits, 32) * groups if zeros else 0
        return 2 * out * groups + zero + (4 * width if ordered else 0) + 16

    name = f"int{bits}, {'one scale a row' if g is None else f'groups of {g}'}"
    return Scheme(name, lambda out, width: 4 * out * up(width * bits, 32), scales, 3 + zeros + ordered)


def int8_channel(g: int | None = None) -> Scheme:
    """compressed-tensors' integers of a byte each: W8A8, and fewer bits where the input is quantised too."""
    name = "int8 per channel" if g is None else f"int8, groups of {g}"
    return Scheme(
        name,
        lambda out, width: out * width,
        lambda out, width: 2 * out * (1 if g is None else up(width, g)),
    )


def awq(bits: int = 4, g: int = 128) -> Scheme:
    return Scheme(
        f"AWQ, {bits} bits, groups of {g}",
        lambda out, width: up(out * width * bits, 8),
        lambda out, width: up(width, g) * (2 * out + 4 * up(out * bits, 32)),
        3,
    )


def gptq(bits: int = 4, g: int | None = 128) -> Scheme:
    """g = None: one scale a row."""

    def scales(out: int, width: int) -> int:
        groups = 1 if g is None else up(width, g)
        return groups * (2 * out + 4 * up(out * bits, 32)) + 4 * width

    return Scheme(
        f"GPTQ, {bits} bits, {'one scale a row' if g is None else f'groups of {g}'}",
        lambda out, width: 4 * out * up(width * bits, 32),
        scales,
        4,
    )


def bnb_int8() -> Scheme:
    return Scheme("LLM.int8", lambda out, width: out * width, lambda out, width: 4 * out + 1, 3)


def bnb_4bit(kind: str = "nf4", twice: bool = False) -> Scheme:
    def scales(out: int, width: int) -> int:
        blocks = up(out * width, 64)
        held = blocks + 4 * up(blocks, 256) + 1024 if twice else 4 * blocks
        state = f'{{"quant_type": "{kind}", "blocksize": 64, "dtype": "bfloat16", "shape": [{out}, {width}]}}'
        return held + 64 + len(state) + (90 if twice else 0)  # 90: of nested scales, their mean in digits

    name = f"{kind} in blocks of 64{', scales quantised again' if twice else ''}"
    return Scheme(name, lambda out, width: up(out * width, 2), scales, 6 if twice else 4)


def mlx(bits: int, g: int, mode: str = "affine") -> Scheme:
    scale = 4 if mode == "affine" else 1
    return Scheme(
        f"MLX, {bits} bits, groups of {g}" + ("" if mode == "affine" else f", {mode}"),
        lambda out, width: up(out * width * bits, 8),
        lambda out, width: scale * up(out * width, g),
        3 if mode == "affine" else 2,
    )


def blocks(kind: str) -> Scheme:
    """One of llama.cpp's types."""
    numbers, size = BLOCKS[kind]
    if numbers == 1:
        return plain(size)
    return Scheme(kind, lambda out, width: out * up(width, numbers) * size, lambda out, width: 0, 1)
