"""The claims of make_report_noisy_top_k: maps against enumerated neighbours, witnesses, arguments, outputs.

Tries proofs/measurements/selection.tex and proofs/distributions/one_shot.tex.
"""

import functools
import itertools
import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.report_noisy_top_k import make_report_noisy_top_k
from tests.concepts.losses import number, realised
from tests.concepts.spaces import MONOTONIC, PROFILE, PURE, RANGE, ZCDP
from tests.oracles import one_shot
from tests.oracles.chi_square import assert_follows

MEASURES = (PURE, RANGE, ZCDP)


def build(d: int | None, metric: tk.Metric, measure: tk.Measure, **options: Any) -> tk.Measurement:
    return make_report_noisy_top_k(tk.VectorDomain(tk.AtomDomain(int), size=d), metric, measure, **options)


@functools.cache
def law(measure: tk.Measure, scores: tuple[int, ...], k: int, scale: Fraction, release: str) -> dict[Any, Any]:
    return build(None, tk.RangeDistance(), measure, k=k, scale=scale, release=release).distribution(scores)


def loss(measure: tk.Measure, x: Any, y: Any, k: int, scale: Fraction, release: str = "ranking") -> mpmath.mpf:
    return realised(measure, law(measure, tuple(x), k, scale, release), law(measure, tuple(y), k, scale, release))


def steps(metric: tk.Metric, d: int, d_in: int) -> list[tuple[int, ...]]:
    """Every extreme move of the scores within ``d_in`` of the metric, by the metric's definition."""
    ups = [move for move in itertools.product((-d_in, -1, 0, 1, d_in), repeat=d) if any(move)]
    if metric == tk.RangeDistance():
        return sorted({move for move in ups if max(move) - min(move) <= d_in})
    if metric == tk.LInfDistance():
        return sorted(set(itertools.product((-d_in, 0, d_in), repeat=d)))
    return sorted({move for move in ups if max(0, *move) + max(0, *(-m for m in move)) <= d_in})


CASES = [
    (d, k, metric, d_in)
    for d in (1, 2, 3)
    for k in range(1, d + 1)
    for metric, d_in in ((tk.RangeDistance(), 1), (tk.LInfDistance(), 1), (MONOTONIC, 1), (MONOTONIC, 2))
]


def test_the_range_witness_reaches_the_cap_in_d_for_every_k() -> None:
    """One item at weight 1, k rising items at weight e^-g, k - 1 items at weight e^-2g."""
    for k, d in ((1, 2), (2, 3), (2, 4), (3, 4), (3, 5), (2, 2), (3, 3)):
        middle = min(k, d - 1)
        levels = [0] + [-40] * middle + [-80] * (d - 1 - middle)
        moved = [level + (level == -40) for level in levels]
        claimed = build(d, tk.RangeDistance(), RANGE, k=k, scale=Fraction(1)).map(1)
        assert claimed == min(2 * k, d) - 1
        assert 0.99 * claimed <= loss(RANGE, levels, moved, k, Fraction(1)) <= claimed


@pytest.mark.parametrize("make", [make_report_noisy_top_k, tk.make_noisy_top_k_with_gaps, tk.make_normalised_top_k])
def test_noise_follows_the_measure(make: Any) -> None:
    metric = tk.PerCandidateDistance(bounds=[1, 2]) if make is tk.make_normalised_top_k else tk.LInfDistance()
    space = tk.VectorDomain(tk.AtomDomain(int), size=2), metric
    names = [make(*space, one, k=1, scale=1).parameters["noise"] for one in (*MEASURES, PROFILE)]
    of_range = "Exponential" if make is tk.make_noisy_top_k_with_gaps else "Gumbel"
    assert names == ["Exponential", of_range, "Gumbel", "Gumbel"]


def test_without_noise_success_is_certain() -> None:
    exact = build(None, tk.RangeDistance(), PURE, k=2, scale=0)
    assert exact.success_probability([5, 1, 3]) == (1.0, 1.0)


# Releases of report noisy top-k: real entropy against the exact laws, the types it takes, and its memory.


SAMPLES = 20_000
NOISE = {PURE: "Exponential", RANGE: "Gumbel", ZCDP: "Gumbel"}
every_measure = pytest.mark.parametrize("measure", NOISE, ids=repr)
INTEGERS = [2, 0, 3, 1]
FLOATS = [0.25, 1.5, 0.0]


