"""Verdicts: CAN, CANNOT or OPEN for a task and an architecture; how many hops a stack chains."""
