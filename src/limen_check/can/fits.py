"""Certificates about weights: they solve a task, and their layers have a place in an architecture.

What is not used has the weights 0: more heads, larger heads, further layers.  Position-wise functions, the
embedding and the width are no part of an architecture: it may have any.
"""

import json
import sys
from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

from limen_check.can.weights import margin
from limen_check.files import Model, about, need, rational, shown
from limen_check.record import enter, entered, recorded
from limen_check.text import Call, Value, parse_stack

_FORMATS = ((64, "float64"), (32, "float32"), (16, "bfloat16"))  # the format with at most so many bits
_MAY_GROW = ("d", "d_k", "inner", "h_i", "d_i")  # sizes that can be filled up with zeros; heads are counted
_UNSAID: dict[str, Value] = {"bidirectional": False, "normalise": True}  # what model.json leaves out
_LATENT = ("mla", "dsa")  # whose keys and values come of one latent
_TOGETHER = ("retnet", "top_k")  # whose heads share an index, or fade at rates in order
_AFFINE = ("linear", "binary")  # readouts that are affine maps
_derived: dict[tuple[str | int, ...], tuple[Fraction, frozenset[str]]] = {}


def derived(model: Model, task: str, precision: str, steps: int, hints: Mapping[str, Any]) -> Fraction:
    """The margin of a model, derived once; again where somebody watches which rules are entered."""
    key = model.digest, task, precision, steps, json.dumps(hints, sort_keys=True)
    if key in _derived and sys.getprofile() is None:
        least, modules = _derived[key]
        enter(modules)
        return least
    with recorded() as now:
        least = margin(model, task, precision, steps, hints)
    _derived[key] = least, frozenset(now)
    return least


def check_solves(c: Mapping[str, Any], model: Model) -> str:
    """The weights answer every input of the task, by the margin that is said or more."""
    need(c["weights"] == model.digest, "these are other weights")
    claims, derives = rational(c["margin"]), derived(model, c["task"], c["precision"], c["steps"], c["hints"])
    need(0 < claims <= derives, f"the margin is {about(derives)}, not {about(claims)}")
    steps = (
        f" after {shown(c['steps'])} step{'s'[: c['steps'] > 1]} of chain of thought" if c["steps"] else ""
    )
    return f"these weights solve {c['task']} on every input in {c['precision']}{steps}: margin {c['margin']}"


def check_fits(c: Mapping[str, Any], model: Model) -> str:
    """The same, and the architecture holds the model's layers in a precision that is enough."""
    from limen_check.cannot import architecture

    entered(architecture.read)
    architecture.read(c["architecture"])  # also what is not used has to exist
    text, end = architecture.ending(c["architecture"])
    affine = end is None or (end.plain and _affine(model, end.norm))
    need(affine, "this model's readout is not affine in this way")
    need(end is None or not c["steps"], "affine supposes one pass, without chain of thought")
    need(isinstance(model.header["embedding"], dict), "the embedding is no layout of codes")
    length = sum(segment["count"] for segment in model.header["embedding"]["segments"])
    for part in (part for layer in parse_stack(text) for part in layer):
        reads = part.name != "log_linear" or max(length - 1, 0).bit_length() < _size(part, "levels")
        need(reads, "a text beyond the levels of a part, though it is not used")
    sentence, wanted = check_solves(c, model), parse_stack(model.header["architecture"])
    left, bits = iter(parse_stack(text)), []
    for i, layer in enumerate(wanted):  # each in the first one left that holds it
        apart = _apart(model, i, len(layer))
        held = next((b for b in (_held(layer, other, apart) for other in left) if b is not None), None)
        need(held is not None, "the model's layers are not found there")
        bits += held or []
    name = next((name for least, name in _FORMATS if least <= min(bits, default=16)), None)
    need(name == c["precision"], f"numbers there are {name or 'too short'}, not {c['precision']}")
    return f"{c['architecture']} can: {sentence}"


def _affine(model: Model, norm: bool) -> bool:
    """Whether only a residual sum, the norm or none, and an affine map follow the model's last mixer.

    Behind the norm nothing is added; `binary` adds its own constants.
    """
    h = model.header
    if any(h["locals"][-1:]) or h["norm"] is not norm or h["readout"].partition("(")[0] not in _AFFINE:
        return False
    return not norm or (h["readout"] == "linear" and not any(model.weights["readout.u"].numbers))


