"""A task of one's own, for `limen bound examples/majority.py:majority --cut 6`."""


def majority(tokens: tuple[int, ...]) -> bool:
    """Whether the last token is (one of) the commonest of those before it."""
    *text, asked = tokens
    return text.count(asked) == max(map(text.count, text))


majority.alphabet = 3  # type: ignore[attr-defined]
majority.length = 7  # type: ignore[attr-defined]
