"""Noises of the caller's own: what is refused, what is drawn, what it costs, and how it is marked.

Tries proofs/distributions/union_bound.tex.
"""

import copy
import functools
import itertools
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

import opendp_topk as tk
from opendp_topk.errors import NotDeclaredError, ParameterError, ParameterTypeError
from opendp_topk.sampling.distributions import events as union_bound
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.samplers import race
from opendp_topk.sampling.samplers.quantile_tables import quantile_bounds, quantile_table

from ..concepts.links import check_constructor, check_measurement
from ..concepts.losses import realised
from ..concepts.own_noises import NOISES, Interval, asymmetric_laplace, asymmetric_laplace_survival, lomax
from ..concepts.own_noises import lomax_survival as lomax_tail
from ..concepts.sentinels import raises_exactly
from ..oracles import maps, quadrature, rhos
from ..oracles import noise as oracle
from ..oracles.chi_square import assert_follows
from ..oracles.one_shot import sets
from ..oracles.race import best
from ..samplers import adversaries
from ..samplers.recorder import Recorder
from ..samplers.streams import Streams

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
every_noise = pytest.mark.parametrize("name", NOISES)


CLAIMS = {"tail": Fraction(1), "race": "opendp_topk.sampling.noises.laplace"} | dict.fromkeys(
    ("is_max_stable", "is_memoryless", "is_two_sided", "has_exponential_odds"), True
)


def build(name: str, measure: tk.Measure, d: int | None = None, **options: Any) -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(int), size=d), tk.RangeDistance()
    return space >> tk.then_report_noisy_top_k(measure, noise=NOISES[name], **options)


# What is declared is checked.


