"""The papers' claims about the cells, each to be confirmed, sharpened or corrected.

The table of [ye2026] gives orders; the separations of [bhattamishra2024] and [wen2025] say who can and who
cannot.  Nothing else in the table comes from here: a claim that our evidence contradicts is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.core.verdict import Answer


@dataclass(frozen=True)
class Exempt:
    """Cases that a claim rules out as it stands, at scales 2^k, and that can be done with fewer bits."""

    task: Callable[[int], str]
    stack: Callable[[int], str]
    scales: tuple[int, ...]
    says: str  # in which form the claim does not hold, and in which it does


@dataclass(frozen=True)
class Fails:
    """Cases that a claim says can be done, in the source's own form of the task, and that are ruled out."""

    task: Callable[[int], str]
    stack: Callable[[int], str]
    scales: tuple[int, ...]
    says: str


@dataclass(frozen=True)
class PaperClaim:
    """A paper's verdict, its source, the order if one is given, and our remark.

    How our order compares with theirs is computed; corrected is a claim that some cases are exempt from, or
    that fails in some, as was checked.
    """

    answer: Answer
    cite: str
    order: str = ""
    exempt: Exempt | Fails | None = None
    note: str = ""


CAN, CANNOT = Answer.CAN, Answer.CANNOT
_LEVELS = (
    "They divide n·log₂n by the number of levels. In the worst case log-linear attention needs as many "
    "bits as linear attention, up to a factor of two: it remembers recent tokens better, not all of them."
)

CLAIMS: dict[tuple[str, str], PaperClaim] = {
    ("full", "eva"): PaperClaim(CAN, "[bhattamishra2024] [wen2025]", "O(poly log n)"),
    ("full", "two_sum"): PaperClaim(
        CAN,
        "[sanford2023]",
        "O(log n)",
        Fails(
            lambda k: f"two_sum_any(n=2^{k})",
            lambda k: f"softmax(h=1,d=3,p={8 * k})",
            (6, 8, 10, 20),
            "Corrected: the slides ask for any pair, i ≠ j. Over any pair one layer with H = 1, d = 3 and "
            "p = O(log n) CANNOT do it (limen decide two_sum_any). It holds where the last token asks, as "
            "here.",
        ),
    ),
    ("full", "composition"): PaperClaim(CAN, "[chen2025]", "O(poly log n)"),
    ("linear", "eva"): PaperClaim(CANNOT, "[bhattamishra2024] [wen2025]", "Ω(n log n)"),
    ("linear", "two_sum"): PaperClaim(
        CANNOT,
        "[ye2026]",
        "Ω(n log n)",
        Exempt(
            lambda k: f"two_sum(n=2^{k},M=2^{k})",
            lambda k: f"relu_rnn(state_bits={2**k})",
            (4, 6, 8, 10),
            "Corrected: the 2-Sum of [ye2026] needs order n·log n bits if M = n^{1+Ω(1)}, but only order n "
            "if M = O(n).",
        ),
    ),
    ("log_linear", "eva"): PaperClaim(CANNOT, "[ye2026]", "Ω(n)", note=_LEVELS),
    ("log_linear", "two_sum"): PaperClaim(CANNOT, "[ye2026]", "Ω(n)", note=_LEVELS),
    ("block_sparse", "two_sum"): PaperClaim(
        CANNOT,
        "[ye2026]",
        "Ω(B log n)",
        note="They have one layer with one map for all blocks; ours allows different maps. For more layers "
        "only a weaker inequality is proved.",
    ),
    ("hybrid", "composition"): PaperClaim(CANNOT, "[ye2026]", "Ω(poly n)"),
    ("full_1", "composition"): PaperClaim(CANNOT, "[chen2025]"),
    ("full_2", "composition"): PaperClaim(CANNOT, "[chen2025]"),
    ("full_1", "index"): PaperClaim(CAN, "[bhattamishra2024]"),
    ("rnn", "index"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "dyck"): PaperClaim(CAN, "[bhattamishra2024]"),
    ("full_1", "dyck"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "equality"): PaperClaim(CAN, "[bhattamishra2024]"),
    ("full_1", "equality"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "equality"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "disjointness"): PaperClaim(CAN, "[bhattamishra2024]"),
    ("full_1", "disjointness"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "disjointness"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "nearest_neighbor"): PaperClaim(CAN, "[bhattamishra2024]"),
    ("rnn", "nearest_neighbor"): PaperClaim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "recall"): PaperClaim(CAN, "[wen2025]"),
    ("rnn", "recall"): PaperClaim(CANNOT, "[wen2025]"),
    ("full_2", "cgram"): PaperClaim(CAN, "[wen2025]"),
    ("rnn", "cgram"): PaperClaim(CANNOT, "[wen2025]"),
    ("full_2", "counting"): PaperClaim(CAN, "[wen2025]"),
    ("rnn", "counting"): PaperClaim(CANNOT, "[wen2025]"),
    ("rnn", "is_tree"): PaperClaim(CANNOT, "[wen2025]"),
    ("retrieval", "is_tree"): PaperClaim(CAN, "[wen2025]"),
    ("full_1", "three_sum"): PaperClaim(CANNOT, "[sanford2023]"),
}
