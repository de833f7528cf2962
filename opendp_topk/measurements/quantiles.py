"""Several quantiles of counted rows by halving: the middle one first, and then those of both parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import round_up, to_fraction
from ..numerics.rank_scores import rank_scores
from ..sampling.noises.gumbel import Gumbel
from ..sampling.samplers import entropy as noiseless
from ..spaces.costs import SCALAR, Cost, require_measure, rho_of_range
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import L1Distance, attainable_distance
from ._selection import Choice, one_shot_mechanism

_PARTS = 1000  # the largest common denominator of the quantiles: scores stay below 2^62
WIDEST = 2**24  # places: their scores take 128 MiB
_MOST = 2**52  # rows altogether

TRIED = {
    "quantiles": (
        (Fraction(1, 2),),
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
    ),
    "places": (1, 2),
}

Shares = Sequence[Fraction]
Rows = NDArray[np.int64]


@proved_by("measurements/quantiles")
def make_quantiles(
    input_domain: VectorDomain,
    input_metric: L1Distance,
    output_measure: Measure,
    *,
    quantiles: Sequence[Number],
    scale: Number,
    places: int = 64,
) -> Measurement:
    """Release several quantiles of numbers that are counted, at the price of as many levels as halving takes.

    The middle one of the quantiles is chosen first, by the exponential mechanism with the scores of
    ``make_quantile_scores``. It parts the rows in two, and those below it answer for the quantiles that are left of it,
    those from it on for the others, in the same way. A row is in one part at each level, so that levels add up and
    quantiles do not: k of them for 2^k - 1 quantiles.

    Rows that share a number are spread evenly over ``places`` places, in an order of their own, so that a quantile may
    part them. A number that many share is hit exactly.

    Args:
        input_domain: Vectors of d counts, one a number in ascending order, of a declared size:
            ``VectorDomain(AtomDomain(int), size=d)``, what ``make_count_by_number`` gives. Counts below 0 and beyond
            2^52 / d are taken as these.
        input_metric: ``L1Distance()``: by how many rows counts differ.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        quantiles: The shares of rows below, ascending, distinct, strictly between 0 and 1, with a common denominator of
            at most 1000, such as ``[Fraction(n, 4) for n in (1, 2, 3)]``.
        scale: The scale of the noise in rows where a quantile is the middle of its part, finite, >= 0; where it is the
            share l of its part, 2 max(l, 1 - l) times as much. At 0 the quantiles are exact, but for the spreading,
            with an infinite privacy loss.
        places: Over how many places the rows of one number are spread, from 1 to 2^24 / d. Public. More of them bring
            quantiles nearer where many rows share a number, and add to the logarithm in the accuracy.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays of the indices of the quantiles, ascending.

    Privacy:
        With k levels (1 for one quantile, 2 for up to 3, 3 for up to 7) and r = floor(d_in) / scale:

        - MaxDivergence: epsilon = k r.
        - RangeDivergence: (2 k - 1) r, attained for one quantile.
        - ZeroConcentratedDivergence: rho = k R(r), the rho of so many steps of range r, with
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))).
        - PrivacyProfile: the least of the curves of that epsilon, that rho, and of k adaptive steps of range r.

    Accuracy:
        ``accuracy(d, alpha)`` is a number of rows b such that with probability at least 1 - alpha each released number
        has at most q N + b of the N rows below it and at most (1 - q) N + b above it, where no count is beyond
        ``places``, and with b + (k - 1) M / places where the largest count is M. For 2^k - 1 quantiles at equal
        distances b is at most ((2 k + 1) scale ln((2^k - 1) d places / alpha) + 2 k - 2) / 3. Counts are those within
        0 and 2^52 / d.

    Raises:
        ParameterError: The quantiles are none, not ascending or too fine, ``scale`` or ``places`` is out of range, or
            the domain is not of integers or declares no size.
        ParameterTypeError: An argument has another type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime: k passes over d places numbers, and few noise draws a quantile.

    Proof: proofs/measurements/quantiles.tex

    References:
        Kaplan, Schnapp and Stemmer, "Differentially Private Approximate Quantiles" (2022), for halving.

    Example:
        >>> import opendp_topk as tk
        >>> from fractions import Fraction
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=6), tk.L1Distance()
        >>> quarters = [Fraction(n, 4) for n in (1, 2, 3)]
        >>> quartiles = space >> tk.then_quantiles(tk.MaxDivergence(), quantiles=quarters, scale=2.0)
        >>> quartiles.map(1)
        1.0
        >>> quartiles([0, 3 * 10**6, 10**6, 0, 3 * 10**6, 0])
        array([1, 2, 4])
    """
    # proof-region: quantiles
    require_space(input_domain, input_metric, L1Distance, "L1Distance()")  # [check-space]
    size = input_domain.size
    if size is None or input_domain.element_domain.T is not int:  # [sized-integers]
        raise ParameterError("input_domain must be VectorDomain(AtomDomain(int), size=d): integers, of a declared size")
    require_measure(output_measure, *SCALAR, PrivacyProfile)  # [check-measure]
    shares = _parse_quantiles(quantiles)  # [shares]
    tau = to_fraction(checks.require_scale(scale))  # [check-scale]
    places = checks.require_positive_int(
        "places", places, at_most=WIDEST // size, limit="2^24 / size"
    )  # [check-places]
    levels, mechanism = len(shares).bit_length(), one_shot_mechanism(Gumbel())  # [levels]

    def choice_for_share(share: Fraction) -> Choice:
        scaled = tau * 2 * max(share.numerator, share.denominator - share.numerator)  # [by-the-most-one-row-moves]
        return Choice(1, None, scaled, 1, True)

    def draw_place(rows: Rows, share: Fraction) -> int:
        scores = rank_scores(rows, share.numerator, share.denominator)  # [scored]
        if tau == 0:
            return int(noiseless.top_k(scores, 1, sign=1, ordered=True)[0])  # [exact]
        return int(mechanism.sample(scores, choice_for_share(share))[0])  # [draw]

    def function(counts: NDArray[Any]) -> NDArray[np.int64]:
        return (
            np.array(_draw_by_halving(_spread_rows(counts, places), shares, draw_place), dtype=np.int64) // places
        )  # [number]

    def privacy_map(d_in: Number) -> Any:
        moved = attainable_distance(input_domain, d_in)  # [whole]
        if moved == 0:
            return 0.0  # [free]
        if tau == 0 or moved == float("inf"):
            return output_measure.infinite  # [no-noise]
        r = to_fraction(moved) / tau
        return Cost(levels * r, (2 * levels - 1) * r, levels * rho_of_range(r), (levels, r)).to_distance(
            output_measure
        )  # [cost]

    def node_distribution(rows: Rows, share: Fraction) -> Iterator[tuple[int, Any]]:
        choice = choice_for_share(share)
        scores = rank_scores(rows, share.numerator, share.denominator).tolist()
        assert mechanism.law is not None
        drawn = mechanism.law([Fraction(score) / (choice.tau or 1) for score in scores], choice)
        return ((int(chosen[0]), p) for chosen, p in drawn.items())  # type: ignore[index]

    def accuracy(n: int, alpha: Any) -> float:
        near = mechanism.accuracy(n * places, Choice(1, None, tau, 1, True), to_fraction(alpha) / len(shares))  # [near]
        return round_up(
            max(max(pair) for pair in rank_error_bounds(shares, to_fraction(near), Fraction(1)))
        )  # [largest]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "quantiles",
            "quantiles": [str(one) for one in shares],
            "scale": scale,
            "places": places,
        },
        declared=Declared(
            law=lambda counts: _output_distribution(_spread_rows(counts, places), shares, node_distribution),  # [law]
            decode=lambda outcome: np.array(outcome, dtype=np.int64) // places,  # [decode]
            accuracy=accuracy,
            n_candidates=size,
            scores_input=True,
        ),
    )


def _parse_quantiles(quantiles: Sequence[Number]) -> Shares:
    """The quantiles as fractions."""
    if not isinstance(quantiles, list | tuple) and getattr(quantiles, "ndim", 0) != 1:
        raise ParameterTypeError("quantiles must be a list of numbers, such as [Fraction(1, 4), Fraction(1, 2)]")
    shares = [Fraction(to_fraction(checks.require_probability(one, "each of quantiles"))) for one in quantiles]
    if not shares or any(one >= other for one, other in itertools.pairwise(shares)):  # [ascending]
        raise ParameterError("quantiles must be at least one, ascending and distinct")
    if np.lcm.reduce([min(one.denominator, _PARTS + 1) for one in shares]) > _PARTS:  # [check-shares]
        raise ParameterError(f"quantiles must have a common denominator of at most {_PARTS}, such as Fraction(9, 10)")
    return shares


def _spread_rows(counts: NDArray[Any], places: int) -> Rows:
    """The rows of each number, spread over places: the n-th of them (from 0) comes to the place n mod ``places``."""
    limit = _MOST // len(counts)
    rows = np.clip(counts, 0, limit).astype(np.int64)  # [clip]
    spread: Rows = ((rows[:, None] + np.arange(places - 1, -1, -1)) // places).ravel()  # [spread]
    return spread


def _split_quantiles(shares: Shares) -> tuple[Shares, Fraction, Shares]:
    """The middle one of some quantiles, and the others as those of the rows below it and of those from it on."""
    middle = len(shares) // 2  # [middle]
    share = shares[middle]
    left = [one / share for one in shares[:middle]]  # [left]
    return left, share, [(one - share) / (1 - share) for one in shares[middle + 1 :]]  # [right]


def _split_rows(rows: Rows, place: int) -> tuple[Rows, Rows]:
    """The rows below a place, which stays a candidate, and those from it on."""
    lower = rows[: place + 1].copy()
    lower[place] = 0  # [strictly-below]
    return lower, rows[place:]  # [from-it-on]


def _draw_by_halving(rows: Rows, shares: Shares, draw: Callable[[Rows, Fraction], int]) -> list[int]:
    """The places of all quantiles."""
    if not shares:
        return []
    left, share, right = _split_quantiles(shares)
    place = draw(rows, share)  # [one]
    lower, upper = _split_rows(rows, place)
    return [
        *_draw_by_halving(lower, left, draw),
        place,
        *(place + one for one in _draw_by_halving(upper, right, draw)),
    ]  # [halves]


def _output_distribution(rows: Rows, shares: Shares, node_law: Any) -> dict[Hashable, Any]:
    """The probability of every list of places."""
    if not shares:
        return {(): 1}
    law: dict[Hashable, Any] = {}
    left, share, right = _split_quantiles(shares)
    for place, p in node_law(rows, share):
        lower, upper = _split_rows(rows, place)
        before: Any = _output_distribution(lower, left, node_law)
        after: Any = _output_distribution(upper, right, node_law)
        for one, other in itertools.product(before, after):
            places = (*one, place, *(place + later for later in other))
            law[places] = p * before[one] * after[other]  # [product]
    return law


Reach = tuple[Fraction, Fraction]


def rank_error_bounds(
    shares: Shares, near: Fraction, tied: Fraction, left: Reach = (Fraction(0),) * 2, right: Reach = (Fraction(0),) * 2
) -> list[Reach]:
    """For each quantile by how many rows more than its share lie below and above what is released, at most.

    Args:
        shares: The quantiles of the part, ascending.
        near: By how many rows at most a median of a part fails to be one.
        tied: How many rows a place has at most.
        left: By how many rows at most the lower end of the part is too far up, and too far down.
        right: The same of the upper end.
    """
    if not shares:
        return []
    lower, share, upper = _split_quantiles(shares)
    own = 2 * max(share, 1 - share) * near  # [own]
    below, above = (own + (1 - share) * at + share * to for at, to in zip(left, right, strict=True))  # [passed-on]
    split = below, above + tied  # [split]
    return [
        *rank_error_bounds(lower, near, tied, left, split),
        (below, above),
        *rank_error_bounds(upper, near, tied, split, right),
    ]
    # end-proof-region: quantiles


then_quantiles = partial_constructor(make_quantiles)
