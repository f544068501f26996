"""Tasks by their text form: which sizes there are, and how long their texts then are."""

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from operator import mul
from typing import NamedTuple

from limen_check.files import expect
from limen_check.text import Value, parse_call


class Task(NamedTuple):
    # Texts have `length` tokens of `vocab` ids; the last `asks` answer, the first `cut` are read before.
    name: str
    sizes: dict[str, int]
    N: tuple[int, ...]  # of composition: the tables z_1 … z_L have N_0 … N_{L-1} entries, with as many values
    cut: int
    length: int
    vocab: int
    asks: int = 1


class _Sizes(NamedTuple):
    # The least value of each size; cut, length and vocab; what else the sizes must meet.
    least: dict[str, int]
    shape: Callable[..., tuple[int, int, int]]
    exists: Callable[..., bool] = lambda **sizes: True


_TASKS = {
    "eva": _Sizes({"n": 1}, lambda n: (n, n + 1, n)),
    "index": _Sizes({"n": 1, "S": 2}, lambda n, S: (n, n + 1, max(n, S))),
    "two_sum": _Sizes({"n": 1, "M": 3}, lambda n, M: (n, n + 1, M)),
    "three_sum": _Sizes({"n": 2, "M": 3}, lambda n, M: (n, n + 1, M)),
    "match3": _Sizes({"n": 3, "M": 7}, lambda n, M: (n - 1, n, M)),
    "two_sum_any": _Sizes({"n": 2, "M": 3}, lambda n, M: (n // 2, n, M)),
    "equality": _Sizes({"n": 1}, lambda n: (n, 2 * n, 2)),
    "disjointness": _Sizes({"n": 1}, lambda n: (n, 2 * n, 2)),
    "inner_product": _Sizes({"n": 1}, lambda n: (n, 2 * n, 2)),
    "counting": _Sizes({"n": 1, "S": 2}, lambda n, S: (n, n + 2, max(S, n + 1))),
    "sparse_average": _Sizes({"n": 1, "q": 1}, lambda n, q: (n, n + q, max(n, 2)), lambda n, q: q <= n),
    "dyck": _Sizes({"n": 2, "k": 1, "D": 1}, lambda n, k, D: (n // 2, n, 2 * k), lambda n, k, D: n % 2 == 0),
    "is_tree": _Sizes({"n": 4}, lambda n: ((n - 1) // 2, n - 1, n * n)),
    "turing": _Sizes({"n": 2, "program": 0}, lambda n, program: (1 + n // 2, n + 1, 3)),
    "cgram": _Sizes({"n": 2, "c": 2, "V": 2}, lambda n, c, V: (n, n + c - 1, V), lambda n, c, V: n >= c),
    "recall": _Sizes(
        {"n": 1, "V": 2, "q": 1},
        lambda n, V, q: (2 * n, 2 * n + q, V),
        lambda n, V, q: 2 * n <= V and q <= n,
    ),
    "retrieval": _Sizes(
        {"n": 1, "D": 1, "V": 1, "absent": 0},
        lambda n, D, V, absent: (n, n + 1, (V + 1) << D),
        lambda n, D, V, absent: D + V.bit_length() <= 62 and n + absent <= 1 << D,
    ),
    "nearest_neighbor": _Sizes(
        {"n": 1, "D": 2, "g": 1},
        lambda n, D, g: (2 * n, 2 * n + 1, (2 * g + 1) ** D + 2),
        lambda n, D, g: D <= 62 and (2 * g + 1) ** D < 2**62 and (D * g**2) ** 3 < 2**63,
    ),
}
_PROGRAMS: dict[Value, Value] = {"palindrome": 0, "increment": 1}


@lru_cache(maxsize=64)
def read(text: str) -> Task:
    """Reads the text form: every size is spelled, and the task exists."""
    name, given = parse_call(text)
    chain = ["m", *(f"n{l}" for l in range(1, len(given)))] if name in ("composition", "facts") else []
    expect(bool(chain) or name in _TASKS, f"no task is named {name[:40]!r}")
    least = dict.fromkeys(chain, 1) if chain else _TASKS[name].least
    wrong, s = sorted(set(given) ^ set(least)), dict[str, int]()
    expect(not wrong, f"{name}: {wrong and wrong[0][:40]} is missing or unknown")
    for key, low in least.items():
        value = _PROGRAMS.get(given[key]) if key == "program" else given[key]
        expect(type(value) is (bool if key == "absent" else int), f"{name}: {key} is of another kind")
        s[key] = int(value or 0)
        expect(s[key] >= low, f"{name}: {key} must be at least {low}")
    if chain:  # facts is composition told in sentences: the same tokens, the same answers
        N = tuple(accumulate(s.values(), mul))
        return Task(name, s, N, sum(N), sum(N) + 2, N[-1])
    expect(_TASKS[name].exists(**s), f"there is no {text[:80]}")
    return Task(name, s, (), *_TASKS[name].shape(**s), s.get("q", 1) if name == "recall" else 1)
