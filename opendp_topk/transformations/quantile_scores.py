"""Scores for private quantiles of numbers of a public grid and of items per user, and counts by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..numerics.rank_scores import rank_scores
from ..spaces.domains import AtomDomain, FrameDomain, VectorDomain
from ..spaces.metrics import L1Distance, LInfDistance, UserDistance
from .sum_by_item import FARTHEST, bounds_in_steps, grid_step

MOST_ROWS = 2**20  # rows per user: with 2^32 users and denominators up to 1000, scores stay below 2^63
_WIDEST = 2**24  # candidates: their scores take 128 MiB


@proved_by("transformations/quantile_scores")
def make_quantile_scores(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    quantile: Number,
    bounds: tuple[Number, Number],
    granularity: Number = 1,
    max_rows: int = 1,
) -> Transformation:
    """Score each multiple of ``granularity`` within ``bounds`` by how far it is from a quantile of a column of numbers.

    ``x_c = -max(0, q B_c - p N, p N - q (B_c + E_c))`` with quantile = p / q in lowest terms, N the number of rows, B_c
    that of numbers below c and E_c that of numbers equal to c

    The score is 0 if c is a quantile: at most the share p / q of the rows is below it, and at most the share 1 - p / q
    above. Otherwise the score is -q times the number of rows by which c misses this. Choose a candidate with a
    selection mechanism; ``>> index_candidates()`` turns its index into the number.

    Each number is rounded to the nearest multiple, as in ``make_sum_by_item``, and a number beyond a bound counts at
    the last multiple within it. A value that many rows share can therefore be selected exactly, whatever the values
    around it. Rows with a null or NaN are ignored.

    Args:
        input_domain: ``FrameDomain(user, value=...)``: the names of the two columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        quantile: The share of rows below the quantile: strictly between 0 and 1, with a denominator of at most 1000.
            ``Fraction(1, 2)`` is the median. Use ``Fraction(9, 10)``: the float 0.9 is not exactly 9/10 and is refused.
        bounds: ``(lower, upper)``, finite numbers with lower < upper. Public, and chosen without looking at the table.
        granularity: The step of the grid, from 2^-500 to 2^22, default 1. Public. There must be 2 to 2^24 multiples
            within the bounds, at most 2^31 steps from 0. A float is read as the decimal it prints as: 0.1 is one tenth.
        max_rows: Contribution bound: how many rows of one user count at most, from 1 to 2^20, default 1. If a user has
            n > max_rows rows, the ones that count are evenly spaced in the order of the numbers, at the positions
            floor((2 j + 1) n / (2 max_rows)), from 0. With one row it is the median of the user's own numbers. The map
            is proportional to ``max_rows``.

    Returns:
        A :class:`Transformation` to int64 vectors with one score per candidate, in ascending order, under
        ``LInfDistance()``. Its map is ``d_in max_rows max(p, q - p)`` under "add_remove" and ``d_in max_rows q`` under
        "replace". Both are tight. With three or more candidates one score can rise by the bound while another falls by
        it.

    Accuracy:
        At least one score is 0. If a selection of one candidate guarantees a score within b of the largest, the
        released number misses the quantile by at most b / q of the rows that count.

    Raises:
        ParameterError: The quantile is out of range or has a denominator above 1000; the bounds are reversed, infinite
            or too far from 0 for the granularity, or contain too few or too many multiples of it; ``granularity`` or
            ``max_rows`` is out of range.
        ParameterTypeError: An argument has the wrong type, or a bound is NaN.
        SpaceError: The metric does not fit the domain.

        On a call: DataTypeError, DataError and TableError as in ``make_sum_by_item``. No numeric value raises an error.

    Runtime: One pass over the table, and a sort of the distinct pairs of user and number.

    Proof: proofs/transformations/quantile_scores.tex

    References:
        Smith, *Privacy-preserving statistical estimation with optimal convergence rates* (2011), Section 3, for the
        private selection of a quantile by rank.

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> from fractions import Fraction
        >>> space = tk.FrameDomain(user="reader", value="age"), tk.UserDistance()
        >>> scores = space >> tk.then_quantile_scores(quantile=Fraction(1, 2), bounds=(30, 35))
        >>> scores(pl.DataFrame({"reader": [1, 2, 3, 4], "age": [31, 33, 33, 90]}))
        array([-4, -2, -2,  0, -2, -2])
        >>> scores.map(1)
        1
        >>> chosen = scores >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=20.0)
        >>> age = chosen >> tk.index_candidates()
        >>> age.map(1)
        0.1
    """
    # proof-region: quantile_scores
    require_table_space(input_domain, input_metric, ("value",))
    p, q = lowest_terms(quantile, "quantile")  # [share]
    step = grid_step(granularity)
    lower, upper = grid_bounds(bounds, granularity)  # [ends]
    most = checks.require_positive_int("max_rows", max_rows, at_most=MOST_ROWS, limit="2^20")  # [check-rows]
    moved = most * (q if input_metric.neighbors == "replace" else max(p, q - p))  # [moved]

    def function(rows: Any) -> Any:
        from ..tables.capping import count_rows_by_number

        equal = count_rows_by_number(rows, float(step), FARTHEST, (lower, upper), most)  # [equal]
        return rank_scores(equal, p, q)  # [by-rank]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=multiples_domain(bounds, granularity),  # [multiples]
        output_metric=LInfDistance(),
        function=function,
        stability_map=lambda d_in: d_in * moved,  # [stability]
        parameters={
            "transformation": "quantile_scores",
            "user": input_domain.user,
            "value": input_domain.value,
            "quantile": f"{p}/{q}",
            "lower": bounds[0],
            "upper": bounds[1],
            "granularity": granularity,
            "candidates": upper - lower + 1,
            "max_rows": most,
        },
    )


@dataclass(frozen=True)
class Multiples(Sequence[Any]):
    """Lazy sequence of the numbers that ``multiples`` returns, because there may be 2^24 of them."""

    bounds: tuple[Number, Number]
    granularity: Number

    def __len__(self) -> int:
        lower, upper = grid_bounds(self.bounds, self.granularity)
        return upper - lower + 1

    def __getitem__(self, place: Any) -> Any:
        lower, upper = grid_bounds(self.bounds, self.granularity)
        chosen = range(lower, upper + 1)[place]
        places = chosen if isinstance(chosen, range) else range(chosen, chosen + 1)
        found = _multiples_of_step(places, grid_step(self.granularity))  # [listed]
        return found if isinstance(chosen, range) else found[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(multiples(self.bounds, self.granularity))


def multiples_domain(bounds: tuple[Number, Number], granularity: Number) -> VectorDomain:
    """Return the domain of vectors with one entry per multiple within the bounds; the entries do not count users."""
    listed = Multiples(bounds, granularity)
    return VectorDomain(AtomDomain(int), size=len(listed), candidates=listed, counts_users=False)


def grid_bounds(bounds: tuple[Number, Number], granularity: Number) -> tuple[int, int]:
    """Return the least and the greatest multiple within the bounds, in steps."""
    lower, upper = bounds_in_steps(bounds, grid_step(granularity))  # [whole-steps]
    if not 2 <= upper - lower + 1 <= _WIDEST:  # [check-width]
        raise ParameterError("bounds must contain at least 2 and at most 2^24 multiples of the granularity")
    return lower, upper


def multiples(bounds: tuple[Number, Number], granularity: Number = 1) -> list[int] | list[float]:
    """Return the candidates of ``make_quantile_scores``: all multiples within the bounds, in ascending order.

    Pass them to ``index_candidates``.

    Args:
        bounds: As in ``make_quantile_scores``.
        granularity: As in ``make_quantile_scores``, default 1.

    Returns:
        Integers if the granularity is an integer, otherwise the float64 numbers nearest to the multiples.

    Raises:
        ParameterError, ParameterTypeError: As in ``make_quantile_scores``.

    Example:
        >>> import opendp_topk as tk
        >>> tk.multiples((0, 0.5), 0.1)
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    lower, upper = grid_bounds(bounds, granularity)
    return _multiples_of_step(range(lower, upper + 1), grid_step(granularity))