def exponential_tail(z: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    return at.exp(at.rational(-max(z, mpq(0))))


def exponential(u: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    return at.negative(at.log(at.rational(1 - u)))


def faster(rate: mpq) -> tuple[Callable[[mpq, int], Interval], Callable[[mpq, int], Interval]]:
    """Exponential noise of another rate."""

    def quantile(u: mpq, precision: int) -> Interval:
        at = tk.noise.Intervals(precision)
        return at.divide(exponential(u, precision), at.rational(rate))

    return quantile, lambda z, precision: exponential_tail(rate * z, precision)


@functools.cache
def normal_tail(z: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    root = gmpy2.isqrt(mpq(2 * 4**precision).numerator)
    x = at.divide(at.rational(z * 2**precision), (at.rational(mpq(root))[0], at.rational(mpq(root + 1))[1]))
    with gmpy2.context(precision=precision, round=gmpy2.RoundDown):
        lower = gmpy2.erfc(x[1]) / 2
    with gmpy2.context(precision=precision, round=gmpy2.RoundUp):
        return lower, gmpy2.erfc(x[0]) / 2


@functools.cache
def normal(u: mpq, precision: int) -> Interval:
    """By bisection of the survival function, with as many digits as it takes."""
    low, high, bits = mpq(-200), mpq(201), 32
    while (high - low) * 2**precision > 1:
        middle = (low + high) / 2
        tail = normal_tail(middle, bits)
        if tail[0] > 1 - u:
            low = middle
        elif tail[1] < 1 - u:
            high = middle
        elif bits > precision:
            break
        else:
            bits += precision // 2
    at = tk.noise.Intervals(precision)
    return at.rational(low)[0], at.rational(high)[1]


def rounded(value: Interval, bits: int) -> Interval:
    return tk.noise.Intervals(bits).add(value, (mpfr(0), mpfr(0)))


def wide_tail(z: mpq, precision: int) -> Interval:
    return mpfr(0), mpfr(1)


def unordered(u: mpq, precision: int) -> Interval:
    lower, upper = exponential(u, precision)
    return upper + 1, lower


REFUSED: list[Any] = [
    pytest.param(
        {"quantile": normal, "survival": normal_tail}, ParameterError, 'condition="lipschitz"', marks=pytest.mark.slow
    ),
    pytest.param(
        {"quantile": normal, "survival": normal_tail, "condition": "lipschitz"},
        ParameterError,
        '"lipschitz"',
        marks=pytest.mark.slow,
    ),
    ({"quantile": lomax, "survival": lomax_tail}, ParameterError, 'must meet condition="class_a"'),
    (dict(zip(("quantile", "survival"), faster(1 + mpq(1, 2**30)), strict=True)), ParameterError, '"lipschitz"'),
    ({"quantile": lambda u, p: math.log(u)}, ParameterTypeError, "quantile must return an enclosure"),
    ({"quantile": lambda u, p: (0.0, 1.0)}, ParameterTypeError, "a pair (lower, upper) of gmpy2.mpfr numbers"),
    ({"quantile": lambda u, p: exponential(u, p)[0]}, ParameterTypeError, "quantile must return an enclosure"),
    ({"quantile": lambda u, p: rounded(exponential(u, p), 53)}, ParameterError, "narrower at higher precision"),
    ({"quantile": unordered}, ParameterError, "quantile must return finite numbers lower <= upper"),
    ({"quantile": lambda u, p: (mpfr("nan"),) * 2}, ParameterError, "quantile must return finite numbers"),
    ({"quantile": lambda u, p: (mpfr(0), mpfr("inf"))}, ParameterError, "quantile must return finite numbers"),
    ({"quantile": lambda u, p: (mpfr(p), mpfr(p))}, ParameterError, "enclosures of the same number"),
    ({"quantile": lambda u, p: exponential(1 - u, p)}, ParameterError, "quantile must not decrease"),
    ({"quantile": lambda u, p: exponential(u - (8 * u == 3) / mpq(99), p)}, ParameterError, "inverse to each other"),
    ({"quantile": faster(1 - mpq(1, 2**50))[0]}, ParameterError, "inverse to each other"),
    ({"quantile": faster(1 + mpq(1, 2**50))[0]}, ParameterError, "inverse to each other"),
    ({"quantile": lambda u, p: lomax(u if 2**64 * (1 - u) > 1 else 1 - mpq(1, 2**1001), p)}, ParameterError, "2^1000"),
    ({"quantile": faster(mpq(1, 2**1000))[0]}, ParameterError, "between -2^1000 and 2^1000"),
    ({"survival": lambda z, p: float(z)}, ParameterTypeError, "survival must return an enclosure"),
    ({"survival": wide_tail}, ParameterError, "survival must be in (0, 1]"),
    ({"survival": lambda z, p: (mpfr(0), mpfr(0))}, ParameterError, "inverse to each other"),
    ({"survival": lambda z, p: exponential_tail(z - 1, p)}, ParameterError, "inverse to each other"),
    ({"survival": lambda z, p: (mpfr(1.5),) * 2}, ParameterError, "survival must be in (0, 1]"),
    ({"name": "Gumbel"}, ParameterError, "name must not be empty, or the name of a noise of the library"),
    ({"name": ""}, ParameterError, "name must not be empty"),
    ({"name": 3}, ParameterTypeError, "name must be a string, not int"),
    ({"condition": "A"}, ParameterError, "condition must be one of 'class_a', 'lipschitz'"),
    ({"condition": None}, ParameterTypeError, "condition must be one of"),
    ({"quantile": 3}, ParameterTypeError, "quantile must be callable"),
    ({"survival": None}, ParameterTypeError, "survival must be callable"),
    (
        {"quantile": type("Unhashable", (), {"__call__": exponential, "__hash__": None})()},
        ParameterTypeError,
        "hashable",
    ),
]


@pytest.mark.parametrize(("options", "error", "required"), REFUSED)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], required: str) -> None:
    arguments: dict[str, Any] = {"name": "Own", "quantile": exponential, "survival": exponential_tail}
    raises_exactly(error, lambda: tk.noise.CustomNoise(**(arguments | options)), required)


@pytest.mark.parametrize(("at", "required"), [(64, "narrower"), (128, "narrower"), (0, "small relative error")])
def test_enclosures_may_be_as_wide_as_the_checks_ask_and_no_wider(at: int, required: str) -> None:
    """Of the quantile at one precision, upward or downward; or of the survival function, downward."""
    exact = tk.noise.Intervals(1000)

    def make(width: mpq) -> Noise:
        def quantile(u: mpq, precision: int) -> Interval:
            z = u / (1 - u)
            pad = width * max(1, z) * (precision == at)
            lower, upper = (z, z + pad) if at == 64 else (z - pad, z)
            return exact.rational(lower)[0], exact.rational(upper)[1]

        def survival(z: mpq, _: int) -> Interval:
            lower, upper = lomax_tail(z, 1000)
            return exact.rational(mpq(lower) * (1 - width * (at == 0)))[0], upper

        return tk.noise.CustomNoise("Own", quantile=quantile, survival=survival, condition="lipschitz")

    widest, change = mpq(1, 2 ** (at // 2 or 64)), mpq(1, 2**60)
    assert not make(widest * (1 - change)).is_proven
    raises_exactly(ParameterError, lambda: make(widest * (1 + change)), required)


@pytest.mark.further
def test_a_tail_just_within_the_condition_is_accepted() -> None:
    for rate in (mpq(1), 1 - mpq(1, 2**30), mpq(1, 3)):
        quantile, survival = faster(rate)
        assert tk.noise.CustomNoise("Own", quantile=quantile, survival=survival).is_class_a


SURVIVAL: dict[str, Callable[[Any], Any]] = {
    "Gumbel": lambda z: -mpmath.expm1(-mpmath.exp(-z)),
    "Exponential": lambda z: mpmath.exp(-max(z, 0)),
    "HalfLogistic": lambda z: 2 / (1 + mpmath.exp(max(z, 0))),
    "Laplace": lambda z: 1 - mpmath.exp(z) / 2 if z < 0 else mpmath.exp(-z) / 2,
    "Logistic": lambda z: 1 / (1 + mpmath.exp(z)),
}


@pytest.mark.further
@pytest.mark.parametrize("name", oracle.NAMES)
def test_the_five_noises_pass_the_checks_of_their_condition(name: str) -> None:
    """So the checks refuse nothing that is right, and the flags of the five hold on the same grid."""
    own = getattr(tk.noise, name)()

    def survival(z: mpq, precision: int) -> Interval:
        with mpmath.workprec(2 * precision + 200):
            value = SURVIVAL[name](mpmath.mpf(int(z.numerator)) / int(z.denominator))
            mantissa, exponent = int(value.man), int(value.exp)
        at, exact = tk.noise.Intervals(precision), mpq(mantissa) * mpq(2) ** exponent
        slack = exact / 2 ** (precision + 50)
        return at.rational(exact - slack)[0], at.rational(exact + slack)[1]

    made = tk.noise.CustomNoise("Own", quantile=own.quantile, survival=survival)
    assert own.is_class_a == made.is_class_a
    assert own.is_lipschitz == made.is_lipschitz
    assert own.is_proven
    assert not made.is_proven


# What is drawn.


def _rational(value: mpq) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))


@every_noise
def test_quantiles_enclose_those_of_the_oracle(name: str) -> None:
    noise, rng = NOISES[name], random.Random(4)
    for precision in (53, 64, 128, 500):
        with mpmath.workprec(3000):
            for bits in (8, 16, 64, 300):
                u = mpq(rng.getrandbits(bits) + 1, 2**bits + 1)
                ends = noise.quantile(u, precision)
                lower, upper = (mpmath.mpf(int(mpq(end).numerator)) / int(mpq(end).denominator) for end in ends)
                assert lower <= oracle.QUANTILE[name](_rational(u)) <= upper
    assert noise.quantile(mpq(0), 64)[0] == -math.inf
    assert noise.quantile(mpq(1), 64) == (math.inf, math.inf)


@pytest.mark.further
@every_noise
def test_tables_and_bounds_from_64_digits_enclose_the_noise(name: str) -> None:
    entries, quantile = quantile_table(NOISES[name]), oracle.QUANTILE[name]
    assert np.all(np.diff(entries.tail[1:]) > 0.69)
    assert np.all(np.isfinite(entries.tail))
    with mpmath.workdps(60):
        for p in (1, 2, 77, 511, 512, 513, 21845, 21846, 32767, 32768, 41427, 60000, 65023, 65024, 65025, 65534):
            below, above = quantile(Fraction(p, 2**16)), quantile(Fraction(p + 1, 2**16))
            assert entries.lower[p] <= below
            assert above <= entries.upper[p]
            if min(p, 2**16 - 1 - p) < 512:
                assert entries.upper[p] - entries.lower[p] <= (above - below) * 1.000001, "the ends are not coarser"
            assert name == "Gapped" or entries.upper[p] - entries.lower[p] <= (above - below) * 130
        for level in range(1, 17):
            assert quantile(1 - Fraction(1, 2**level)) <= entries.tail[level]
        assert entries.lower[0] == -math.inf
        assert entries.upper[-1] == math.inf
        words = [0, 1, 2**20, 2**63, 2**64 - 2**12, 2**64 - 2, 2**64 - 1, 0x5555555555555555]
        lower, upper = quantile_bounds(NOISES[name], np.array(words, dtype=np.uint64))
        for n, below, above in zip(words, lower.tolist(), upper.tolist(), strict=True):
            assert n == 0 or below <= quantile(Fraction(n, 2**64))
            assert n == 2**64 - 1 or quantile(Fraction(n + 1, 2**64)) <= above
            assert below < math.inf
            assert above > -math.inf
            if 0 < n < 2**64 - 1:
                share = min(Fraction(n, 2**64), 1 - Fraction(n + 1, 2**64))
                most = 8 * (1 + abs(below)) * (Fraction(1, 2**50) + (1 / share / 2**64 if share else math.inf))
                assert above - below <= most, "the bounds are tight"
    assert quantile_bounds(NOISES[name], np.zeros(0, dtype=np.uint64))[0].shape == (0,)


def _check(name: str, case: adversaries.Case, k: int, sign: int, ordered: bool, seed: int) -> Streams:
    streams = Streams(seed, case.leading)
    values = adversaries.canonical(case.scores)
    winners = race.top_k(values, case.scale, NOISES[name], k, sign=sign, ordered=ordered, entropy=streams)
    expected = best(name, case.scores, case.scale, streams.digits, k, sign)
    assert winners.tolist() == (expected if ordered else sorted(expected))
    return streams


@pytest.mark.quick(make=("small_integers", "huge_integers", "subnormals", "ladder", "rational_scales"))
@every_noise
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_winners_are_the_sort_of_the_noisy_scores(name: str, make: Callable[[random.Random], adversaries.Case]) -> None:
    rng = random.Random(f"{name}/{make.__name__}")
    for seed in range(20):
        case = make(rng)
        k = rng.randint(1, len(case.scores))
        _check(name, case, k, rng.choice((1, -1)), rng.random() < 0.6, seed)


@pytest.mark.parametrize("name", ["AsymmetricLaplace", "Lomax"])
@pytest.mark.parametrize("bits", [20, 64, 81, 200, 600])
def test_near_ties_are_decided_by_as_many_digits_as_it_takes(name: str, bits: int) -> None:
    rng = random.Random(f"{name}/{bits}")
    most = 0
    for seed in range(6):
        sign = rng.choice((1, -1))
        case = adversaries.near_tie(name, rng, sign, bits)
        k = rng.randint(1, len(case.scores) - 1)
        most = max(most, *_check(name, case, k, sign, rng.random() < 0.6, seed).read.values())
    assert most >= bits


@pytest.mark.quick(spread=30)
@pytest.mark.parametrize("name", ["AsymmetricLaplace", "Gapped"])
@pytest.mark.parametrize("spread", [0, 3, 30])
def test_blocks_are_raced_as_the_noise_demands(name: str, spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    d, scale = 5 * race.BLOCK + 17, Fraction(1)
    scores = [i * spread // d for i in range(d)]
    streams = Streams(7)
    recorder = Recorder(monkeypatch, streams)
    winners = race.top_k(np.array(scores), scale, NOISES[name], 5, sign=1, ordered=True, entropy=streams)
    recorder.check(name, scores, scale, 1, winners.tolist(), d)


@functools.cache
def _sets(name: str, scores: tuple[int, ...], k: int, scale: Fraction) -> dict[Any, Any]:
    origin = min(scores)
    law, error = quadrature.sets(name, [(score - origin) / scale for score in scores], k, digits=6)
    assert error < 1e-13, "the error that the quadrature states"
    return law


@pytest.mark.further
@pytest.mark.quick(k=1, name="Lomax")
@every_noise
@pytest.mark.parametrize(("scores", "k"), [((2, 0, 3), 1), ((2, 0, 3, 1), 2), ((2, 0, 3, 1, 4, 1), 3)])
def test_sets_follow_the_exact_law(name: str, scores: tuple[int, ...], k: int) -> None:
    scale = Fraction(3, 2)
    measurement = build(name, tk.MaxDivergence(), k=k, scale=scale, release="set")
    counts = Counter(tuple(measurement(list(scores)).tolist()) for _ in range(4000))
    assert_follows(counts, _sets(name, scores, k, scale), detects=0.38)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [(2, 0, 3), (2, 0, 3, 1), (1, 1, 0, 2, 1, 3)])
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_rankings_follow_the_exact_law(scores: tuple[int, ...], optimize: str) -> None:
    scale, sign = Fraction(3, 2), 1 if optimize == "max" else -1
    measurement = build("AsymmetricLaplace", tk.MaxDivergence(), k=2, scale=scale, optimize=optimize)
    counts = Counter(tuple(measurement(list(scores)).tolist()) for _ in range(4000))
    law = quadrature.rankings("AsymmetricLaplace", [sign * score / scale for score in scores], 2, digits=12)
    assert_follows(counts, law, detects=0.68)


# What it costs.


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 3)])
def test_no_neighbour_exceeds_the_map_of_sets(name: str, scale: Fraction) -> None:
    for d, x in ((2, (0, -1)), (3, (0, -1, -2)), (4, (0, 0, -1, -3)))[: 3 if scale == 1 else 2]:
        for move in itertools.product((0, 1), repeat=d) if d < 4 else ((0, 1, 1, 0), (1, 0, 0, 1), (1, 1, 1, 0)):
            if 0 < sum(move) < d:
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                for k in range(1, d):
                    before, after = _sets(name, x, k, scale), _sets(name, y, k, scale)
                    for measure in MEASURES:
                        claimed = build(name, measure, d, k=k, scale=scale, release="set").map(1)
                        assert realised(measure, before, after) <= claimed * (1 + 1e-10), (measure, x, y, k)


