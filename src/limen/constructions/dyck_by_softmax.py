r"""Bounded Dyck by three softmax layers: find the depth, the latest opening bracket of the level, any fault.

    layer 1   share = 1/(opening brackets so far);  ReLUs: my level, 1 … D, or a fault (_depths.py)
    layer 2   score P·[j opens on my level] + 16·place_j:   the kind of the latest one
    layer 3   is there a token that closes another kind than that, or a fault?

Why it works.  The bracket that a closing one belongs to is the latest opening one of its level.  P =
2^⌈log₂16n⌉+1 outweighs all places; scores are multiples of 16 below 2^26 at n = 2^20, exact in float32, and
the others weigh e^-16 + e^-32 + … of the latest, whatever n.

Three layers of one head; keys of size 1, D + 1 and 1, values of size 1, ⌈log₂k⌉ and 1; log₂n + 4 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from limen.constructions._depths import STEP, SoftmaxDyck
from limen.constructions._net import Net
from limen.constructions._weights import identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.weights import Weights
from limen.model.embedding import Codes
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckBySoftmax(SoftmaxDyck):
    """Causal heads."""

    task: Dyck = Dyck()

    @property
    def heads(self) -> int:
        return 1

    @cached_property  # a level asks for it by itself
    def columns(self) -> Columns:
        D = self.task.D
        return Columns.of(
            **self.told,
            threshold=self.T + 1,
            share=1,
            level=D,
            open_level=D,
            rest=1,
            held=self.b,
            flag=1,
            any=1,
        )

    @property
    def net(self) -> Net:
        net = Net()
        self.levels(net, self.columns["fault"].start)
        return net

    def on_level(self, to: dict[int, float], does: str, level: int, sign: int) -> None:
        at = self.columns
        to[at["level"].start + level - 1] = sign
        if does == "opens":
            to[at["open_level"].start + level - 1] = sign

    def frame(self) -> Frame:
        D, at = self.task.D, self.columns
        tables, segments = self.laid_with_thresholds()
        stack = f"softmax(h=1,d=1),softmax(h=1,d={self.b},d_k={D + 1}),softmax(h=1,d=1)"
        locals_ = self.levels_mlp, Mlp(2 * self.b + 1), None
        return Frame(Architecture.parse(stack), at.width, 2, Codes(at.width, tables, segments), locals_)

    def weights(self) -> Weights:
        at, D, b = self.columns, self.task.D, self.b
        w = zeros(self.frame())
        self.embed(w)
        self.fill_thresholds(w)
        self.share(w, 0)
        self.net.write(w, 0)
        P = 2.0 ** ((STEP * self.task.n - 1).bit_length() + 1)
        identity(w["1.0.Q"], at["level"], slice(0, D), P)
        identity(w["1.0.K"], at["open_level"], slice(0, D))
        w["1.0.Q"][at["one"], D], w["1.0.K"][at["place"], D] = STEP, 1
        identity(w["1.0.V"], at["bit"], slice(0, b))
        identity(w["1.0.O"], slice(0, b), at["held"])
        W1, b1, W2 = (w[f"1.local.{name}"] for name in ("W1", "b1", "W2"))
        for sign, units in ((4, slice(0, b)), (-4, slice(b, 2 * b))):  # relu(±4(bit - held) - 2 - 4·opens)
            identity(W1, at["bit"], units, sign)
            identity(W1, at["held"], units, -sign)
            W1[at["opens"], units], b1[units] = -4, -2
        W1[at["fault"], 2 * b] = 1
        W2[:, at["flag"]] = 1
        self.any_fault(w, 2)
        return w

    def hints(self) -> dict[str, Any]:
        """Tokens are followed by the brackets that are open."""
        return {"how": "shares"}

    @classmethod
    def examples(cls) -> tuple[DyckBySoftmax, ...]:
        return tuple(cls(Dyck(*size)) for size in ((2, 1, 1), (6, 1, 2), (6, 2, 2), (4, 3, 3)))
