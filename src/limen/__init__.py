"""Limen tells where an attention architecture stops."""

__version__ = "0.1.0"