@functools.cache
def _rankings(name: str, scores: tuple[int, ...]) -> dict[Any, Any]:
    return quadrature.rankings(name, [score - min(scores) for score in scores], 2, digits=6)


@pytest.mark.slow
def test_no_neighbour_exceeds_the_map_of_rankings() -> None:
    for d, x in ((2, (0, -1)), (3, (0, -1, -2)), (4, (0, 0, -1, -3))):
        for move in itertools.product((0, 1), repeat=d) if d < 4 else ((0, 1, 1, 0), (1, 0, 0, 1)):
            if 0 < sum(move) < d:
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                before, after = _rankings("AsymmetricLaplace", x), _rankings("AsymmetricLaplace", y)
                for measure in MEASURES:
                    claimed = build("AsymmetricLaplace", measure, d, k=2, scale=1).map(1)
                    assert realised(measure, before, after) <= claimed * (1 + 1e-10), (measure, x, y)


@pytest.mark.slow
def test_the_lipschitz_condition_is_not_enough_for_rankings() -> None:
    """Gapped noise, g = 6, r = 1/2: the middle one of s = (-g, 0, 1) is raised by r; the planted map is 2 r = 1."""
    x, y = (Fraction(-6), Fraction(0), Fraction(1)), (Fraction(-6), Fraction(1, 2), Fraction(1))
    before, after = (quadrature.rankings("Gapped", scores, 2)[(0, 1)] for scores in (x, y))
    assert mpmath.log(after / before) > 4.3
    options = {"k": 2, "scale": 1, "noise": NOISES["Gapped"]}
    space = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.RangeDistance()
    make = functools.partial(tk.make_report_noisy_top_k, *space, tk.MaxDivergence(), **options)
    raises_exactly(ParameterError, make, 'noise must be of class A for release="ranking"')
    law, other = (sets(quadrature.rankings("Gapped", scores, 2)) for scores in (x, y))
    claimed = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), **options, release="set").map(0.5)
    assert realised(tk.MaxDivergence(), law, other) <= claimed == 1


