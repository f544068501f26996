"""The kernel: decides again what a certificate claims, from the files alone, with the standard library alone.

    python -I -S -m limen_check FILE|DIR

It imports nothing of limen.  Whoever reads it has read everything that a CAN or a CANNOT rests on.
"""
