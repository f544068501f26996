"""`python -m limen`: the command line."""

from limen.cli import program

program()
