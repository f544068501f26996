"""What `proofs/` says of composition at the sizes of a case: two hops, and any number of them by stages."""

from __future__ import annotations

from functools import partial

from limen.coq.statement import Form
from limen.coq.writers._composition_hops import (
    COVER,
    FREE,
    PAIRS,
    one_full_stated,
    pairs_stated,
    sandwich_stated,
    think_more_stated,
    think_stated,
    thinker,
    two_layers,
    two_stated,
)
from limen.coq.writers._composition_segments import THREE, TWO, three_stated, two_full_stated
from limen.coq.writers._composition_sizes import (
    each_w_sizes,
    one_full_sizes,
    pairs_sizes,
    sandwich_sizes,
    stage_sizes,
    think_more_sizes,
    three_sizes,
    two_full_sizes,
)
from limen.coq.writers._composition_stages import KINDS, stage_stated

_ID = "composition_depth"
_POWERS = ("c", "e", "a", "q")
_STACKS = "many_hops many_hops_stack many_hops_thoughts"
_STAGES = f"{_STACKS} many_hops_check"

FORMS = {
    "cannot_two_layers": Form(
        _ID,
        "composition_depth each_w_stack",
        FREE,
        two_stated,
        partial(each_w_sizes, layers=two_layers),
        _POWERS,
    ),
    "cannot_think_once": Form(
        _ID,
        "composition_depth each_w_stack",
        FREE,
        think_stated,
        partial(each_w_sizes, layers=thinker),
        _POWERS,
    ),
    "cannot_two_layers_pairs": Form(
        _ID, "composition_depth each_w_stack pairs", PAIRS, pairs_stated, pairs_sizes, ("a", "q")
    ),
    "cannot_think_once_more": Form(
        _ID, f"{_STACKS} fewer_hops", FREE, think_more_stated, think_more_sizes, _POWERS
    ),
    "cannot_two_full": Form(
        _ID, f"{_STACKS} segments two_full", TWO, two_full_stated, two_full_sizes, TWO[4:]
    ),
    "cannot_three_hops": Form(
        _ID, f"{_STACKS} segments three_hops", THREE, three_stated, three_sizes, THREE[5:]
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