@pytest.mark.parametrize(
    ("k", "d", "release"), [(1, None, "ranking"), (3, 5, "ranking"), (5, 5, "ranking"), (4, 5, "set")]
)
def test_the_map_is_the_table_rounded_up(k: int, d: int | None, release: str) -> None:
    r = Fraction(2, 7)
    steps, width = (k, 2 * k) if d is None else (min(k, d - 1), min(2 * k, d))
    rho = min(rhos.of_laplace(steps * r), rhos.of_range(maps.widest(r) if steps == 1 else width * r))
    for measure, cost in zip(MEASURES, (steps * r, width * r, rho), strict=True):
        found = build("AsymmetricLaplace", measure, d, k=k, scale=7, release=release).map(2)
        assert cost <= Fraction(found)
        assert Fraction(math.nextafter(found, 0)) < cost
        assert build("AsymmetricLaplace", measure, d, k=k, scale=0, release=release).map(2) == math.inf
    assert build("Lomax", tk.MaxDivergence(), 5, k=5, scale=1, release="set").map(1) == 0


# How it is marked, and what it declares.


@every_noise
def test_measurements_are_marked_as_unproven(name: str) -> None:
    measurement = build(name, tk.MaxDivergence(), k=2, scale=1, release="set")
    chained = measurement >> (lambda winners: len(winners))
    for link in (measurement, chained):
        assert link.proof.status == "unproven"
        assert f"unproven: the caller supplied the noise {name}" in str(link.proof)
        assert f"unproven: the caller supplied the noise {name}" in repr(link)
    assert "proofs/measurements/report_noisy_top_k.tex (current)" in str(measurement.proof)
    assert measurement.parameters["noise"] == name
    space = measurement.input_domain, measurement.input_metric
    five = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1, noise=tk.noise.Laplace())
    assert five.proof.status == "current"


