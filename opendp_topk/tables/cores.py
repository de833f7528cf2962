"""Work on all processors that this process may use: NumPy lets other threads run while it reads and sorts numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from numpy.typing import NDArray

A = TypeVar("A")
B = TypeVar("B")

PIECE = 2**17  # Numbers of a piece: 1 MiB, which stays in a processor's cache and takes longer than to hand it over.


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# proof-region: on_cores
def on_cores(work: Callable[[A], B], pieces: Sequence[A]) -> list[B]:
    """What ``work`` returns for each of ``pieces``, in their order; what it raises is raised here."""
    threads = min(len(pieces), processors())
    if threads < 2:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, pieces))  # [each-once]


def sort_on_cores(numbers: NDArray[Any]) -> None:
    """Sort an array of integers in its place."""
    _sort(processors(), numbers)


def _sort(cores: int, numbers: NDArray[Any]) -> None:
    if cores < 2 or len(numbers) < 2 * PIECE:
        numbers.sort()  # [sort]
        return
    middle = len(numbers) // 2
    numbers.partition(middle)  # [halves]
    on_cores(partial(_sort, cores // 2), [numbers[:middle], numbers[middle:]])  # [both]


# end-proof-region: on_cores
