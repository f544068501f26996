r"""Attention of a few queries to tokens that are written by codes, without making their vectors.

A token's vector is a sum of rows of small tables (`Codes`), so with T a table and r_j the row for token j

    ⟨q, x_j⟩ = Σ_codes (q Tᵀ)[r_j],        Σ_j α_j x_j = Σ_codes (Σ_j α_j e_{r_j}) T

and for each code and token one number is looked up or added.  A million vectors of width 80 would be 12 times
as many, made anew in each layer.
"""

from __future__ import annotations

from collections.abc import Mapping

from limen.core.tensors import jt, torch
from limen.model.embedding import Codes


def scores(
    codes: Codes,
    w: Mapping[str, torch.Tensor],
    tokens: jt.Int[torch.Tensor, "batch n"],
    start: int,
    query: jt.Float64[torch.Tensor, "batch h width"],
) -> jt.Float64[torch.Tensor, "batch h n"]:
    """⟨query, x_j⟩ for the tokens from position `start` on."""
    products = query.new_zeros((*query.shape[:-1], tokens.shape[-1]))
    for code, here, row in codes.written(tokens, start, (query != 0).flatten(0, -2).any(0)):
        table = w[code.table].to(query.dtype)  # (rows, columns)
        part = query[..., code.column : code.column + table.shape[1]]
        if len(table) > row.shape[-1]:
            products[..., here] += part @ table[row].mT
        else:
            products[..., here] += (part @ table.mT).gather(-1, _for_each_head(row, query))
    return products


def averaged(
    codes: Codes,
    w: Mapping[str, torch.Tensor],
    tokens: jt.Int[torch.Tensor, "batch n"],
    start: int,
    α: jt.Float[torch.Tensor, "batch h n"],
    read: jt.Bool[torch.Tensor, " width"],
) -> jt.Float64[torch.Tensor, "batch h width"]:
    """Σ_j α_j x_j in the columns that are read, and 0 in others.

    In float64: a plain sum of a million numbers would lose all of float32's digits but a few.
    """
    total = α.new_zeros((*α.shape[:-1], codes.width), dtype=torch.float64)
    for code, here, row in codes.written(tokens, start, read):
        table = w[code.table].to(torch.float64)
        columns = slice(code.column, code.column + table.shape[1])
        mass = α[..., here].to(torch.float64)
        if len(table) > row.shape[-1]:
            total[..., columns] += mass @ table[row]
        else:
            by_row = mass.new_zeros((*mass.shape[:-1], len(table)))
            total[..., columns] += by_row.scatter_add_(-1, _for_each_head(row, mass), mass) @ table
    return total


def _for_each_head(
    row: jt.Int[torch.Tensor, "*batch m"], like: jt.Float[torch.Tensor, "batch h _"]
) -> jt.Int[torch.Tensor, "batch h m"]:
    return row.unsqueeze(-2).expand(*like.shape[:-1], row.shape[-1])