@every_noise
def test_no_exact_law_is_declared(name: str) -> None:
    measurement = build(name, tk.MaxDivergence(), k=2, scale=1, release="set")
    raises_exactly(NotDeclaredError, lambda: measurement.distribution([1, 2, 3]), "no exact distribution")


@every_noise
@pytest.mark.parametrize("alpha", [0.1, Fraction(1, 1000), 0.999])
def test_accuracy_is_the_spread_of_two_quantiles(name: str, alpha: Any) -> None:
    measurement = build(name, tk.MaxDivergence(), k=2, scale=3, release="set")
    found, tail = measurement.accuracy(40, alpha), Fraction(alpha) / 80
    with mpmath.workdps(60):
        quantile = oracle.QUANTILE[name]
        true = 3 * (quantile(1 - tail) - quantile(tail))
        assert true <= found <= true * (1 + mpmath.mpf(2) ** -51)
    raises_exactly(ParameterError, lambda: measurement.accuracy(1, alpha), "n_candidates must be at least k (2)")
    assert build(name, tk.MaxDivergence(), k=2, scale=0, release="set").accuracy(40, alpha) == 0


def test_accuracy_takes_the_outer_ends_of_the_enclosures() -> None:
    def wide(u: mpq, _: int) -> Interval:
        return (mpfr(-2), mpfr(-1)) if 2 * u < 1 else (mpfr(3), mpfr(5))

    noise = replace(NOISES["Lomax"], quantile=wide)
    assert union_bound.accuracy(noise, 4, 2, Fraction(3), 0.5) == 3 * (5 + 2)


