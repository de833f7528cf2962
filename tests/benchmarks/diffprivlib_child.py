"""Run by the benchmarks with an interpreter that has diffprivlib: prints its version, then answers requests.

A request is a line of JSON: a mechanism, its options and a number of releases. The answer has what they selected, and
the seconds of making the mechanism, which takes the scores, and of the first of them.
"""

import json
import sys
import time
from typing import Any

import diffprivlib


def answer(mechanism: str, options: dict[str, Any], times: int) -> tuple[list[int], float]:
    """The selected indices, and the time of the first."""
    start = time.thread_time()
    made: Any = getattr(diffprivlib.mechanisms, mechanism)(sensitivity=1.0, **options)
    first = made.randomise()
    seconds = time.thread_time() - start
    return [int(index) for index in (first, *(made.randomise() for _ in range(times - 1)))], seconds


print(diffprivlib.__version__, flush=True)
for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
