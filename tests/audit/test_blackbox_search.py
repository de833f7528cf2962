"""The auditor that looks for the worst pair: it finds planted faults without being told where they are."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import search
from opendp_topk.apps.audit.neighbours import is_within_distance
from tests.concepts.sentinels import raises_exactly

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
SPACE: dict[str, Any] = {"input_domain": tk.VectorDomain(tk.AtomDomain(float)), "input_metric": tk.LInfDistance()}
SURE = 1 - 1e-9


def noisy_max(alter: Callable[[Any], Any], change: Callable[[Any], Any], seed: int) -> Callable[[Any, int], Any]:
    """n draws of the index of the largest altered score plus changed exponential noise of scale 1."""
    generator = np.random.default_rng(seed)
    return lambda x, n: np.argmax(alter(x) + change(generator.exponential(size=(n, len(x)))), axis=1)


def same(value: Any) -> Any:
    return value


FAULTS = {
    "scores rounded": (np.round, same, 0.1),
    "noise truncated": (same, lambda noise: np.minimum(noise, 2.0), 0.5),
    "scale halved": (same, lambda noise: noise / 2, 0.5),
    "first score without noise": (same, lambda noise: noise * (np.arange(noise.shape[1]) > 0), 0.5),
}


@pytest.mark.slow
@pytest.mark.quick(measure="MaxDivergence()", name="first score without noise")
@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP])
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name: str, measure: tk.Measure) -> None:
    alter, change, d_in = FAULTS[name]
    claim = (tk.make_permute_and_flip(*SPACE.values(), measure, scale=1)).map(d_in)
    options = {"measure": measure, "d_in": d_in, "scale": 1, "batched": True, "samples": 20_000, "confidence": SURE}
    found = search(noisy_max(alter, change, 1), **SPACE, **options)
    assert found.contradicts(claim)
    assert is_within_distance(tk.LInfDistance(), found.x, found.x_neighbor, Fraction(d_in))
    assert found.pairs == 256
    honest = search(noisy_max(same, same, 1), **SPACE, **options)
    assert not honest.contradicts(claim)


@pytest.mark.further
def test_the_search_matters() -> None:
    """A fault that a single fixed pair does not show: noise that vanishes for the last of three or more scores."""

    def fault(x: Any, n: int, source: Any = np.random.default_rng(5)) -> Any:  # noqa: B008
        noise = source.gumbel(size=(n, len(x)))
        noise[:, 3:] /= 8
        return np.argmax(x + noise, axis=1)

    options: dict[str, Any] = {"d_in": 0.5, "scale": 1, "batched": True, "samples": 20_000, "confidence": SURE}
    found = search(fault, **SPACE, measure=PURE, **options)
    assert found.contradicts(1.0)
    assert len(found.x) > 3
    alone = tk.audit.estimate(fault, [0.0, 0.0], [0.5, -0.5], samples=20_000, batched=True, confidence=SURE)
    assert not alone.contradicts(1.0)


def test_a_measurement_brings_its_own_domain_metric_measure_and_scale() -> None:
    honest = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
    measurement = honest >> tk.then_exponential_mechanism(ZCDP, scale=2)
    found = search(measurement, samples=200, candidates=4, confidence=SURE)
    assert found.estimate.measure == ZCDP
    assert found.estimate.samples == 200
    assert found.pairs == 4
    assert len(found.x) == 3
    assert not found.contradicts(measurement.map(1))
    assert search(measurement, measure=PURE, samples=200, candidates=2).estimate.measure == PURE


def test_the_estimate_rests_on_fresh_samples_alone() -> None:
    """Calls of the search leave no trace in the bound: what is said after them decides."""
    calls = 0

    def function(x: Any, n: int) -> Any:
        nonlocal calls
        calls += n
        return np.full(n, x[0] if calls <= 2 * 1000 + 4 * 20 else 0.0)

    found = search(function, **SPACE, measure=PURE, samples=1000, candidates=2, batched=True)
    assert found.estimate.lower == 0.0
    assert calls == 4 * 1000


@pytest.mark.slow
def test_an_outcome_that_vanishes_is_found() -> None:
    """The mechanism never chooses a score that lies more than 2 below the best."""

    def cut(x: Any, n: int, source: Any = np.random.default_rng(2)) -> Any:  # noqa: B008
        return np.argmax(np.where(x < x.max() - 2, -math.inf, x) + source.gumbel(size=(n, len(x))), axis=1)

    found = search(cut, **SPACE, measure=PURE, scale=1, batched=True, samples=40_000, confidence=SURE)
    assert found.estimate.lower > 4 > 2


TWO_OF_THREE = {"input_domain": tk.VectorDomain(tk.AtomDomain(float), size=3), "input_metric": tk.LInfDistance()}


@pytest.mark.slow
@pytest.mark.parametrize("cut", [16, pytest.param(13.7, marks=pytest.mark.slow)])
def test_noise_that_is_cut_far_out_is_found(cut: float) -> None:
    """No list of gaps holds the one that matters: an outcome of less than 1 % on one side alone, at the cut."""

    def top_2(x: Any, n: int, source: Any = np.random.default_rng(5)) -> Any:  # noqa: B008
        noisy = x + np.minimum(source.exponential(scale=4, size=(n, 3)), cut)
        return np.sort(np.argpartition(noisy, 1, axis=1)[:, 1:], axis=1)

    options: dict[str, Any] = {"batched": True, "samples": 50_000, "measure": PURE, "confidence": SURE}
    found = search(top_2, **TWO_OF_THREE, **options)
    assert found.estimate.lower > 1.5 > 1
    gap = Fraction(max(found.x)) - Fraction(min(found.x))
    other = Fraction(max(found.x_neighbor)) - Fraction(min(found.x_neighbor))
    assert min(gap, other) < cut <= max(gap, other)


@pytest.mark.further
def test_a_gap_far_beyond_the_moves_is_found() -> None:
    """Noise far larger than the moves: the pair that shows it lies where no multiple of a move is tried."""

    def blunt(x: Any, n: int, source: Any = np.random.default_rng(7)) -> Any:  # noqa: B008
        return np.where(np.ptp(x) > 700, x.argmax(), np.argmax(x + source.gumbel(scale=500, size=(n, 3)), axis=1))

    options: dict[str, Any] = {"batched": True, "samples": 20_000, "measure": PURE, "confidence": SURE}
    assert search(blunt, **TWO_OF_THREE, **options).estimate.lower > 1


@pytest.mark.slow
def test_scores_at_the_ends_of_formats_are_tried() -> None:
    """A counter of 32 bits, a sum of floats, and a test for zero, each with the noise that it needs otherwise."""
    source = np.random.default_rng(8)

    def wraps(x: Any, n: int) -> Any:
        return (x.astype(np.int64).astype(np.int32)[:, None] + source.gumbel(scale=4, size=(len(x), n))).argmax(axis=0)

    def sums(x: Any, n: int) -> Any:
        total = 0.0
        for score in x:
            total += score
        return np.round(total + source.laplace(scale=1, size=n))

    def zeros(x: Any, n: int) -> Any:
        return (np.count_nonzero(x) == 1) & (np.abs(x).max() < 1e-300) & (source.random(n) < 0.5)

    options: dict[str, Any] = {"measure": PURE, "batched": True, "samples": 4000, "confidence": SURE}
    for fault, metric in ((wraps, tk.LInfDistance()), (sums, tk.L1Distance()), (zeros, tk.LInfDistance())):
        space = {"input_domain": SPACE["input_domain"], "input_metric": metric}
        assert search(fault, **space, **options).contradicts(1.5), fault
        assert not search(fault, **space, **options, extremes=False).contradicts(1.5), fault


@pytest.mark.further
def test_a_level_at_which_arithmetic_overflows_is_found() -> None:
    source = np.random.default_rng(9)

    def softmax(x: Any, n: int) -> Any:
        with np.errstate(all="ignore"):
            weights = np.exp(x / 2)
        if np.isinf(weights).any():
            return np.full(n, weights.argmax())
        return (np.cumsum(weights)[:, None] < source.random(n) * weights.sum()).sum(axis=0)

    found = search(softmax, **SPACE, measure=PURE, batched=True, samples=20_000, confidence=SURE)
    assert found.contradicts(1.0)
    assert 1415 < max(found.x) < 1425


@pytest.mark.slow
def test_pairs_at_which_a_function_fails_are_left_out() -> None:
    """Whether it fails in batches, where an error ends an audit, or with an error of this library."""
    for error in (OverflowError, tk.errors.ParameterError):

        def fails(x: Any, n: int, error: type[Exception] = error) -> Any:
            if np.abs(x).max() > 100:
                raise error
            return np.zeros(n)

        assert search(fails, **SPACE, measure=PURE, batched=True, samples=4000).estimate.lower == 0
        alone = search(lambda x: fails(x, 1)[0], **SPACE, measure=PURE, samples=1000)
        assert alone.estimate.lower == 0
        assert alone.pairs == 256
    one_sided = search(lambda x: 1 // int(x.max() < 2.0**53), **SPACE, measure=PURE, samples=1000)
    assert one_sided.estimate.lower > 1
    assert one_sided.estimate.seen[0].event == "the release is RaisedOutcome(kind='ZeroDivisionError')"


@pytest.mark.slow
def test_noise_that_is_not_cut_is_not_accused() -> None:
    """The edge of what samples show is no edge of the law: exponential noise of scale 4 keeps 2 * 2 / 4."""

    def top_2(x: Any, n: int, source: Any = np.random.default_rng(6)) -> Any:  # noqa: B008
        noisy = x + source.exponential(scale=4, size=(n, 3))
        return np.sort(np.argpartition(noisy, 1, axis=1)[:, 1:], axis=1)

    found = search(top_2, **TWO_OF_THREE, measure=PURE, batched=True, samples=50_000, confidence=SURE)
    assert 0 < found.estimate.lower < 1


@pytest.mark.slow
def test_bad_arguments() -> None:
    column = pytest.importorskip("polars").Series([1, 2])  # asked whether it is true or equals anything, it raises
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"input_metric": None}, "must be given"),
        ({"input_metric": tk.UserDistance()}, "no neighbours can be generated"),
        ({"input_domain": tk.VectorDomain(tk.AtomDomain(int)), "d_in": 0.5}, "no neighbouring inputs"),
        *(({name: value}, name) for name, value in (("d_in", 0), ("d_in", -1), ("candidates", 0))),
        *(({name: value}, name) for name, value in (("samples", 99), ("scale", -1))),
        ({"measure": column}, "measure must be"),
    )
    for arguments, message in wrong:
        asked = partial(search, len, **{**SPACE, "measure": PURE, **arguments})
        raises_exactly(tk.errors.ParameterError, asked, message)
    others = {"input_domain": tk.AtomDomain(int), "batched": 1, "input_metric": column, "scale": column}
    for name, value in others.items():
        asked = partial(search, len, **{**SPACE, "measure": PURE, name: value})
        raises_exactly(tk.errors.ParameterTypeError, asked, name)
    winner = tk.make_report_noisy_top_k(*SPACE.values(), PURE, k=1, scale=1.0)
    for name in ("input_domain", "input_metric"):
        raises_exactly(tk.errors.ParameterTypeError, partial(search, winner, **{name: column}), name)
    raises_exactly(tk.errors.ParameterError, partial(search, winner, measure=column), "measure must be")
    raises_exactly(tk.errors.ParameterTypeError, lambda: search(7, **SPACE, measure=PURE), "function")  # type: ignore[arg-type]
