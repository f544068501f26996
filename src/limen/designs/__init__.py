"""The stacks that no theorem rules out for given tasks, and what they cost."""

from limen.designs.search import Design, design
from limen.designs.wish import Wish

__all__ = ["Design", "Wish", "design"]
