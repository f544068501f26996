r"""The output at the last position alone, in memory proportional to n: a million tokens fit.

A layer may be read this way when its keys and values come from columns that no earlier layer
writes: then they are those of the embedding, and only the last position's vector moves.  With q the last
position's query,

    ⟨q, x_j W_K⟩ = ⟨q W_Kᵀ, x_j⟩,        Σ_j α_j (x_j W_V) = (Σ_j α_j x_j) W_V

so where tokens are written by codes, W_K goes into the query, W_V comes after the sum, and no vector is made
(`coded.py`).  That is done only where x_j W_K and x_j W_V are exact (`exact.py`).  Otherwise they are
rounded, or a key is a small difference of large products, of which this order loses more.  It is done in
float64: the products of one key sum up to at most 2^24 times its last bit, and 2^-53 of that is nothing.

Otherwise keys and values are made chunk by chunk.  A model that cannot be read this way is run whole.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.core.tensors import jt, torch
from limen.mixers.softmax import Softmax
from limen.model import coded
from limen.model.arithmetic import rounds_each_operation
from limen.model.embedding import Codes
from limen.model.exact import exact_keys_and_values
from limen.model.model import Model, Place

CHUNK = 2**15  # tokens embedded at once
CODED = 2**17  # tokens whose codes are looked up at once


class LastQuery(NamedTuple):
    """The queries of the last position, and where keys and values come from; shared ones once a head."""

    q: jt.Float[torch.Tensor, "batch h d_k"]
    K: jt.Float[torch.Tensor, "width h d_k"]
    V: jt.Float[torch.Tensor, "width h d"]


def last_logits(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"]
) -> jt.Num[torch.Tensor, "batch answers"]:
    """`model.logits(tokens)[..., -1, :]`, up to rounding."""
    return model.read(last_vectors(model, tokens)).squeeze(-2)


def last_vectors(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"]
) -> jt.Num[torch.Tensor, "batch 1 width"]:
    """`model.ends(tokens, 1)`, up to rounding."""
    if not reads_only_the_embedding(model):
        return model.ends(tokens, 1)

    coded_keys = _by_codes(model)

    def mix(place: Place, x: torch.Tensor) -> torch.Tensor:
        w, mixer = place.weights, place.mixer
        assert isinstance(mixer, Softmax)
        q = (x @ w["Q"]).unflatten(-1, (mixer.h, -1))  # (batch, h, d_k)
        K, V = (w[name].unflatten(-1, (mixer.kv_sets, -1)) for name in "KV")
        K, V = (part.repeat_interleave(mixer.group, dim=-2) for part in (K, V))  # (width, h, d)
        attended = _absorbed if coded_keys else _chunk_by_chunk
        return attended(model, tokens, LastQuery(q, K, V)).flatten(-2) @ w["O"]

    x = model.embedded(tokens[..., -1:], tokens.shape[-1] - 1).squeeze(-2)  # (batch, width)
    return model.through(x, mix).unsqueeze(-2)


def _by_codes(model: Model) -> bool:
    """Whether attention can be computed from codes, without vectors; not where each operation is rounded."""
    coded_tokens = isinstance(model.frame.embedding, Codes) and not rounds_each_operation()
    return coded_tokens and exact_keys_and_values(model)


def _absorbed(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"], last: LastQuery
) -> jt.Float[torch.Tensor, "batch h d"]:
    """Σ_j softmax(⟨q W_Kᵀ, x_j⟩) x_j over all tokens, then times W_V; two passes of chunks."""
    (q, K, V), wide = last, torch.float64
    embedding, w = model.frame.embedding, model.parts["embedding"]
    assert isinstance(embedding, Codes)
    query = torch.einsum("bhd,whd->bhw", q.to(wide), K.to(wide))
    chunks, read = _chunks(tokens, CODED), (V != 0).flatten(1).any(-1)
    scores = [coded.scores(embedding, w, tokens[..., c], c.start, query).to(q.dtype) for c in chunks]
    α = torch.cat(scores, -1).softmax(-1)  # (batch, h, n)
    sums = [coded.averaged(embedding, w, tokens[..., c], c.start, α[..., c], read) for c in chunks]
    return torch.einsum("bhw,whd->bhd", torch.stack(sums).sum(0), V.to(wide)).to(q.dtype)


def _chunk_by_chunk(
    model: Model, tokens: jt.Int[torch.Tensor, "batch n"], last: LastQuery
) -> jt.Float[torch.Tensor, "batch h d"]:
    """Σ_j softmax(⟨q, x_j W_K⟩) x_j W_V over all tokens; two passes of chunks."""
    q, K, V = last

    def made(c: slice, W: torch.Tensor) -> torch.Tensor:
        x = model.embedded(tokens[..., c], c.start)  # (batch, chunk, width)
        return torch.einsum("bcw,whd->bhcd", x, W)

    chunks = _chunks(tokens, CHUNK)
    scores = [(q.unsqueeze(-2) @ made(c, K).mT).squeeze(-2) for c in chunks]
    α = torch.cat(scores, -1).softmax(-1)  # (batch, h, n)
    total = torch.zeros((), dtype=torch.promote_types(q.dtype, torch.float32))
    for c in chunks:  # a matrix product in 16 bits accumulates in float32, so the sum of products does too
        total = total + (α[..., c].unsqueeze(-2) @ made(c, V)).squeeze(-2)
    return total.to(q.dtype)


def _chunks(tokens: jt.Int[torch.Tensor, "batch n"], size: int) -> list[slice]:
    n = tokens.shape[-1]
    return [slice(at, min(at + size, n)) for at in range(0, n, size)]


def reads_only_the_embedding(model: Model) -> bool:
    """Whether every layer is one full attention whose keys and values no earlier layer changes.

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
