"""A model under attack by one strategy after the other, until something is found or the budget ends."""

from limen.attacks.fool import Fooled, fool, report
from limen.attacks.report import FoolReport

__all__ = ["FoolReport", "Fooled", "fool", "report"]
