"""`equality`: after each bit of b, whether b is a so far."""

import numpy as np
from numpy.typing import NDArray

from limen.core.task import Tokens
from limen.training.lessons._halves import TwoHalves


class Equal(TwoHalves):
    """The lesson of equality: a position with different bits refutes it."""

    def refuted(self, a: Tokens, b: Tokens) -> NDArray[np.bool_]:
        return np.asarray(a != b)


LESSON = Equal
