"""Measurements: a task, a stack, a start and a seed trained on one core, or many on a cluster."""
