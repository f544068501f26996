"""`disjointness`: after each bit of b, whether nothing was in both sets so far."""

import numpy as np
from numpy.typing import NDArray

from limen.core.task import Tokens
from limen.training.lessons._halves import TwoHalves


class Disjoint(TwoHalves):
    """The lesson of disjointness: a position with both bits 1 refutes it."""

    def refuted(self, a: Tokens, b: Tokens) -> NDArray[np.bool_]:
        return np.asarray((a & b) == 1)


LESSON = Disjoint
