r"""One head as a function of the tokens: tables over (position i, token t) for each asking token x.

    Ratio       y = Σ_i α_i v_i / Σ_i α_i, Σα > 0       softmax, window, normalised linear, log_linear
    Sum         y = Σ_i α_i v_i                         linear without a normaliser
    Fading      m_i = g_i m_{i-1} + α_i v_i, 0 < g      one gate a token and head: log_linear over mamba2
    FadingRows  S_i = diag(g_i) S_{i-1} + w_i v_iᵀ      one gate a row: gated_linear;  y = q S
    Erasing     S_i = g_i (I - w_i e_iᵀ) S_{i-1} + w_i v_iᵀ        delta, gated_delta;  y = q S

Everything that stands at one position, such as α_i, g_i, v_i, is a function of its token and of x alone.

`least(X, C, ok, more)` is a lower bound on min_f C·y(f), f over the tokens that `ok` allows, for K questions
at once, and tokens near the minimum.  It is exact for Sum, Ratio and Fading.

`weights(X, F)` says how much of each place's v there is in y: y = Σ_i weight_i v_i, (K, n).

`exchanged(X, F, i)` is y for every token at place i of the texts F: (K, V, d), from what the other places
bring.  Sums lose one term and gain another.  A recurrence is linear in its state: the covector p of what
comes after i meets the state S before it, y = (pᵀA_t)S + (p·w_t)v_t + rest, so a token costs no pass.

* Sum: each position has its own minimum.
* Ratio (Dinkelbach): min_f Σα(c - λ) ≥ 0 iff C·y ≥ λ everywhere, since Σα > 0; λ ← the ratio at the minimum.
  Whatever λ it stops at, λ + min(residual, 0)/min Σα is a bound.
* Fading: m_i rises with m_{i-1}, so the least m_i is the least g m + c over the tokens, m the least m_{i-1}.
* FadingRows, Erasing: y = Σ_i (p_i·w_i) v_i with the adjoint p_last = q, p_{i-1} = A_iᵀp_i, where A_i is
  what token i leaves of the state.  The set of all p_i lies in a box (FadingRows), or in a ball (Erasing: A
  is no expansion).  It is a point, and the bound exact, where gates and keys depend on the position alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from limen.core.arrays import NDArray, np

Array: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
Bools: TypeAlias = "NDArray[np.bool_]"
_PASSES = 16  # of Dinkelbach's iteration, which needs three to six
_ROUNDS = 5  # of the chords' points
_SLACK = 1e-12  # relative: where it stops


def chosen(table: Array, F: Ints) -> Array:
    """table[k, i, F[k, i]]."""
    return np.asarray(np.take_along_axis(table, F[:, :, None], 2)[:, :, 0])


@dataclass(frozen=True)
class Ratio:
    """y = Σ α v / Σ α."""

    α: Array  # (asked, n, V), ≥ 0
    v: Array  # (n, V, d)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None) -> tuple[Array, Ints]:
        α = self.α[X]
        c = (
            np.einsum("kd,itd->kit", C, self.v)
            if more is None
            else np.einsum("kd,itd->kit", C, self.v) + more
        )
        F, never = np.where(ok, c, np.inf).argmin(2), np.where(ok, 0.0, np.inf)
        least = np.where(ok, α, np.inf).min(2).sum(1)  # of the normaliser
        for _ in range(_PASSES):
            total = chosen(α, F).sum(1)
            with np.errstate(divide="ignore", invalid="ignore"):
                λ = np.where(total > 0, (chosen(α, F) * chosen(c, F)).sum(1) / total, 0.0)
            z = α * (c - λ[:, None, None]) + never
            F_next = z.argmin(2)
            residual = chosen(z, F_next).sum(1)
            if (residual >= -_SLACK * total * (1 + np.abs(λ))).all():
                break
            F = F_next
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = λ + np.where(residual < 0, residual / least, 0.0)
        return np.where(least > 0, bound, -np.inf), F

    def output(self, X: Ints, F: Ints) -> Array:
        i = np.arange(F.shape[1])
        α = self.α[X[:, None], i, F]
        total = α.sum(1, keepdims=True)
        y = np.einsum("ki,kid->kd", α, self.v[i, F])
        return np.asarray(np.where(total == 0, 0.0, y / np.where(total == 0, 1.0, total)))

    def weights(self, X: Ints, F: Ints) -> Array:
        α = chosen(self.α[X], F)
        total = α.sum(1, keepdims=True)
        return np.asarray(α / np.where(total == 0, 1.0, total))

    def exchanged(self, X: Ints, F: Ints, i: int) -> Array:
        rest, α = _without(self.α[X], self.v, F, i), self.α[X, i]  # (K, 1 + d), (K, V)
        one = np.concatenate([α[..., None], α[..., None] * self.v[i]], -1)  # (K, V, 1 + d)
        total = rest[:, None] + one
        below = np.where(total[..., :1] == 0, 1.0, total[..., :1])
        return np.asarray(np.where(total[..., :1] == 0, 0.0, total[..., 1:] / below))


@dataclass(frozen=True)
class Sum:
    """y = Σ α v."""

    α: Array  # (asked, n, V)
    v: Array  # (n, V, d)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None) -> tuple[Array, Ints]:
        z = np.where(ok, self.α[X] * np.einsum("kd,itd->kit", C, self.v), np.inf)
        F = z.argmin(2)
        return chosen(z, F).sum(1), F

    def output(self, X: Ints, F: Ints) -> Array:
        i = np.arange(F.shape[1])
        return np.asarray(np.einsum("ki,kid->kd", self.α[X[:, None], i, F], self.v[i, F]))

    def weights(self, X: Ints, F: Ints) -> Array:
        return chosen(self.α[X], F)

    def exchanged(self, X: Ints, F: Ints, i: int) -> Array:
        rest = _without(self.α[X], self.v, F, i)[:, 1:]
        return np.asarray(rest[:, None] + self.α[X, i][..., None] * self.v[i])


@dataclass(frozen=True)
class Fading:
    """m_i = g_i m_{i-1} + α_i v_i, g > 0."""

    g: Array  # (n, V)
    α: Array  # (asked, n, V)
    v: Array  # (n, V, d)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None) -> tuple[Array, Ints]:
        c = self.α[X] * np.einsum("kd,itd->kit", C, self.v)
        m, F, row = np.zeros(len(C)), np.zeros(ok.shape[:2], dtype=np.int64), np.arange(len(C))
        for i in range(ok.shape[1]):
            z = np.where(ok[:, i], self.g[i] * m[:, None] + c[:, i], np.inf)
            F[:, i] = z.argmin(1)
            m = z[row, F[:, i]]
        return m, F

    def output(self, X: Ints, F: Ints) -> Array:
        y = np.zeros((len(F), self.v.shape[-1]))
        for i in range(F.shape[1]):
            t = F[:, i]
            y = self.g[i, t][:, None] * y + self.α[X, i, t][:, None] * self.v[i, t]
        return y

    def weights(self, X: Ints, F: Ints) -> Array:
        later = np.cumprod(self.g[np.arange(F.shape[1]), F][:, ::-1], 1)[:, ::-1]  # Π of g from i on
        after = np.column_stack([later[:, 1:], np.ones(len(F))])
        return np.asarray(chosen(self.α[X], F) * after)

    def exchanged(self, X: Ints, F: Ints, i: int) -> Array:
        before = self.output(X, F[:, :i])[:, None]  # (K, 1, d)
        y = self.g[i][:, None] * before + self.α[X, i][..., None] * self.v[i]  # (K, V, d)
        for j in range(i + 1, F.shape[1]):
            t = F[:, j]
            y = self.g[j, t][:, None, None] * y + (self.α[X, j, t][:, None] * self.v[j, t])[:, None]
        return np.asarray(y)


@dataclass(frozen=True)
class FadingRows:
    """S_i = diag(g_i) S_{i-1} + w_i v_iᵀ, y = q S: the adjoints lie in a box."""

    q: Array  # (asked, r)
    w: Array  # (n, V, r)
    g: Array  # (n, V, r)
    v: Array  # (n, V, d)
    last_first: bool = field(default=True, init=False)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None) -> tuple[Array, Ints]:
        low = high = self.q[X]  # (K, r)
        total, F, row = np.zeros(len(C)), np.zeros(ok.shape[:2], dtype=np.int64), np.arange(len(C))
        for i in range(ok.shape[1] - 1, -1, -1):
            c = C @ self.v[i].T  # (K, V)
            each = c[:, :, None] * self.w[i]  # (K, V, r)
            z = np.minimum(each * low[:, None], each * high[:, None]).sum(-1)
            z = np.where(ok[:, i], z, np.inf)
            F[:, i] = z.argmin(1)
            total = total + z[row, F[:, i]]
            here = ok[:, i, :, None]
            ends = [self.g[i] * end[:, None] for end in (low, high)]
            low = np.where(here, np.minimum(*ends), np.inf).min(1)
            high = np.where(here, np.maximum(*ends), -np.inf).max(1)
        return total, F

    def output(self, X: Ints, F: Ints) -> Array:
        p, y = self.q[X], np.zeros((len(F), self.v.shape[-1]))
        for i in range(F.shape[1] - 1, -1, -1):
            t = F[:, i]
            y = y + (p * self.w[i, t]).sum(1, keepdims=True) * self.v[i, t]
            p = self.g[i, t] * p
        return y

    def weights(self, X: Ints, F: Ints) -> Array:
        p, weights = self.q[X], np.zeros(F.shape)
        for i in range(F.shape[1] - 1, -1, -1):
            weights[:, i] = (p * self.w[i, F[:, i]]).sum(1)
            p = self.g[i, F[:, i]] * p
        return weights

    def exchanged(self, X: Ints, F: Ints, i: int) -> Array:
        p, y = self.q[X], np.zeros((len(F), self.v.shape[-1]))
        for j in range(F.shape[1] - 1, i, -1):
            t = F[:, j]
            y = y + (p * self.w[j, t]).sum(1, keepdims=True) * self.v[j, t]
            p = self.g[j, t] * p
        S = np.zeros((len(F), p.shape[1], y.shape[1]))  # before place i
        for j in range(i):
            t = F[:, j]
            S = self.g[j, t][:, :, None] * S + self.w[j, t][:, :, None] * self.v[j, t][:, None]
        here = (p @ self.w[i].T)[..., None] * self.v[i]  # (K, V, d)
        return np.asarray(y[:, None] + here + (p[:, None] * self.g[i]) @ S)


@dataclass(frozen=True)
class Erasing:
    """S_i = g_i (I - w_i e_iᵀ) S_{i-1} + w_i v_iᵀ, y = Σ_i scale_i (p_i·w_i) v_i: the adjoints lie in a ball.

    w = βe with |e| ≤ 1 and 0 ≤ β ≤ 1, so I - w eᵀ expands nothing.
    """

    q: Array  # (asked, r)
    w: Array  # (n, V, r)
    e: Array  # (n, V, r)
    g: Array  # (n, V), ≤ 1
    v: Array  # (n, V, d)
    scale: Array  # (asked, n)
    last_first: bool = field(default=True, init=False)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None) -> tuple[Array, Ints]:
        p, ρ = self.q[X], np.zeros(len(C))
        total, F, row = np.zeros(len(C)), np.zeros(ok.shape[:2], dtype=np.int64), np.arange(len(C))
        length = np.sqrt((self.w**2).sum(-1))  # (n, V)
        for i in range(ok.shape[1] - 1, -1, -1):
            c = (C @ self.v[i].T) * self.scale[X, i, None]  # (K, V)
            along = p @ self.w[i].T  # (K, V)
            z = np.where(ok[:, i], c * along - np.abs(c) * length[i] * ρ[:, None], np.inf)
            F[:, i] = z.argmin(1)
            total = total + z[row, F[:, i]]
            after = self.g[i][:, None] * (p[:, None] - along[:, :, None] * self.e[i])  # (K, V, r)
            here = ok[:, i, :, None]
            middle = np.where(here, after, np.inf).min(1) / 2 + np.where(here, after, -np.inf).max(1) / 2
            away = np.sqrt(((after - middle[:, None]) ** 2).sum(-1)) * (1 + 1e-12) + self.g[i] * ρ[:, None]
            p, ρ = middle, np.where(ok[:, i], away, 0.0).max(1)
        return total, F

    def output(self, X: Ints, F: Ints) -> Array:
        p, y = self.q[X], np.zeros((len(F), self.v.shape[-1]))
        for i in range(F.shape[1] - 1, -1, -1):
            t = F[:, i]
            along = (p * self.w[i, t]).sum(1, keepdims=True)
            y = y + self.scale[X, i][:, None] * along * self.v[i, t]
            p = self.g[i, t][:, None] * (p - along * self.e[i, t])
        return y

    def weights(self, X: Ints, F: Ints) -> Array:
        p, weights = self.q[X], np.zeros(F.shape)
        for i in range(F.shape[1] - 1, -1, -1):
            t = F[:, i]
            along = (p * self.w[i, t]).sum(1, keepdims=True)
            weights[:, i] = self.scale[X, i] * along[:, 0]
            p = self.g[i, t][:, None] * (p - along * self.e[i, t])
        return weights

    def exchanged(self, X: Ints, F: Ints, i: int) -> Array:
        p, y = self.q[X], np.zeros((len(F), self.v.shape[-1]))
        for j in range(F.shape[1] - 1, i, -1):
            t = F[:, j]
            along = (p * self.w[j, t]).sum(1, keepdims=True)
            y = y + self.scale[X, j][:, None] * along * self.v[j, t]
            p = self.g[j, t][:, None] * (p - along * self.e[j, t])
        S = np.zeros((len(F), p.shape[1], y.shape[1]))  # before place i
        for j in range(i):
            t = F[:, j]
            w, e, v = self.w[j, t], self.e[j, t], self.scale[X, j][:, None] * self.v[j, t]
            kept = S - w[:, :, None] * np.einsum("kr,krd->kd", e, S)[:, None]
            S = self.g[j, t][:, None, None] * kept + w[:, :, None] * v[:, None]
        along = p @ self.w[i].T  # (K, V)
        after = self.g[i][:, None] * (p[:, None] - along[..., None] * self.e[i])  # (K, V, r)
        here = (self.scale[X, i][:, None] * along)[..., None] * self.v[i]
        return np.asarray(y[:, None] + here + after @ S)


def _without(α: Array, v: Array, F: Ints, i: int) -> Array:
    """Σ α and Σ α v over all places but i, side by side: (K, 1 + d)."""
    others = np.delete(np.arange(F.shape[1]), i)
    there = chosen(α[:, others], F[:, others])  # (K, n - 1)
    sums = np.einsum("ki,kid->kd", there, v[others, F[:, others]])
    return np.asarray(np.column_stack([there.sum(1), sums]))


Head = Ratio | Sum | Fading | FadingRows | Erasing


def grid(x: Array) -> Array:
    """The numbers rounded to multiples of 2^-16, as a certificate writes multipliers."""
    return np.round(x * 65536) / 65536


def together(heads: list[tuple[Ratio | Sum, Array]], X: Ints, ok: Bools) -> tuple[Array, Ints, Array]:
    r"""A bound on Σ_h C_h·y_h over sums and ratios: each ratio over a line, all one separable sum.

    N/D = λ + R/D with R = N - λD, and R/D ≥ g(R) = min(R/D_low, R/D_high), which is concave: it lies above
    every line κR + η that it lies above at both ends of R's range.  λ is the ratio at the last tokens tried.
    """
    tables = [(head.α[X], np.einsum("kd,itd->kit", C, head.v), isinstance(head, Ratio)) for head, C in heads]
    F = np.where(ok, sum((α * c for α, c, _ in tables), np.zeros(ok.shape)), np.inf).argmin(2)
    ratios = sum(ratio for *_, ratio in tables)
    best, best_F, best_λ = np.full(len(X), -np.inf), F, np.zeros((len(X), ratios))
    for _ in range(_ROUNDS):
        total, table, λs = np.zeros(len(X)), np.zeros(ok.shape), list[Array]()
        for α, c, ratio in tables:
            if not ratio:
                table = table + α * c
                continue
            λ = grid((chosen(α, F) * chosen(c, F)).sum(1) / chosen(α, F).sum(1))
            R = α * (c - λ[:, None, None])
            (D_low, D_high), (low, high) = _range(α, ok), _range(R, ok)
            g_low, g_high = (np.minimum(end / D_low, end / D_high) for end in (low, high))
            with np.errstate(divide="ignore", invalid="ignore"):
                κ = np.where(high > low, (g_high - g_low) / (high - low), 0.0)
            total = total + λ + np.minimum(g_low - κ * low, g_high - κ * high)
            table = table + κ[:, None, None] * R
            λs.append(λ)
        z = np.where(ok, table, np.inf)
        F = z.argmin(2)
        low = total + chosen(z, F).sum(1)
        better = low > best
        best, best_F = np.where(better, low, best), np.where(better[:, None], F, best_F)
        best_λ = np.where(better[:, None], np.stack(λs, 1), best_λ) if λs else best_λ
    return best, best_F, best_λ


def _range(table: Array, ok: Bools) -> tuple[Array, Array]:
    """The least and the largest value of a sum over positions, each with an allowed token."""
    return np.where(ok, table, np.inf).min(2).sum(1), np.where(ok, table, -np.inf).max(2).sum(1)
