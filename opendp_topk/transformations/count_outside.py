"""Count of the users, or rows, with an item outside a list: the part of a table that a release leaves out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ..core.candidates import integers_or_strings, is_iterable
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import ParameterError, checks
from ..spaces.domains import AtomDomain, FrameDomain, VectorDomain
from ..spaces.metrics import L1Distance, L2Distance, LInfDistance, Metric, UserDistance
from .sum_by_item import FARTHEST, require_kind


@proved_by("transformations/count_outside")
def make_count_outside(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    output_metric: Metric | None = None,
    *,
    items: Iterable[Hashable],
    max_rows: int = 1,
) -> Transformation:
    """Count the users who have an item that is not listed, or the rows with such items.

    ``x = (sum over users u of min(max_rows, number of rows of u with another item),)``

    With ``max_rows=1`` this is the number of users who have an unlisted item. Rows with a null are ignored.

    Args:
        input_domain: ``FrameDomain(user, item)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        output_metric: ``L1Distance()``, the default, ``L2Distance()`` or ``LInfDistance()``. They are equal for vectors
            of one number; ``make_laplace`` needs the first and ``make_gaussian`` the second.
        items: The items that are not counted: distinct, all integers or all strings, possibly none. They must be public
            or released before; ``make_followed_by`` accounts for both releases.
        max_rows: Contribution bound: how many rows of one user count at most, from 1 to 2^31, default 1.

    Returns:
        A :class:`Transformation` to an int64 vector of one element, with the map ``d_in max_rows``.

    Raises:
        ParameterError: The items are repeated, or neither all integers nor all strings, or one string instead of a
            list. ``max_rows`` is out of range, or the output metric is not one of the three.
        SpaceError: The input metric does not fit the domain.
        ParameterTypeError: An argument has the wrong type.

        On a call: the errors of ``make_count_by_item``, and DataError if there are 2^32 rows or more with
        unlisted items.

    Runtime: One pass over the table; memory grows with the number of distinct (user, item) pairs.

    Proof: proofs/transformations/count_outside.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> other = space >> tk.then_count_outside(items=["Emma"])
        >>> other(pl.DataFrame({"reader": [1, 2, 2], "book": ["Emma", "Emma", "Walden"]}))
        array([1])
    """
    # proof-region: count_outside
    _, item = require_table_space(input_domain, input_metric, ("item",))
    if isinstance(items, str | bytes) or not is_iterable(items):
        raise ParameterError(f"items must be a list of the public items, not {type(items).__name__}")
    listed: tuple[Any, ...] = tuple(items)
    if listed:
        listed = integers_or_strings(listed, "items")  # [check-items]
    most = checks.require_positive_int("max_rows", max_rows, at_most=FARTHEST)  # [check-rows]
    metric = L1Distance() if output_metric is None else output_metric
    if not isinstance(metric, Metric) or metric not in (L1Distance(), L2Distance(), LInfDistance()):
        raise ParameterError("output_metric must be L1Distance(), L2Distance() or LInfDistance()")  # [check-metric]

    def function(rows: Any) -> Any:
        from ..tables.grouping import count_rows_outside

        if listed:
            require_kind(rows, listed[0], item)  # [check-kind]
        return np.array([count_rows_outside(rows, listed, most)], dtype=np.int64)  # [outside]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=VectorDomain(AtomDomain(int), size=1, counts_users=most == 1),
        output_metric=metric,
        function=function,
        stability_map=lambda d_in: d_in * most,  # [stability]
        parameters={"transformation": "count_outside", "items": len(listed), "max_rows": most},
    )
    # end-proof-region: count_outside


then_count_outside = partial_constructor(make_count_outside)
