r"""CAN by counting: some relu_rnn of b bits does a task if at no cut more than 2^b prefixes must differ.

The state after t tokens names the class of the prefix, two prefixes being in one class when every
continuation has the same answer; a token leads from class to class, and the last one to the answer.  That is
a table over states and tokens, and tokens know t, as embeddings do.  Two stages of ReLU follow any table of
states h in {0,1}^b: one inner unit for each row (s, x) of it that leads to s',

    unit = ReLU(Σ_i (2s_i - 1)h_i - |s| + 1 - (b + 1)·[another token than x]),      h' = ReLU(Σ units·s')

is 1 where s and x stand and 0 elsewhere.  So b bits are b numbers, each 0 or 1; inner stages are not carried.
After the last token the state is the answer: of yes and no that takes a number, whatever the rows.

No other mixer is known to follow every table, whatever its bits: an lstm shows h = σ(o)⊙tanh(c), so that not
all pairs of h and c stand beside each other; the states of linear, gated and delta attention and of Mamba
change by an affine map that the tokens alone choose; windows forget, and log_linear merges.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Machine
from limen.core.task import Task
from limen.mixers.relu_rnn import ReluRnn

_CUTS = 2**12  # tokens of a task whose cuts are all looked at


def relu_rnn_by_counting(task: Task, architecture: Architecture) -> Machine | str:
    """The certificate that a relu_rnn of these bits does the task, or why there is none."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    sizes = [part.bits for part in parts if isinstance(part.mixer, ReluRnn)]
    bits = max((b for b in sizes if b is not None), default=None)  # one of them does it, others idle
    if bits is None:
        return "the stack has no relu_rnn that is given by its bits alone"
    if task.length > _CUTS:
        return f"{task.length} cuts are too many to examine"
    needed = max(1, (task.answers - 1).bit_length())  # for the answer; no relu_rnn has a state of no numbers
    if needed > bits:
        return f"the answer takes {needed} bits, but this relu_rnn has {bits}"
    for t in range(1, task.length):
        rows = task.rows(t)
        if rows is None or not rows.exact:
            return f"the exact number of rows after {t} tokens is not known"
        needed = max(needed, rows.bits)
        if needed > bits:
            return f"after {t} tokens a recurrence needs {needed} bits, but this relu_rnn has {bits}"
    return Machine(task=task.spelled, architecture=architecture.spelled, bits=needed)
