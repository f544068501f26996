"""The inner loops of the recurrences in C, built when first wanted; without a compiler torch runs them.

with running_by(compiled_loops()):
    model.logits(tokens)
"""
