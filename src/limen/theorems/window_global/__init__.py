r"""A stack of windows does not see what is out of its reach, but for the first tokens of the text.

    g·log₂|vocab| ≥ log₂ #rows(t),   t = N - asks - R,   R = Σ_layers (W - 1)

N tokens, of which the last `asks` answer; W the largest window of a layer, g the most first tokens that a
layer shows to all.  Without first tokens the left side is 0: then R must reach every token that matters.

Hypotheses.  All layers are `window` or `masked_softmax`, side by side or not [beltagy2020]; no chain of
thought (its tokens move on and carry along what they know: then the states count, see `streaming_state`).
Precision does not enter, nor do widths, heads or per-position functions: depth does not help before the reach
covers the text.

Proof.  Say that token i knows a set of tokens if its vector is a function of them.  After l layers token i
knows no others than i - R_l … i and the first g, R_l the sum of W - 1 over these layers: by induction, it
reads tokens from i - (W-1) on, which know what is at most R_{l-1} before them and the first g; and it reads
some of the first g, which are causal and know only the first g.  So the tokens that answer know nothing of
the first t but the first g of them.  Two prefixes of t tokens that agree there get the same answers after
every continuation, so there are no more rows than beginnings, |vocab|^g.  A shorter prefix is seen no better:
t may be the task's cut.  ∎

Ours.

Constructive: `refute` takes two prefixes that agree in the first g tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.adversary.collisions import collision
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.window_global.inequality import out_of_sight, sight


@dataclass(frozen=True)
class WindowGlobal(Theorem):
    """Cut where the reach of the tokens that answer ends."""

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("window_global", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(1)
        if rows is None or rows.bits == 0:
            return ()
        reach = task.length - task.asks
        return (Need("window", f"Σ (W-1) over the layers ≥ {reach}, or first tokens that all see", None),)

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        if not isinstance(model, Model):
            return None
        view = sight(model.frame.architecture)
        if isinstance(view, NoStatement) or (t := out_of_sight(task, view)) < 1:
            return None
        return collision(
            task, model, t, lambda prefixes: [row.tobytes() for row in prefixes[:, : view.first]]
        )
