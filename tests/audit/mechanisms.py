"""Mechanisms as others write them, right and broken, for an audit that knows nothing of their insides.

All claim epsilon = 1 for scores that move by at most 1 each, or for counts of which one moves by 1. Each takes the
scores, how many releases to draw, and a generator.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Mechanism = Callable[[Any, int, np.random.Generator], Any]
THRESHOLD = 0.0


def _first_above(answers: Any) -> Any:
    """The index of the first answer that is above, or -1."""
    return np.where(answers.any(axis=1), answers.argmax(axis=1), -1)


def sparse_vector(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Half of epsilon for the threshold, half for the queries, and no word after the first that is above."""
    threshold = THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    return _first_above(x + draw.laplace(scale=4, size=(n, len(x))) >= threshold)


def sparse_vector_with_bare_queries(x: Any, n: int, draw: np.random.Generator) -> Any:
    """The threshold alone has noise, so that the order of the answers shows the order of the queries."""
    return _first_above(x >= THRESHOLD + draw.laplace(scale=1, size=(n, 1)))


def sparse_vector_with_a_bare_threshold(x: Any, n: int, draw: np.random.Generator) -> Any:
    """After the first answer that is above, threshold and queries are compared without noise."""
    noisy = x + draw.laplace(scale=4, size=(n, len(x))) >= THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    before = np.cumsum(noisy, axis=1) - noisy == 0
    return np.where(before, noisy, x >= THRESHOLD).astype(int)


def sparse_vector_without_a_stop(x: Any, n: int, draw: np.random.Generator) -> Any:
    """One noisy threshold serves for every query, however many are above it."""
    threshold = THRESHOLD + draw.laplace(scale=2, size=(n, 1))
    return (x + draw.laplace(scale=2, size=(n, len(x))) >= threshold).astype(int)


def named(name: str, release: Mechanism) -> Mechanism:
    """A mechanism that is one expression."""
    release.__name__ = name
    return release


def best(name: str, noise: Callable[[np.random.Generator, tuple[int, int]], Any]) -> Mechanism:
    """The largest of all scores with noise."""
    return named(name, lambda x, n, draw: (x + noise(draw, (n, len(x)))).argmax(axis=1))


# Report noisy max with noise of scale 2 / epsilon, and of 1 / epsilon, as if one score alone could move.
laplace_maximum = best("laplace_maximum", lambda draw, size: draw.laplace(scale=2, size=size))
laplace_maximum_of_half_the_scale = best(
    "laplace_maximum_of_half_the_scale", lambda draw, size: draw.laplace(scale=1, size=size)
)


def laplace_maximum_with_a_constant_seed(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Every release has the noise of all others; which noise that is, changes from audit to audit."""
    state = draw.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    noise = np.random.default_rng(state).laplace(scale=2, size=len(x))
    return np.full(n, (x + noise).argmax())


def _softmax(name: str, scale: float) -> Mechanism:
    def release(x: Any, n: int, draw: np.random.Generator) -> Any:
        weights = np.exp((x - x.max()) / scale)
        return draw.choice(len(x), size=n, p=weights / weights.sum())

    return named(name, release)


# Weights e^(epsilon x / 2), and e^(epsilon x): scores move both ways, and the difference counts half.
exponential_mechanism = _softmax("exponential_mechanism", 2)
exponential_mechanism_without_the_two = _softmax("exponential_mechanism_without_the_two", 1)


def _flips(name: str, shuffled: bool) -> Mechanism:
    """The first candidate whose coin shows heads; the best candidate's always does."""

    def release(x: Any, n: int, draw: np.random.Generator) -> Any:
        order = np.tile(np.arange(len(x)), (n, 1))
        order = draw.permuted(order, axis=1) if shuffled else order
        heads = draw.random(size=(n, len(x))) < np.exp((x - x.max()) / 2)
        return np.take_along_axis(order, np.take_along_axis(heads, order, axis=1).argmax(axis=1)[:, None], axis=1)[:, 0]

    return named(name, release)


permute_and_flip = _flips("permute_and_flip", shuffled=True)
permute_and_flip_without_the_shuffle = _flips("permute_and_flip_without_the_shuffle", shuffled=False)


def geometric(shape: Any, draw: np.random.Generator) -> Any:
    """Discrete Laplace noise of scale 1."""
    return draw.geometric(1 - np.exp(-1.0), size=shape) - draw.geometric(1 - np.exp(-1.0), size=shape)


# Every count with discrete Laplace noise of scale 1 / epsilon.
histogram = named("histogram", lambda x, n, draw: x + geometric((n, len(x)), draw))


def histogram_without_zeros(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Items that nobody has are left out before noise is added."""
    return np.where(x > 0, x + geometric((n, len(x)), draw), 10**6)


def on_the_grid(values: Any) -> Any:
    """Rounded to sixteenths: a grid that is coarser than the gaps between the sums that floats can make."""
    return np.round(values * 16) / 16


def noisy(name: str, noise: Callable[[np.random.Generator, int], Any]) -> Mechanism:
    """The first score with noise, on the grid."""
    return named(name, lambda x, n, draw: on_the_grid(x[0] + noise(draw, n)))


laplace_sum = noisy("laplace_sum", lambda draw, n: draw.laplace(scale=1, size=n))


def laplace_sum_with_holes(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Noise by inversion of a uniform of 32 bits: most floats cannot occur, and which can, depends on the score."""
    uniform = (draw.integers(0, 2**32, size=n) + 0.5) / 2**32
    noise = np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 * (1 - uniform)))
    return x[0] + noise


def laplace_sum_of_few_states(x: Any, n: int, draw: np.random.Generator) -> Any:
    """The same with a uniform of 16 bits."""
    uniform = (draw.integers(0, 2**16, size=n) + 0.5) / 2**16
    return x[0] + np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 * (1 - uniform)))


def maximum_and_value(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Half of epsilon for the choice, half for the value of the chosen score, with fresh noise."""
    chosen = (x + draw.laplace(scale=4, size=(n, len(x)))).argmax(axis=1)
    values = on_the_grid(x[chosen] + draw.laplace(scale=2, size=n))
    return list(zip(chosen.tolist(), values.tolist(), strict=True))


def maximum_and_its_noisy_value(x: Any, n: int, draw: np.random.Generator) -> Any:
    """Report noisy max that returns the largest noisy score with its index, for the price of the index."""
    noisy = x + draw.laplace(scale=2, size=(n, len(x)))
    return list(zip(noisy.argmax(axis=1).tolist(), on_the_grid(noisy.max(axis=1)).tolist(), strict=True))


RIGHT: tuple[Mechanism, ...] = (
    sparse_vector,
    laplace_maximum,
    exponential_mechanism,
    permute_and_flip,
    histogram,
    laplace_sum,
    maximum_and_value,
)
BROKEN: tuple[Mechanism, ...] = (
    sparse_vector_with_bare_queries,
    sparse_vector_with_a_bare_threshold,
    sparse_vector_without_a_stop,
    laplace_maximum_with_a_constant_seed,
    laplace_maximum_of_half_the_scale,
    exponential_mechanism_without_the_two,
    permute_and_flip_without_the_shuffle,
    histogram_without_zeros,
    laplace_sum_with_holes,
    laplace_sum_of_few_states,
    maximum_and_its_noisy_value,
)
ON_COUNTS = (histogram, histogram_without_zeros)
