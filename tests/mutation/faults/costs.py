"""Faults in privacy maps: something is charged too little."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "repetition-for-free",
        "a repetition costs what one release costs",
        "combinators/_rules.py",
        "part * count for part",
        "part for part",
    ),
    Fault(
        "map-double-scale",
        "the map of a selection counts twice the noise that is added",
        "measurements/_selection.py",
        "cost(choice, to_fraction(range_distance) / choice.tau)",
        "cost(choice, to_fraction(range_distance) / (2 * choice.tau))",
    ),
    Fault(
        "monotonic-factor",
        "the factor 2 of scores that move both ways is dropped",
        "spaces/metrics.py",
        "return d_in if self.monotonic else 2 * d_in  # [l-inf]",
        "return d_in  # [l-inf]",
    ),
    Fault(
        "exponential-as-gumbel",
        "exponential noise is charged as k steps of range r under zCDP, as Gumbel noise is",
        "measurements/_selection.py",
        "    if noise.is_max_stable:\n",
        "    if noise.is_max_stable or noise.is_memoryless:\n",
    ),
    Fault(
        "range-k-r",
        "one-shot Gumbel top-k is charged the range k r, which is false for k >= 2",
        "measurements/_selection.py",
        "return Cost(steps * r, (choice.largest_union_size - 1) * r,",
        "return Cost(steps * r, steps * r,",
    ),
    Fault(
        "zcdp-half",
        "one-shot exponential top-k is charged k r^2 / 2 under zCDP, which is false for small r",
        "measurements/_selection.py",
        "        cost = Cost.from_laplace_dominated(steps * r, choice.largest_union_size * r)  # [one-sided]",
        "        cost = Cost.from_laplace_dominated(steps * r, choice.largest_union_size * r)  # [one-sided]\n"
        "        cost = replace(cost, rho=steps * r * r / 2 if noise.is_memoryless else cost.rho)",
    ),
    Fault(
        "two-sided-set",
        "a ranking with Laplace noise is charged as the set is",
        "measurements/_selection.py",
        "self.size // 2 if self.ordered else self.size - self.k",
        "self.size - self.k",
    ),
    Fault(
        "free-ranking",
        "a ranking of all candidates is taken for free, as the set of all is",
        "measurements/_selection.py",
        "if range_distance == 0 or choice.is_full_set:",
        "if range_distance == 0 or choice.k == choice.size:",
    ),
    Fault(
        "one-ulp",
        "maps are rounded to the nearest number, up to half a digit down",
        "numerics/arithmetic.py",
        "return nearest if _is_at_least(nearest, value) else math.nextafter(nearest, math.inf)",
        "return nearest",
    ),
    Fault(
        "range-of-flips-down",
        "the range of permute-and-flip is rounded down",
        "measurements/_selection.py",
        "up = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp)",
        "up = gmpy2.context(precision=53, round=gmpy2.RoundDown)",
    ),
    Fault(
        "peeling-as-gumbel",
        "peeled permute-and-flip is charged as k steps of range r under zCDP, as the exponential mechanism is",
        "measurements/peeled_top_k.py",
        "n * min(rho_of_laplace(r), rho_of_range(each))  # [step-rho]",
        "n * rho_of_range(r)  # [step-rho]",
    ),
    Fault(
        "canonical-flips",
        "the canonical mechanism with exponential noise is charged the range r",
        "measurements/canonical_top_k.py",
        "Cost.from_laplace_dominated(moved, permute_and_flip_range(moved))\n"
        "            if flips\n"
        "            else Cost.from_bounded_range(moved, moved)",
        "Cost.from_bounded_range(moved, moved)",
    ),
    Fault(
        "joint-single",
        "the joint mechanism is charged r, as a choice of one is",
        "measurements/joint_top_k.py",
        "spread = r if choice.k == 1 or choice.size == 2 else 2 * r",
        "spread = r",
    ),
    Fault(
        "gaps-too-free",
        "gaps with Gumbel noise are charged as the ranking alone is",
        "measurements/noisy_top_k_with_gaps.py",
        "Cost.from_laplace_dominated(choice.k * r, choice.largest_union_size * r)",
        "Cost.from_laplace_dominated(choice.k * r, (choice.largest_union_size - 1) * r)",
    ),
    Fault(
        "only-the-selection",
        "winners with noisy counts are charged for the selection alone",
        "measurements/select_then_count.py",
        "Cost(pure=steps * r + few * each,",
        "Cost(pure=steps * r,",
    ),
    Fault(
        "grid-sum",
        "rounding scores to a grid is not counted in the map of Laplace noise",
        "measurements/_grid.py",
        "return self.step * (size + math.ceil(distance / self.step) - 1)  # [l1]",
        "return distance  # [l1]",
    ),
    Fault(
        "grid-each",
        "rounding scores to a grid is not counted in the map of noisy counts",
        "measurements/_grid.py",
        "return self.step * math.ceil(distance / self.step)  # [l-inf]",
        "return distance  # [l-inf]",
    ),
    Fault(
        "chain-forgets",
        "the map of a chain ignores the stability of its first link",
        "core/transformation.py",
        "privacy_map=lambda d_in: second.exact_map(first.map(d_in)),",
        "privacy_map=lambda d_in: second.exact_map(d_in),",
    ),
    Fault(
        "replaced-users",
        "a user who is replaced moves counts as one who is added",
        "transformations/count_by_item.py",
        "return 2 * d_in  # [stability-replace]",
        "return d_in  # [stability-replace]",
    ),
    Fault(
        "later-steps",
        "ranges of queries that depend on earlier answers are added up",
        "combinators/_rules.py",
        "later = 2 if adaptive and bounds_range(measure) else 1",
        "later = 1",
    ),
    Fault(
        "conversion-down",
        "the curve of zCDP is rounded down",
        "spaces/curves/closed_forms.py",
        "else round_up(min(Fraction(1), exp_up(exponent)))  # [renyi-tail]",
        "else math.nextafter(round_up(min(Fraction(1), exp_up(exponent))), 0)  # [renyi-tail]",
    ),
    Fault(
        "conversion-eighth",
        "pure privacy is converted to zCDP as a range of the same size is",
        "combinators/from_pureDP.py",
        "rho_of_pure(epsilon)",
        "epsilon**2 / 8",
    ),
    Fault(
        "search-edge",
        "a search returns the first parameter that does not pass",
        "core/binary_search.py",
        "            outside = middle\n    return inside\n",
        "            outside = middle\n    return outside or inside\n",
    ),
)
