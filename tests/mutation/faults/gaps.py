"""Faults of sets that the data choose, by a gap that is large."""

from __future__ import annotations

from tests.mutation.fault import Fault

_GAPS = "measurements/top_k_by_gap.py"

FAULTS = (
    Fault(
        "gaps-move-one-way",
        "gaps are said to move as scores do, though one grows where the next one shrinks",
        _GAPS,
        "2 * moved / (tau or 1)",
        "moved / (tau or 1)",
    ),
    Fault(
        "gap-delta-of-equal-scores",
        "delta is that of a gap of 0, though one that a neighbour closes may be as large as neighbours are apart",
        _GAPS,
        "(level - moved) / bar",
        "level / bar",
    ),
    Fault(
        "gap-test-for-nothing",
        "the test of the gap costs nothing",
        _GAPS,
        "map(_pure_and_rho, costs)",
        "map(_pure_and_rho, costs[:1])",
    ),
    Fault(
        "gap-test-without-noise",
        "the gap that was chosen is compared with the threshold as it is",
        _GAPS,
        "best_of(race, [gaps[chosen], level], test)[0] == 0",
        "gaps[chosen] >= level",
    ),
    Fault(
        "gap-of-whole-numbers",
        "gaps between real numbers are cut to integers",
        "measurements/_rationals.py",
        "math.lcm(*(value.denominator for value in values))",
        "1",
    ),
    Fault(
        "gap-below-the-set",
        "the set ends one before the gap",
        _GAPS,
        "np.sort(order[: chosen + 1])",
        "np.sort(order[: max(chosen, 1)])",
    ),
)
