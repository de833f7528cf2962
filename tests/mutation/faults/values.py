"""Faults of what people are told: whether two measurements are the same, and what one person could lose."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "equal-constructors",
        "measurements of one constructor are equal whatever its arguments",
        "core/claims.py",
        "mine.comparison_key == its.comparison_key",
        "mine.constructor == its.constructor",
    ),
    Fault(
        "delta-for-nothing",
        "a delta does not help who guesses",
        "spaces/curves/guesses.py",
        "delta * (1 - math.tanh(epsilon / 2))",
        "0 * (1 - math.tanh(epsilon / 2))",
    ),
    Fault(
        "each-of-a-plan-rounded-up",
        "what each of several releases may cost is written rounded up",
        "apps/planning/several.py",
        "_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)",
        '_SIX_DOWN = Context(prec=6, rounding="ROUND_CEILING")',
    ),
)
