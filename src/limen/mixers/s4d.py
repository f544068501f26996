r"""S4D: each channel is read by a few damped oscillators, whose rates and frequencies are weights.

    h_t = Ā∘h_{t-1} + B̄u_t,     y_t = 2Re⟨C, h_t⟩ + D u_t,     u = xW_X,     out = GELU(y)W_O      [gu2022s4d]
    A = -exp(A_re) + iA_im,     Ā = exp(ΔA),     B̄ = (Ā - 1)/A,     Δ = exp(t)      (zero-order hold, B = 1)

The same for all tokens, so y is a convolution: K_l = 2Re⟨CB̄, Ā^l⟩ weighs what came l tokens ago.  C is C_re +
iC_im.  B̄ multiplies C here, not u: h is then the sum of Ā^l u alone.  DSS [gupta2022dss], where its kernel is
not normalised, is the same.  Of the published block the gate behind W_O is left out.  State: s complex
numbers a channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.mixer import Streaming
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.errors import at_least
from limen.mixers.recurrence.chunks import cut, glue
from limen.mixers.recurrence.rule import widened


class Complex(NamedTuple):
    """Complex numbers in two tensors, whose type may be any."""

    re: jt.Float[torch.Tensor, "*shape"]
    im: jt.Float[torch.Tensor, "*shape"]

    def times(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def each(self, of: Callable[[torch.Tensor], torch.Tensor]) -> Complex:
        return Complex(of(self.re), of(self.im))


@dataclass(frozen=True)
class S4d(Streaming):
    """d channels with s complex numbers each."""

    d: int = 4
    s: int = 4

    def __post_init__(self) -> None:
        at_least(self, d=1, s=1)

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        d, s = self.d, self.s
        modes = dict.fromkeys(("A_re", "A_im", "C_re", "C_im"), (d, s))
        return {"X": (width, d), **modes, "t": (d,), "D": (d,), "O": (d, width)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """A = -1/2 + iπ(n + 1/2), n < s; steps Δ log-uniform from 1/1000 to 1/10; D and C as published.

        S4D-Lin has πn, and so a C_im of no effect at n = 0.
        """
        w = random_weights(self.shapes(width), generator, dtype)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

        n = math.pi * (torch.arange(self.s, dtype=torch.float64) + 0.5).to(dtype)
        least, most = math.log(1e-3), math.log(0.1)
        steps = torch.rand(self.d, generator=generator, dtype=torch.float64)
        return w | {
            "A_re": torch.full_like(w["A_re"], math.log(0.5)),
            "A_im": n.expand_as(w["A_im"]).clone(),
            "C_re": normal(self.d, self.s) * 0.5**0.5,
            "C_im": normal(self.d, self.s) * 0.5**0.5,
            "t": (least + (most - least) * steps).to(dtype),
            "D": normal(self.d),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        u, n = x @ w["X"], x.shape[-2]
        y = torch.einsum("...jd,dij->...id", u, _toeplitz(self._kernel(w, n)))
        return self._output(w, u, y)

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """Chunks as convolutions; between them the state, which a chunk of C tokens turns by Ā^C."""
        u = x @ w["X"]
        if not u.numel():
            return self._output(w, u, u)
        v = {name: widened(part) for name, part in w.items()}
        cuts = cut(widened(u))  # (*batch, chunks, C, d)
        C, chunks = cuts.shape[-2], cuts.shape[-3]
        each = cuts.movedim(-1, 0).reshape(self.d, -1, C)  # a matrix for each channel
        powers = self._powers(v, C + 1)  # (d, s, C + 1)
        left = powers.each(lambda part: (each @ part[..., :C].flip(-1).mT).unflatten(1, (-1, chunks)))
        h, before = left.each(lambda part: torch.zeros_like(part[:, :, 0])), []
        whole = powers.each(lambda part: part[..., C].unsqueeze(1))  # (d, 1, s)
        for added in map(Complex, left.re.unbind(2), left.im.unbind(2)):  # (d, texts, s)
            before.append(h)
            h = whole.times(h)
            h = Complex(h.re + added.re, h.im + added.im)
        re, im = (torch.stack(parts, 2).flatten(1, 2) for parts in zip(*before, strict=True))
        read = self._read(v).each(lambda part: part.unsqueeze(-1)).times(powers.each(lambda p: p[..., 1:]))
        y = each @ _toeplitz(self._kernel(v, C)).mT + re @ read.re - im @ read.im
        y = glue(y.reshape(self.d, *cuts.shape[:-1]).movedim(0, -1), x.shape[-2])
        return self._output(w, u, y.to(u.dtype))

    def _powers(self, w: Mapping[str, torch.Tensor], n: int) -> Complex:
        """Ā^l for l < n: (d, s, n)."""
        Δl = w["t"].exp().unsqueeze(-1) * torch.arange(n, dtype=w["t"].dtype, device=w["t"].device)
        size = (-w["A_re"].exp().unsqueeze(-1) * Δl.unsqueeze(-2)).exp()
        angle = w["A_im"].unsqueeze(-1) * Δl.unsqueeze(-2)
        return Complex(size * angle.cos(), size * angle.sin())

    def _read(self, w: Mapping[str, torch.Tensor]) -> Complex:
        """2CB̄ with B̄ = (Ā - 1)/A: (d, s)."""
        A, (re, im) = Complex(-w["A_re"].exp(), w["A_im"]), self._turn(w)
        conjugate = A._replace(im=-A.im).each(lambda part: part / (A.re * A.re + A.im * A.im))
        return Complex(2 * w["C_re"], 2 * w["C_im"]).times(Complex(re - 1, im).times(conjugate))

    def _turn(self, w: Mapping[str, torch.Tensor]) -> Complex:
        """Ā: (d, s)."""
        return self._powers(w, 2).each(lambda part: part[..., 1])

    def _kernel(self, w: Mapping[str, torch.Tensor], n: int) -> jt.Float[torch.Tensor, "d {n}"]:
        """K_l for l < n."""
        read = self._read(w).each(lambda part: part.unsqueeze(-1))
        return read.times(self._powers(w, n)).re.sum(-2)

    def _output(
        self,
        w: Mapping[str, torch.Tensor],
        u: jt.Float[torch.Tensor, "*n d"],
        y: jt.Float[torch.Tensor, "*n d"],
    ) -> jt.Float[torch.Tensor, "*n width"]:
        return torch.nn.functional.gelu(y + w["D"] * u) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: Āh + u takes four products and sums a number, the reading two: 2·6·s a channel."""
        return ((12 * self.d * self.s, ONE),)

    def state_bits(self, n: int, p: int) -> int:
        return 2 * self.d * self.s * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Complex:
        zeros = w["t"].new_zeros((*batch, self.d, self.s))
        return Complex(zeros, zeros)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Complex, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Complex, jt.Float[torch.Tensor, "*batch width"]]:
        u = x_t @ w["X"]  # (*batch, d)
        h = self._turn(w).times(state)
        h = h._replace(re=h.re + u.unsqueeze(-1))
        return h, self._output(w, u, self._read(w).times(h).re.sum(-1))

    @classmethod
    def examples(cls) -> tuple[S4d, ...]:
        return cls(), cls(d=3, s=1), cls(d=2, s=5)


def _toeplitz(K: jt.Float[torch.Tensor, "d n"]) -> jt.Float[torch.Tensor, "d n n"]:
    """(d, i, j): K_{i-j}, 0 where j > i."""
    n = K.shape[-1]
    i = torch.arange(n, device=K.device)
    return K[:, (i.unsqueeze(-1) - i).clamp(min=0)].tril()
