"""What the papers say of a cell, so that each of their claims is confirmed, sharpened or corrected.

The table of [ye2026] gives orders; the separations of [bhattamishra2024] and [wen2025] say who can and who
cannot.  Nothing else in the table comes from here: a claim that our evidence contradicts is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.verdict import Answer


@dataclass(frozen=True)
class Claim:
    """The verdict, who says so, the order if one is given, and what is to be said of it."""

    answer: Answer
    cite: str
    order: str = ""
    corrected: str = ""  # in which form it does not hold, and in which it does
    note: str = ""


CAN, CANNOT = Answer.CAN, Answer.CANNOT
_LEVELS = (
    "They divide n·log₂n by the number of levels: in the worst case log-linear attention needs as much as "
    "linear attention, up to a factor of two; it remembers the recent better, not the whole."
)

CLAIMS: dict[tuple[str, str], Claim] = {
    ("full", "eva"): Claim(CAN, "[bhattamishra2024] [wen2025]", "O(poly log n)"),
    ("full", "two_sum"): Claim(CAN, "[sanford2023]", "O(log n)"),
    ("full", "composition"): Claim(CAN, "[chen2025]", "O(poly log n)"),
    ("linear", "eva"): Claim(CANNOT, "[bhattamishra2024] [wen2025]", "Ω(n log n)"),
    ("linear", "two_sum"): Claim(
        CANNOT,
        "[ye2026]",
        "Ω(n log n)",
        "Corrected: the 2-Sum of [ye2026] needs order n·log n bits if M = n^{1+Ω(1)}, but only order n if "
        "M = O(n).",
    ),
    ("log_linear", "eva"): Claim(CANNOT, "[ye2026]", "Ω(n)", note=_LEVELS),
    ("log_linear", "two_sum"): Claim(CANNOT, "[ye2026]", "Ω(n)", note=_LEVELS),
    ("block_sparse", "two_sum"): Claim(
        CANNOT,
        "[ye2026]",
        "Ω(B log n)",
        note="They have one layer with one map for all blocks; ours allows different maps, and more layers.",
    ),
    ("hybrid", "composition"): Claim(
        CANNOT,
        "[ye2026]",
        "Ω(poly n)",
        "Corrected: L softmax layers with recurrent ones between them do fail, as an account of [ye2026] has "
        "it, only if none of these stands before the second softmax layer; with one there, L are enough.",
    ),
    ("full_1", "composition"): Claim(CANNOT, "[chen2025]"),
    ("full_2", "composition"): Claim(CANNOT, "[chen2025]"),
    ("full_1", "index"): Claim(CAN, "[bhattamishra2024]"),
    ("rnn", "index"): Claim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "dyck"): Claim(CAN, "[bhattamishra2024]"),
    ("full_1", "dyck"): Claim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "equality"): Claim(CAN, "[bhattamishra2024]"),
    ("full_1", "equality"): Claim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "equality"): Claim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "disjointness"): Claim(CAN, "[bhattamishra2024]"),
    ("full_1", "disjointness"): Claim(CANNOT, "[bhattamishra2024]"),
    ("rnn", "disjointness"): Claim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "nearest_neighbor"): Claim(CAN, "[bhattamishra2024]"),
    ("rnn", "nearest_neighbor"): Claim(CANNOT, "[bhattamishra2024]"),
    ("full_2", "recall"): Claim(CAN, "[wen2025]"),
    ("rnn", "recall"): Claim(CANNOT, "[wen2025]"),
    ("full_2", "counting"): Claim(CAN, "[wen2025]"),
    ("rnn", "counting"): Claim(CANNOT, "[wen2025]"),
    ("rnn", "is_tree"): Claim(CANNOT, "[wen2025]"),
    ("retrieval", "is_tree"): Claim(CAN, "[wen2025]"),
    ("full_1", "three_sum"): Claim(CANNOT, "[sanford2023]"),
}
