"""The claims of make_report_noisy_top_k: maps against enumerated neighbours, witnesses, arguments, outputs.

Tries proofs/measurements/selection.tex and proofs/distributions/one_shot.tex.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.report_noisy_top_k import make_report_noisy_top_k, then_report_noisy_top_k
from tests.concepts.losses import number, realised
from tests.oracles import one_shot, rhos
from tests.oracles.chi_square import ODDS, assert_follows, p_value

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
RELEASES = ("ranking", "set")


def build(d: int | None, metric: tk.Metric, measure: tk.Measure, **options: Any) -> tk.Measurement:
    return make_report_noisy_top_k(tk.VectorDomain(tk.AtomDomain(int), size=d), metric, measure, **options)


@functools.cache
def law(measure: tk.Measure, scores: tuple[int, ...], k: int, scale: Fraction, release: str) -> dict[Any, Any]:
    return build(None, tk.RangeDistance(), measure, k=k, scale=scale, release=release).distribution(scores)


def loss(measure: tk.Measure, x: Any, y: Any, k: int, scale: Fraction, release: str = "ranking") -> mpmath.mpf:
    return realised(measure, law(measure, tuple(x), k, scale, release), law(measure, tuple(y), k, scale, release))


def within(found: mpmath.mpf, claimed: float) -> bool:
    """Whether a loss known to 30 digits is at most ``claimed``."""
    with mpmath.workdps(40):
        return bool(found <= claimed * (1 + mpmath.mpf("1e-28")))


def steps(metric: tk.Metric, d: int, d_in: int) -> list[tuple[int, ...]]:
    """Every extreme move of the scores within ``d_in`` of the metric, by the metric's definition."""
    ups = [move for move in itertools.product((-d_in, -1, 0, 1, d_in), repeat=d) if any(move)]
    if metric == tk.RangeDistance():
        return sorted({move for move in ups if max(move) - min(move) <= d_in})
    if metric == tk.LInfDistance():
        return sorted(set(itertools.product((-d_in, 0, d_in), repeat=d)))
    return sorted({move for move in ups if max(0, *move) + max(0, *(-m for m in move)) <= d_in})


def bases(d: int, gap: int) -> list[tuple[int, ...]]:
    """Score vectors at which losses are large: ties, ladders, one far above, a few in between."""
    shapes = [[0] * d, list(range(0, -d, -1)), [0] + [-1] * (d - 1), [0] * (d - 1) + [-1]]
    shapes.append([0, -1, -1, -2, -2][:d])
    return sorted({tuple(gap * level for level in shape) for shape in shapes})


CASES = [
    (d, k, metric, d_in)
    for d in (1, 2, 3)
    for k in range(1, d + 1)
    for metric, d_in in (
        (tk.RangeDistance(), 1),
        (tk.LInfDistance(), 1),
        (tk.LInfDistance(monotonic=True), 1),
        (tk.LInfDistance(monotonic=True), 2),
    )
]


@pytest.mark.further
@pytest.mark.quick(d=(1, 2, 3), k=(1, 2), d_in=1, measure=("MaxDivergence()", "RangeDivergence()"))
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize(("d", "k", "metric", "d_in"), CASES, ids=repr)
def test_no_neighbour_exceeds_the_map(
    d: int, k: int, metric: tk.Metric, d_in: int, measure: tk.Measure, release: str
) -> None:
    for scale, gap in ((Fraction(1), 1), (Fraction(5, 2), 4), (Fraction(1, 3), 0)):
        measurement = build(d, metric, measure, k=k, scale=scale, release=release)
        claimed = measurement.map(d_in)
        for x in bases(d, gap):
            for move in steps(metric, d, d_in):
                y = [a + b for a, b in zip(x, move, strict=True)]
                assert within(loss(measure, x, y, k, scale, release), claimed), (x, move)


