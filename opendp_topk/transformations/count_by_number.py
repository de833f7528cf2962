"""Counts of rows per number of a public grid, with a bounded number of rows per user."""

from __future__ import annotations

from typing import Any

from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import checks
from ..errors.checks import Number
from ..spaces.domains import FrameDomain
from ..spaces.metrics import L1Distance, UserDistance
from .quantile_scores import MOST_ROWS, grid_bounds, multiples_domain
from .sum_by_item import FARTHEST, grid_step


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
        bounds: ``(lower, upper)``, finite numbers with lower < upper. Public, and chosen without looking at the table.
        granularity: The step of the grid, from 2^-500 to 2^22, default 1. Public. There must be 2 to 2^24 multiples
            within the bounds, at most 2^31 steps from 0. A float is read as the decimal it prints as: 0.1 is one tenth.
        max_rows: Contribution bound: how many rows of one user count at most, from 1 to 2^20, default 1. They are
            chosen as in ``make_quantile_scores``: with one row it is the median of the user's own numbers. The map is
            proportional to ``max_rows``.

    Returns:
        A :class:`Transformation` to int64 vectors with one count per multiple, in ascending order, under
        ``L1Distance()``. Its map is ``d_in max_rows`` under "add_remove" and ``2 d_in max_rows`` under "replace". Both
        are tight.

    Raises:
        ParameterError: The bounds are reversed, infinite or too far from 0 for the granularity, or contain too few or
            too many multiples of it; ``granularity`` or ``max_rows`` is out of range.
        ParameterTypeError: An argument has the wrong type, or a bound is NaN.
        SpaceError: The metric does not fit the domain.

        On a call: DataTypeError, DataError and TableError as in ``make_sum_by_item``. No numeric value raises an error.

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
