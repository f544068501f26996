"""Windows with sinks on chosen attention layers of a model of transformers': masks alone, no training.

A windowed layer lets a token look at itself, at the w-1 tokens before it and at the first few tokens (sinks):
mask[i, j] = i - w < j ≤ i or j < sinks.  The others look at everything before them, as they were trained.
Of a windowed layer some heads may stay as they were: its mask then has a row for each head.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from limen.errors import BadInput
from limen.probes.language import Language


def attention_layers(language: Language) -> dict[int, Any]:
    """The attention modules by the number of their layer."""
    model = language.model
    modules: list[Any] = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    named = [one for one in modules if type(one).__name__.endswith("Attention")]
    layers = {int(one.layer_idx): one for one in named if isinstance(getattr(one, "layer_idx", None), int)}
    if not layers:
        raise BadInput(
            f"{language.name}: it has no attention layers of transformers, so none can be windowed"
        )
    return dict(sorted(layers.items()))


def heads_of(module: Any) -> tuple[int, int] | None:
    """How many heads an attention module has, and how many of them have keys and values of their own."""
    config = getattr(module, "config", None)
    heads = getattr(config, "num_attention_heads", None)
    keys = getattr(config, "num_key_value_heads", None) or heads
    return (heads, keys) if isinstance(heads, int) and isinstance(keys, int) else None


def window_mask(
    length: int, window: int, sinks: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """(1, 1, n, n): 0 where a token may look, the least number elsewhere."""
    at = torch.arange(length, device=device)
    apart = at[:, None] - at[None]
    seen = (apart >= 0) & ((apart < window) | (at[None] < sinks))
    mask = torch.zeros(seen.shape, dtype=dtype, device=device)
    return mask.masked_fill(~seen, torch.finfo(dtype).min)[None, None]


@contextmanager
def windowed(
    language: Language,
    full: Collection[int],
    window: int,
    sinks: int,
    heads: Collection[tuple[int, int]] = (),
) -> Iterator[None]:
    """Inside, all attention layers but these are windowed, and of the others all heads but these (layer,
    head), for texts that are one chain of tokens.
    """
    masks: dict[tuple[int, torch.dtype, tuple[int, ...]], torch.Tensor] = {}

    def mask(length: int, states: torch.Tensor, some: tuple[int, ...], of: int) -> torch.Tensor:
        made = window_mask(length, window, sinks, states.dtype, states.device)
        if some:
            made = made.repeat(1, of, 1, 1)
            made[:, list(some)] = window_mask(length, length, 0, states.dtype, states.device)
        return made

    def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        states = args[0] if args else kwargs["hidden_states"]
        some = tuple(sorted(head for layer, head in heads if layer == module.layer_idx))
        key = states.shape[1], states.dtype, some
        if key not in masks:
            masks[key] = mask(key[0], states, some, (heads_of(module) or (1, 1))[0])
        return args, {**kwargs, "attention_mask": masks[key]}

    hooks = [
        module.register_forward_pre_hook(hook, with_kwargs=True)
        for layer, module in attention_layers(language).items()
        if layer not in full
    ]
    try:
        yield
    finally:
        for one in hooks:
            one.remove()


def takes_windows(language: Language, run: Callable[[], torch.Tensor], length: int) -> None:
    """Raises unless a window over the whole text changes nothing and one of a single token does."""
    plain = run()
    with windowed(language, (), length + 1, 0):
        whole = run()
    with windowed(language, (), 1, 0):
        least = run()
    scale = float(plain.std())
    if float((plain - whole).abs().max()) > 0.01 * scale or float((plain - least).abs().max()) < 0.01 * scale:
        raise BadInput(
            f"{language.name}: its attention layers do not take a mask, or have windows of their own, "
            "so none can be windowed"
        )
