"""Run by the benchmarks with an interpreter that has diffprivlib: tells its version, then times what is asked for.

A question is a line with a mechanism and a number of scores; the answer is the seconds of one release.
"""

import sys
import time
from typing import Any

import diffprivlib
import numpy as np


def duration(mechanism: str, utility: list[float]) -> float:
    """The time of making the mechanism, which takes the scores, and of one release."""
    make: Any = getattr(diffprivlib.mechanisms, mechanism)
    start = time.thread_time()
    make(epsilon=1.0, sensitivity=1.0, utility=utility).randomise()
    return time.thread_time() - start


print(diffprivlib.__version__, flush=True)
for line in sys.stdin:
    name, size = line.split()
    print(duration(name, np.random.default_rng(2).uniform(0, 100, int(size)).tolist()), flush=True)
