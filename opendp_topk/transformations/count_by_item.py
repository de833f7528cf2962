"""From a table of (user, item) rows to one count a candidate, or one a key: its number of distinct users."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ..core.candidates import public_items
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..core.transformation import Transformation
from ..errors import CandidatesError, ParameterError, checks
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
    """Count the distinct users of each candidate item, or of every item where nobody can list the candidates.

    ``x_i = |{u : the table has a row (u, candidates[i])}|``

    A row with a null user or a null item counts for nobody. Items that are no candidates are ignored, and a
    candidate without rows has the count 0. A user may have any number of rows, equal ones included.

    Args:
        input_domain: ``FrameDomain(user, item)``: the names of the two columns, which hold integers, strings or
            categories.
        input_metric: ``UserDistance()`` if a neighbouring table has one user more or less,
            ``UserDistance("replace")`` if one user's rows are exchanged for those of another.
        candidates: The items to count, in the order of the scores: all integers (of 64 bits) or all strings,
            distinct, at least one. They must be public: a list taken from the table would itself reveal who is
            in it. None where there is no such list: the counts are then those of all items in the table, by item,
            and only a measurement for an unknown domain may follow.
        monotonic: The output metric, ``LInfDistance(monotonic)`` or ``KeyedCountDistance(..., monotonic)``. By
            default the one under which all that follows is cheapest: True under "add_remove", where False doubles the
            cost of a selection; False under "replace", where True doubles the cost of noisy counts, and a selection
            costs the same with both.
        max_items: How many items of one user count at most, of the candidates if these are given: the first in the
            order of the numbers, or of the strings' code points, which is public. By default all count. To keep others,
            let ``make_keep_items`` choose before: what keeps no more than so many leaves nothing to drop. Noise on all
            counts, as that of ``make_laplace``, then grows with ``max_items`` and not with the number of candidates.

    Returns:
        A :class:`Transformation` to int64 vectors, one count a candidate, in the order of ``candidates``; with
        ``max_items`` under ``L01InfDistance(changes=max_items, monotonic=...)``, or twice as many changes under
        "replace" with ``monotonic=False``, where the items of both users move. Without candidates to counts by item, a
        mapping in ``KeyedCountsDomain()`` under ``KeyedCountDistance(max_items)``. It leaves keys in columns, or in
        Spark, and makes Python objects of those that are asked for.
        Its map, for d_in users added, removed or replaced, adds and removes mixed:

        * ``d_in`` in the default metric under both: no count moves by more;
        * ``d_in`` under "add_remove" with ``monotonic=False``, too;
        * ``2 d_in`` under "replace" with ``monotonic=True``: a replacement is one removal and one addition.

        A selection that follows sees the range distance d_in under "add_remove" and 2 d_in under "replace". All are
        attained, by a single candidate that every user who comes has and no user who goes, or (2 d_in) by two
        candidates.

    Raises:
        CandidatesError: The candidates are empty, repeated, or neither all integers nor all strings.
        SpaceError: The metric is not a ``UserDistance`` or the domain not a ``FrameDomain``.
        ParameterTypeError: ``monotonic`` is neither a bool nor None, or ``max_items`` neither an integer nor None.
        ParameterError: ``max_items`` is below 1.

        On a call, before anything is counted: DataTypeError for what is no data frame; ColumnError for a column
        that is missing, cannot hold identifiers, or holds strings where the candidates are integers (or the
        other way round). While counting: TableError if the table's back end fails.

    Runtime: 10^7 rows of parquet into 10^5 candidates take about a second on two cores with polars, and a quarter of
        one where users and items are integers, which all processors sort. Every table is read once. What is not
        loaded and larger than half a GiB is set aside in a temporary folder, and counted from there in parts of about
        2^24 rows. Spark counts in a plan of its own. Of integers that are given as a ``range`` no list is made.

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
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.require_instance("input_domain", input_domain, FrameDomain, "a FrameDomain(user, item)")  # [two-columns]
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
    """How many scores move where a distance of 1 is between them, for users of at most ``max_items`` items."""
    if max_items is None:
        return None
    most = checks.require_positive_int("max_items", max_items)  # [check-max-items]
    return 2 * most if metric.neighbors == "replace" and not monotonic else most  # [both-users]


def build_output_space(
    items: Sequence[Any] | None, max_items: int | None, changes: int | None, monotonic: bool, each: int = 1
) -> tuple[Domain, Any]:
    """Where counts or sums of items lie: vectors with an entry for each that is listed, or mappings from all.

    In the latter one user moves an entry by ``each`` at most.
    """
    if items is None:
        return KeyedCountsDomain(), KeyedCountDistance(max_items, monotonic, each)  # [keyed-space]
    domain = VectorDomain(AtomDomain(int), size=len(items), candidates=items, counts_users=each == 1)  # [whose]
    if changes is not None:
        return domain, L01InfDistance(changes=changes, monotonic=monotonic)  # [few-space]
    return domain, LInfDistance(monotonic=monotonic)  # [listed-space]


@dataclass(frozen=True, eq=False)
class DistinctUsers:
    """The function that counts the distinct users of each of ``items``."""

    items: Sequence[int] | Sequence[str]

    def __call__(self, rows: Any) -> Any:
        from ..tables.frames import count_distinct_users

        return count_distinct_users(rows, self.items)  # [count]


@proved_by("transformations/count_by_item")
def map_only_count(
    input_domain: FrameDomain, input_metric: UserDistance, *, n_candidates: int, max_items: int | None = None
) -> Transformation:
    """The count of ``n_candidates`` items without their names, for its map alone: it counts no table.

    The map does not depend on the candidates, and ten million names need not exist to ask it.
    """
    named = make_count_by_item(input_domain, input_metric, candidates=(0,), max_items=max_items)

    def function(rows: Any) -> NoReturn:
        raise ParameterError("this count has no names of candidates: build it with make_count_by_item to count a table")

    return replace(
        named,
        output_domain=VectorDomain(AtomDomain(int), size=n_candidates, counts_users=True),
        function=function,  # [nameless]
        parameters={**named.parameters, "candidates": n_candidates},
    )


def parse_candidates(candidates: Iterable[Hashable]) -> Sequence[int] | Sequence[str]:
    """The same; but consecutive integers stay the ``range`` as which they were given, which takes no memory."""
    if (
        isinstance(candidates, range)
        and candidates.step == 1
        and -(2**62) <= candidates.start < candidates.stop <= 2**62
    ):
        return candidates  # [range]
    return integers_or_strings(candidates, "candidates")


def integers_or_strings(candidates: Iterable[Hashable], name: str) -> tuple[int, ...] | tuple[str, ...]:
    """Public identifiers: distinct, all integers of 64 bits or all strings, in their order.

    Raises:
        CandidatesError: They are not.
    """
    items = public_items(candidates, name)  # [distinct]
    if all(isinstance(one, str) for one in items):
        if any("\ud800" <= letter <= "\udfff" for one in items for letter in one):
            raise CandidatesError(f"{name} must be strings of Unicode characters, without lone surrogates")
        return tuple(map(str.__str__, items))  # the value itself, also of an enumeration of strings
    if not all(checks.is_integer(one) for one in items):
        raise CandidatesError(f"{name} must be all integers or all strings (a bool is no integer here)")
    numbers = tuple(map(operator.index, items))
    if min(numbers) < -(2**63) or max(numbers) >= 2**64:
        raise CandidatesError(f"{name} that are integers must fit into 64 bits: -2**63 <= integer < 2**64")
    return numbers
    # end-proof-region: count_by_item


then_count_by_item = partial_constructor(make_count_by_item)
