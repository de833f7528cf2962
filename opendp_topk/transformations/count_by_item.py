"""Counts of distinct users per candidate, or per item of the table, from a table of (user, item) rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ..core.candidates import parse_candidates
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..core.transformation import Transformation
from ..errors import ParameterError, checks
from ..spaces.domains import AtomDomain, Domain, FrameDomain, VectorDomain
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from ..spaces.metrics import L01InfDistance, LInfDistance, UserDistance


@proved_by("transformations/count_by_item")
def make_count_by_item(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    *,
    candidates: Iterable[Hashable] | None,
    monotonic: bool | None = None,
    max_items: int | None = None,
) -> Transformation:
    """Count the distinct users of each candidate item, or of every item in the table if there is no candidate list.

    ``x_i = |{u : the table has a row (u, candidates[i])}|``

    Rows with a null user or a null item are ignored, and so are items that are not candidates. A candidate without rows
    has the count 0. A user may have any number of rows, including equal ones.

    Args:
        input_domain: ``FrameDomain(user, item)``: the names of the two columns, which contain integers, strings or
            categories.
        input_metric: ``UserDistance()`` if neighbouring tables differ by one user added or removed,
            ``UserDistance("replace")`` if one user's rows are replaced by those of another.
        candidates: The items to count, in the order of the scores: at least one, distinct, all 64-bit integers or all
            strings. They must be public: a list taken from the table would itself reveal who is in it. If None, every
            item in the table is counted, and only a measurement for an unknown domain may follow.
        monotonic: The output metric: ``LInfDistance(monotonic)`` or ``KeyedCountDistance(..., monotonic)``. The default
            gives the smallest privacy loss. It is True under "add_remove", where False doubles the loss of a selection.
            It is False under "replace", where True doubles the loss of noisy counts and does not change that of a
            selection.
        max_items: Contribution bound: how many items (candidates, if these are given) of one user count at most. The
            first ones count, in the public order of the numbers or of the strings' code points. By default all count.
            To choose them in another way, apply ``make_bound_contributions`` with the same bound first; nothing is then
            dropped here. The scale of noise on all counts, such as that of ``make_laplace``, then grows with
            ``max_items`` instead of the number of candidates.

    Returns:
        A :class:`Transformation` to int64 vectors with one count per candidate, in the order of ``candidates``. With
        ``max_items`` the output metric is ``L01InfDistance(changes=max_items, monotonic=...)``, with twice as many
        changes under "replace" with ``monotonic=False``, because the items of both users change. Without candidates the
        output is a mapping from items to counts in ``KeyedCountsDomain()``, under ``KeyedCountDistance(max_items)``.
        Its keys stay in columns, or in Spark, and become Python objects only when they are read.
        The map, for d_in users added or removed (in any mixture) or replaced, is

        * ``d_in`` with the default ``monotonic``;
        * ``d_in`` under "add_remove" with ``monotonic=False`` as well;
        * ``2 d_in`` under "replace" with ``monotonic=True``: a replacement is one removal and one addition.

        The range distance for a selection that follows is d_in under "add_remove" with ``monotonic=True``, and 2 d_in
        otherwise. The map is tight; 2 d_in needs at least two candidates.

    Raises:
        ParameterError: The candidates are empty, repeated, or neither all integers nor all strings. ``max_items`` is
            below 1.
        SpaceError: The metric does not fit the domain.
        ParameterTypeError: The metric is not a ``UserDistance``, the domain is not a ``FrameDomain``, ``monotonic`` is
            neither a bool nor None, or ``max_items`` is neither an integer nor None.

        On a call, before anything is counted: DataError if a column is missing; DataTypeError if the argument is not a
        data frame, or a column cannot hold identifiers, or contains strings if the candidates are integers (or the
        other way round). While counting: TableError if the table's back end fails.

    Runtime: Counting 10^7 rows of parquet for 10^5 candidates takes about a second on two cores with polars, and a
        quarter of a second if users and items are integers. Each table is read once. A table that is not loaded and is
        larger than half a GiB goes through a temporary folder. A Spark table is counted in Spark.

    Proof: proofs/transformations/count_by_item.tex

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain(user="reader", item="book"), tk.UserDistance()
        >>> count = space >> tk.then_count_by_item(candidates=["Emma", "Ulysses", "Walden"])
        >>> count(pl.DataFrame({"reader": [1, 1, 2, 3], "book": ["Emma", "Emma", "Emma", "Walden"]}))
        array([2, 0, 1])
        >>> count.map(1)
        1
    """
    # proof-region: count_by_item
    require_table_space(input_domain, input_metric, ("item",))  # [two-columns]
    items = None if candidates is None else parse_candidates(candidates)  # [check-candidates]
    if monotonic is None:
        monotonic = input_metric.neighbors == "add_remove"  # [cheapest]
    checks.require_boolean("monotonic", monotonic)
    changes = max_changed_scores(max_items, input_metric, monotonic)  # [changes]
    output_domain, output_metric = build_output_space(items, max_items, changes, monotonic)  # [output-space]

    def count_all_items(rows: Any) -> Any:
        from ..tables.keyed import count_users_by_item

        return count_users_by_item(rows, max_items)  # [count-keys]

    def count_bounded_items(rows: Any) -> Any:
        from ..tables.capping import bound_first_items, filter_listed_items

        assert items is not None
        assert max_items is not None
        return DistinctUsers(items)(bound_first_items(filter_listed_items(rows, items), max_items))  # [count-few]

    def stability_map(d_in: int) -> int:
        if input_metric.neighbors == "replace" and monotonic:
            return 2 * d_in  # [stability-replace]
        return d_in  # [stability]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=output_domain,
        output_metric=output_metric,
        function=count_all_items
        if items is None
        else DistinctUsers(items)
        if max_items is None
        else count_bounded_items,
        stability_map=stability_map,
        parameters={
            "transformation": "count_by_item",
            "user": input_domain.user,
            "item": input_domain.item,
            "candidates": None if items is None else len(items),
            "monotonic": monotonic,
        }
        | ({} if max_items is None else {"max_items": max_items}),
    )


def max_changed_scores(max_items: int | None, metric: UserDistance, monotonic: bool) -> int | None:
    """Return how many scores change at most at distance 1 if each user has at most ``max_items`` items."""
    if max_items is None:
        return None
    most = checks.require_positive_int("max_items", max_items)  # [check-max-items]
    return 2 * most if metric.neighbors == "replace" and not monotonic else most  # [both-users]


def build_output_space(
    items: Sequence[Any] | None, max_items: int | None, changes: int | None, monotonic: bool, each: int = 1
) -> tuple[Domain, Any]:
    """Return the output domain and metric of counts or sums: vectors for listed items, otherwise mappings by item.

    One user changes an entry by at most ``each``, which is used for mappings and to mark vectors of user counts.
    """
    if items is None:
        return KeyedCountsDomain(), KeyedCountDistance(max_items, monotonic, each)  # [keyed-space]
    domain = VectorDomain(AtomDomain(int), size=len(items), candidates=items, counts_users=each == 1)  # [whose]
    if changes is not None:
        return domain, L01InfDistance(changes=changes, monotonic=monotonic)  # [few-space]
    return domain, LInfDistance(monotonic=monotonic)  # [listed-space]


@dataclass(frozen=True, eq=False)
class DistinctUsers:
    """Function that counts the distinct users of each of ``items``."""

    items: Sequence[int] | Sequence[str]

    def __call__(self, rows: Any) -> Any:
        from ..tables.frames import count_distinct_users

        return count_distinct_users(rows, self.items)  # [count]


@proved_by("transformations/count_by_item")
def map_only_count(
    input_domain: FrameDomain, input_metric: UserDistance, *, n_candidates: int, max_items: int | None = None
) -> Transformation:
    """Return a count transformation for ``n_candidates`` unnamed items that has a map but cannot count a table.

    The map does not depend on the candidates, so it can be evaluated without a list of, say, ten million names.
    """
    named = make_count_by_item(input_domain, input_metric, candidates=(0,), max_items=max_items)

    def function(rows: Any) -> NoReturn:
        raise ParameterError("this count has no candidates: build it with make_count_by_item to count a table")

    return replace(
        named,
        output_domain=VectorDomain(AtomDomain(int), size=n_candidates, counts_users=True),
        function=function,  # [nameless]
        parameters={**named.parameters, "candidates": n_candidates},
    )
    # end-proof-region: count_by_item


then_count_by_item = partial_constructor(make_count_by_item)
