"""The stacks that no theorem rules out for the tasks wished for, and what they cost."""

from limen.design.search import Design, design
from limen.design.wish import Wish

__all__ = ["Design", "Wish", "design"]
