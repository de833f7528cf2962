"""Several quantiles of counted rows by recursive halving: first the middle quantile, then those of both parts."""

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
from ..spaces.measures import Distance, Measure, PrivacyProfile
from ..spaces.metrics import L1Distance, attainable_distance
from ._selection import Choice, one_shot_mechanism

_PARTS = 1000  # the largest common denominator of the quantiles: scores stay below 2^62
WIDEST = 2**24  # largest number of places: their scores take 128 MiB
_MOST = 2**52  # largest total number of rows

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
    output_measure: Measure[Distance],
    *,
    quantiles: Sequence[Number],
    scale: Number,
    places: int | None = None,
) -> Measurement[Distance, NDArray[np.int64]]:
    """Release several quantiles of counted numbers, with a privacy loss per level of halving, not per quantile.

    The middle quantile is chosen first, by the exponential mechanism with the scores of ``make_quantile_scores``. It
    splits the rows in two: the rows below it determine the smaller quantiles, and the other rows the larger ones, in
    the same way. A row is in one part per level, so the loss grows with the number of levels: k levels are enough for
    2^k - 1 quantiles.

    Rows with the same number are spread evenly over ``places`` consecutive places, so that a quantile can split them. A
    number that many rows share is hit exactly.

    Args:
        input_domain: Vectors of d counts, one per number in ascending order, of a declared size:
            ``VectorDomain(AtomDomain(int), size=d)``, as from ``make_count_by_number``. Counts are clamped to
            [0, 2^52 / d].
        input_metric: ``L1Distance()``: the number of rows by which counts differ.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        quantiles: The fractions of rows below each quantile, ascending, distinct, strictly between 0 and 1, with a
            common denominator of at most 1000, such as ``[Fraction(n, 4) for n in (1, 2, 3)]``.
        scale: The scale of the noise in rows if a quantile is the median of its part, finite, >= 0. If it is the
            fraction l of its part, the scale is 2 max(l, 1 - l) times as large. If 0, the quantiles are exact up to the
            spreading, and the privacy loss is infinite.
        places: The number of places over which the rows of one number are spread, from 1 to 2^24 / d. The default is
            64, or 2^24 / d if that is less. It is public. More places make quantiles more accurate if many rows share a
            number, but increase the logarithm in the accuracy bound.

    Returns:
        A :class:`Measurement` whose releases are int64 arrays: for each quantile the index of its number, ascending.

    Privacy:
        With k levels (1 for one quantile, 2 for up to 3, 3 for up to 7) and r = floor(d_in) / scale:

        - MaxDivergence: epsilon = k r.
        - RangeDivergence: (2 k - 1) r, attained for one quantile.
        - ZeroConcentratedDivergence: rho = k R(r), the rho of so many steps of range r, with
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))).
        - PrivacyProfile: the least of the curves of that epsilon, that rho, and of k adaptive steps of range r.

    Accuracy:
        ``accuracy(d, alpha)`` is a number of rows b such that with probability at least 1 - alpha, for every quantile
        q, at most q N + b of the N rows are below the released number and at most (1 - q) N + b above it. This is valid
        if no count exceeds ``places``; if the largest count is M, it is valid with b + (k - 1) M / places. For
        2^k - 1 equally spaced quantiles b is at most ((2 k + 1) scale ln((2^k - 1) d places / alpha) + 2 k - 2) / 3.
        The counts are those clamped to [0, 2^52 / d].

    Raises:
        ParameterError: There are no quantiles, they are not ascending or have too large a denominator, ``scale`` or
            ``places`` is out of range, or the domain is not of integers or does not declare its size.
        ParameterTypeError: An argument has another type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime: k passes over d * places numbers, and few noise draws per quantile.

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
    most = WIDEST // size
    if most == 0:
        raise ParameterError("input_domain must have at most 2^24 numbers: choose a larger step between numbers")
    spread = min(64, most) if places is None else places
    places = checks.require_positive_int("places", spread, at_most=most, limit="2^24 / size")  # [check-places]
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
    """Return the quantiles as fractions, after checking them."""
    if not isinstance(quantiles, list | tuple) and getattr(quantiles, "ndim", 0) != 1:
        raise ParameterTypeError("quantiles must be a list of numbers, such as [Fraction(1, 4), Fraction(1, 2)]")
    shares = [Fraction(to_fraction(checks.require_probability(one, "each of quantiles"))) for one in quantiles]
    if not shares or any(one >= other for one, other in itertools.pairwise(shares)):  # [ascending]
        raise ParameterError("quantiles must be one or more numbers, ascending and distinct")
    if np.lcm.reduce([min(one.denominator, _PARTS + 1) for one in shares]) > _PARTS:  # [check-shares]
        raise ParameterError(f"quantiles must have a common denominator of at most {_PARTS}, such as Fraction(9, 10)")
    return shares


def _spread_rows(counts: NDArray[Any], places: int) -> Rows:
    """Return the row counts of all places: row n (from 0) of a number goes to its place n mod ``places``."""
    limit = _MOST // len(counts)
    rows = np.clip(counts, 0, limit).astype(np.int64)  # [clip]
    spread: Rows = ((rows[:, None] + np.arange(places - 1, -1, -1)) // places).ravel()  # [spread]
    return spread


def _split_quantiles(shares: Shares) -> tuple[Shares, Fraction, Shares]:
    """Return the quantiles below the middle one, the middle one, and those above it, relative to their parts."""
    middle = len(shares) // 2  # [middle]
    share = shares[middle]
    left = [one / share for one in shares[:middle]]  # [left]
    return left, share, [(one - share) / (1 - share) for one in shares[middle + 1 :]]  # [right]


def _split_rows(rows: Rows, place: int) -> tuple[Rows, Rows]:
    """Return the rows strictly below a place, which remains a candidate, and the rows from that place on."""
    lower = rows[: place + 1].copy()
    lower[place] = 0  # [strictly-below]
    return lower, rows[place:]  # [from-it-on]


def _draw_by_halving(rows: Rows, shares: Shares, draw: Callable[[Rows, Fraction], int]) -> list[int]:
    """Return the places of all quantiles."""
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
    """Return the probability of every list of places."""
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
    """Return for each quantile upper bounds on the excess rows below and above the released number.

    Args:
        shares: The quantiles of the part, ascending.
        near: The largest rank error of a median of a part, in rows.
        tied: The largest number of rows in one place.
        left: The largest numbers of rows by which the lower end of the part is too high, and too low.
        right: The same for the upper end.
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
