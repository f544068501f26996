"""Verdicts: CAN, CANNOT or OPEN, by theorems, by weights or by counting; and how many hops a stack chains."""