def _apart(model: Model, layer: int, parts: int) -> bool:
    """Whether no two parts of a layer add to one column: sums of them are then never rounded."""
    columns: list[int] = []
    for shape, numbers in (model.weights[f"{layer}.{part}.O"] for part in range(parts)):
        columns += {i % shape[-1] for i, v in enumerate(numbers) if v}
    return len(columns) == len({*columns})


def _held(wanted: tuple[Call, ...], there: tuple[Call, ...], apart: bool) -> list[int] | None:
    """The bits of the parts of a layer that hold the wanted ones, or None; heads are taken one by one.

    Parts that add to one column are added and rounded in their order, so each needs a part of its own, behind
    the last one.  Each head of the model has keys and values of its own, so as many sets of them are needed.
    Head h of retnet fades at its own rate, and one index chooses for all heads of top_k: a part of them
    holds one alone, whose heads are its first ones.
    A part that says how few bits its numbers take, which its rule sees (`few`), does not set the precision.
    In `mla` and `dsa` heads share one latent, which has to hold the keys and values of all that are taken.
    """
    heads = [min(_size(part, "h", 1), _size(part, "kv_heads", _size(part, "h", 1))) for part in there]
    latents = [_size(part, "r", 1) if part.name in _LATENT else inf for part in there]
    bits, first = [], 0
    for want in wanted:
        h = _size(want, "h", 1)
        room = (i for i in range(first, len(there)) if heads[i] >= h and latents[i] >= _pairs(want))
        at = next((i for i in room if _within(want, there[i])), None)
        if at is None:
            return None
        latents[at] -= _pairs(want)
        heads[at], first = 0 if want.name in _TOGETHER else heads[at] - h, 0 if apart else at + 1
        if want.name not in ("linear", "mamba2") or "p" not in want.arguments:
            bits.append(_size(there[at], "p"))
    return bits


def _size(part: Call, key: str, default: Value = "") -> int:
    return part.number(key, 1, default=default)


def _pairs(want: Call) -> int:
    """The numbers of the keys and values of all heads; 0 of a mixer without heads."""
    h, d = (want.number(key, 0, default=0) for key in "hd")
    return h * (want.number("d_k", 0, default=d) + d)


def _as_plain(part: Call) -> Call:
    """The heads that an `mla`, `gated_softmax` or `dsa` can be (rules.md); other parts as they are."""
    if part.name not in (*_LATENT, "gated_softmax") or "h" not in part.arguments:
        return part
    own = _size(part, "d_k") - part.number("d_r", 0, default=0)  # what no other head shares
    plain = {key: value for key, value in part.arguments.items() if key not in ("r", "d_r")} | {"d_k": own}
    if part.name == "dsa":
        return Call("top_k", plain)
    return Call("softmax", {"kv_heads": plain["h"], "bidirectional": False} | plain)


def _within(want: Call, part: Call) -> bool:
    """Whether sizes that can be filled up with zeros are there, and all others are the same.

    Features of an unused key column must be 0 (`turns`): elu1(0) and e^0 are not.  The norm of mamba2
    is over all of its channels.
    """
    part = _as_plain(part)
    mine, its = want.arguments, part.arguments
    if want.name != part.name or not mine.keys() <= its.keys() or _size(part, "p") < _size(want, "p", 1):
        return False
    sizes: dict[str, Any] = _UNSAID | ({"d_k": mine["d"]} if "d" in mine else {}) | mine
    turns = sizes.get("phi", sizes.get("over", "relu")) in ("relu", "identity", "mamba2", "gated_delta")
    if want.name == "mamba2" and (mine["h"], mine["d"]) != (its["h"], its["d"]):
        return False
    for key, size in its.items():
        least = sizes.get(key, "")
        both = type(size) is type(least)
        grows = both and type(size) is int and key in _MAY_GROW and (key != "d_k" or turns)
        if key not in ("h", "kv_heads", "p") and not (both and (size >= least if grows else size == least)):
            return False
    return True
