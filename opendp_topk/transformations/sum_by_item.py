"""Sums of users' clamped totals per candidate, or per item of the table, from a table of (user, item, number) rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..core.candidates import integers_or_strings
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import DataTypeError, ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import printed_fraction
from ..spaces.domains import FrameDomain
from ..spaces.metrics import UserDistance
from .count_by_item import build_output_space, max_changed_scores

FARTHEST = 2**31  # steps: the sum of fewer than 2^32 numbers of at most this size fits into 64 bits
STEPS = Fraction(1, 2**500), Fraction(2**22)  # 2^31 of the largest are 2^53, up to which floats hold every integer


@proved_by("transformations/sum_by_item")
def make_sum_by_item(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    candidates: Iterable[Hashable] | None,
    bounds: tuple[Number, Number],
    granularity: Number = 1,
    monotonic: bool | None = None,
    max_items: int | None = None,
) -> Transformation:
    """Sum a column of numbers for each candidate item, or every item; each user's total for an item is clamped.

    ``x_i = sum over users u with a row for item i of min(U, max(L, total of u for i))``, in steps of ``granularity``

    Rows with a null or NaN are ignored, and so are items that are not candidates. Each number is rounded to the nearest
    whole number of steps (a half is rounded up) and clamped to 2^31 steps from 0. A user's numbers for an item are then
    added, and the total is clamped to L = ceil(lower / granularity) and U = floor(upper / granularity). Only integers
    are added, so the order of addition does not matter, and integers and decimals that are multiples of the granularity
    are summed exactly.

    Args:
        input_domain: ``FrameDomain(user, item, value=...)``: the names of the three columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        candidates: As in ``make_count_by_item``. If None, every item is summed. L must then not be negative, and only
            a measurement for an unknown domain may follow.
        bounds: ``(lower, upper)``, finite numbers with lower <= upper: the least and the greatest total of one user for
            one item. Public, and chosen without looking at the table. Noise grows with them.
        granularity: The step of the grid, from 2^-500 to 2^22, default 1. Sums are whole numbers of steps: use 1 for
            integers and ``Fraction(1, 100)`` for cents. The bounds must be within 2^31 steps of 0 and contain a
            multiple other than 0. A float, here and in the bounds, is read as the decimal it prints as: 0.1 is one
            tenth.
        monotonic: The output metric, as in ``make_count_by_item``. The default is True under "add_remove" and False
            under "replace".
        max_items: Contribution bound: how many items of one user count at most, as in ``make_count_by_item``.

    Returns:
        A :class:`Transformation` to int64 vectors with one sum per candidate, in steps of the granularity. Without
        candidates the output is a mapping from items to the sums that are not 0, in ``KeyedCountsDomain()``. With
        l = min(L, 0) and u = max(U, 0), the map, for d_in users added, removed or replaced, is

        * ``d_in (u - l)`` under "add_remove" with ``monotonic=True`` and under "replace" with ``monotonic=False``;
        * ``d_in max(u, -l)`` under "add_remove" with ``monotonic=False``;
        * ``2 d_in (u - l)`` under "replace" with ``monotonic=True``.

        These bounds are tight if there are at least two candidates. If numbers cannot be negative, set lower = 0: the
        bounds are then U times those of ``make_count_by_item``. With ``max_items`` the output metric is
        ``L01InfDistance`` as in ``make_count_by_item``. Without candidates it is
        ``KeyedCountDistance(max_items, monotonic, each=U)``. Its distances are numbers of users, so the map is d_in, or
        2 d_in under "replace" with ``monotonic=True``.

    Raises:
        ParameterError: As in ``make_count_by_item``. The bounds are reversed, infinite or too far from 0 for the
            granularity, contain no multiple of it other than 0, or have L < 0 without candidates; the granularity is
            below 2^-500 or above 2^22; or ``max_items`` is below 1.
        SpaceError: The metric does not fit the domain.
        ParameterTypeError: An argument has the wrong type, or a bound is NaN.

        On a call: DataTypeError, DataError and TableError as in ``make_count_by_item``; DataTypeError if the value
        column is not numeric; DataError if the table has 2^32 rows or more. No numeric value raises an error.

    Runtime: One pass over the table, about as long as ``make_count_by_item``.

    Proof: proofs/transformations/sum_by_item.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain(user="buyer", item="book", value="paid"), tk.UserDistance()
        >>> revenue = space >> tk.then_sum_by_item(candidates=["Emma", "Walden"], bounds=(0, 50))
        >>> revenue(pl.DataFrame({"buyer": [1, 1, 2], "book": ["Emma", "Emma", "Walden"], "paid": [20, 20, 900]}))
        array([40, 50])
        >>> revenue.map(1)
        50
    """
    # proof-region: sum_by_item
    _, item, _ = require_table_space(input_domain, input_metric, ("item", "value"))
    items = None if candidates is None else integers_or_strings(candidates, "candidates")  # [check-candidates]
    step = grid_step(granularity)
    lower, upper = bounds_in_steps(bounds, step)  # [whole-steps]
    if items is None and lower < 0:
        raise ParameterError("bounds must not be negative without candidates: give a lower bound >= 0")  # [counts]
    monotonic = checks.require_boolean(
        "monotonic", input_metric.neighbors == "add_remove" if monotonic is None else monotonic
    )
    changes = max_changed_scores(max_items, input_metric, monotonic)  # [changes]
    output_domain, output_metric = build_output_space(
        items, max_items, changes, monotonic, max(upper, 1)
    )  # [output-space]

    def function(rows: Any) -> Any:
        from ..tables.capping import filter_listed_items
        from ..tables.keyed import totals_by_item

        if items is not None:
            require_kind(rows, items[0], item)  # [check-kind]
        if items is not None and max_items is not None:
            rows = filter_listed_items(rows, items)  # [listed-items]
        found = totals_by_item(rows, float(step), FARTHEST, (lower, upper), max_items)  # [totals]
        if items is None:
            return found  # [positive]
        return np.array([found.get(item, 0) for item in items], dtype=np.int64)  # [candidate-order]

    def stability_map(d_in: int) -> int:
        low, high = (0, 1) if items is None else (min(lower, 0), max(upper, 0))  # [users]
        if input_metric.neighbors == "replace":
            return d_in * (high - low) * (2 if monotonic else 1)  # [stability-replace]
        return d_in * (high - low if monotonic else max(high, -low))  # [stability]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=output_domain,
        output_metric=output_metric,
        function=function,
        stability_map=stability_map,
        parameters={
            "transformation": "sum_by_item",
            "user": input_domain.user,
            "item": input_domain.item,
            "value": input_domain.value,
            "lower": bounds[0],
            "upper": bounds[1],
            "granularity": granularity,
            "candidates": None if items is None else len(items),
            "monotonic": monotonic,
        }
        | ({} if max_items is None else {"max_items": max_items}),
    )


@proved_by("transformations/sum_by_item")
def map_only_sum(
    input_domain: FrameDomain, input_metric: UserDistance, *, n_candidates: int, **options: Any
) -> Transformation:
    """Return a sum transformation for ``n_candidates`` unnamed items: it has a map but cannot read a table."""
    named = make_sum_by_item(input_domain, input_metric, candidates=(0,), **options)
    one: Any = named.output_domain

    def function(rows: Any) -> NoReturn:
        raise ParameterError("these sums have no candidates: build them with make_sum_by_item to read a table")

    return replace(
        named,
        output_domain=replace(one, size=n_candidates, candidates=None),
        function=function,  # [nameless]
        parameters={**named.parameters, "candidates": n_candidates},
    )


def grid_step(granularity: Number) -> Fraction:
    """Return the step of the grid, exactly as the granularity is written."""
    step = printed_fraction(checks.require_scale(granularity, "granularity"))  # [step-as-written]
    if not STEPS[0] <= step <= STEPS[1]:
        raise ParameterError("granularity must be > 0, between 2^-500 and 2^22")  # [check-granularity]
    return step


def bounds_in_steps(bounds: Any, step: Fraction) -> tuple[int, int]:
    """Return the least and the greatest whole number of steps within the bounds."""
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise ParameterTypeError("bounds must be a pair (lower, upper)")
    for bound in bounds:
        if not checks.is_real(bound) or bound != bound:
            raise ParameterTypeError("bounds must contain two numbers, neither of them NaN")
    if not (-math.inf < bounds[0] <= bounds[1] < math.inf):  # [check-bounds]
        raise ParameterError("bounds must satisfy lower <= upper, and both must be finite")
    least, greatest = (printed_fraction(checks.plain_number(bound)) / step for bound in bounds)  # [bounds-as-written]
    lower, upper = math.ceil(least), math.floor(greatest)  # [inward]
    if lower > upper or lower == upper == 0:
        raise ParameterError("bounds must contain a multiple of the granularity besides 0: lower the granularity")
    if max(-lower, upper, lower, -upper) > FARTHEST:  # [within]
        raise ParameterError("bounds must be within 2^31 steps of 0: choose a larger granularity")
    return lower, upper


def require_kind(rows: Any, candidate: object, column: str) -> None:
    """Raise unless the items of the table and the candidates are both strings or both integers."""
    from ..tables.frames import column_kinds

    kind = column_kinds(rows)[1]
    if isinstance(candidate, str) != (kind == "String"):
        raise DataTypeError(
            f"column {column!r} contains {'strings' if kind == 'String' else 'integers'}, but the candidates "
            "do not: give candidates of the same type, or cast the column (a .csv file is read as strings)"
        )
    # end-proof-region: sum_by_item


then_sum_by_item = partial_constructor(make_sum_by_item)
