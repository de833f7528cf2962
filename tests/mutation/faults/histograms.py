"""Faults of noise on all counts, where one person moves few of them."""

from __future__ import annotations

from tests.mutation.fault import Fault

_MOVED = "measurements/_moved.py"

FAULTS = (
    Fault(
        "both-users-forgotten",
        "of a person who is exchanged for another one only one of them moves counts",
        "transformations/count_by_item.py",
        'return 2 * most if metric.neighbors == "replace" and not monotonic else most',
        "return most",
    ),
    Fault(
        "one-rho-for-all",
        "the rho of noise on several counts is that of one",
        _MOVED,
        "rho = Fraction(moved.total, moved.each) * rho_of_discrete_laplace(one, 1 / scale)",
        "rho = rho_of_discrete_laplace(one, 1 / scale)",
    ),
    Fault(
        "one-shape-of-several",
        "of several shapes of moves the curve of the last is told",
        _MOVED,
        "yield Largest(curves)",
        "yield from curves[-1].bounds",
    ),
    Fault(
        "cap-not-applied",
        "all listed items of a person count, however few may",
        "transformations/count_by_item.py",
        "first_items(listed(rows, items), max_items)",
        "listed(rows, items)",
    ),
    Fault(
        "capped-with-strangers",
        "items that nobody counts use up what a person may keep",
        "transformations/keep_items.py",
        "chosen = rows if items is None else listed(rows, items)",
        "chosen = rows",
    ),
)
