"""Releases of report noisy top-k: real entropy against the exact laws, the types it takes, and its memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError
from opendp_topk.sampling.samplers import entropy

from ..oracles import one_shot
from ..oracles.chi_square import ODDS, assert_follows, p_value
from ..oracles.noise import number

SAMPLES = 20_000
NOISE = {tk.MaxDivergence(): "Exponential", tk.RangeDivergence(): "Gumbel", tk.ZeroConcentratedDivergence(): "Gumbel"}
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


@pytest.mark.slow
def test_samples_tell_a_wrong_law() -> None:
    """The power of the tests above: half the scale, the other noise, or a small shift is found out."""
    measure = tk.MaxDivergence()
    counts = _samples(_make(measure, INTEGERS, 2, 1.5), INTEGERS)
    assert p_value(counts, _law(measure, INTEGERS, 2, 0.75)) < ODDS
    assert p_value(counts, _law(tk.RangeDivergence(), INTEGERS, 2, 1.5)) < ODDS
    assert p_value(counts, _law(measure, [2.2, 0, 3, 1], 2, 1.5)) < ODDS
    assert p_value(counts + Counter({(0, 0): 1}), _law(measure, INTEGERS, 2, 1.5)) == 0


@every_measure
def test_one_candidate_and_all_candidates(measure: Any) -> None:
    for scores in ([7], [7.5]):
        for release in ("ranking", "set"):
            assert _make(measure, scores, 1, 3.0, release=release)(np.array(scores)).tolist() == [0]
    everyone = _make(measure, INTEGERS, 4, 3.0, release="set")
    assert everyone(INTEGERS).tolist() == [0, 1, 2, 3]
    ranking = _make(measure, INTEGERS, 4, 3.0)(INTEGERS)
    assert sorted(ranking.tolist()) == [0, 1, 2, 3]
    assert ranking.dtype == np.int64


def _far_apart(kind: str) -> Any:
    pandas = pytest.importorskip("pandas") if kind == "pandas" else None
    polars = pytest.importorskip("polars") if kind == "polars" else None
    scores = [0, 10**6, 3 * 10**6]
    return {
        "list": lambda: scores,
        "tuple": lambda: tuple(scores),
        "NumPy scalars": lambda: [np.int32(score) for score in scores],
        "int32": lambda: np.array(scores, dtype=np.int32),
        "uint64": lambda: np.array(scores, dtype=np.uint64),
        "strided": lambda: np.array([x for score in scores for x in (score, -1)])[::2],
        "reversed": lambda: np.array(scores[::-1])[::-1],
        "read-only": lambda: np.frombuffer(np.array(scores).tobytes(), dtype=np.int64),
        "big-endian": lambda: np.array(scores, dtype=">i8"),
        "huge": lambda: [score * 10**30 for score in scores],
        "pandas": lambda: pandas.Series(scores),
        "polars": lambda: polars.Series(scores),
    }[kind]()


@every_measure
@pytest.mark.parametrize(
    "kind",
    [
        "list",
        "tuple",
        "NumPy scalars",
        "int32",
        "uint64",
        "strided",
        "reversed",
        "read-only",
        "big-endian",
        "huge",
        "pandas",
        "polars",
    ],
)
def test_any_vector_of_integers(measure: Any, kind: str) -> None:
    scores = _far_apart(kind)
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    top2 = tk.make_report_noisy_top_k(*space, measure, k=2, scale=1.0)
    assert top2(scores).tolist() == [2, 1]
    bottom2 = tk.make_report_noisy_top_k(*space, measure, k=2, scale=1.0, optimize="min")
    assert bottom2(scores).tolist() == [0, 1]


@every_measure
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8", object])
def test_any_vector_of_floats(measure: Any, dtype: Any) -> None:
    scores = np.array([0.0, 1000.0, 3000.0], dtype=dtype)
    assert _make(measure, [0.0], 2, 1)(scores).tolist() == [2, 1]


@every_measure
@pytest.mark.parametrize("scale", [0, 1.0])
def test_too_few_scores_are_noticed_before_anything_is_drawn(
    measure: Any, scale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(_: int) -> bytes:
        raise AssertionError("digits were drawn")

    monkeypatch.setattr(entropy.os, "urandom", touched)
    top3 = _make(measure, [1], 3, scale)
    with pytest.raises(DataError, match="at least k elements"):
        top3([5, 6])
    if scale:
        with pytest.raises(AssertionError, match="were drawn"):
            top3([5, 6, 7])


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
    assert _peak(_make(tk.MaxDivergence(), scores, 10, 20.0), scores) < 16 * 2**20


@pytest.mark.further
def test_memory_at_ten_million_scores_where_many_blocks_come_near() -> None:
    scores = np.random.default_rng(0).random(10**7)
    assert _peak(_make(tk.RangeDivergence(), scores, 1000, 0.01), scores) < 64 * 2**20
