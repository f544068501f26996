r"""Formulas of the theorems as LaTeX: log₂(V^min(t, n)) becomes \log_2(V^{\min(t, n)}).

    sum, product      Σ_{i≤B}, Π_s            \sum_{i\leq B}, \prod_s
    binomial          C(n,k)                  \binom{n}{k}
    exponent, index   2^(n-1), V^⌊n/c⌋, d_k   2^{n-1}, V^{\lfloor n/c\rfloor }, d_k
    words             bits of one head        \text{bits of one head}

Letters that stand together without a space are a word, unless they are a product: hk, Tφ.
"""

from __future__ import annotations

import re

SIGNS = {  # and what LaTeX has for them
    "Ω": r"\Omega ",
    "Γ": r"\Gamma ",
    "Θ": r"\Theta ",
    "Σ": r"\sum",
    "Π": r"\prod",
    "κ": r"\kappa ",
    "λ": r"\lambda ",
    "μ": r"\mu ",
    "ρ": r"\rho ",
    "σ": r"\sigma ",
    "φ": r"\varphi ",
    "ω": r"\omega ",
    "≥": r"\geq ",
    "≤": r"\leq ",
    "≈": r"\approx ",
    "≠": r"\neq ",
    "≡": r"\equiv ",
    "·": r"\cdot ",
    "×": r"\times ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "…": r"\dots ",
    "→": r"\to ",
    "−": "-",
}
SIGNS |= {digit: f"_{{{i}}}" for i, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
SIGNS |= {digit: f"^{{{i}}}" for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_ESCAPED = {sign: f"\\{sign}" for sign in "#%&${}"} | {"\\": r"\backslash ", "~": r"\sim "}
_NAMED = {"log": r"\log", "min": r"\min", "max": r"\max", "mod": r"\bmod "}
_PRODUCTS = {"hk", "hp", "hkB", "kB", "Tφ", "Hdp", "Hp"}
_PAIRS = {"(": ")", "{": "}", "⌊": "⌋", "⌈": "⌉", "[": "]"}
_WORD = r"[^\W\d_₀-₉]{2,}"
_WORDS = re.compile(rf"{_WORD}(?: (?:{_WORD}|a))*")


def formula(text: str) -> str:
    """What stands between dollars.

    >>> formula("H(d+2)p ≥ log₂(V^⌊n/c⌋)")
    'H(d+2)p \\\\geq  \\\\log_{2}(V^{\\\\lfloor n/c\\\\rfloor })'
    >>> formula("state bits ≥ log₂(Σ_{s=1}^{min(t,M)} C(M,s))")
    '\\\\text{state bits } \\\\geq  \\\\log_{2}(\\\\sum_{s=1}^{\\\\min(t,M)} \\\\binom{M}{s})'
    """
    tex, at = "", 0
    while at < len(text):
        if text[at] in "_^" and at + 1 < len(text):
            script, end = _script(text, at + 1)
            tex += f"{text[at]}{{{formula(script)}}}"
        elif text.startswith("C(", at) and not text[at - 1 : at].isalnum():
            end = _closed(text, at + 1)
            above, _, below = text[at + 2 : end - 1].rpartition(",")
            tex += rf"\binom{{{formula(above)}}}{{{formula(below.strip())}}}"
        elif (words := _WORDS.match(text, at)) is not None and (at == 0 or not text[at - 1].isalpha()):
            end = words.end()
            tex += _worded(words[0], text[at - 1 : at] == " ", text[end : end + 1] == " ")
        elif text.startswith(", ", at):
            tex, end = tex + r",\ ", at + 2
        else:
            tex, end = tex + _sign(text[at]), at + 1
        at = end
    return tex


def _sign(letter: str) -> str:
    return SIGNS.get(letter) or _ESCAPED.get(letter, letter)


def _worded(words: str, after: bool, before: bool) -> str:
    """A run of letters: the name of a function, a product, or words, with the spaces around them."""
    first, _, rest = words.partition(" ")
    if first in _NAMED or first in _PRODUCTS:
        named = _NAMED.get(first) or "".join(map(_sign, first))
        return f"{named} {_worded(rest, True, before)}" if rest else named
    return rf"\text{{{' ' * after}{words}{' ' * before}}}"


def _script(text: str, at: int) -> tuple[str, int]:
    """An index or exponent: in braces or brackets, a function of something, or letters and digits."""
    if text[at] in "({":
        end = _closed(text, at)
        return text[at + 1 : end - 1], end
    if text[at] in "⌊⌈":
        end = _closed(text, at)
        return text[at:end], end
    name = re.compile(r"\w+").match(text, at)
    if name is None:
        return text[at], at + 1
    end = name.end()
    if name[0] in _NAMED and text[end : end + 1] == "(":
        end = _closed(text, end)
    return text[at:end], end


def _closed(text: str, at: int) -> int:
    """The place behind the bracket that closes the one here, or the end."""
    opened, closed, depth = text[at], _PAIRS[text[at]], 0
    for i in range(at, len(text)):
        depth += (text[i] == opened) - (text[i] == closed)
        if depth == 0:
            return i + 1
    return len(text)