@every_noise
def test_accuracy_holds_in_samples(name: str) -> None:
    """An event of odds at least 1/2 that failed in 390 of 600 releases would be a chance of 1 in 10^12."""
    scores = list(range(40))
    measurement = build(name, tk.MaxDivergence(), k=3, scale=2, release="set")
    bound = measurement.accuracy(40, 0.5)
    failures = sum(bool(np.any(np.sort(measurement(scores)) < np.array([37, 38, 39]) - bound)) for _ in range(600))
    assert failures < 390


@every_noise
def test_obligations_of_every_measurement(name: str) -> None:
    for measure in MEASURES:
        space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
        make, then = tk.make_report_noisy_top_k, tk.then_report_noisy_top_k
        options = {"k": 2, "scale": 1.5, "noise": NOISES[name], "release": "set"}
        measurement = check_constructor(make, then, space, measure, **options)
        tables = {"members": [[3, 1, 2], np.array([0, -5, 7])], "non_members": [[1, 2], [1.0, 2.0, 3.0], "abc", None]}
        check_measurement(measurement, **tables, distances=[Fraction(1, 3), 0.5, 1, 100])


def test_other_mechanisms_refuse_the_noise() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    own = NOISES["AsymmetricLaplace"]
    make = functools.partial(tk.make_canonical_top_k, *space, tk.MaxDivergence(), k=1, scale=1, noise=own)
    raises_exactly(ParameterError, make, "noise must be Gumbel() or Exponential()")


