"""Draws the reports of `limen demo`; computes nothing."""