@pytest.mark.further
@pytest.mark.quick(d=4, k=1, monotonic=(None, True))
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("monotonic", [None, False, True])
@pytest.mark.parametrize(("d", "k"), [(4, 1), (4, 2), (4, 3), (4, 4), (5, 1), (5, 2), (5, 3)])
def test_no_corner_exceeds_the_map_for_more_candidates(
    d: int, k: int, monotonic: bool | None, measure: tk.Measure
) -> None:
    """Moves drawn from the metric's corners (``None``: the range distance), and the ones that are worst in theory."""
    generator = random.Random(f"{d} {k} {monotonic} {measure}")
    metric = tk.RangeDistance() if monotonic is None else tk.LInfDistance(monotonic=monotonic)
    low = -1 if monotonic is False else 0
    worst = [tuple(1 if 1 <= i <= m else low for i in range(d)) for m in range(1, d)]
    for release, scale, gap in (("ranking", Fraction(2), 3), ("set", Fraction(1, 2), 2)):
        claimed = build(d, metric, measure, k=k, scale=scale, release=release).map(1)
        vectors = [*bases(d, gap), tuple(generator.randint(0, 6) for _ in range(d))]
        for x in generator.sample(vectors, 2 if d == 5 else 3):
            for move in worst + generator.sample(steps(metric, d, 1), 3 if d == 5 else 6):
                y = [a + b for a, b in zip(x, move, strict=True)]
                assert within(loss(measure, x, y, k, scale, release), claimed), (x, move)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("r", [Fraction(1, 8), Fraction(1), Fraction(3)])
def test_the_pure_loss_of_exponential_noise_is_attained(k: int, r: Fraction) -> None:
    """One item that rises by nothing, far above k items that all rise by one."""
    d, scale = k + 1, 1 / r
    far = math.ceil(80 * scale)
    x, y = (far, *[0] * k), (far, *[1] * k)
    if k == 1:
        x, y = (0, 0), (0, 1)
    claimed = build(d, tk.LInfDistance(monotonic=True), tk.MaxDivergence(), k=k, scale=scale).map(1)
    losses = [loss(tk.MaxDivergence(), x, y, k, scale), loss(tk.MaxDivergence(), y, x, k, scale)]
    assert max(losses) >= 0.99 * claimed


@pytest.mark.parametrize("r", [Fraction(1, 8), Fraction(1), Fraction(3)])
def test_the_range_of_the_exponential_mechanism_is_attained(r: Fraction) -> None:
    claimed = build(2, tk.RangeDistance(), tk.RangeDivergence(), k=1, scale=1 / r).map(1)
    assert loss(tk.RangeDivergence(), (0, 0), (0, 1), 1, 1 / r) >= 0.999999 * claimed


@pytest.mark.parametrize("r", [Fraction(1, 4), Fraction(1), Fraction(2)])
def test_gumbel_pair_exceeds_two_r_and_stays_below_three_r(r: Fraction) -> None:
    """s = (0, -g, -g, -2g), delta = (0, r, r, 0), k = 2: a range map of k r would be false."""
    scale = 1 / r
    claimed = build(4, tk.RangeDistance(), tk.RangeDivergence(), k=2, scale=scale).map(1)
    assert claimed == float(3 * r)
    previous = mpmath.mpf(0)
    for g in (2, 4, 8, 16, 40):
        gap = math.ceil(g * scale)
        found = loss(tk.RangeDivergence(), (0, -gap, -gap, -2 * gap), (0, 1 - gap, 1 - gap, -2 * gap), 2, scale)
        assert previous < found < claimed
        previous = found
    assert found > number(2 * r)
    assert found >= 0.99 * claimed


def test_the_range_witness_reaches_the_cap_in_d_for_every_k() -> None:
    """One item at weight 1, k rising items at weight e^-g, k - 1 items at weight e^-2g."""
    for k, d in ((1, 2), (2, 3), (2, 4), (3, 4), (3, 5), (2, 2), (3, 3)):
        middle = min(k, d - 1)
        levels = [0] + [-40] * middle + [-80] * (d - 1 - middle)
        moved = [level + (level == -40) for level in levels]
        claimed = build(d, tk.RangeDistance(), tk.RangeDivergence(), k=k, scale=Fraction(1)).map(1)
        assert claimed == min(2 * k, d) - 1
        assert 0.99 * claimed <= loss(tk.RangeDivergence(), levels, moved, k, Fraction(1)) <= claimed