def _multiples_of_step(places: range, step: Fraction) -> list[int] | list[float]:
    if step.denominator == 1:
        return [steps * int(step) for steps in places]  # [integers]
    return [float(steps * step) for steps in places]  # [floats]


# end-proof-region: quantile_scores


then_quantile_scores = partial_constructor(make_quantile_scores)


_PARTS = 1000  # the largest denominator of a share: fine enough in practice, and it keeps scores far below 2^63


@proved_by("transformations/cap_scores")
def make_cap_scores(
    input_domain: FrameDomain, input_metric: UserDistance, *, caps: Sequence[int], share: Number
) -> Transformation:
    """Score each cap by how close the share of users with at most that many items is to ``share``.

    ``x_c = -|q N_c - p N|`` with share = p / q in lowest terms, N the number of users with an item and N_c that of
    users with an item and at most c different items

    The best cap is the one whose share of users is closest to ``share``. Choose a cap with a selection mechanism, which
    has its own privacy loss, and pass it to ``make_bound_contributions``. ``make_followed_by`` combines the two steps.

    Args:
        input_domain: ``FrameDomain(user, item)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        caps: The caps: distinct integers >= 1 and below 2^63, in the order of the scores. Public.
        share: The share of users who should have no more items than the cap: strictly between 0 and 1, with a
            denominator of at most 1000. Use ``Fraction(9, 10)``: the float 0.9 is not exactly 9/10 and is refused.

    Returns:
        A :class:`Transformation` to int64 vectors with one score per cap, under ``LInfDistance()``. Its map is
        ``d_in max(p, q - p)`` under "add_remove" and ``d_in q`` under "replace". Both are tight.

    Raises:
        ParameterError: ``caps`` is empty, repeats a cap, or contains one below 1 or from 2^63 on; or ``share`` is out
            of range or has a denominator above 1000.
        ParameterTypeError: An argument has the wrong type.
        SpaceError: The metric does not fit the domain.

        On a call: the errors of ``make_count_by_item``, and DataError if the table has 2^32 users or more.

    Runtime: One pass over the table.

    Proof: proofs/transformations/cap_scores.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> from fractions import Fraction
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> scores = space >> tk.then_cap_scores(caps=[1, 2, 4], share=Fraction(1, 2))
        >>> scores(pl.DataFrame({"reader": [1, 2, 2], "book": ["Emma", "Emma", "Walden"]}))
        array([ 0, -2, -2])
        >>> scores.map(1)
        1
    """
    # proof-region: cap_scores
    require_table_space(input_domain, input_metric, ("item",))
    if not isinstance(caps, list | tuple | range):
        raise ParameterTypeError("caps must be a list of integers >= 1")
    listed = [checks.require_positive_int("each of caps", cap) for cap in caps]
    if not listed or len(set(listed)) < len(listed) or max(listed) >= 2**63:  # [check-caps]
        raise ParameterError("caps must be different integers below 2^63, at least one")
    p, q = lowest_terms(share, "share")
    moved = q if input_metric.neighbors == "replace" else max(p, q - p)  # [moved]

    def function(rows: Any) -> Any:
        from ..tables.grouping import distinct_items_per_user

        sizes = np.sort(distinct_items_per_user(rows))  # [sizes]
        within = np.searchsorted(sizes, np.array(listed, dtype=np.int64), side="right")  # [within]
        return -np.abs(q * within.astype(np.int64) - p * len(sizes))  # [scores]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=VectorDomain(AtomDomain(int), size=len(listed), candidates=listed, counts_users=False),
        output_metric=LInfDistance(),
        function=function,
        stability_map=lambda d_in: d_in * moved,  # [stability]
        parameters={"transformation": "cap_scores", "caps": tuple(listed), "share": f"{p}/{q}"},
    )


