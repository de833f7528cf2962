"""The half that was written after the search was tuned, without a look at what it finds; nothing was tuned since.

The thresholds of published tables (Lyu, Su and Li 2017), caps as a pipeline once set them (Privacy on Beam, its pull
request 84), ends of noise, budgets that are spent twice, and what lies near each and is right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.audit.mechanisms import THRESHOLD, geometric, on_the_grid

from .before import ONE_PERSON, PERSONS, VALUES, tail
from .case import COUNTS, ONE_WAY, SUMMANDS, broken, right

Draw = np.random.Generator


def _until_two(above: Any) -> Any:
    """Answers up to the second that is above."""
    return np.where(np.cumsum(above, axis=1) - above < 2, above, -1).astype(int)


def sparse_vector_of_lee_and_clifton(x: Any, n: int, draw: Draw) -> Any:
    """A quarter of epsilon for the threshold, and the rest for the queries as if one could be above: two can."""
    threshold = THRESHOLD + draw.laplace(scale=4, size=(n, 1))
    return _until_two(x + draw.laplace(scale=4 / 3, size=(n, len(x))) >= threshold)


def sparse_vector_of_dwork_and_roth(x: Any, n: int, draw: Draw) -> Any:
    """Half of epsilon for each of two answers, with a new threshold after the first."""
    noisy = x + draw.laplace(scale=8, size=(n, len(x)))
    old, new = (THRESHOLD + draw.laplace(scale=4, size=(n, 1)) for _ in range(2))
    first = np.cumsum(noisy >= old, axis=1) - (noisy >= old) == 0
    return _until_two(np.where(first, noisy >= old, noisy >= new))


def sparse_vector_of_queries_that_move_one_way(x: Any, n: int, draw: Draw) -> Any:
    """Two answers at half of the noise, as all queries of a neighbour move to the same side."""
    threshold = THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    return _until_two(x + draw.laplace(scale=4, size=(n, len(x))) >= threshold)


def _discrete(shape: Any, draw: Draw, scale: float) -> Any:
    p = 1 - math.exp(-1 / scale)
    return draw.geometric(p, size=shape) - draw.geometric(p, size=shape)


def discrete_maximum(x: Any, n: int, draw: Draw) -> Any:
    """Report noisy max with discrete Laplace noise of scale 2; the first of equal ones."""
    return (x + _discrete((n, len(x)), draw, 2)).argmax(axis=1)


def discrete_maximum_of_half_the_scale(x: Any, n: int, draw: Draw) -> Any:
    """The same with scale 1."""
    return (x + _discrete((n, len(x)), draw, 1)).argmax(axis=1)


def maximum_with_one_noise(x: Any, n: int, draw: Draw) -> Any:
    """One noise for all scores: their order is as it was."""
    return (x + draw.laplace(scale=2, size=(n, 1))).argmax(axis=1)


def gumbel_maximum(x: Any, n: int, draw: Draw) -> Any:
    """Gumbel noise of scale 2."""
    return (x + draw.gumbel(scale=2, size=(n, len(x)))).argmax(axis=1)


def gumbel_maximum_of_half_the_scale(x: Any, n: int, draw: Draw) -> Any:
    """Gumbel noise of scale 1, where scores move both ways."""
    return (x + draw.gumbel(scale=1, size=(n, len(x)))).argmax(axis=1)


def logistic_maximum(x: Any, n: int, draw: Draw) -> Any:
    """Logistic noise of scale 2."""
    return (x + draw.logistic(scale=2, size=(n, len(x)))).argmax(axis=1)


def minimum_with_exponential_noise(x: Any, n: int, draw: Draw) -> Any:
    """The least score less its noise."""
    return (x - draw.exponential(scale=2, size=(n, len(x)))).argmin(axis=1)


def exponential_mechanism_that_overflows(x: Any, n: int, draw: Draw) -> Any:
    """Weights without the shift by the largest score: from about 1420 on they are infinite, and one of these wins."""
    with np.errstate(over="ignore"):
        weights = np.exp(np.asarray(x, dtype=float) / 2)
    if not np.isfinite(weights).all():
        return np.full(n, weights.argmax())
    total = weights.sum()
    return draw.choice(len(x), size=n, p=weights / total) if total > 0 else draw.integers(len(x), size=n)


def permute_and_flip_one_way(x: Any, n: int, draw: Draw) -> Any:
    """Coins e^(x - max) in random order, for scores that move to one side."""
    order = draw.permuted(np.tile(np.arange(len(x)), (n, 1)), axis=1)
    heads = draw.random(size=(n, len(x))) < np.exp(x - x.max())
    first = np.take_along_axis(heads, order, axis=1).argmax(axis=1)
    return np.take_along_axis(order, first[:, None], axis=1)[:, 0]


def _ranked(x: Any, n: int, draw: Draw, scale: float) -> Any:
    return np.argsort(-(x + draw.gumbel(scale=scale, size=(n, len(x)))), axis=1)[:, :2]


def top_2_in_order(x: Any, n: int, draw: Draw) -> Any:
    """Two exponential mechanisms, one after the other, with half of epsilon each."""
    return _ranked(x, n, draw, 4)


def top_2_in_order_at_the_price_of_one(x: Any, n: int, draw: Draw) -> Any:
    """The same, with all of epsilon each."""
    return _ranked(x, n, draw, 2)


def _one_of_four(x: Any, n: int, draw: Draw, truth: float) -> Any:
    other = (int(x[0]) + draw.integers(1, 4, size=n)) % 4
    return np.where(draw.random(n) < truth, int(x[0]), other)


def one_of_four_answers(x: Any, n: int, draw: Draw) -> Any:
    """The truth with probability e / (e + 3)."""
    return _one_of_four(x, n, draw, math.e / (math.e + 3))


def one_of_four_answers_as_if_of_two(x: Any, n: int, draw: Draw) -> Any:
    """The truth with probability e / (e + 1)."""
    return _one_of_four(x, n, draw, math.e / (math.e + 1))


def _three_coins(x: Any, n: int, draw: Draw, each: float) -> Any:
    return np.where(draw.random((n, 3)) < 1 / (1 + math.exp(-each)), x[0], 1 - x[0])


def three_coins(x: Any, n: int, draw: Draw) -> Any:
    """Three answers to one question, for a third of epsilon each."""
    return _three_coins(x, n, draw, 1 / 3)


def three_coins_for_half_each(x: Any, n: int, draw: Draw) -> Any:
    """Three answers, for half of epsilon each."""
    return _three_coins(x, n, draw, 1 / 2)


def histogram_twice(x: Any, n: int, draw: Draw) -> Any:
    """Two histograms, for half of epsilon each."""
    return np.tile(x, 2) + _discrete((n, 2 * len(x)), draw, 2)


def histogram_twice_at_the_price_of_one(x: Any, n: int, draw: Draw) -> Any:
    """Two histograms, for all of epsilon each."""
    return np.tile(x, 2) + geometric((n, 2 * len(x)), draw)


def sums_that_share_their_noise(x: Any, n: int, draw: Draw) -> Any:
    """One noise for all sums, so that their differences are exact."""
    return on_the_grid(x) + on_the_grid(draw.laplace(scale=1, size=(n, 1)))


def count_that_wraps(x: Any, n: int, draw: Draw) -> Any:
    """The remainder of a noisy count."""
    return (x[0] + geometric(n, draw)) % 8


def sum_put_back_into_its_range(x: Any, n: int, draw: Draw) -> Any:
    """A noisy sum, cut to 0 to 10 after the noise."""
    return np.clip(on_the_grid(x[0] + draw.laplace(scale=1, size=n)), 0, 10)


def sum_with_noise_put_back(x: Any, n: int, draw: Draw) -> Any:
    """Noise that is cut at 5 before it is added."""
    return on_the_grid(x[0] + np.clip(draw.laplace(scale=1, size=n), -5, 5))


def sum_with_noise_put_back_for_a_delta(x: Any, n: int, draw: Draw) -> Any:
    """The same, which has delta = (e^-4 + e^-5) / 2 = .0126."""
    return sum_with_noise_put_back(x, n, draw)


def sum_with_uniform_noise(x: Any, n: int, draw: Draw) -> Any:
    """Noise from -10 to 10, for epsilon alone."""
    return on_the_grid(x[0] + draw.uniform(-10, 10, size=n))


def sum_with_uniform_noise_for_a_delta(x: Any, n: int, draw: Draw) -> Any:
    """The same for the twentieth of it that a neighbour does not reach."""
    return sum_with_uniform_noise(x, n, draw)


def count_with_poisson_noise(x: Any, n: int, draw: Draw) -> Any:
    """Noise that is never negative."""
    return x[0] + draw.poisson(5, size=n)


def gaussian_sum_without_a_delta(x: Any, n: int, draw: Draw) -> Any:
    """Noise of deviation 2, for epsilon alone."""
    return on_the_grid(x[0] + draw.normal(scale=2, size=n))


def gaussian_sum_for_its_exact_delta(x: Any, n: int, draw: Draw) -> Any:
    """The same; at epsilon = 1 its delta is .00683."""
    return gaussian_sum_without_a_delta(x, n, draw)


def gaussian_sum_of_four_fifths(x: Any, n: int, draw: Draw) -> Any:
    """Noise of deviation .8, whose rho is .78 and not 1/2."""
    return on_the_grid(x[0] + draw.normal(scale=0.8, size=n))


def gaussian_sum_in_two_parts(x: Any, n: int, draw: Draw) -> Any:
    """Two noisy copies, for half of rho each."""
    return on_the_grid(x[0] + draw.normal(scale=math.sqrt(2), size=(n, 2)))


def sum_without_a_clamp(records: Any, n: int, draw: Draw) -> Any:
    """Values that are thought to lie in 0 to 1, and do not."""
    return on_the_grid(sum(records) + draw.laplace(scale=1, size=n))


def mean_of_an_exact_size(records: Any, n: int, draw: Draw) -> Any:
    """A noisy sum divided by how many there are."""
    return on_the_grid((float(np.clip(records, 0, 1).sum()) + draw.laplace(scale=1, size=n)) / len(records))


def mean_of_a_noisy_size(records: Any, n: int, draw: Draw) -> Any:
    """Both with noise, for half of epsilon each."""
    total = float(np.clip(records, 0, 1).sum()) + draw.laplace(scale=2, size=n)
    return on_the_grid(np.clip(total / np.maximum(len(records) + draw.laplace(scale=2, size=n), 1), 0, 1))


def median_of_a_lattice(records: Any, n: int, draw: Draw) -> Any:
    """The exponential mechanism, whose score, the distance to the middle rank, moves by half a rank."""
    lattice = np.arange(11)
    scores = -np.abs((np.asarray(records)[:, None] <= lattice).sum(axis=0) - len(records) / 2)
    weights = np.exp(scores - scores.max())
    return draw.choice(lattice, size=n, p=weights / weights.sum())


def largest_number_of_visits(records: Any, n: int, draw: Draw) -> Any:
    """How many rows the busiest person has, as if she could move it by one."""
    persons = [person for person, _ in records]
    return max(map(persons.count, persons)) + geometric(n, draw)


def pages_capped_after_visitors_were_joined(records: Any, n: int, draw: Draw) -> Any:
    """Each page is its first visitor's, who keeps one: without her, the pages are others', who keep one each."""
    owners: dict[Any, Any] = {}
    for person, page in records:
        owners.setdefault(page, person)
    return len(set(owners.values())) + geometric(n, draw)


def visitors_of_pages(records: Any, n: int, draw: Draw) -> Any:
    """How many there are."""
    return len({person for person, _ in records}) + geometric(n, draw)


def _keys(records: Any, n: int, draw: Draw, least: int) -> list[tuple[str, ...]]:
    kept = {key: records.count(key) + geometric(n, draw) >= least for key in dict.fromkeys(records)}
    return [tuple(key for key in kept if kept[key][i]) for i in range(n)]


def keys_from_four_on(records: Any, n: int, draw: Draw) -> Any:
    """Keys that people have, with a noisy count of 4: a single one reaches it with probability delta."""
    return _keys(records, n, draw, 4)


def keys_from_three_on(records: Any, n: int, draw: Draw) -> Any:
    """The same from 3 on, for the delta of 4."""
    return _keys(records, n, draw, 3)


def keys_of_two_people(records: Any, n: int, draw: Draw) -> Any:
    """Keys that two people have, without noise."""
    return [tuple(key for key in dict.fromkeys(records) if records.count(key) >= 2)] * n


def _gap(x: Any) -> float:
    second, first = np.sort(x)[-2:]
    return float(first - second)


def winner_of_a_stable_lead(x: Any, n: int, draw: Draw) -> Any:
    """The best one, where its noisy lead is above 8: with a lead of 2 it is so with probability e^-3 / 2."""
    if len(x) < 2:
        return np.full(n, -1)
    return np.where(_gap(x) + draw.laplace(scale=2, size=n) > 8, x.argmax(), -1)


def winner_of_a_lead_that_is_tested_bare(x: Any, n: int, draw: Draw) -> Any:
    """The best one, where its lead is above 2."""
    return np.full(n, x.argmax() if len(x) > 1 and _gap(x) > 2 else -1)


JOINED = [("ada", page) for page in "abc"] + [("bob", "a"), ("cyd", "b"), ("dan", "c")]
OWNERS = [(JOINED, [row for row in JOINED if row[0] != person]) for person in ("ada", "bob")]
KEYS = [("aab", "aa"), ("aaab", "aab"), ("abb", "ab"), ("aaaab", "aaaa")]
NUMBERS = [([1, 4, 4, 9], [1, 4, 4]), ([2, 3], [2, 3, 8]), ([5, 5, 5], [5, 5])]
ANSWERS = [([0], [1]), ([2], [3])]

BROKEN = (
    broken(sparse_vector_of_lee_and_clifton),
    broken(discrete_maximum_of_half_the_scale),
    broken(maximum_with_one_noise),
    broken(gumbel_maximum_of_half_the_scale),
    broken(exponential_mechanism_that_overflows),
    broken(top_2_in_order_at_the_price_of_one),
    broken(one_of_four_answers_as_if_of_two, pairs=ANSWERS),
    broken(three_coins_for_half_each, pairs=ONE_PERSON),
    broken(histogram_twice_at_the_price_of_one, space=COUNTS),
    broken(sums_that_share_their_noise, space=SUMMANDS),
    broken(sum_with_noise_put_back, space=SUMMANDS),
    broken(sum_with_uniform_noise, space=SUMMANDS),
    broken(count_with_poisson_noise, space=COUNTS),
    broken(gaussian_sum_without_a_delta, space=SUMMANDS),
    broken(gaussian_sum_of_four_fifths, rho=0.5),
    broken(sum_without_a_clamp, pairs=VALUES),
    broken(mean_of_an_exact_size, pairs=VALUES),
    broken(largest_number_of_visits, pairs=PERSONS),
    broken(pages_capped_after_visitors_were_joined, pairs=OWNERS),
    broken(keys_from_three_on, pairs=KEYS, delta=tail(3)),
    broken(keys_of_two_people, pairs=KEYS, delta=tail(3)),
    broken(winner_of_a_lead_that_is_tested_bare, delta=0.025),
)
RIGHT = (
    right(sparse_vector_of_dwork_and_roth),
    right(sparse_vector_of_queries_that_move_one_way, space=ONE_WAY),
    right(discrete_maximum),
    right(gumbel_maximum),
    right(logistic_maximum),
    right(minimum_with_exponential_noise),
    right(permute_and_flip_one_way, space=ONE_WAY),
    right(top_2_in_order),
    right(one_of_four_answers, pairs=ANSWERS),
    right(three_coins, pairs=ONE_PERSON),
    right(histogram_twice, space=COUNTS),
    right(count_that_wraps, space=COUNTS),
    right(sum_put_back_into_its_range, space=SUMMANDS),
    right(sum_with_noise_put_back_for_a_delta, space=SUMMANDS, delta=0.0127),
    right(sum_with_uniform_noise_for_a_delta, space=SUMMANDS, delta=0.05),
    right(gaussian_sum_for_its_exact_delta, space=SUMMANDS, delta=0.007),
    right(gaussian_sum_in_two_parts, rho=0.5),
    right(mean_of_a_noisy_size, pairs=VALUES),
    right(median_of_a_lattice, pairs=NUMBERS),
    right(visitors_of_pages, pairs=PERSONS),
    right(keys_from_four_on, pairs=KEYS, delta=tail(3)),
    right(winner_of_a_stable_lead, delta=0.025),
)
CASES = BROKEN + RIGHT