def test_the_zcdp_loss_of_one_gumbel_maximum_is_tight_for_small_moves() -> None:
    """D_alpha of two outcomes at equal odds approaches alpha r^2 / 8."""
    r = Fraction(1, 500)
    claimed = build(2, tk.RangeDistance(), tk.ZeroConcentratedDivergence(), k=1, scale=1 / r).map(1)
    assert loss(tk.ZeroConcentratedDivergence(), (0, 0), (0, 1), 1, 1 / r) >= 0.99 * claimed


@pytest.mark.parametrize(
    ("measure", "k", "d", "release", "cost"),
    [
        (tk.MaxDivergence(), 1, None, "ranking", Fraction(2, 7)),
        (tk.MaxDivergence(), 5, None, "ranking", Fraction(10, 7)),
        (tk.MaxDivergence(), 5, 5, "ranking", Fraction(8, 7)),
        (tk.MaxDivergence(), 5, 5, "set", Fraction(0)),
        (tk.MaxDivergence(), 5, 6, "set", Fraction(10, 7)),
        (tk.MaxDivergence(), 1, 1, "ranking", Fraction(0)),
        (tk.RangeDivergence(), 1, None, "ranking", Fraction(2, 7)),
        (tk.RangeDivergence(), 5, None, "ranking", Fraction(18, 7)),
        (tk.RangeDivergence(), 5, 8, "set", Fraction(14, 7)),
        (tk.RangeDivergence(), 5, 5, "ranking", Fraction(8, 7)),
        (tk.RangeDivergence(), 5, 5, "set", Fraction(0)),
        (tk.ZeroConcentratedDivergence(), 1, None, "ranking", rhos.of_range(Fraction(2, 7))),
        (tk.ZeroConcentratedDivergence(), 5, None, "set", 5 * rhos.of_range(Fraction(2, 7))),
        (tk.ZeroConcentratedDivergence(), 5, 5, "ranking", 4 * rhos.of_range(Fraction(2, 7))),
        (tk.ZeroConcentratedDivergence(), 5, 5, "set", Fraction(0)),
    ],
)
def test_the_map_is_the_formula_rounded_up_once(
    measure: tk.Measure, k: int, d: int | None, release: str, cost: Fraction
) -> None:
    found = build(d, tk.LInfDistance(), measure, k=k, scale=7, release=release).map(1)
    assert isinstance(found, float)
    assert cost <= Fraction(found)
    assert found == 0 or Fraction(math.nextafter(found, 0)) < cost


@pytest.mark.parametrize("make", [make_report_noisy_top_k, tk.make_noisy_top_k_with_gaps, tk.make_normalised_top_k])
def test_noise_follows_the_measure(make: Any) -> None:
    metric = tk.PerCandidateDistance(bounds=[1, 2]) if make is tk.make_normalised_top_k else tk.LInfDistance()
    space = tk.VectorDomain(tk.AtomDomain(int), size=2), metric
    names = [make(*space, one, k=1, scale=1).parameters["noise"] for one in (*MEASURES, tk.PrivacyProfile())]
    assert names == ["Exponential", "Gumbel", "Gumbel", "Gumbel"]


def test_chains_from_the_space_and_to_items() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    items = ["ash", "birch", "cedar", "elm"]
    exact = space >> then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=0) >> tk.index_candidates(items)
    assert exact([1, 4, 2, 3]).items == ("birch", "elm")
    noisy = space >> then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=3.0) >> tk.index_candidates(items)
    assert noisy.map(3) == 2.0
    assert noisy.parameters["scale"] == 3.0
    assert mpmath.almosteq(sum(noisy.distribution([1, 4, 2, 3]).values()), 1, 1e-14)
    assert set(map(len, noisy.distribution([1, 4, 2, 3]))) == {2}
    assert noisy.accuracy(4, 0.05) == pytest.approx(3 * math.log(4 / 0.05))


def test_without_noise_success_is_certain() -> None:
    exact = build(None, tk.RangeDistance(), tk.MaxDivergence(), k=2, scale=0)
    assert exact.success_probability([5, 1, 3]) == (1.0, 1.0)


# Releases of report noisy top-k: real entropy against the exact laws, the types it takes, and its memory.


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
