"""From a table of (user, item, number) rows to one sum a candidate, or one a key, of its users' clamped totals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..core.transformation import Transformation
from ..errors import ColumnError, ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import printed_fraction
from ..spaces.domains import ValuedFrameDomain
from ..spaces.metrics import UserDistance
from .count_by_item import build_output_space, integers_or_strings, max_changed_scores

FARTHEST = 2**31  # steps: fewer than 2^32 numbers as large as this have a sum within 64 bits
STEPS = Fraction(1, 2**500), Fraction(2**22)  # 2^31 of the largest are 2^53: up to there all integers are floats


@proved_by("transformations/sum_by_item")
def make_sum_by_item(
    input_domain: ValuedFrameDomain,
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

    A row whose user, item or number is null or NaN counts for nothing. Items that are no candidates are ignored.
    A number is replaced by the whole number of steps nearest to it (halfway, the one above), and one beyond 2^31 steps
    by 2^31 steps. A user's numbers for an item are then added, and the total is clamped to
    L = ceil(lower / granularity) and U = floor(upper / granularity). All that is added are integers, so no order of
    addition matters, and integers and decimals that are multiples of the granularity are summed exactly.

    Args:
        input_domain: ``ValuedFrameDomain(user, item, value)``: the names of the three columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        candidates: As in ``make_count_by_item``. None where nobody can list them; then the lower bound must not be
            negative, and only a measurement for an unknown domain may follow.
        bounds: ``(lower, upper)``, finite numbers, lower <= upper: what one user may add to one item. Public, and
            chosen without looking at the table: noise grows with the upper one.
        granularity: The step of the grid, > 0: sums are whole numbers of steps. 1 for integers, ``Fraction(1, 100)``
            for cents; at most 2^22. The bounds must lie within 2^31 steps of 0, with a multiple other than 0 between
            them. Floats here are the decimals that they print as: 0.1 is one tenth.
        monotonic: The output metric, as in ``make_count_by_item``; by default True under "add_remove" and False under
            "replace".
        max_items: How many items of one user count at most, as in ``make_count_by_item``.

    Returns:
        A :class:`Transformation` to int64 vectors, one sum a candidate, in steps of the granularity; without candidates
        to sums by item that are not 0, in ``KeyedCountsDomain()``. With l = min(L, 0) and u = max(U, 0), its map, for
        d_in users added, removed or replaced, is

        * ``d_in (u - l)`` under "add_remove" with ``monotonic=True`` and under "replace" with ``monotonic=False``;
        * ``d_in max(u, -l)`` under "add_remove" with ``monotonic=False``;
        * ``2 d_in (u - l)`` under "replace" with ``monotonic=True``.

        All are attained. Where no number can be negative, lower = 0 makes them those of ``make_count_by_item`` times U.
        With ``max_items`` the output metric is ``L01InfDistance`` as in ``make_count_by_item``. Without candidates it
        is ``KeyedCountDistance(max_items, monotonic, each=U)``, which counts users, and so does the map: d_in, or
        2 d_in under "replace" with ``monotonic=True``.

    Raises:
        CandidatesError: As in ``make_count_by_item``.
        SpaceError: The metric is not a ``UserDistance`` or does not fit the domain.
        ParameterTypeError: An argument has another type, or a bound is NaN.
        ParameterError: The bounds are reversed, infinite, too far apart for the granularity, hold no multiple of it but
            0, or lie below 0 without candidates; the granularity is not > 0; ``max_items`` is below 1.

        On a call: DataTypeError, ColumnError and TableError as in ``make_count_by_item``, and ColumnError for a value
        column that holds no numbers; OutOfBoundsError for 2^32 rows or more. No number raises an error, whatever its
        size.

    Runtime: One pass of the table's back end, about that of ``make_count_by_item``.

    Proof: proofs/transformations/sum_by_item.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.ValuedFrameDomain(user="buyer", item="book", value="paid"), tk.UserDistance()
        >>> revenue = space >> tk.then_sum_by_item(candidates=["Emma", "Walden"], bounds=(0, 50))
        >>> revenue(pl.DataFrame({"buyer": [1, 1, 2], "book": ["Emma", "Emma", "Walden"], "paid": [20, 20, 900]}))
        array([40, 50])
        >>> revenue.map(1)
        50
    """
    # proof-region: sum_by_item
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.require_instance("input_domain", input_domain, ValuedFrameDomain, "a ValuedFrameDomain(user, item, value)")
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
            require_kind(rows, items[0], input_domain.item)  # [check-kind]
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
    input_domain: ValuedFrameDomain, input_metric: UserDistance, *, n_candidates: int, **options: Any
) -> Transformation:
    """The sums of ``n_candidates`` items without their names, for its map alone: it reads no table."""
    named = make_sum_by_item(input_domain, input_metric, candidates=(0,), **options)
    one: Any = named.output_domain

    def function(rows: Any) -> NoReturn:
        raise ParameterError("these sums have no names of candidates: build them with make_sum_by_item to read a table")

    return replace(
        named,
        output_domain=replace(one, size=n_candidates, candidates=None),
        function=function,  # [nameless]
        parameters={**named.parameters, "candidates": n_candidates},
    )


def grid_step(granularity: Number) -> Fraction:
    """The step of the grid."""
    step = printed_fraction(checks.require_scale(granularity, "granularity"))  # [step-as-written]
    if not STEPS[0] <= step <= STEPS[1]:
        raise ParameterError("granularity must be > 0, between 2^-500 and 2^22")  # [check-granularity]
    return step


def bounds_in_steps(bounds: Any, step: Fraction) -> tuple[int, int]:
    """The least and the greatest whole number of steps within the bounds."""
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise ParameterTypeError("bounds must be a pair (lower, upper)")
    for bound in bounds:
        if not checks.is_real(bound) or bound != bound:
            raise ParameterTypeError("bounds must hold two numbers, neither of them NaN")
    if not (-math.inf < bounds[0] <= bounds[1] < math.inf):  # [check-bounds]
        raise ParameterError("bounds must satisfy lower <= upper, and both must be finite")
    least, greatest = (printed_fraction(checks.plain_number(bound)) / step for bound in bounds)  # [bounds-as-written]
    lower, upper = math.ceil(least), math.floor(greatest)  # [inward]
    if lower > upper or lower == upper == 0:
        raise ParameterError(
            "bounds must hold a multiple of the granularity other than 0: choose a smaller granularity"
        )
    if max(-lower, upper, lower, -upper) > FARTHEST:  # [within]
        raise ParameterError("bounds must lie within 2^31 steps of 0: choose a larger granularity")
    return lower, upper


def require_kind(rows: Any, candidate: object, column: str) -> None:
    """Raise unless the items are strings where the candidates are."""
    from ..tables.frames import column_kinds

    kind = column_kinds(rows)[1]
    if isinstance(candidate, str) != (kind == "String"):
        raise ColumnError(
            f"column {column!r} holds {'strings' if kind == 'String' else 'integers'} and the candidates are none: "
            "give the candidates as the column holds them, or cast the column (a .csv file is read as strings)"
        )
    # end-proof-region: sum_by_item


then_sum_by_item = partial_constructor(make_sum_by_item)
