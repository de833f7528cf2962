"""The half that was written before the search was tuned on any of it, with the mechanisms of an earlier round.

Variants of the sparse vector and of noisy maxima as StatDP and DP-Sniper test them, generators as published attacks met
them, and the faults that people make in caps, thresholds and sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.audit import mechanisms
from tests.audit.mechanisms import THRESHOLD, on_the_grid

from .case import COUNTS, ONE_WAY, SCORES, SUMMANDS, Release, broken, right

Draw = np.random.Generator
ONE_PERSON = [([0], [1])]
_TAU = 4  # of histograms that leave out small counts


def _top_2(x: Any, noise: Any) -> Any:
    return np.sort(np.argsort(-(x + noise), axis=1)[:, :2], axis=1)


def top_2_with_exponential_noise(x: Any, n: int, draw: Draw) -> Any:
    """Scale 4 for two places and scores that move both ways."""
    return _top_2(x, draw.exponential(scale=4, size=(n, len(x))))


def _cut(cut: float) -> Release:
    def release(x: Any, n: int, draw: Draw) -> Any:
        return _top_2(x, np.minimum(draw.exponential(scale=4, size=(n, len(x))), cut))

    release.__name__ = f"top_2_with_noise_cut_at_{cut:g}"
    return release


def exponential_noise_maximum(x: Any, n: int, draw: Draw) -> Any:
    """Report noisy max with exponential noise of scale 2 / epsilon."""
    return (x + draw.exponential(scale=2, size=(n, len(x)))).argmax(axis=1)


def gumbel_maximum_one_way(x: Any, n: int, draw: Draw) -> Any:
    """Gumbel noise of scale 1 where scores move one way only."""
    return (x + draw.gumbel(scale=1, size=(n, len(x)))).argmax(axis=1)


def sparse_vector_of_two(x: Any, n: int, draw: Draw) -> Any:
    """Stops after two answers above; the queries have noise of scale 4 c / epsilon = 8."""
    threshold = THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    above = x + draw.laplace(scale=8, size=(n, len(x))) >= threshold
    return np.where(np.cumsum(above, axis=1) - above < 2, above, -1).astype(int)


def sparse_vector_of_two_at_the_price_of_one(x: Any, n: int, draw: Draw) -> Any:
    """The same with the noise for one answer, twice too small, and half of what the threshold needs."""
    threshold = THRESHOLD + draw.laplace(scale=1, size=(n, 1))
    above = x + draw.laplace(scale=2, size=(n, len(x))) >= threshold
    return np.where(np.cumsum(above, axis=1) - above < 2, above, -1).astype(int)


def sparse_vector_with_its_values(x: Any, n: int, draw: Draw) -> Any:
    """The first noisy answer that is above is released itself: what was compared tells of the threshold."""
    noisy = on_the_grid(x + draw.laplace(scale=4, size=(n, len(x))))
    above = noisy >= THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    first = np.where(above.any(axis=1), above.argmax(axis=1), -1)
    values = np.where(first >= 0, np.take_along_axis(noisy, np.maximum(first, 0)[:, None], 1)[:, 0], 0.0)
    return list(zip(first.tolist(), values.tolist(), strict=True))


def _coin(bit: Any, n: int, draw: Draw, truth: float) -> Any:
    return np.where(draw.random(n) < truth, bit, 1 - bit)


def randomised_response(x: Any, n: int, draw: Draw) -> Any:
    """The truth with probability e / (1 + e)."""
    return _coin(x[0], n, draw, math.e / (1 + math.e))


def randomised_response_of_three_quarters(x: Any, n: int, draw: Draw) -> Any:
    """The truth with probability 3 / 4, which costs ln 3."""
    return _coin(x[0], n, draw, 0.75)


def _thresholded(x: Any, n: int, draw: Draw) -> Any:
    """Counts that are 0 stay away; others are released where they reach the threshold with their noise."""
    noisy = x + mechanisms.geometric((n, len(x)), draw)
    return np.where((x > 0) & (noisy >= _TAU), noisy, 0)


def thresholded_histogram(x: Any, n: int, draw: Draw) -> Any:
    """Delta is the probability that a count of 1 reaches the threshold."""
    return _thresholded(x, n, draw)


def thresholded_histogram_off_by_one(x: Any, n: int, draw: Draw) -> Any:
    """Delta is computed for a count of 0, which is never there."""
    return _thresholded(x, n, draw)


def tail(steps: int) -> float:
    """The probability that discrete Laplace noise of scale 1 is ``steps`` or more."""
    return math.exp(-steps) / (1 + math.exp(-1.0))


def histogram_with_noise_of_scale_epsilon(x: Any, n: int, draw: Draw) -> Any:
    """Scale 1/2 for epsilon = 1/2, where 2 was meant."""
    return on_the_grid(x + draw.laplace(scale=0.5, size=(n, len(x))))


def laplace_parallel(x: Any, n: int, draw: Draw) -> Any:
    """Laplace noise of scale 1 on each score, of which the sum of changes counts."""
    return on_the_grid(x + draw.laplace(scale=1, size=(n, len(x))))


def prefix_sums(x: Any, n: int, draw: Draw) -> Any:
    """Sums of noisy scores from the left."""
    return on_the_grid(np.cumsum(x + draw.laplace(scale=1, size=(n, len(x))), axis=1))


def sum_in_floats(x: Any, n: int, draw: Draw) -> Any:
    """Beside a number of 2^53 a summand of 1 is lost, and two of 2 are not: the sum moves further than its summand."""
    total = 0.0
    for value in x:
        total += value
    return np.round(total + np.round(draw.laplace(scale=1, size=n) * 16) / 16)


def truncated_geometric(x: Any, n: int, draw: Draw) -> Any:
    """A count with discrete Laplace noise, put back into 0 to 5."""
    return np.clip(x[0] + mechanisms.geometric(n, draw), 0, 5)


def one_time_rappor(x: Any, n: int, draw: Draw) -> Any:
    """A Bloom filter of 8 bits, of which a word sets one, with each bit flipped at e^-1/2 to 1."""
    bits = np.zeros(8, dtype=int)
    bits[int(x[0]) % 8] = 1
    return np.where(draw.random((n, 8)) < 1 / (1 + math.exp(0.5)), 1 - bits, bits)


def _sum_of_visits(records: Any, n: int, draw: Draw, capped: Any) -> Any:
    return sum(capped(records).values()) + mechanisms.geometric(n, draw)


def _per_person(records: Any) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for person, _ in records:
        counts[person] = 1
    return counts


def _per_page(records: Any) -> dict[Any, int]:
    return dict.fromkeys(records, 1)


def visits_with_a_cap_per_person(records: Any, n: int, draw: Draw) -> Any:
    """Each person counts once, whatever they visit."""
    return _sum_of_visits(records, n, draw, _per_person)


def visits_with_a_cap_per_page(records: Any, n: int, draw: Draw) -> Any:
    """Each person counts once for each page, and visits several."""
    return _sum_of_visits(records, n, draw, _per_page)


def gaussian_sum(x: Any, n: int, draw: Draw) -> Any:
    """Noise of deviation 1 on a score that moves by 1: rho = 1/2."""
    return on_the_grid(x[0] + draw.normal(size=n))


def gaussian_sum_for_epsilon(x: Any, n: int, draw: Draw) -> Any:
    """The classical calibration of epsilon = 1 and delta = 1 %: a deviation of sqrt(2 ln(1.25 / delta))."""
    return on_the_grid(x[0] + draw.normal(scale=math.sqrt(2 * math.log(125)), size=n))


def clamped_mean(records: Any, n: int, draw: Draw) -> Any:
    """The sum of values in 0 to 1 beside their number, each with noise of scale 2."""
    total, size = float(np.clip(records, 0, 1).sum()), len(records)
    return on_the_grid(np.array([total, size]) + draw.laplace(scale=2, size=(n, 2)))


VISITS = [("ada", "/"), ("ada", "/a"), ("ada", "/b"), ("bob", "/"), ("cyd", "/")]
PERSONS = [(VISITS, [row for row in VISITS if row[0] != person]) for person in ("ada", "bob", "cyd")]
VALUES = [([0.2, 0.9, 7.0], [0.2, 0.9]), ([0.2, 0.9, 7.0], [0.9, 7.0]), ([0.2, 0.9], [0.2, 0.9, 1.0])]
WORDS = [([0], [1]), ([0], [3])]


BROKEN = (
    *(broken(one, space=COUNTS if one in mechanisms.ON_COUNTS else SCORES) for one in mechanisms.BROKEN),
    *(broken(_cut(cut)) for cut in (13.7, 16, 21.3)),
    broken(sparse_vector_of_two_at_the_price_of_one),
    broken(sparse_vector_with_its_values),
    broken(randomised_response_of_three_quarters, pairs=ONE_PERSON),
    broken(thresholded_histogram_off_by_one, space=COUNTS, delta=tail(_TAU)),
    broken(histogram_with_noise_of_scale_epsilon, space=SUMMANDS, epsilon=0.5),
    broken(sum_in_floats, space=SUMMANDS),
    broken(visits_with_a_cap_per_page, pairs=PERSONS),
)
RIGHT = (
    *(right(one, space=COUNTS if one in mechanisms.ON_COUNTS else SCORES) for one in mechanisms.RIGHT),
    right(top_2_with_exponential_noise),
    right(exponential_noise_maximum),
    right(gumbel_maximum_one_way, space=ONE_WAY),
    right(sparse_vector_of_two),
    right(randomised_response, pairs=ONE_PERSON),
    right(thresholded_histogram, space=COUNTS, delta=tail(_TAU - 1)),
    right(laplace_parallel, space=SUMMANDS),
    right(prefix_sums, space=SUMMANDS),
    right(truncated_geometric, space=COUNTS),
    right(one_time_rappor, pairs=WORDS),
    right(visits_with_a_cap_per_person, pairs=PERSONS),
    right(gaussian_sum, rho=0.5),
    right(gaussian_sum_for_epsilon, delta=0.01),
    right(clamped_mean, pairs=VALUES),
)
CASES = BROKEN + RIGHT