def _make(measure: Any, scores: Any, k: int, scale: Any, **options: str) -> tk.Measurement:
    kind = float if isinstance(scores[0], float | np.floating) else int
    space = tk.VectorDomain(tk.AtomDomain(kind)), tk.LInfDistance()
    return tk.make_report_noisy_top_k(*space, measure, k=k, scale=scale, **options)


def _law(measure: Any, scores: Any, k: int, scale: Any, optimize: str = "max", release: str = "ranking") -> Any:
    sign = 1 if optimize == "max" else -1
    with mpmath.workdps(40):
        weights = [mpmath.exp(sign * number(Fraction(score) / Fraction(scale))) for score in scores]
        law = one_shot.rankings(NOISE[measure], weights, k)
        return law if release == "ranking" else one_shot.sets(law)


def _samples(measurement: tk.Measurement, scores: Any, n: int = SAMPLES) -> Counter[Any]:
    values = np.array(scores)
    return Counter(tuple(measurement(values).tolist()) for _ in range(n))


@pytest.mark.further
@pytest.mark.quick(measure="MaxDivergence()", release="ranking", optimize="max")
@every_measure
@pytest.mark.parametrize("release", ["ranking", "set"])
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_releases_follow_the_exact_law(measure: Any, release: str, optimize: str) -> None:
    options = {"release": release, "optimize": optimize}
    measurement = _make(measure, INTEGERS, 2, 1.5, **options)
    assert_follows(_samples(measurement, INTEGERS), _law(measure, INTEGERS, 2, 1.5, **options), detects=0.15)


@pytest.mark.slow
@every_measure
@pytest.mark.parametrize("k", [1, 3])
def test_float_releases_follow_the_exact_law(measure: Any, k: int) -> None:
    measurement = _make(measure, FLOATS, k, Fraction(2, 3))
    assert_follows(_samples(measurement, FLOATS), _law(measure, FLOATS, k, Fraction(2, 3)), detects=0.099)


FAR_APART = [0, 10**6, 3 * 10**6]
VECTORS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "NumPy scalars": lambda scores: list(map(np.int32, scores)),
    "int32": lambda scores: np.array(scores, dtype=np.int32),
    "uint64": lambda scores: np.array(scores, dtype=np.uint64),
    "strided": lambda scores: np.array([x for score in scores for x in (score, -1)])[::2],
    "reversed": lambda scores: np.array(scores[::-1])[::-1],
    "read-only": lambda scores: np.frombuffer(np.array(scores).tobytes(), dtype=np.int64),
    "big-endian": lambda scores: np.array(scores, dtype=">i8"),
    "huge": lambda scores: [score * 10**30 for score in scores],
    "pandas": lambda scores: pytest.importorskip("pandas").Series(scores),
    "polars": lambda scores: pytest.importorskip("polars").Series(scores),
}


@every_measure
@pytest.mark.parametrize("kind", VECTORS)
def test_any_vector_of_integers(measure: Any, kind: str) -> None:
    scores = VECTORS[kind](FAR_APART)
    assert _make(measure, FAR_APART, 2, 1.0)(scores).tolist() == [2, 1]
    assert _make(measure, FAR_APART, 2, 1.0, optimize="min")(scores).tolist() == [0, 1]


@every_measure
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8", object])
def test_any_vector_of_floats(measure: Any, dtype: Any) -> None:
    scores = np.array([0.0, 1000.0, 3000.0], dtype=dtype)
    assert _make(measure, [0.0], 2, 1)(scores).tolist() == [2, 1]


def _peak(measurement: tk.Measurement, scores: Any) -> int:
    """The most bytes held at once by a release, beyond the scores."""
    measurement(scores[:2000])
    tracemalloc.start()
    try:
        measurement(scores)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("spread", [1, 10**9])
def test_memory_beyond_the_scores_is_small(dtype: Any, spread: int) -> None:
    scores = (np.arange(10**6) % 1000 * spread).astype(dtype)
    assert _peak(_make(PURE, scores, 10, 20.0), scores) < 16 * 2**20


@pytest.mark.further
def test_memory_at_ten_million_scores_where_many_blocks_come_near() -> None:
    scores = np.random.default_rng(0).random(10**7)
    assert _peak(_make(RANGE, scores, 1000, 0.01), scores) < 64 * 2**20
