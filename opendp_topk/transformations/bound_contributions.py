"""Contribution bounds on the items or groups of each user, chosen at random or by a rule on the user's own rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.candidates import integers_or_strings, parse_candidates
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..sampling.samplers.entropy import SYSTEM, Entropy
from ..spaces.domains import FrameDomain
from ..spaces.metrics import UserDistance
from .sum_by_item import FARTHEST, grid_step

RULES = ("random", "order", "rows", "value")


@proved_by("transformations/bound_contributions")
def make_bound_contributions(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    most: int,
    by: str = "random",
    candidates: Iterable[Hashable] | None = None,
    granularity: Number = 1,
) -> Transformation:
    """Keep the rows of at most ``most`` items of each user, and drop the others.

    A count or sum that follows can then use ``max_items=most`` without dropping anything.

    Args:
        input_domain: ``FrameDomain(user, item)`` or ``FrameDomain(user, item, value=...)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        most: The contribution bound: a number of items, at least 1. Public, and chosen without looking at the table.
        by: The rule that chooses a user's items, default ``"random"``. ``"random"``: a uniformly random set of this
            size, drawn anew on each call from the operating system's randomness. ``"order"``: the first items in the
            order of the numbers or of the code points. ``"rows"``: the items with the most rows of this user.
            ``"value"``: the items with the largest totals of this user, for a domain with a column of numbers. Ties are
            broken by the order of the numbers or code points.
        candidates: The items to choose from, as in ``make_count_by_item``; rows of other items are dropped. Pass them
            if a count or sum that follows has a candidate list: otherwise a user may keep items that are not counted.
            The default is all items in the table.
        granularity: The grid of the totals for ``"value"``, as in ``make_sum_by_item``, default 1.

    Returns:
        A :class:`Transformation` to the same domain and metric, with the map d_in -> d_in. The output table contains
        each remaining pair of user and item once; a table with numbers keeps all rows of the remaining items. Rows with
        a null user or item are dropped, and so are items without a number with ``"value"``. With ``"random"`` the
        transformation is ``randomized``. A measurement that follows must then have the measure ``MaxDivergence()``,
        ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them or ``PrivacyProfile()``, and it declares no
        output distribution. A random choice does not increase the privacy loss under these measures. It could increase
        a bounded range: use ``"order"`` under ``RangeDivergence()``.

    Raises:
        ParameterError: ``most`` is below 1, ``by`` is not a rule or does not fit the domain, or the granularity is out
            of range. The candidates are not a list as ``make_count_by_item`` requires it.
        ParameterTypeError: An argument has the wrong type.
        SpaceError: The metric does not fit the domain.

        On a call: the errors of ``make_count_by_item``, PlatformError if the operating system's source of randomness
        fails, and DataError if items of a Spark table are chosen at random from more than 10,000,000 rows.

    Runtime: The table is read once, and the pairs of users with too many items are sorted: half a second of processor
        time for 10^6 rows. Input and output larger than half a GiB go through a temporary folder. A Spark table is
        processed in Spark, except with ``"random"``, which fetches it.

    Proof: proofs/transformations/bound_contributions.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> two = space >> tk.then_bound_contributions(most=2) >> tk.then_count_by_item(candidates=None, max_items=2)
        >>> table = pl.DataFrame({"reader": [1, 1, 1, 2], "book": ["Emma", "Walden", "Ulysses", "Emma"]})
        >>> sum(two(table).values()), two.map(1), two.randomized
        (3, 1, True)
    """
    # proof-region: bound_contributions
    require_table_space(input_domain, input_metric, ("item",), ("item", "value"))
    most = checks.require_positive_int("most", most)  # [check-most]
    items = None if candidates is None else parse_candidates(candidates)
    checks.require_choice("by", by, RULES)
    if by == "value" and input_domain.value is None:
        raise ParameterError('by="value" requires a column of numbers: FrameDomain(user, item, value=...)')
    step = grid_step(granularity)  # [check-granularity]

    def function(rows: Any) -> Any:
        from ..tables.capping import bound_contributions, filter_listed_items

        chosen = rows if items is None else filter_listed_items(rows, items)  # [listed]
        return bound_contributions(chosen, most, by, float(step), FARTHEST, random_ranks)  # [keep]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=input_domain,
        output_metric=input_metric,
        function=function,
        stability_map=lambda d_in: d_in,  # [stability]
        parameters={"transformation": "bound_contributions", "most": most, "by": by}
        | ({} if items is None else {"candidates": len(items)})
        | ({"granularity": granularity} if by == "value" else {}),
        randomized=by == "random",  # [randomized]
    )


@proved_by("transformations/bound_contributions")
def map_only_contributions(
    input_domain: FrameDomain, input_metric: UserDistance, *, n_candidates: int, **options: Any
) -> Transformation:
    """Return ``make_bound_contributions`` for ``n_candidates`` unnamed items: it has a map but cannot read a table."""
    named = make_bound_contributions(input_domain, input_metric, candidates=(0,), **options)

    def function(rows: Any) -> NoReturn:
        raise ParameterError(
            "this transformation has no column names: build it with make_bound_contributions to read a table"
        )

    return replace(named, function=function, parameters={**named.parameters, "candidates": n_candidates})  # [nameless]
    # end-proof-region: bound_contributions


@proved_by("transformations/bound_contributions")
def make_keep_groups(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    most: int,
    by: str = "random",
    groups: Iterable[Hashable] | None = None,
) -> Transformation:
    """Keep the rows of each user in at most ``most`` groups, and drop the others.

    ``make_partition_by`` with ``max_groups=most`` can follow and then drops nothing. Without this step it keeps the
    first groups of its own list, which favours them.

    Args:
        input_domain: ``FrameDomain(user, item, group=...)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        most: The contribution bound: a number of groups, at least 1. Public, and chosen without looking at the table.
        by: The rule that chooses a user's groups, as in ``make_bound_contributions``: ``"random"``, the default,
            ``"order"`` or ``"rows"``.
        groups: The groups to choose from: those that are released. Rows of other groups are dropped, so no user keeps a
            group that is not released. The default is all groups in the table.

    Returns:
        A :class:`Transformation` to the same domain and metric, with the map d_in -> d_in. The output table contains
        all rows of each user in the remaining groups. Rows with a null user or group are dropped. With ``"random"`` the
        transformation is ``randomized``, as in ``make_bound_contributions``, and a measurement under
        ``RangeDivergence()`` may not follow.

    Raises:
        ParameterError: ``most`` is below 1, or ``by`` is not one of the three rules. The groups are not a list as
            ``make_count_by_item`` requires it.
        ParameterTypeError: An argument has the wrong type.
        SpaceError: The metric does not fit the domain.

        On a call: the errors of ``make_bound_contributions``.

    Runtime: That of ``make_bound_contributions`` with numbers.

    Proof: proofs/transformations/bound_contributions.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
        >>> two = space >> tk.then_keep_groups(most=2, groups=["Bonn", "Jena", "Ulm"])
        >>> towns = ["Bonn", "Jena", "Ulm", "Bonn", "Paris"]
        >>> table = pl.DataFrame({"reader": [1, 1, 1, 1, 2], "book": [7, 7, 8, 9, 7], "town": towns})
        >>> kept = two(table).collect()
        >>> len(set(kept["town"].to_list())), set(kept["reader"].to_list()), two.map(1)
        (2, {1}, 1)
    """
    # proof-region: keep_groups
    user, item, group = require_table_space(input_domain, input_metric, ("item", "group"))
    most = checks.require_positive_int("most", most)  # [check-most-groups]
    listed_groups = None if groups is None else integers_or_strings(groups, "groups")
    checks.require_choice("by", by, RULES[:3])  # [check-rule]

    def function(rows: Any) -> Any:
        from ..tables.capping import bound_contributions, filter_listed_items

        turned = rows.select_columns([user, group, item])  # [turned]
        chosen = turned if listed_groups is None else filter_listed_items(turned, listed_groups)
        return bound_contributions(chosen, most, by, 1.0, FARTHEST, random_ranks).select_columns(
            [user, item, group]
        )  # [turned-back]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=input_domain,
        output_metric=input_metric,
        function=function,
        stability_map=lambda d_in: d_in,  # [stability-of-groups]
        parameters={"transformation": "keep_groups", "most": most, "by": by}
        | ({} if listed_groups is None else {"groups": len(listed_groups)}),
        randomized=by == "random",  # [randomized-groups]
    )
    # end-proof-region: keep_groups


@proved_by("transformations/bound_contributions")
def make_drop_groups(input_domain: FrameDomain, input_metric: UserDistance) -> Transformation:
    """Drop the group column, so that results for the whole table can be released in addition to those by group.

    Use ``make_composition`` of the measurement on the whole table and of ``make_partition_by``. The privacy loss is
    that of the first plus that of the second.

    Args:
        input_domain: ``FrameDomain(user, item, group=...)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.

    Returns:
        A :class:`Transformation` to ``FrameDomain(user, item)`` and the same metric, with the map d_in -> d_in. All
        rows are kept, including those without a group.

    Raises:
        ParameterTypeError: An argument has the wrong type.
        SpaceError: The metric does not fit the domain.

    Runtime: Negligible.

    Proof: proofs/transformations/bound_contributions.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
        >>> whole = space >> tk.then_drop_groups() >> tk.then_count_by_item(candidates=[7, 8])
        >>> table = pl.DataFrame({"reader": [1, 1, 2], "book": [7, 8, 7], "town": ["Ulm", "Bonn", None]})
        >>> whole(table).tolist(), whole.map(1)
        ([2, 1], 1)
    """
    # proof-region: drop_groups
    user, item, _ = require_table_space(input_domain, input_metric, ("item", "group"))
    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=FrameDomain(user, item),
        output_metric=input_metric,
        function=lambda rows: rows.select_columns([user, item]),  # [two-columns-left]
        stability_map=lambda d_in: d_in,  # [stability-of-the-whole]
        parameters={"transformation": "drop_groups"},
    )
    # end-proof-region: drop_groups


# proof-region: ranks
def random_ranks(starts: NDArray[np.int64], entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """Return each entry's rank, from 0, in a uniformly random order of its group; groups are ordered independently.

    Args:
        starts: For each entry the index of the first entry of its group. The entries of a group are contiguous.
    """
    while True:
        words = entropy.draw_auxiliary_words(len(starts))
        order = np.lexsort((words, starts))  # [by-words]
        sorted_words = words[order]
        same = (sorted_words[1:] == sorted_words[:-1]) & (starts[1:] == starts[:-1])
        if not same.any():  # [all-different]
            break
    ranks = np.empty(len(starts), dtype=np.int64)
    ranks[order] = np.arange(len(starts)) - starts  # [rank]
    return ranks


# end-proof-region: ranks


then_bound_contributions = partial_constructor(make_bound_contributions)
then_keep_groups = partial_constructor(make_keep_groups)
then_drop_groups = partial_constructor(make_drop_groups)
