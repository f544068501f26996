"""A function that takes for ever, and says which process it is in: for test_hostile.py."""

import os
import time
from pathlib import Path

alphabet, length = 2, 4


def forever(tokens: tuple[int, ...]) -> int:
    Path(os.environ["LIMEN_TEST_PID"]).write_text(str(os.getpid()))
    time.sleep(600)
    return 0
