"""What every task, mixer and construction must keep.

A law is named after what it promises: it returns where the promise holds, and raises `Broken` with one line
where it does not.  The tests hold the whole catalogue to these laws, `limen test file.py:Name` yours.
"""

from limen.laws.law import Broken, Law

__all__ = ["Broken", "Law"]
