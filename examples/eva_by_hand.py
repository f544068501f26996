"""Function evaluation by one softmax layer, its weights written by hand and checked on every input.

Width 3n: a one-hot of the position, a one-hot of the token, and a place for the answer.  The
last token asks with its token, every other one offers its position: they meet at position x.
"""

import itertools

import numpy as np
import torch

from limen.core.architecture import Architecture
from limen.core.numbers import Precision
from limen.model.arithmetic import computing_in
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.model.predictor import answers_of
from limen.tasks.eva import Eva

n, c = 4, 16  # c: the score of a match; everything else scores 0, so its weight is e^-16
task = Eva(n)
frame = Frame(Architecture.parse(f"softmax(h=1,d={n})"), 3 * n, n, Table(vocab=n, length=n + 1))

position, token, answer = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
one = torch.eye(n, dtype=torch.float64)
w = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in frame.shapes().items()}
w["embedding.E"][:, token] = one
w["embedding.P"][:n, position] = one  # the query's own position is no key
w["0.0.Q"][token] = c * one
w["0.0.K"][position] = one
w["0.0.V"][token] = one
w["0.0.O"][:, answer] = one
w["readout.U"][answer] = one
model = Model(frame, w)

tokens = np.array(list(itertools.product(range(n), repeat=n + 1)))
for name in ("float64", "float32", "bfloat16", "float8_e4m3", "significand(t=3)"):
    precision = Precision.parse(name)
    with computing_in(precision):
        wrong = int((answers_of(model.to(precision), task, tokens) != task.answer(tokens)).sum())
    print(f"{task} by {frame.architecture}, {name}: {len(tokens)} inputs, {wrong} wrong")
