"""Looks for an input that fools a given model: strategies, their schedule, shrinking, resuming."""
