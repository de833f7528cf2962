"""The half that was written before the search was tuned on any of it, with the mechanisms of an earlier round.

Variants of the sparse vector and of noisy maxima as StatDP and DP-Sniper test them, generators as published attacks met
them, and the faults that people make in caps, thresholds and sums.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.audit import mechanisms
from tests.audit.mechanisms import THRESHOLD, Mechanism, best, named, noisy, on_the_grid

from .case import COUNTS, ONE_WAY, SCORES, SUMMANDS, broken, right

Draw = np.random.Generator
ONE_PERSON = [([0], [1])]
_TAU = 4  # of histograms that leave out small counts


def _top_2(x: Any, noise: Any) -> Any:
    return np.sort(np.argsort(-(x + noise), axis=1)[:, :2], axis=1)


def _cut(name: str, cut: float = math.inf) -> Mechanism:
    """Exponential noise of scale 4 for two places and scores that move both ways, cut somewhere."""
    return named(name, lambda x, n, draw: _top_2(x, np.minimum(draw.exponential(scale=4, size=(n, len(x))), cut)))


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


def _coin(name: str, truth: float) -> Mechanism:
    """Randomised response."""
    return named(name, lambda x, n, draw: np.where(draw.random(n) < truth, x[0], 1 - x[0]))


def _thresholded(name: str) -> Mechanism:
    """Counts that are 0 stay away; others are released where they reach the threshold with their noise."""

    def release(x: Any, n: int, draw: Draw) -> Any:
        noised = x + mechanisms.geometric((n, len(x)), draw)
        return np.where((x > 0) & (noised >= _TAU), noised, 0)

    return named(name, release)


def tail(steps: int) -> float:
    """The probability that discrete Laplace noise of scale 1 is ``steps`` or more."""
    return math.exp(-steps) / (1 + math.exp(-1.0))


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


def one_time_rappor(x: Any, n: int, draw: Draw) -> Any:
    """A Bloom filter of 8 bits, of which a word sets one, with each bit flipped at e^-1/2 to 1."""
    bits = np.zeros(8, dtype=int)
    bits[int(x[0]) % 8] = 1
    return np.where(draw.random((n, 8)) < 1 / (1 + math.exp(0.5)), 1 - bits, bits)


def _visits(name: str, counted: Callable[[Any], Any]) -> Mechanism:
    """How many there are, each counted once."""
    return named(name, lambda records, n, draw: len(set(counted(records))) + mechanisms.geometric(n, draw))


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
    *(broken(_cut(f"top_2_with_noise_cut_at_{cut:g}", cut)) for cut in (13.7, 16, 21.3)),
    broken(sparse_vector_of_two_at_the_price_of_one),
    broken(sparse_vector_with_its_values),
    broken(_coin("randomised_response_of_three_quarters", 0.75), pairs=ONE_PERSON),  # which costs ln 3
    # Delta is the probability that a count of 1 reaches the threshold, and not a count of 0, which is never there.
    broken(_thresholded("thresholded_histogram_off_by_one"), space=COUNTS, delta=tail(_TAU)),
    broken(
        named(  # scale 1/2 for epsilon = 1/2, where 2 was meant
            "histogram_with_noise_of_scale_epsilon",
            lambda x, n, draw: on_the_grid(x + draw.laplace(scale=0.5, size=(n, len(x)))),
        ),
        space=SUMMANDS,
        epsilon=0.5,
    ),
    broken(sum_in_floats, space=SUMMANDS),
    broken(_visits("visits_with_a_cap_per_page", list), pairs=PERSONS),  # of whom each visits several
)
RIGHT = (
    *(right(one, space=COUNTS if one in mechanisms.ON_COUNTS else SCORES) for one in mechanisms.RIGHT),
    right(_cut("top_2_with_exponential_noise")),
    right(best("exponential_noise_maximum", lambda draw, size: draw.exponential(scale=2, size=size))),
    right(best("gumbel_maximum_one_way", lambda draw, size: draw.gumbel(scale=1, size=size)), space=ONE_WAY),
    right(sparse_vector_of_two),
    right(_coin("randomised_response", math.e / (1 + math.e)), pairs=ONE_PERSON),
    right(_thresholded("thresholded_histogram"), space=COUNTS, delta=tail(_TAU - 1)),
    right(laplace_parallel, space=SUMMANDS),
    right(prefix_sums, space=SUMMANDS),
    right(
        named("truncated_geometric", lambda x, n, draw: np.clip(x[0] + mechanisms.geometric(n, draw), 0, 5)),
        space=COUNTS,
    ),
    right(one_time_rappor, pairs=WORDS),
    right(_visits("visits_with_a_cap_per_person", lambda records: [person for person, _ in records]), pairs=PERSONS),
    right(noisy("gaussian_sum", lambda draw, n: draw.normal(size=n)), rho=0.5),
    right(  # the classical calibration of epsilon = 1 and delta = 1 %
        noisy("gaussian_sum_for_epsilon", lambda draw, n: draw.normal(scale=math.sqrt(2 * math.log(125)), size=n)),
        delta=0.01,
    ),
    right(clamped_mean, pairs=VALUES),
)
CASES = BROKEN + RIGHT
