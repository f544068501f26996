"""Runs a model again for certificates about runs; the kernel is limen_check."""
