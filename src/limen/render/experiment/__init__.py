"""Draws the reports of `limen experiment`; computes nothing."""
