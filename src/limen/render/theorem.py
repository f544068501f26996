r"""A bound as a theorem with its proof, for a paper: `limen bound … --format theorem`.

Two statements that hold for any task with so many rows at a cut: of every recurrence, and of one softmax
layer that is read at a token which is the same in all texts.  The proof is whole: a task is defined and says
which prefixes are its rows, and why (`Task.in_paper`); the rows of a small function of one's own stand in a
table that a reader can go through.  Where neither is so, the text says that all inputs were enumerated, which
is a proof for whoever does it again.
"""

from __future__ import annotations

import re
from string import Template
from textwrap import fill as wrapped
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.render.formula import formula
from limen.render.latex import grouped, in_tex, tabular

if TYPE_CHECKING:
    from limen.bounds.bound import AnswerTable, BoundReport


class _Tex(Template):
    delimiter = "@"  # a dollar is LaTeX's own


_TEXT = _Tex(r"""% needs \usepackage{amsmath,amssymb,amsthm,booktabs} and
% \newtheorem{theorem}{Theorem} \newtheorem{lemma}{Lemma} \newtheorem{definition}{Definition}
@defined\begin{lemma}\label{lem:@id}
Let $f$ be @what.
Call two prefixes of $t = @t$ tokens alike if $f$ has the same answers on both@due
after every continuation that makes both inputs of $f$. There are at least
\[ R = @R \]
prefixes of which no two are alike.
\end{lemma}
\begin{proof}
@counted
\end{proof}
\begin{theorem}\label{thm:@id-states}
Let a model read its input once, from left to right, and let each of its layers carry a state from token
to token (recurrent and linear layers, windows, short convolutions). Let all states after $@t$ tokens
together have $S$ bits. If the model computes $f$ on every input, then
\[ S \;\geq\; \log_2 R, \qquad\text{that is, at least @bits.} \]
This holds for any embeddings, norms and functions of one position, and with any chain of thought.
\end{theorem}
\begin{proof}
Everything after token $@t$, the tokens of a chain of thought included, is a function of the states there
and of the later tokens: each step maps the states and a token to new states and an output, and a written
token is read off an output. If two prefixes leave the same states, the model gives the same answers on
both after every continuation. By Lemma~\ref{lem:@id} there are $R$ prefixes of which no two are alike,
so no two of them leave the same states, and $2^S \geq R$.
\end{proof}""")
_ONE_LAYER = r"""
\begin{theorem}\label{thm:@id-layer}
Let one causal softmax layer of $H$ heads with values of size $d$ read the input and then one more token
that is the same for all inputs, at which the answer is read off. Let keys and values be functions of
their own token and its position, and let maxima and sums be stored in $p$ bits each. If the layer
computes $f$ on every input, then
\[ H(d+2)p \;\geq\; \log_2 R, \qquad\text{that is, at least @bits.} \]
\end{theorem}
\begin{proof}
The last token is fixed, and with it the query of every head. Of the first $@t$ tokens a head needs the
largest score $m=\max_j s_j$, the sum $\sum_j e^{s_j-m}$ and the sums $\sum_j e^{s_j-m}v_j$, that is $d+2$
numbers. They are merged with the same numbers of the later tokens, and the output at the last token is a
function of the result. Two prefixes with the same numbers get the same answers after every continuation,
so $2^{H(d+2)p}\geq R$ by Lemma~\ref{lem:@id}.
\end{proof}"""


def theorem(report: BoundReport) -> str:
    """The count as a lemma, and what follows from it; one layer is read once, so it gives one answer."""
    if not report.bits or (report.inputs is None and report.definition is None):
        return f"% {report.headline}: so nothing is stated"
    text = _TEXT if report.asks > 1 else _Tex(_TEXT.template + _ONE_LAYER)
    name = re.sub(r"[^a-z0-9]+", "-", f"{report.task}{report.cut}".lower()).strip("-")
    stated = text.substitute(
        id=name,
        defined=_defined(report, name),
        what=rf"the function of Definition~\ref{{def:{name}}}" if report.definition else _own(report),
        t=f"{report.cut:,}",
        due=f", those due after token ${report.cut:,}$," if report.asks > 1 else "",
        R=_rows(report),
        counted=_counted(report),
        bits=plural(report.bits, "bit"),
    )
    return f"% {report.headline}\n{grouped(stated)}"


def _defined(report: BoundReport, name: str) -> str:
    """The definition of a task."""
    if report.definition is None:
        return ""
    title = rf"\begin{{definition}}[{_name(report)}]\label{{def:{name}}}"
    return f"{title}\n{_filled(report.definition)}\n\\end{{definition}}\n"


def _rows(report: BoundReport) -> str:
    """R as a number where it is short, and as a formula, behind which stands what its letters are."""
    closed = _apart(formula(report.formula)) if report.formula not in (None, "counted") else ""
    number = f"{report.rows:,}" if report.rows is not None and report.rows < 10**12 else ""
    return " = ".join(dict.fromkeys(filter(None, [number, closed]))) or f"2^{{{report.bits}}}"


def _apart(tex: str) -> str:
    """A quad between statements, none within parentheses, indices or exponents."""
    first, *others = tex.split(r",\ ")
    for part in others:
        inside = sum(first.count(a) - first.count(b) for a, b in ("()", "{}"))
        first += (r",\ " if inside else r",\quad ") + part
    return first


def _name(report: BoundReport) -> str:
    return rf"\texttt{{{in_tex(report.task)}}}".replace(":", r":\allowbreak ")


def _own(report: BoundReport) -> str:
    """A function of one's own."""
    assert report.inputs is not None  # else it is a task, which is defined
    A, n = report.inputs
    ids = ",".join(map(str, range(A))) if A <= 3 else rf"0,\dots,{A - 1}"
    return rf"the function {_name(report)} of ${n}$ tokens in $\{{{ids}\}}$"


def _counted(report: BoundReport) -> str:
    """Why there are so many."""
    if report.table is not None:
        shown = "The rows are the answers to prefixes $u$ after continuations; no two rows are equal."
        return f"{shown}\n\\begin{{center}}\n{_table(report.table)}\n\\end{{center}}"
    if report.proof:
        return _filled(report.proof)
    return "By enumeration of all inputs: any two differ in an answer after a continuation that both allow."


def _table(table: AnswerTable) -> str:
    head = ["$u$", *(_word(w) for w in table.suffixes)]
    rows = [[_word(u), *map(str, row)] for u, row in zip(table.prefixes, table.answers, strict=True)]
    return tabular(head, rows)


def _word(tokens: tuple[int, ...]) -> str:
    apart = r"\," if max(tokens) > 9 else ""
    return f"${apart.join(map(str, tokens))}$"


def _filled(text: str) -> str:
    """In lines of the width of the rest."""
    return wrapped(text, 104, break_long_words=False, break_on_hyphens=False)
