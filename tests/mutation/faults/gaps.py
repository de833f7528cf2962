"""Faults of what goes by differences: sets above a large gap, and scores that are compared in units of their own."""

from __future__ import annotations

from tests.mutation.fault import Fault

_GAPS = "measurements/top_k_by_gap.py"
_NORMALISED = "measurements/normalised_top_k.py"

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
        "select_from_rationals(race, [gaps[chosen], level], test)[0] == 0",
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
    Fault(
        "comparisons-move-one-way",
        "two comparisons are said to move against each other by no more than one does",
        _NORMALISED,
        "len(set(bounds)) == 1 else 2",
        "len(set(bounds)) == 1 else 1",
    ),
    Fault(
        "comparisons-in-own-units",
        "a comparison is in units of what its own candidate moves, and not of what both do",
        _NORMALISED,
        "else bound + b)",
        "else 2 * bound)",
    ),
    Fault(
        "comparisons-in-the-smaller-unit",
        "where all scores move the same way, a comparison is in units of the smaller bound",
        _NORMALISED,
        "(max(bound, b) if",
        "(min(bound, b) if",
    ),
    Fault(
        "no-penalty",
        "a bound does not count against its candidate",
        _NORMALISED,
        "to_fraction(penalty) * b",
        "0 * b",
    ),
)
