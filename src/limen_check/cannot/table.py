"""CANNOT for a function that is given by some of its answers: what the certificate carries is a table.

    f(u_i w_j) = answers[i][j],    prefixes u_i of t tokens, continuations w_j

That some function has these answers is the certificate's word; that no model of the architecture has them
is derived here.  No two rows are alike, so what passes the cut tells the prefixes apart: 2^has ≥ #prefixes.

    streaming_state   has: the bits of all states after t tokens; all that comes later, thoughts too, is a
                      function of the state and of later tokens
    one_layer_cut     has: maximum, normaliser and sums of each head of one layer, and the states beside them;
                      all continuations end with the same token, so that its query is the same in all texts
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from limen_check.cannot import architecture
from limen_check.cannot.architecture import Architecture
from limen_check.files import expect, need, shown


def _states(stack: Architecture, t: int, length: int, steps: int, one_end: bool) -> int:
    """Bits of all states after t tokens; there is no other way past the cut."""
    need(not any(part.full for part, _ in stack.counted), "some layer keeps every token")
    for part, _ in stack.counted:
        part.bits(length + steps)  # it reads the whole text, or the theorem is about nothing
    return sum(part.bits(t) * times for part, times in stack.counted)


def _sums(stack: Architecture, t: int, length: int, steps: int, one_end: bool) -> int:
    """Bits of what the heads of one layer tell the last token, and of the states beside them."""
    need(steps == 0, "a chain of thought asks again and again")
    need(len(stack.layers) == 1, "keys and values must be of the tokens themselves")
    need(one_end, "the continuations must end with one token")
    heads, others = ([p for p in stack.layers[0] if p.full == full] for full in (True, False))
    need(heads and all(part.name == "softmax" for part in heads), "it is about softmax heads")
    for part in others:
        part.bits(length)
    return sum(part.bits() for part in heads) + sum(part.bits(t) for part in others)


THEOREMS = {"streaming_state": _states, "one_layer_cut": _sums}
_NAME = 100  # characters of a function's name


def _different(words: Sequence[list[int]]) -> bool:
    """No two are alike; sorted and not hashed, for all of a stranger's numbers may have one hash."""
    return all(a != b for a, b in pairwise(sorted(words)))


def check_table(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    prefixes, suffixes, answers, A = c["prefixes"], c["suffixes"], c["answers"], c["alphabet"]
    expect(prefixes and suffixes and prefixes[0] and suffixes[0], "the table is empty")
    t, rest = len(prefixes[0]), len(suffixes[0])
    whole = all(len(u) == t for u in prefixes) and all(len(w) == rest for w in suffixes)
    expect(whole, "all prefixes have one length, and all continuations")
    expect(all(0 <= x < A for word in (*prefixes, *suffixes) for x in word), "a token is not in the alphabet")
    expect(len(answers) == len(prefixes), "there must be a row of answers for each prefix")
    expect(all(len(row) == len(suffixes) for row in answers), "and an answer for each continuation")
    expect(c["theorem"] in THEOREMS, "no such theorem is about tables")
    name = c["task"] == "<lambda>" or c["task"].isidentifier()  # no words of a stranger in what is said
    expect(name and len(c["task"]) <= _NAME, f"the task must be a function's name, up to {_NAME} characters")
    need(_different(answers), "two prefixes have the same answers")
    need(_different(prefixes), "a prefix stands there twice")
    need(_different(suffixes), "a continuation stands there twice")
    stack, one_end = architecture.read(c["architecture"]), all(w[-1] == suffixes[0][-1] for w in suffixes)
    has = THEOREMS[c["theorem"]](stack, t, t + rest, c["steps"], one_end)
    needs = (len(prefixes) - 1).bit_length()  # 2^has ≥ #prefixes
    sides = f"it has {shown(has)} bits, surely needed are {shown(needs)}"
    need(has < needs and has <= c["has_bits"] < c["needs_bits"] <= needs, sides)
    steps = f" with {shown(c['steps'])} step{'s'[: c['steps'] > 1]} of chain of thought" if c["steps"] else ""
    return (
        f"{c['architecture']}{steps} cannot have the answers of this table, {len(prefixes)} prefixes of {t} "
        f"tokens with {len(suffixes)} continuations: it has at most {shown(c['has_bits'])} bits and needs at "
        f"least {shown(c['needs_bits'])}; by {c['theorem']}; that these are the answers of {c['task']} is "
        "its word, not derived"
    )
