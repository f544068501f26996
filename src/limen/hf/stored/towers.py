"""The vision towers of Qwen's models: patches, blocks of attention, and what merges patches into tokens.

e is the width of a block, m of its MLP, o of the decoder; s² patches merge into one token.
Checkpoints keep them in 16 bits. Other models' towers are not counted, and a remark says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from limen.hf.stored.matrices import Matrix
from limen.hf.weights_table import TensorKind

_MOST, _DEEPEST = 2**16, 2**10  # of a size, of blocks
_FIRST = ("qwen2_vl",)
_SECOND = ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")


def tower(config: Mapping[str, Any]) -> tuple[Matrix, ...]:
    """Its matrices, norms and biases; none where the type or a size is not known."""
    own, model_type = config.get("vision_config"), config.get("model_type")
    if not isinstance(own, dict) or model_type not in (*_FIRST, *_SECOND):
        return ()
    first = model_type in _FIRST
    own = dict[str, Any](in_channels=own.get("in_chans")) | own  # it has two names
    names: tuple[str, ...] = (
        "depth",
        "in_channels",
        "patch_size",
        "temporal_patch_size",
        "spatial_merge_size",
    )
    names += ("embed_dim", "mlp_ratio", "hidden_size") if first else ("hidden_size", "intermediate_size")
    names += () if first else ("out_hidden_size", "num_position_embeddings")
    sizes = [own.get(name) for name in names]
    merges = own.get("deepstack_visual_indexes") or []
    whole = all(type(size) is int and 0 < size <= _MOST for size in sizes)
    if not whole or not isinstance(merges, list) or max(own["depth"], len(merges)) > _DEEPEST:
        return ()
    return tuple(_of_qwen2(own) if first else _of_qwen3(own, len(merges)))


def _of_qwen2(own: Mapping[str, Any]) -> Iterator[Matrix]:
    e, o = own["embed_dim"], own["hidden_size"]
    patch = own["in_channels"] * own["temporal_patch_size"] * own["patch_size"] ** 2
    yield _matrix("patch_embed.proj", e, patch)
    yield from _blocks(own["depth"], e, e * own["mlp_ratio"])
    yield from _merger("merger", e, e * own["spatial_merge_size"] ** 2, o)


def _of_qwen3(own: Mapping[str, Any], deep: int) -> Iterator[Matrix]:
    """`deep`: mergers of further layers, whose norms are over merged patches."""
    e, o, merged = own["hidden_size"], own["out_hidden_size"], own["spatial_merge_size"] ** 2
    patch = own["in_channels"] * own["temporal_patch_size"] * own["patch_size"] ** 2
    yield from _linear("patch_embed.proj", e, patch)
    yield _matrix("pos_embed", own["num_position_embeddings"], e)
    yield from _blocks(own["depth"], e, own["intermediate_size"])
    yield from _merger("merger", e, e * merged, o)
    for i in range(deep):
        yield from _merger(f"deepstack_merger_list.{i}", e * merged, e * merged, o)


def _blocks(depth: int, e: int, m: int) -> Iterator[Matrix]:
    for i in range(depth):
        name = f"visual.blocks.{i}"
        yield _norms(f"{name}.norm", 2 * e)
        yield from _linear(f"{name}.attn.qkv", 3 * e, e)
        yield from _linear(f"{name}.attn.proj", e, e)
        yield from _linear(f"{name}.mlp.fc1", m, e)
        yield from _linear(f"{name}.mlp.fc2", e, m)


def _merger(name: str, normed: int, merged: int, o: int) -> Iterator[Matrix]:
    yield _norms(f"{name}.norm", normed)
    yield from _linear(f"{name}.fc1", merged, merged)
    yield from _linear(f"{name}.fc2", o, merged)


def _linear(name: str, out: int, columns: int) -> Iterator[Matrix]:
    yield _matrix(name, out, columns)
    yield Matrix(f"{name}.bias", TensorKind.BIAS, 1, out, 1)


def _matrix(name: str, out: int, columns: int) -> Matrix:
    return Matrix(name, TensorKind.LINEAR, 1, out, columns)


def _norms(name: str, size: int) -> Matrix:
    """Weights and biases."""
    return Matrix(name, TensorKind.NORM, 1, 2 * size, 1)
