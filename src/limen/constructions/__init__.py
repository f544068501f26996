"""Weights written down, one file a construction: <task>_by_<means>.py; the file name is its id."""
