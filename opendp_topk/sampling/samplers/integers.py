"""Discrete Laplace and discrete Gaussian noise on the integers, exact for every rational scale."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import as_mpq
from .entropy import SYSTEM, Entropy
from .exponentials import draw_bernoulli_exp, draw_geometric
from .inversion import Weights, draw_from_table, inversion_table
from .lattice import build_lattice, propose_integers
from .sprinkled import draw_from_mixture, mixture_tables

Integers = NDArray[Any]

_FEW = 4  # up to this many values, drawing them one by one costs less than the table that many would share,
_OFTEN = 8  # unless there were this many such calls: by then they have cost as much as the table
_MANY = 2**19  # from this many values on, the table of a medium scale pays: it takes 30 ms, and saves the decisions
_SMALL = 32  # smaller scales have a small table of their own
_MEDIUM = 1024  # smaller scales have a table of their own if there are many values
_CHUNK = 2**16  # values at a time, so that intermediate arrays stay in the cache
_LARGE = 2**62  # from here on values are Python integers, because later steps could overflow int64


# proof-region: integers
def discrete_laplace(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """Draw n independent integers with P(z) proportional to exp(-|z| / scale); zeros if ``scale`` is 0.

    Returns:
        An int64 array with entries of at most 2^62 in size, or an array of Python integers.
    """
    if scale == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-scale]
    if n <= _FEW and next(_call_counter(_draw_discrete_laplace, scale)) < _OFTEN:
        return _to_integer_array([_draw_discrete_laplace(as_mpq(scale), entropy) for _ in range(n)])  # [few]
    return _draw_by_inversion(Weights(1 / scale, Fraction(0)), scale, n, entropy)  # [laplace-weights]


def discrete_gaussian(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """Draw n independent integers with P(z) proportional to exp(-z^2 / (2 scale^2)); zeros if ``scale`` is 0.

    Returns:
        An int64 array with entries of at most 2^62 in size, or an array of Python integers.
    """
    if scale == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-scale]
    if n <= _FEW and next(_call_counter(_draw_discrete_gaussian, scale)) < _OFTEN:
        return _to_integer_array([_draw_discrete_gaussian(as_mpq(scale), entropy) for _ in range(n)])  # [few]
    return _draw_by_inversion(Weights(Fraction(0), 1 / (2 * scale * scale)), scale, n, entropy)  # [gaussian-weights]


@functools.lru_cache(maxsize=64)
def _call_counter(kind: object, scale: Fraction) -> Iterator[int]:
    """Return the counter of calls for few values of this kind and scale; other scales may evict it from the cache."""
    return itertools.count()


def _draw_discrete_laplace(scale: mpq, entropy: Entropy) -> int:
    return draw_geometric(scale, entropy) - draw_geometric(scale, entropy)  # [difference]


def _draw_discrete_gaussian(scale: mpq, entropy: Entropy) -> int:
    """Draw by rejection from discrete Laplace noise of scale t = floor(scale) + 1; more than a third is kept."""
    t = scale // 1 + 1  # [proposal-scale]
    centre = scale * scale / t
    while True:
        proposed = _draw_discrete_laplace(mpq(t), entropy)  # [propose]
        if draw_bernoulli_exp((abs(proposed) - centre) ** 2 / (2 * scale * scale), entropy):  # [keep]
            return proposed


def _draw_by_inversion(weights: Weights, scale: Fraction, n: int, entropy: Entropy) -> Integers:
    """Draw n integers with P(z) proportional to the weight of |z|, which is of the order of ``scale``."""
    found = np.empty(n, dtype=np.int64)
    if scale < _MEDIUM and n >= _MANY:
        draw_from_mixture(mixture_tables(weights, mirrored=True), found, entropy)  # [many]
        return found
    if scale < _SMALL:
        draw_from_table(inversion_table(weights, mirrored=True), found, entropy)  # [direct]
        return found
    cells = build_lattice(weights, int(scale).bit_length() - _SMALL.bit_length() + 1)  # [shift]
    return _in_chunks(n, lambda m: _draw_until_kept(lambda open_: propose_integers(cells, open_, entropy), m))


def _draw_until_kept(proposed: Callable[[int], tuple[Integers, NDArray[np.bool_]]], n: int) -> Integers:
    """Return n kept values, each the first one that was kept at its place."""
    values, kept = proposed(n)
    while not kept.all():
        open_ = np.flatnonzero(~kept)
        again, kept[open_] = proposed(len(open_))
        values = values.astype(np.result_type(values, again), copy=False)
        values[open_] = again  # [again]
    return values


def _in_chunks(n: int, draw: Callable[[int], Integers]) -> Integers:
    """Return n integers from draws of at most 2^16, so that memory beyond the result stays small."""
    return np.concatenate([draw(min(_CHUNK, n - start)) for start in range(0, n, _CHUNK)])  # [chunks]


def _to_integer_array(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64 if all(abs(one) < _LARGE for one in values) else object)  # [type]


# end-proof-region: integers
