"""Privacy maps against formulas in exact rationals, to the last digit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect, is_rounded_up, widest

_SCALES = (3, 0.7)
_SIZES = (None, 2, 3, 4, 5, 7)


def check() -> None:
    """The map of every constructor of selection and of counts is its formula, rounded up once."""
    for measurement, d_in, exact in itertools.chain(_one_shot(), _single(), _peeled(), _canonical(), _joint(), _gaps()):
        _compare(measurement, d_in, exact)
    for measurement, d_in, exact in itertools.chain(_noises(), _grids(), _counts()):
        _compare(measurement, d_in, exact)


def _compare(measurement: Any, d_in: Any, exact: Fraction) -> None:
    found = measurement.map(d_in)
    what = f"{measurement.parameters['mechanism']} under {measurement.output_measure!r} at d_in = {d_in}"
    expect(found >= exact, f"{what}: the map is below its formula")
    expect(exact == 0 or is_rounded_up(found, exact), f"{what}: the map is more than one rounding above its formula")
    expect(measurement.map(0) == 0, f"{what}: the map is not 0 at 0")


def _measures() -> tuple[Any, Any, Any]:
    return tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()


def _vectors(size: int | None, T: type = int) -> Any:
    return tk.VectorDomain(tk.AtomDomain(T), size)


def _spaces(size: int | None) -> Iterator[tuple[Any, Any, int]]:
    """Spaces, each with how far the range is moved at d_in = 1."""
    yield _vectors(size), tk.LInfDistance(monotonic=True), 1
    yield _vectors(size), tk.LInfDistance(), 2
    yield _vectors(size), tk.RangeDistance(), 1


def _three(make: Any, space: Any, cost: Any, **options: Any) -> Iterator[tuple[Any, Any, Fraction]]:
    """One constructor under the three measures; ``cost`` takes r to the three losses."""
    *where, factor = space
    for scale, d_in in zip(_SCALES, (1, 2), strict=True):
        losses = cost(factor * d_in / Fraction(scale))
        for measure, loss in zip(_measures(), losses, strict=True):
            yield make(*where, measure, scale=scale, **options), d_in, loss


def _one_shot() -> Iterator[tuple[Any, Any, Fraction]]:
    noises = tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic()
    for size, k, release, noise in itertools.product(_SIZES, (1, 2, 3), ("ranking", "set"), noises):
        if size is not None and k > size:
            continue
        space = next(_spaces(size))

        def cost(r: Fraction, noise: Any = noise, k: int = k, size: int | None = size, release: str = release) -> Any:
            return _one_shot_cost(noise.name, k, size, release, r)

        yield from _three(tk.make_lipschitz_top_k, space, cost, k=k, release=release, noise=noise)
    for size, k in itertools.product((None, 4), (1, 2)):
        for space in _spaces(size):
            for measure, loss, name in zip(_measures(), range(3), ("Exponential", "Gumbel", "Gumbel"), strict=True):
                made = tk.make_report_noisy_top_k(*space[:2], measure, k=k, scale=3)
                yield made, 1, _one_shot_cost(name, k, size, "ranking", Fraction(space[2], 3))[loss]


def _one_shot_cost(noise: str, k: int, size: int | None, release: str, r: Fraction) -> tuple[Fraction, ...]:
    d = size or 10**9
    steps, width = min(k, d - 1), min(2 * k, d)
    if release == "set" and k == d:
        return (Fraction(0),) * 3
    if noise in ("Laplace", "Logistic"):
        m = min(k, d // 2) if release == "ranking" else min(k, d - k)
        return m * r, 2 * m * r, (m * r) ** 2 / 2
    if noise == "Gumbel":
        return steps * r, (width - 1) * r, steps * r * r / 8
    bound = widest(r) if noise == "Exponential" and steps == 1 else width * r
    return steps * r, bound, bound * bound / 8


def _single() -> Iterator[tuple[Any, Any, Fraction]]:
    for space in _spaces(4):
        yield from _three(tk.make_exponential_mechanism, space, lambda r: (r, r, r * r / 8))
        yield from _three(tk.make_permute_and_flip, space, lambda r: (r, widest(r), widest(r) ** 2 / 8))


def _peeled() -> Iterator[tuple[Any, Any, Fraction]]:
    for size, k in itertools.product((None, 3, 6), (1, 2, 3)):
        steps, width = (min(k, size - 1), min(2 * k, size)) if size else (k, 2 * k)

        def cost(r: Fraction, steps: int = steps, width: int = width) -> tuple[Fraction, ...]:
            a = widest(r)
            return steps * r, min(width * r, a + 2 * (steps - 1) * r), steps * a * a / 8

        yield from _three(tk.make_peeled_top_k, next(_spaces(size)), cost, k=k, mechanism="permute_and_flip")


def _canonical() -> Iterator[tuple[Any, Any, Fraction]]:
    for gamma in (0, 0.5, 1):
        for noise in (tk.Gumbel(), tk.Exponential()):

            def cost(r: Fraction, noise: Any = noise) -> tuple[Fraction, ...]:
                a = r if noise == tk.Gumbel() else widest(r)
                return r, a, a * a / 8

            options = {"k": 2, "gamma": gamma, "noise": noise}
            yield from _three(tk.make_canonical_top_k, next(_spaces(5)), cost, **options)


def _joint() -> Iterator[tuple[Any, Any, Fraction]]:
    for size, k, release in itertools.product((None, 4), (1, 2, 3), ("ranking", "set")):
        twice = 1 if k == 1 else 2

        def cost(r: Fraction, twice: int = twice) -> tuple[Fraction, ...]:
            return twice * r, twice * r, (twice * r) ** 2 / 8

        yield from _three(tk.make_joint_top_k, next(_spaces(size)), cost, k=k, release=release)


def _gaps() -> Iterator[tuple[Any, Any, Fraction]]:
    for noise, size, k in itertools.product((tk.Gumbel(), tk.Exponential(), tk.Laplace()), (None, 4, 5), (1, 2, 3)):

        def cost(r: Fraction, noise: Any = noise, size: Any = size, k: int = k) -> tuple[Fraction, ...]:
            if noise == tk.Laplace():
                m = k if size is None else min(k, size // 2)
                return m * r, 2 * m * r, (2 * m * r) ** 2 / 8
            width = min(2 * k, size or 2 * k)
            return k * r, width * r, (width * r) ** 2 / 8

        yield from _three(tk.make_noisy_top_k_with_gaps, next(_spaces(size)), cost, k=k, noise=noise)


def _noises() -> Iterator[tuple[Any, Any, Fraction]]:
    space = _vectors(None), tk.L1Distance(), 1
    yield from _three(tk.make_laplace, space, lambda r: (r, 2 * r, r * r / 2))
    for d_in, sigma in ((1, 3), (2, 0.7)):
        gaussian = tk.make_gaussian(_vectors(None), tk.L2Distance(), tk.ZeroConcentratedDivergence(), scale=sigma)
        yield gaussian, d_in, Fraction(d_in) ** 2 / (2 * Fraction(sigma) ** 2)


def _grids() -> Iterator[tuple[Any, Any, Fraction]]:
    """Scores of multiples of 1/4: rounding moves each of d scores by another step, at most."""
    step, size = Fraction(1, 4), 3
    laplace = tk.make_laplace(_vectors(size, float), tk.L1Distance(), tk.MaxDivergence(), scale=3, granularity=0.25)
    for d_in in (0.25, 0.3, 1.1):
        yield laplace, d_in, step * (size + -(-Fraction(d_in) // step) - 1) / 3


def _counts() -> Iterator[tuple[Any, Any, Fraction]]:
    pure, zcdp = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
    for d_in, monotonic, k in itertools.product((1, 2), (True, False), (1, 2)):
        space = _vectors(None), tk.LInfDistance(monotonic=monotonic)
        r, each = d_in * (1 if monotonic else 2) / Fraction(3), d_in / Fraction(5)
        options = {"k": k, "scale": 3, "count_scale": 5}
        yield tk.make_select_then_count(*space, pure, **options), d_in, k * r + k * each
        yield tk.make_select_then_count(*space, zcdp, **options), d_in, k * r * r / 8 + k * each * each / 2
    space = _vectors(None, float), tk.LInfDistance(monotonic=True)
    rounded = tk.make_select_then_count(*space, pure, k=1, scale=3, count_scale=5, granularity=0.25)
    yield rounded, 0.3, Fraction(0.3) / 3 + Fraction(1, 2) / 5
