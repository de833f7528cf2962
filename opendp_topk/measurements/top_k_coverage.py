"""Top-k coverage: the items that reach the most users together, chosen one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.candidates import parse_candidates
from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.noises.gumbel import Gumbel
from ..sampling.samplers import entropy as noiseless
from ..sampling.samplers import race
from ..spaces.costs import Cost, require_measure, rho_of_range
from ..spaces.curves.closed_forms import ArrivalTimes
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import FrameDomain
from ..spaces.measures import Distance, MaxDivergence, Measure, PrivacyProfile, ZeroConcentratedDivergence
from ..spaces.metrics import UserDistance

if TYPE_CHECKING:
    from ..tables.memberships import Memberships


@proved_by("measurements/top_k_coverage")
def make_top_k_coverage(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    output_measure: Measure[Distance],
    *,
    candidates: Iterable[Hashable],
    k: int,
    scale: Number,
) -> Measurement[Distance, tuple[Any, ...]]:
    """Release k items that together reach many users: each choice counts only users who have no item chosen before.

    The k most popular items may all reach the same users. Here every item is chosen by the exponential mechanism on the
    number of users whom it would reach and no item chosen before has reached. A user counts until she is reached. So
    under (epsilon, delta) her privacy loss does not grow with k, and no bound on the number of her items is needed.

    Args:
        input_domain: ``FrameDomain(user, item)``. The table is of polars, pandas, pyarrow or DuckDB, not of Spark.
        input_metric: ``UserDistance()``, or ``UserDistance("replace")``, which has no curve that does not grow with k.
        output_measure: ``MaxDivergence()``, ``ZeroConcentratedDivergence()`` or ``PrivacyProfile()``.
        candidates: The d items to choose from: public, distinct, all 64-bit integers or all strings. Others are
            ignored.
        k: The number of items to choose, 1 <= k <= d.
        scale: The scale of every choice in users, finite, >= 0. If 0, the exact greedy choice is released, the first
            candidate among equals, and the privacy loss is infinite.

    Returns:
        A :class:`Measurement` whose releases are tuples of k candidates in the order in which they were chosen. How
        many users they reach is not released.

    Privacy:
        With r = d_in / scale, or 2 d_in / scale under "replace", and n = min(k, d - 1):

        - MaxDivergence: n r.
        - ZeroConcentratedDivergence: n R(r).
        - PrivacyProfile: the least of the curves of these two and of n adaptive steps of range r; at d_in = 1 under
          "add_remove" also delta(epsilon) = (1 - exp(-r)) exp(-(epsilon + r) / (exp(r) - 1)), for every k.

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))), the rho of a range x.

    Accuracy:
        With probability at least 1 - alpha each choice reaches at most scale ln(d k / alpha) users fewer than the best
        one, and all k choices together at least (1 - 1/e) B - k scale ln(d k / alpha), where B is the largest number
        that k candidates reach.

    Raises:
        ParameterError: The candidates are empty, repeated or neither all integers nor all strings, or ``k`` or
            ``scale`` is out of range or of the wrong type.
        ParameterTypeError: The measure is not one of the above, the metric is not a ``UserDistance``, or the domain is
            not a ``FrameDomain`` with these two columns.

        On a call: DataTypeError, DataError and TableError as in ``make_count_by_item``; also DataTypeError if the table
        is in Spark.

    Runtime:
        The table is read once, in about the memory of a count of its distinct rows. Each pair of a user and a candidate
        is read twice more in all k choices together, and takes about 30 bytes, a user 9. Each choice takes O(d) time.

    Proof: proofs/measurements/top_k_coverage.tex

    References:
        Gupta, Ligett, McSherry, Roth and Talwar, "Differentially Private Combinatorial Optimization" (2010), for the
        greedy choice with one loss for all steps. Nemhauser, Wolsey and Fisher, "An Analysis of Approximations for
        Maximizing Submodular Set Functions" (1978).

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> cover = space >> tk.then_top_k_coverage(
        ...     tk.MaxDivergence(), candidates=["Emma", "Persuasion", "Walden"], k=2, scale=4.0
        ... )
        >>> cover.map(1)
        0.5
        >>> fans = [[reader, book] for reader in range(1000) for book in ("Emma", "Persuasion")]
        >>> rows = fans + [[reader, "Walden"] for reader in range(1000, 1500)]
        >>> "Walden" in cover(pl.DataFrame(rows, ["reader", "book"], orient="row"))
        True
    """
    # proof-region: top_k_coverage
    require_table_space(input_domain, input_metric, ("item",))  # [two-columns]
    require_measure(output_measure, MaxDivergence, ZeroConcentratedDivergence, PrivacyProfile)  # [check-measure]
    items = parse_candidates(candidates)  # [check-candidates]
    size = len(items)
    k = checks.require_positive_int("k", k, at_most=size, limit="the number of candidates")  # [check-k]
    scale = checks.require_scale(scale)  # [check-scale]
    tau, steps = to_fraction(scale), min(k, size - 1)  # [steps]
    together = input_metric.neighbors == "add_remove"
    noise = Gumbel()

    def choose_one(counts: NDArray[np.int64]) -> int:
        if tau == 0:
            return int(noiseless.top_k(counts, 1, sign=1, ordered=True)[0])  # [exact]
        return int(race.top_k(counts, tau, noise, 1, sign=1, ordered=True)[0])  # [race]

    def function(rows: Any) -> tuple[Any, ...]:
        from ..tables.memberships import read_memberships

        return tuple(items[at] for at in _choose_greedily(read_memberships(rows, items), k, choose_one))  # [choices]

    def output_distribution(rows: Any) -> dict[Hashable, Any]:
        from ..sampling.distributions import one_shot as laws
        from ..tables.memberships import read_memberships

        held = read_memberships(rows, items)
        found: dict[Any, Any] = {(): 1}
        for _ in range(k):
            longer: dict[Any, Any] = {}
            for chosen, mass in found.items():
                left, counts = _count_unreached(held, chosen)
                units = [Fraction(n) / (tau or 1) for n in counts.tolist()]
                step: dict[Any, Any] = laws.output_distribution(noise, units, tau == 0, 1, True)
                for (at,), share in step.items():
                    longer[*chosen, int(left[at])] = mass * share  # [step-law]
            found = longer
        return found

    def privacy_map(d_in: int) -> Any:
        if d_in == 0 or steps == 0:
            return 0.0  # [free]
        if tau == 0:
            return output_measure.infinite  # [no-noise]
        r = (d_in if together else 2 * d_in) / tau  # [range]
        known = Cost(pure=steps * r, rho=steps * rho_of_range(r), steps=(steps, r)).to_distance(output_measure)  # [map]
        if not together or d_in > 1 or not isinstance(known, PrivacyCurve):
            return known
        return PrivacyCurve(*known.bounds, ArrivalTimes(r))  # [one-arrival]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "top_k_coverage",
            "user": input_domain.user,
            "item": input_domain.item,
            "candidates": size,
            "k": k,
            "scale": scale,
        },
        declared=Declared(law=output_distribution, decode=lambda chosen: tuple(items[at] for at in chosen)),
    )


def _choose_greedily(held: Memberships, k: int, choose_one: Callable[[NDArray[np.int64]], int]) -> list[int]:
    """Return k items, each chosen among those left, given how many users each of these has whom no choice reached."""
    users, starts = held.group_users_by_item()
    left, counts = np.arange(held.size), np.diff(starts)  # [all]
    unreached = np.ones(len(held.starts) - 1, dtype=np.bool_)
    chosen = []
    for _ in range(k):
        place = choose_one(counts[left])  # [choose]
        best = left[place]
        newly = users[starts[best] : starts[best + 1]]
        newly = newly[unreached[newly]]  # [newly-reached]
        unreached[newly] = False
        counts -= held.count_users(newly)  # [count-no-more]
        left = np.delete(left, place)  # [leave]
        chosen.append(int(best))
    return chosen


def _count_unreached(held: Memberships, chosen: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the items that are not ``chosen``, and for each its number of users who have no chosen item."""
    reached = np.add.reduceat(np.isin(held.items, chosen), held.starts[:-1]) if len(held.items) else np.zeros(0)
    left = np.setdiff1d(np.arange(held.size), chosen)
    return left, held.count_users(np.flatnonzero(reached == 0))[left]  # [unreached]
    # end-proof-region: top_k_coverage


then_top_k_coverage = partial_constructor(make_top_k_coverage)
TRIED = {"candidates": (("a", "b", "c"),)}
