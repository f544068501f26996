r"""The output at the last position alone, in memory proportional to n: a million tokens fit.

A layer may be read this way when its keys and values come from columns that no earlier layer
writes: then they are those of the embedding, and only the last position's vector moves.  With q the last
position's query,

    ⟨q, x_j W_K⟩ = ⟨q W_Kᵀ, x_j⟩,        Σ_j α_j (x_j W_V) = (Σ_j α_j x_j) W_V

so W_K goes into the query, W_V comes after the sum, and the tokens are embedded chunk by chunk, or not at all
where they are written by codes (`coded.py`).  A model that cannot be read this way is run whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

from limen.mixers.softmax import Softmax
from limen.model import coded
from limen.model.arithmetic import rounds_each_operation
from limen.model.embedding import Codes
from limen.model.model import Model, Place

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

CHUNK = 2**15  # tokens embedded at once
CODED = 2**17  # tokens whose codes are looked up at once


def last_logits(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"]
) -> jt.Num[torch.Tensor, "batch answers"]:
    """`model.logits(tokens)[..., -1, :]`, up to rounding."""
    if not reads_only_the_embedding(model):
        return model.logits(tokens)[..., -1, :]

    def mix(place: Place, x: torch.Tensor) -> torch.Tensor:
        w, mixer = place.weights, place.mixer
        assert isinstance(mixer, Softmax)
        Q = w["Q"].unflatten(-1, (mixer.h, -1))  # (width, h, d_k)
        K, V = (w[name].unflatten(-1, (mixer.kv_sets, -1)) for name in "KV")
        K, V = (part.repeat_interleave(mixer.group, dim=-2) for part in (K, V))  # (width, h, d)
        q = torch.einsum("bw,whd->bhd", x, Q)
        query = torch.einsum("bhd,whd->bhw", q, K)  # W_K absorbed
        seen = _attended(model, tokens, query, (w["V"] != 0).any(-1))  # (batch, h, width)
        return torch.einsum("bhw,whd->bhd", seen, V).flatten(-2) @ w["O"]

    x = model.embedded(tokens[..., -1:], tokens.shape[-1] - 1).squeeze(-2)  # (batch, width)
    return model.read(model.through(x, mix))


def _attended(
    model: Model,
    tokens: jt.Int[torch.Tensor, "batch n"],
    query: jt.Float[torch.Tensor, "batch h width"],
    read: jt.Bool[torch.Tensor, " width"],
) -> jt.Float[torch.Tensor, "batch h width"]:
    """Σ_j softmax(⟨query, x_j⟩) x_j over all tokens, in the columns that are read; two passes of chunks."""
    embedding, w = model.frame.embedding, model.parts["embedding"]
    if not isinstance(embedding, Codes) or rounds_each_operation():  # then a sum must be one operation
        return _by_vectors(model, tokens, query)
    chunks = _chunks(tokens, CODED)
    scores = [coded.scores(embedding, w, tokens[..., c], c.start, query) for c in chunks]
    α = torch.cat(scores, -1).softmax(-1)  # (batch, h, n)
    sums = [coded.averaged(embedding, w, tokens[..., c], c.start, α[..., c], read) for c in chunks]
    return torch.stack(sums).sum(0).to(query.dtype)


def _by_vectors(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"], query: jt.Float[torch.Tensor, "batch h width"]
) -> jt.Float[torch.Tensor, "batch h width"]:
    chunks = _chunks(tokens, CHUNK)
    scores = [query @ model.embedded(tokens[..., c], c.start).mT for c in chunks]
    α = torch.cat(scores, -1).softmax(-1)  # (batch, h, n)
    total = torch.zeros_like(query, dtype=torch.promote_types(query.dtype, torch.float32))
    for c in chunks:  # a matrix product in 16 bits accumulates in float32, so the sum of products does too
        total = total + α[..., c] @ model.embedded(tokens[..., c], c.start)
    return total.to(query.dtype)


def _chunks(tokens: jt.Int[torch.Tensor, "batch n"], size: int) -> list[slice]:
    n = tokens.shape[-1]
    return [slice(at, min(at + size, n)) for at in range(0, n, size)]


def reads_only_the_embedding(model: Model) -> bool:
    """Whether every layer is one full attention whose keys and values no earlier layer touches.

    Nor may a number of the embedding be infinite: times a zero it would be NaN in the whole model alone.
    """
    frame = model.frame
    if not all(bool(table.isfinite().all()) for table in model.parts["embedding"].values()):
        return False
    written = torch.zeros(frame.width, dtype=torch.bool)
    for i, layer in enumerate(frame.architecture.layers):
        alone = len(layer.parts) == 1 and type(layer.parts[0].mixer) is Softmax
        if frame.norm or not frame.residual or not alone:
            return False
        w = model.parts[f"{i}.0"]
        read = ((w["K"] != 0).any(-1) | (w["V"] != 0).any(-1)).cpu()  # (width,)
        if bool((read & written).any()):
            return False
        written |= (w["O"] != 0).any(0).cpu()
        local = model.parts.get(f"{i}.local", {})
        if frame.local(i) is not None and not local:
            return False  # an arbitrary function may write anywhere
        if local:
            last = max(int(name[1:]) for name in local)  # the number of the last matrix
            written |= ((local[f"W{last}"] != 0).any(0) | (local[f"b{last}"] != 0)).cpu()
    return True
