"""Writes docs/outside.md: published figures beside what Limen proves or counts."""

from pathlib import Path

import limen
from limen.render.outside import page

PAGE = Path(__file__).parents[1] / "docs/outside.md"

if __name__ == "__main__":
    PAGE.write_text(page(limen.outside()))
