"""The stacks that no theorem rules out for the tasks wished for, and what they cost."""

from limen.designs.search import Design, design
from limen.designs.wish import Wish

__all__ = ["Design", "Wish", "design"]
