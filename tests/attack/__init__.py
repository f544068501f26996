"""Fuzzers, one file for each kind of input that a stranger can hand in; `make attack` runs them all.

Valid inputs are damaged in one or two places, since random ones are refused at the door.  An input must end
in a value or in one line; what is accepted is computed again in another way wherever there is one.  Input i
of a kind follows from its seed: `python -m attack --kind certificates --only 1234` runs it alone.
"""
