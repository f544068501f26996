"""Explicit weights for a task: what a run shows, the least sizes that work, the largest certified."""

from limen.solutions.run import Solution, certificate, solve

__all__ = ["Solution", "certificate", "solve"]
