"""The rule that memories in the form of a matrix follow, and who runs it: torch in chunks, or C.

    with running_by(compiled_loops()):
        model.logits(tokens)

The C is built when first wanted; without a compiler torch runs the rule.
"""
