"""No more than so many items or groups of each user: at random, or by a rule for the user's own rows alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..core.transformation import Transformation
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..sampling.samplers.entropy import SYSTEM, Entropy
from ..spaces.domains import FrameDomain, GroupedFrameDomain, ValuedFrameDomain
from ..spaces.metrics import UserDistance
from .count_by_item import integers_or_strings, parse_candidates
from .sum_by_item import FARTHEST, grid_step

RULES = ("random", "order", "rows", "value")


@proved_by("transformations/keep_items")
def make_keep_items(
    input_domain: FrameDomain | ValuedFrameDomain,
    input_metric: UserDistance,
    *,
    most: int,
    by: str = "random",
    candidates: Iterable[Hashable] | None = None,
    granularity: Number = 1,
) -> Transformation:
    """Keep the rows of at most ``most`` items of each user, and drop the others.

    What follows may then say that a user has no more items than that: ``max_items=most`` drops nothing any more.

    Args:
        input_domain: ``FrameDomain(user, item)`` or ``ValuedFrameDomain(user, item, value)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        most: The number of items, at least 1. Public, and chosen without looking at the table.
        by: Which of a user's items are kept. ``"random"``: a set that is uniform among all sets of this size, drawn
            anew on each call from the operating system's randomness. ``"order"``: the first in the order of the numbers
            or of the code points. ``"rows"``: those with the most rows of this user. ``"value"``: those with the
            largest totals of this user, for a ``ValuedFrameDomain``. Equal ones come in the order of the numbers or
            code points.
        candidates: The items to keep some of, as in ``make_count_by_item``; the rows of all others are dropped. Give
            them where those that follow are listed: otherwise a user may keep items that nobody counts. By default all
            items of the table.
        granularity: The grid of the totals of ``"value"``, as in ``make_sum_by_item``.

    Returns:
        A :class:`Transformation` to the same domain and metric, with the map d_in -> d_in. The table that it returns
        has each pair of user and item once, or, with numbers, all rows of the items that are kept; rows with a null
        user or item are dropped, and with ``"value"`` items without a number, too. With ``"random"`` it is
        ``randomized``: a measurement that follows must have the measure ``MaxDivergence()``,
        ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them or ``PrivacyProfile()``, and declares no law. A
        random choice hides no loss under these, and might under a bound of the range: there keep items by ``"order"``.

    Raises:
        ParameterError: ``most`` is below 1, ``by`` is another word or does not fit the domain, or the granularity is
            out of range.
        ParameterTypeError: An argument has another type.
        CandidatesError: The candidates are no such list as ``make_count_by_item`` takes.
        SpaceError: The metric is not a ``UserDistance`` or does not fit the domain.

        On a call: as ``make_count_by_item``, and EntropyError if the operating system's source of randomness fails.

    Runtime: The table is read once. The pairs of users who have too many items are sorted: half a second of a processor
        for 10^6 rows, at random and in order. What is larger than half a GiB is set aside in a temporary folder, before
        and after, and worked on in parts of about 2^24 rows. A frame of Spark stays there, unless items are kept at
        random: then it is fetched, and refused (DataLengthError) if it has more than 10,000,000 rows.

    Proof: proofs/transformations/keep_items.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> two = space >> tk.then_keep_items(most=2) >> tk.then_count_by_item(candidates=None, max_items=2)
        >>> table = pl.DataFrame({"reader": [1, 1, 1, 2], "book": ["Emma", "Walden", "Ulysses", "Emma"]})
        >>> sum(two(table).values()), two.map(1), two.randomized
        (3, 1, True)
    """
    # proof-region: keep_items
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    hint = "a FrameDomain(user, item) or a ValuedFrameDomain(user, item, value)"
    checks.require_instance("input_domain", input_domain, FrameDomain | ValuedFrameDomain, hint)  # type: ignore[arg-type]
    most = checks.require_positive_int("most", most)  # [check-most]
    items = None if candidates is None else parse_candidates(candidates)
    checks.require_choice("by", by, RULES)
    if by == "value" and not isinstance(input_domain, ValuedFrameDomain):
        raise ParameterError('by="value" needs a ValuedFrameDomain(user, item, value)')
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
        parameters={"transformation": "keep_items", "most": most, "by": by}
        | ({} if items is None else {"candidates": len(items)})
        | ({"granularity": granularity} if by == "value" else {}),
        randomized=by == "random",  # [randomized]
    )


@proved_by("transformations/keep_items")
def map_only_contributions(
    input_domain: FrameDomain | ValuedFrameDomain, input_metric: UserDistance, *, n_candidates: int, **options: Any
) -> Transformation:
    """Some of ``n_candidates`` items without their names, for the map alone: it keeps no rows."""
    named = make_keep_items(input_domain, input_metric, candidates=(0,), **options)

    def function(rows: Any) -> NoReturn:
        raise ParameterError("these items have no names: build it with make_keep_items to read a table")

    return replace(named, function=function, parameters={**named.parameters, "candidates": n_candidates})  # [nameless]
    # end-proof-region: keep_items


@proved_by("transformations/keep_items")
def make_keep_groups(
    input_domain: GroupedFrameDomain,
    input_metric: UserDistance,
    *,
    most: int,
    by: str = "random",
    groups: Iterable[Hashable] | None = None,
) -> Transformation:
    """Keep the rows of each user in at most ``most`` groups, and drop the others.

    ``make_partition_by`` with ``max_groups=most`` may follow, which then drops nothing any more: by itself it keeps the
    first groups of its list, and so favours these.

    Args:
        input_domain: ``GroupedFrameDomain(user, item, group)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        most: The number of groups, at least 1. Public, and chosen without looking at the table.
        by: Which of a user's groups are kept, as in ``make_keep_items``: ``"random"``, ``"order"`` or ``"rows"``.
        groups: The groups to keep some of: those that are released. The rows of all others are dropped, so that a user
            keeps no group that nobody releases. By default all groups of the table.

    Returns:
        A :class:`Transformation` to the same domain and metric, with the map d_in -> d_in. The table that it returns
        has all rows of each user in the groups that are kept; rows with a null user or group are dropped. With
        ``"random"`` it is ``randomized``, as ``make_keep_items`` says, and no measurement under a bound of the range
        may follow.

    Raises:
        ParameterError: ``most`` is below 1, or ``by`` is another word.
        ParameterTypeError: An argument has another type.
        CandidatesError: The groups are no such list as ``make_count_by_item`` takes.
        SpaceError: The metric is not a ``UserDistance`` or does not fit the domain.

        On a call: as ``make_keep_items``.

    Runtime: That of ``make_keep_items`` with numbers.

    Proof: proofs/transformations/keep_items.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.GroupedFrameDomain("reader", "book", "town"), tk.UserDistance()
        >>> two = space >> tk.then_keep_groups(most=2, groups=["Bonn", "Jena", "Ulm"])
        >>> towns = ["Bonn", "Jena", "Ulm", "Bonn", "Paris"]
        >>> table = pl.DataFrame({"reader": [1, 1, 1, 1, 2], "book": [7, 7, 8, 9, 7], "town": towns})
        >>> kept = two(table).collect()
        >>> len(set(kept["town"].to_list())), set(kept["reader"].to_list()), two.map(1)
        (2, {1}, 1)
    """
    # proof-region: keep_groups
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.require_instance("input_domain", input_domain, GroupedFrameDomain, "a GroupedFrameDomain(user, item, group)")
    most = checks.require_positive_int("most", most)  # [check-most-groups]
    listed_groups = None if groups is None else integers_or_strings(groups, "groups")
    checks.require_choice("by", by, RULES[:3])  # [check-rule]
    user, item, group = input_domain.user, input_domain.item, input_domain.group

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


@proved_by("transformations/keep_items")
def make_forget_groups(input_domain: GroupedFrameDomain, input_metric: UserDistance) -> Transformation:
    """Leave the column of groups out, so that a whole can be released beside its groups.

    ``make_composition`` of what follows and of ``make_partition_by`` has one price: that of the whole, and that of the
    dearest groups of a user.

    Args:
        input_domain: ``GroupedFrameDomain(user, item, group)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.

    Returns:
        A :class:`Transformation` to ``FrameDomain(user, item)`` and the same metric, with the map d_in -> d_in. All
        rows stay, those without a group, too.

    Raises:
        ParameterTypeError: An argument has another type.
        SpaceError: The metric is not a ``UserDistance`` or does not fit the domain.

    Runtime: None of its own.

    Proof: proofs/transformations/keep_items.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.GroupedFrameDomain("reader", "book", "town"), tk.UserDistance()
        >>> whole = space >> tk.then_forget_groups() >> tk.then_count_by_item(candidates=[7, 8])
        >>> table = pl.DataFrame({"reader": [1, 1, 2], "book": [7, 8, 7], "town": ["Ulm", "Bonn", None]})
        >>> whole(table).tolist(), whole.map(1)
        ([2, 1], 1)
    """
    # proof-region: forget_groups
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.require_instance("input_domain", input_domain, GroupedFrameDomain, "a GroupedFrameDomain(user, item, group)")
    user, item = input_domain.user, input_domain.item
    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=input_domain.frame_domain,
        output_metric=input_metric,
        function=lambda rows: rows.select_columns([user, item]),  # [two-columns-left]
        stability_map=lambda d_in: d_in,  # [stability-of-the-whole]
        parameters={"transformation": "forget_groups"},
    )
    # end-proof-region: forget_groups


# proof-region: ranks
def random_ranks(starts: NDArray[np.int64], entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
    """For each entry its rank, from 0, in an order of its group that is uniformly random and independent of the others.

    Args:
        starts: For each entry the index of the first entry of its group: groups are runs.
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


then_keep_items = partial_constructor(make_keep_items)
then_keep_groups = partial_constructor(make_keep_groups)
then_forget_groups = partial_constructor(make_forget_groups)
