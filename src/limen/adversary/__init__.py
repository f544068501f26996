"""Looks for an input that fools a given model: the schedule, its strategies, and what a find becomes."""
