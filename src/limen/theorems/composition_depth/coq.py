"""What `proofs/` says of composition at the sizes of a case: two hops, and any number of them by stages."""

from __future__ import annotations

from functools import partial

from limen.theorems._statement import Form
from limen.theorems.composition_depth.coq_hops import (
    COVER,
    FREE,
    one_full_stated,
    sandwich_stated,
    think_stated,
    thinker,
    two_layers,
    two_stated,
)
from limen.theorems.composition_depth.coq_sizes import (
    each_w_sizes,
    one_full_sizes,
    sandwich_sizes,
    stage_sizes,
)
from limen.theorems.composition_depth.coq_stages import KINDS, stage_stated

_ID = "composition_depth"
_POWERS = ("c", "e", "a", "q")
_STAGES = "many_hops many_hops_stack many_hops_thoughts many_hops_check"

FORMS = {
    "cannot_two_layers": Form(
        _ID,
        "composition_depth each_w_stack",
        FREE,
        two_stated,
        lambda case: each_w_sizes(case, two_layers(case)),
        _POWERS,
    ),
    "cannot_think_once": Form(
        _ID,
        "composition_depth each_w_stack",
        FREE,
        think_stated,
        lambda case: each_w_sizes(case, thinker(case)),
        _POWERS,
    ),
    "chk_sound": Form(
        _ID, "composition_depth", ("k", "x1", "lm", "lg"), one_full_stated, one_full_sizes, ("lm", "lg")
    ),
    "cannot_sandwich": Form(
        _ID, "composition_depth two_hops_cover", COVER, sandwich_stated, sandwich_sizes, COVER[4:]
    ),
} | {
    name: Form(
        _ID,
        _STAGES,
        ("x0",),
        partial(stage_stated, name),
        partial(stage_sizes, kind=kind),
        ("r",),
        ("x", "g", "r"),
    )
    for name, kind in KINDS.items()
}
