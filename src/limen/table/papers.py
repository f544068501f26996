"""What the papers say of a cell, so that each of their claims is confirmed, sharpened or corrected.

The table of [ye2026] gives orders; the separations of [bhattamishra2024] and [wen2025] say who can and who
cannot.  Nothing else in the table comes from here: a claim that our evidence contradicts is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.verdict import Answer


@dataclass(frozen=True)
class Claim:
    """The verdict, the order if one is given, and who says so."""

    answer: Answer
    cite: str
    order: str = ""


CAN, CANNOT = Answer.CAN, Answer.CANNOT

CLAIMS: dict[tuple[str, str], Claim] = {
    ("full", "eva"): Claim(CAN, "[bhattamishra2024] [wen2025]", "O(poly log n)"),
    ("full", "two_sum"): Claim(CAN, "[sanford2023]", "O(log n)"),
    ("full", "composition"): Claim(CAN, "[chen2025]", "O(poly log n)"),
    ("linear", "eva"): Claim(CANNOT, "[bhattamishra2024] [wen2025]", "Ω(n log n)"),
    ("linear", "two_sum"): Claim(CANNOT, "[ye2026]", "Ω(n log n)"),
    ("log_linear", "eva"): Claim(CANNOT, "[ye2026]", "Ω(n)"),
    ("log_linear", "two_sum"): Claim(CANNOT, "[ye2026]", "Ω(n)"),
    ("block_sparse", "two_sum"): Claim(CANNOT, "[ye2026]", "Ω(B log n)"),
    ("hybrid", "composition"): Claim(CANNOT, "[ye2026]", "Ω(poly n)"),
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
