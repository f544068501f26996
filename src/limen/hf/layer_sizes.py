"""Sizes that no short formula gives: lists by layer, Nemotron NAS's blocks, Qwen 4's tables of n-grams."""

from __future__ import annotations

from typing import Any

from limen.hf.fields import Fields

_HEADS = 1024  # of n-grams that are looked at
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # of Miller and Rabin: exact below 2^64
_UNIT = 256  # to which Nemotron NAS rounds the size of an MLP up


class NotCounted(Exception):
    """Why the weights of a config are not known here: a variant of a type, or a size that is missing."""


def listed(f: Fields, i: int, first: int) -> bool:
    """Whether layer i is dense: as a list says, else among the first, by default so many."""
    often, given = f["moe_layer_freq"], f["first_k_dense_replace"]
    if isinstance(often, list) and i < len(often):
        first = 0 if often[i] else i + 1
    elif given is not None:
        first = f.integer("first_k_dense_replace", 0)
    return typed(f, i, first)


def typed(f: Fields, i: int, first: int) -> bool:
    """Whether layer i is dense: as mlp_layer_types says, else among so many first ones."""
    kinds = f["mlp_layer_types"]
    return bool(kinds[i] == "dense") if isinstance(kinds, list) and i < len(kinds) else i < first


def of_layer(f: Fields, i: int, name: str) -> int:
    """The size of layer i in a list, or that of all layers."""
    if not isinstance(f[name], list):
        return f.integer(name)
    sizes = f.integers(name)
    if i >= len(sizes) or sizes[i] < 1:
        raise f.wrong(name, "a size for each layer")
    return sizes[i]


def numbers_in(f: Fields, i: int, name: str) -> set[int]:
    """The layers that a text such as "4,5,6" names."""
    text = f[name]
    if not isinstance(text, str) or not all(part.strip().isdigit() for part in text.split(",")):
        raise f.wrong(name, "numbers of layers, with commas")
    return {int(part) for part in text.split(",")}


def of_block(f: Fields, i: int, part: str, name: str) -> Any:
    """What block_configs says of the attention or the MLP ("ffn") of layer i."""
    own = f["block_configs"][i].get(part)
    if not isinstance(own, dict):
        raise NotCounted(f"block_configs[{i}] does not say its {part}")
    return own.get(name)


def block_mlp(f: Fields, i: int) -> int:
    """⅔·ffn_mult·w rounded up, where intermediate_size is not given."""
    ffn = Fields(f["block_configs"][i]["ffn"], f.model_type, f"{f.where}: block_configs[{i}].ffn")
    if ffn["intermediate_size"] is not None:
        return ffn.integer("intermediate_size")
    return rounded(int(2 * ffn.number("ffn_mult") * f.integer("hidden_size") / 3), _UNIT)


def rounded(size: int, unit: int) -> int:
    """Up to the next multiple."""
    return -(-size // unit) * unit


def ngram_rows(f: Fields, i: int, heads: int, width: int, base: int, unit: int) -> int:
    """Rows of layer i's table: each head of each such layer has the next prime from `base` on."""
    place = sorted(set(f.integers("ple_layer_ids"))).index(i + 1)
    if not 0 < heads <= _HEADS or width % heads:
        raise NotCounted(f"ple_embed_dim = {width} over {heads} heads of n-grams")
    if (place + 1) * heads > _HEADS:
        raise NotCounted(f"{(place + 1) * heads} heads of n-grams")
    prime, total = base - 1, 0
    for k in range((place + 1) * heads):
        prime = next(p for p in range(prime + 1, 4 * prime + 4) if _is_prime(p))
        total += prime if k >= place * heads else 0
    return rounded(total, unit)


def _is_prime(p: int) -> bool:
    """Miller and Rabin's test."""
    if p < 2 or any(p % a == 0 for a in _WITNESSES):
        return p in _WITNESSES
    s = ((p - 1) & (1 - p)).bit_length() - 1  # p - 1 = t·2^s
    powers = (pow(a, (p - 1) >> s, p) for a in _WITNESSES)
    return all(x == 1 or any(pow(x, 2**k, p) == p - 1 for k in range(s)) for x in powers)
