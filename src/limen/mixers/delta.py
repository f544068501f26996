r"""DeltaNet: before a token writes its value under its key, it erases what that key held.

    y_t = q_tᵀS_t,     S_t = S_{t-1} - β_tk_t(k_tᵀS_{t-1} - v_tᵀ),     β_t = σ(x_tW_β + b_β)   [yang2024delta]

q and k are scaled to length 1.  W_β is the weight "B", b_β the weight "b".  With c > 1 a causal
convolution over c tokens and a SiLU come between the projections and q, k, v.  State: one (d_k, d)
matrix a head, and the c-1 last rows of the projections.
"""

from __future__ import annotations

from limen.mixers._delta import DeltaRule


class Delta(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    @classmethod
    def examples(cls) -> tuple[Delta, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
