"""The rule that memories in the form of a matrix follow, and who runs it: C, or torch in chunks.

    with running_by(PLAIN):
        model.logits(tokens)

C is the default.  It comes with the package, or is built when first wanted; where neither can be, torch runs
the rule, and `limen show machine` says why.
"""
