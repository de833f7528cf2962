"""Scores of candidate caps on the number of items per user, for a private choice of a cap."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..spaces.domains import AtomDomain, FrameDomain, VectorDomain
from ..spaces.metrics import LInfDistance, UserDistance

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