@every_noise
def test_a_noise_of_the_callers_claims_nothing_that_only_a_proof_can_give(name: str) -> None:
    noise = NOISES[name]
    given = {"survival", "is_class_a", "is_proven"}
    defaults = {field.name: field.default for field in fields(Noise) if field.default is not MISSING}
    unclaimed = {field: default for field, default in defaults.items() if field not in given}
    assert {field: getattr(noise, field) for field in unclaimed} == unclaimed
    assert unclaimed.keys() >= CLAIMS.keys()
    assert not noise.is_proven
    assert not noise.has_standard_property
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    options = {"k": 1, "scale": 1, "noise": noise, "release": "set"}
    own = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), **options)
    raises_exactly(NotDeclaredError, lambda: own.distribution([1, 2]), "declares no exact distribution")
    raises_exactly(NotDeclaredError, lambda: own.success_probability([1, 2]), "declares no")


@pytest.mark.further
def test_noises_are_values() -> None:
    def make(**options: Any) -> Noise:
        arguments = {"quantile": asymmetric_laplace, "survival": asymmetric_laplace_survival}
        return tk.noise.CustomNoise(**({"name": "AsymmetricLaplace"} | arguments | options))

    noise = NOISES["AsymmetricLaplace"]
    assert make() == noise
    assert hash(make()) == hash(noise)
    assert pickle.loads(pickle.dumps(noise)) == copy.deepcopy(noise) == noise
    assert quantile_table(make()) is quantile_table(noise)
    for other in (make(name="Other"), make(condition="lipschitz"), NOISES["Lomax"], tk.noise.Laplace()):
        assert other != noise
    assert repr(noise) == "CustomNoise('AsymmetricLaplace')"


def test_a_noise_that_only_claims_to_be_one_of_the_five_is_refused() -> None:
    forged = replace(NOISES["AsymmetricLaplace"], is_proven=True)
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    make = functools.partial(tk.make_report_noisy_top_k, *space, tk.MaxDivergence(), k=1, scale=1, noise=forged)
    raises_exactly(ParameterError, make, "noise must be Gumbel()")


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_noise_that_claims_what_is_known_of_the_five_alone_is_refused(claim: str) -> None:
    forged = replace(NOISES["AsymmetricLaplace"], **{claim: CLAIMS[claim]})  # type: ignore[arg-type]
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    make = functools.partial(tk.make_report_noisy_top_k, *space, tk.MaxDivergence(), k=1, scale=1, noise=forged)
    raises_exactly(ParameterError, make, "noise must be Gumbel()")
