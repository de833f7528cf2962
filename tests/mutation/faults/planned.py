"""Faults of what a plan promises: how many users a key needs, which mechanism comes nearest, how large noise can be."""

from __future__ import annotations

from tests.mutation.fault import Fault

_DISCRETE = "distributions/discrete.py"

FAULTS = (
    Fault(
        "keys-without-their-minimum",
        "the number of users of a key leaves the minimum out",
        "planning/keys.py",
        "return float(least - 1 + min(n",
        "return float(min(n",
    ),
    Fault(
        "keys-of-full-shares",
        "in two rounds the weight that a key has too much is said to stay with it",
        "planning/keys.py",
        "min(Fraction(1), enough / (weight + farthest)) * kept",
        "kept",
    ),
    Fault(
        "keys-by-the-better-noise",
        "the noise of the first round is taken for less than it is",
        "planning/keys.py",
        "range(1, _CELLS):\n        beyond = Fraction(_CELLS - cell, _CELLS)",
        "range(1, _CELLS):\n        cell //= 2\n        beyond = Fraction(_CELLS - cell, _CELLS)",
    ),
    Fault(
        "keys-by-the-worse-way",
        "of two ways to release keys the one that needs more users is taken",
        "planning/keys.py",
        "if likely_users(each, _HALF) <= likely_users(once, _HALF):",
        "if likely_users(each, _HALF) > likely_users(once, _HALF):",
    ),
    Fault(
        "delta-as-the-float-above",
        "a key's delta is the float64 next to what was written, perhaps above it",
        "planning/keys.py",
        'round_down(stated(query.budget.delta, "delta"))',
        "float(query.budget.delta)",
    ),
    Fault(
        "farthest-is-taken",
        "of several mechanisms the one whose theorems promise the least is taken",
        "planning/nearest.py",
        "best = min(tried,",
        "best = max(tried,",
    ),
    Fault(
        "nearest-without-the-first",
        "the mechanism of the task itself is not tried",
        "planning/nearest.py",
        "for mechanism in (task.mechanism, *task.alternatives):",
        "for mechanism in task.alternatives:",
    ),
    Fault(
        "noise-a-twentieth-nearer",
        "the noise of several draws is said to be a twentieth smaller than it can be",
        _DISCRETE,
        "if gaussian else over  # [size]",
        "if gaussian else int(0.95 * over)  # [size]",
    ),
    Fault(
        "draws-of-one",
        "several draws are bounded as one",
        _DISCRETE,
        "return alpha if k == 1 else",
        "return alpha if k >= 1 else",
    ),
    Fault(
        "rank-in-scores",
        "how far a rank may be from a quantile is said in units of its scores",
        "planning/quantile.py",
        "numbers(plan).quantiles[0].denominator)  # [rows]",
        "1)  # [rows]",
    ),
    Fault(
        "nearly-the-number",
        "a number without a finite decimal is written as a near one",
        "planning/columns.py",
        "decimal if Fraction(decimal) == number else str(number)",
        "decimal",
    ),
    Fault(
        "beyond-the-bounds",
        "a record may have a number that the bounds leave out",
        "planning/quantile.py",
        "steps.denominator == 1 and least <= steps <= most",
        "steps.denominator == 1 and least <= steps",
    ),
    Fault(
        "quantiles-descend",
        "a record may have quantiles that descend",
        "planning/quantile.py",
        "Fraction(one) <= Fraction(other) for one, other",
        "Fraction(one) != Fraction(other) + 1 for one, other",
    ),
    Fault(
        "rows-rounded-down",
        "how many rows a rank may be off is rounded to the nearest number of six digits",
        "planning/quantile.py",
        "ROUND_CEILING)  # of a bound",
        '"ROUND_HALF_EVEN")  # of a bound',
    ),
    Fault(
        "one-level-fewer",
        "what rows that share a number add to an error is said of one level fewer",
        "planning/quantile.py",
        "{self.levels - 1} more;",
        "{self.levels - 2} more;",
    ),
    Fault(
        "range-of-half-noise",
        "noises lie no farther apart than one of them may be from zero",
        _DISCRETE,
        "surely = 2 * largest_noise(scale, k, alpha, gaussian=gaussian)  # [surely]",
        "surely = largest_noise(scale, k, alpha, gaussian=gaussian)  # [surely]",
    ),
    Fault(
        "range-one-sided",
        "a window counts as missed on one side alone",
        _DISCRETE,
        "total = at.add(total, _power(at, 1 - left - right, k))  # [windows]",
        "total = at.add(total, _power(at, 1 - left, k))  # [windows]",
    ),
    Fault(
        "range-windows-twice",
        "what lies in two windows is counted twice",
        _DISCRETE,
        "total = at.add(total, at.negative(_power(at, 1 - left - right, k)))  # [both-windows]",
        "total = at.add(total, at.rational(0))",
    ),
    Fault(
        "range-twice-as-often",
        "the range is exceeded with twice the probability that is allowed",
        _DISCRETE,
        "if _within(scale, k, block, middle, gaussian) >= 1 - exact(alpha):",
        "if _within(scale, k, block, middle, gaussian) >= 1 - 2 * exact(alpha):",
    ),
    Fault(
        "range-of-one-less",
        "one of the noises is left out",
        _DISCRETE,
        "total = at.add(total, _power(at, 1 - left - right, k))  # [windows]",
        "total = at.add(total, _power(at, 1 - left - right, k - 1))  # [windows]",
    ),
)