def lowest_terms(share: Number, name: str) -> tuple[int, int]:
    """Return the numerator and the denominator of a share of users or rows."""
    part = Fraction(to_fraction(checks.require_probability(share, name)))
    if part.denominator > _PARTS:  # [check-share]
        raise ParameterError(f"{name} must have a denominator of at most {_PARTS}, such as Fraction(9, 10)")
    return part.numerator, part.denominator
    # end-proof-region: cap_scores


then_cap_scores = partial_constructor(make_cap_scores)


@proved_by("transformations/count_by_number")
def make_count_by_number(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    bounds: tuple[Number, Number],
    granularity: Number = 1,
    max_rows: int = 1,
) -> Transformation:
    """Count the rows at each multiple of ``granularity`` within ``bounds``.

    Each number is rounded to the nearest multiple, and a number beyond a bound counts at the last multiple within it.
    Rows with a null or NaN are ignored. ``make_quantiles`` releases several quantiles of these counts, and
    ``>> index_candidates()`` turns them into numbers; ``make_laplace`` releases a histogram.

    Args:
        input_domain: ``FrameDomain(user, value=...)``: the names of the two columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        bounds, granularity: The grid, public, as in ``make_quantile_scores``.
        max_rows: Contribution bound on the rows of one user, as in ``make_quantile_scores``. The map grows with it.

    Returns:
        A :class:`Transformation` to int64 vectors with one count per multiple, in ascending order, under
        ``L1Distance()``. Its map is ``d_in max_rows`` under "add_remove" and ``2 d_in max_rows`` under "replace". Both
        are tight.

    Raises:
        ParameterError, ParameterTypeError, SpaceError, and the errors on a call: as in ``make_quantile_scores``.

    Runtime: One pass over the table, and a sort of the distinct pairs of user and number.

    Proof: proofs/transformations/count_by_number.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain(user="reader", value="age"), tk.UserDistance()
        >>> counts = space >> tk.then_count_by_number(bounds=(30, 35))
        >>> counts(pl.DataFrame({"reader": [1, 2, 3, 4], "age": [31, 33, 33, 90]}))
        array([0, 1, 0, 2, 0, 1])
        >>> counts.map(1)
        1
    """
    # proof-region: count_by_number
    require_table_space(input_domain, input_metric, ("value",))
    step = grid_step(granularity)
    lower, upper = grid_bounds(bounds, granularity)  # [ends]
    most = checks.require_positive_int("max_rows", max_rows, at_most=MOST_ROWS, limit="2^20")  # [check-rows]
    moved = most * (2 if input_metric.neighbors == "replace" else 1)  # [moved]

    def function(rows: Any) -> Any:
        from ..tables.capping import count_rows_by_number

        return count_rows_by_number(rows, float(step), FARTHEST, (lower, upper), most)  # [counts]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=multiples_domain(bounds, granularity),  # [multiples]
        output_metric=L1Distance(),
        function=function,
        stability_map=lambda d_in: d_in * moved,  # [stability]
        parameters={
            "transformation": "count_by_number",
            "user": input_domain.user,
            "value": input_domain.value,
            "lower": bounds[0],
            "upper": bounds[1],
            "granularity": granularity,
            "candidates": upper - lower + 1,
            "max_rows": most,
        },
    )
    # end-proof-region: count_by_number


then_count_by_number = partial_constructor(make_count_by_number)
