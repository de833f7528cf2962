"""Mechanisms side by side: scales by formulas of their own, least ones, the bound that decided, and the plots.

Tries proofs/planning/comparison.tex.
"""

import functools
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning import plan
from opendp_topk.apps.planning.catalogue import all_mechanisms, capable_mechanisms
from opendp_topk.apps.planning.plan import CLOSE, WORDS, bound_label, least_delta_with_label, least_scale
from opendp_topk.spaces.curves.closed_forms import UpToDelta
from tests.concepts.spaces import FLOATS, MONOTONIC, PURE, RANGE

from ..concepts.sentinels import raises_exactly
from ..oracles import canonical, rhos

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=900), MONOTONIC
SCALAR = PURE, RANGE, tk.ZeroConcentratedDivergence()
PROFILE, ZCDP = tk.PrivacyProfile(), tk.ZeroConcentratedDivergence()
KINDS = "ranking", "set"
PAIR = 1.0, 1e-6


@functools.cache
def compared(measure: tk.Measure, **options: Any) -> tk.planning.Comparison:
    return tk.planning.compare(*SPACE, measure, **options)


@pytest.mark.further
@pytest.mark.quick(k=2, release="ranking")
@pytest.mark.parametrize(("k", "release"), [(2, "ranking"), (1, "ranking"), (2, "set")])
def test_every_mechanism_that_fits_has_a_row(k: int, release: str) -> None:
    found = compared(PURE, k=k, d_out=1, release=release)
    assert {row.name for row in found} == {row.name for row in capable_mechanisms(k, 900, release)}
    assert len(found) == len(found.rows)
    assert all(0 < float(loss) <= 1 for _, _, loss, *_ in found._lines[1:])
    accuracies = [row.accuracy for row in found]
    assert accuracies == sorted(accuracies, key=lambda bound: math.inf if bound is None else bound)


# At equal scales the first is at least as good: permute-and-flip and the exponential mechanism, of items and of sets.
DOMINATES = [
    ("permute_and_flip", "exponential_mechanism", 1, "ranking"),
    ("permute_and_flip", "joint", 1, "set"),
    ("report_noisy_top_k_exponential", "report_noisy_top_k_gumbel", 1, "ranking"),
    ("report_noisy_top_k", "exponential_mechanism", 1, "set"),
    ("canonical_exponential", "canonical", 2, "set"),
    ("peeled_permute_and_flip", "peeled_exponential", 2, "ranking"),
]


@pytest.mark.parametrize(("first", "second", "k", "release"), DOMINATES)
def test_equal_bounds_are_in_the_order_of_dominance(first: str, second: str, k: int, release: str) -> None:
    found = compared(PURE, k=k, d_out=1, release=release)
    names = [row.name for row in found]
    assert names.index(first) < names.index(second)
    assert found[first].scale == found[second].scale
    assert found[first].accuracy == pytest.approx(found[second].accuracy)
    better, worse = names.index(first), names.index(second)
    assert [row.name for row in found.best().options].index(first) < worse
    assert better < [row.name for row in found.best().options].index(second)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_exponential_noise_dominates_gumbel_noise(k: int) -> None:
    """By enumeration of all subsets: no threshold of the utility is reached less often, and most more often."""
    chance, gaps = np.random.default_rng(1000 + k), []
    for scores in [chance.integers(0, 4, size=5).tolist() for _ in range(12)] + [[3, 3, 3, 3, 3]]:
        flips, weights = (
            law(scores, k, Fraction(2), Fraction(1, 2), "margin") for law in (canonical.flip_law, canonical.gumbel_law)
        )
        utilities = {one: canonical.utility(scores, one, Fraction(1, 2), "margin") for one in flips}
        for least in set(utilities.values()):
            above = [one for one, utility in utilities.items() if utility >= least]
            gap = mpmath.fsum(flips[one] for one in above) - mpmath.fsum(weights[one] for one in above)
            assert gap >= -1e-12
            assert (gap > 1e-12) == (len(above) < len(utilities))
            gaps.append(gap)
    assert max(gaps) > 0.02


@pytest.mark.slow
def test_what_may_be_best_by_far_has_a_row() -> None:
    said = {
        (k, kind): repr(tk.planning.compare(*SPACE, ZCDP, k=k, d_out=1, release=kind)) for k in (1, 2) for kind in KINDS
    }
    assert "may need much less noise" not in said[1, "ranking"] + said[1, "set"]
    assert "above the rest, joint may need much less noise" in said[2, "ranking"]
    assert "above the rest, canonical and joint may need much less noise" in said[2, "set"]


@pytest.mark.further
def test_noise_on_all_counts_whose_steps_have_no_rho_of_their_own_is_shown() -> None:
    few = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.L01InfDistance(changes=3, monotonic=True)
    found = tk.planning.compare(*few, ZCDP, k=5, d_out=0.02)
    assert found["histogram_laplace"].bound in WORDS
    assert "histogram_laplace" in repr(found)


@pytest.mark.further
@pytest.mark.quick(release="ranking")
@pytest.mark.parametrize("release", ["ranking", "set"])
def test_a_mechanism_that_no_scale_lets_meet_the_target_is_left_out(release: str) -> None:
    k, tiny = 20, 1e-307  # k / tiny exceeds every float64, and 1 / tiny does not
    space = tk.VectorDomain(tk.AtomDomain(int), size=50), MONOTONIC
    found = {row.name: row for row in tk.planning.compare(*space, PURE, k=k, d_out=tiny, release=release)}
    asked = {row.name: row for row in capable_mechanisms(k, 50, release)}
    assert found.keys() < asked.keys()
    assert all(row.measurement.check(1, tiny) for row in found.values())
    for name in asked.keys() - found.keys():
        largest = space >> asked[name].build_partial(PURE, k, sys.float_info.max, release, False)
        assert not largest.check(1, tiny), name


@pytest.mark.further
@pytest.mark.parametrize(
    ("measure", "scales"),
    [
        (PURE, {"report_noisy_top_k_laplace": 30, "joint": 6, "report_noisy_top_k": 30}),
        (RANGE, {"report_noisy_top_k_laplace": 60, "joint": 6, "report_noisy_top_k": 57}),
    ],
    ids=["epsilon", "range"],
)
def test_scales_by_formulas(measure: tk.Measure, scales: dict[str, float]) -> None:
    found = compared(measure, k=10, d_out=1, releases=3)
    for name, scale in scales.items():
        assert found[name].scale == pytest.approx(scale, rel=1e-12)
        assert 1 - 1e-12 < found[name].loss <= 1


@pytest.mark.further
@pytest.mark.quick(releases=7, measure=SCALAR[2])
@pytest.mark.parametrize("releases", [1, 7])
@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP], ids=str)
def test_no_smaller_scale_meets_the_budget(measure: tk.Measure, releases: int) -> None:
    found = compared(measure, k=2, d_in=3, d_out=0.3, releases=releases)
    for row in found:
        (mechanism,) = [one for one in all_mechanisms() if one.name == row.name]
        smaller = SPACE >> mechanism.build_partial(measure, 2, math.nextafter(row.scale, 0), "ranking", counts=False)
        assert Fraction(row.loss) <= Fraction(0.3) < releases * Fraction(smaller.map(3))
        assert row.loss == pytest.approx(releases * row.measurement.map(3), rel=1e-12)


def _rhos(r: float, name: str) -> dict[str, float]:
    """What each reading gives for one winner at range distance r."""
    width = {"permute_and_flip": r + 2 * math.log(2 - math.exp(-r / 2)), "exponential_mechanism": r}.get(name, 2 * r)
    given = {"loss": r * math.tanh(r / 2), "range": float(rhos.of_range(Fraction(width)))}
    if name == "noisy_top_k_with_gaps":  # Gumbel noise: two steps of range r
        given["own"] = 2 * float(rhos.of_range(Fraction(r)))
    return given if name == "exponential_mechanism" else {**given, "Laplace": r + math.exp(-r) - 1}


@pytest.mark.further
@pytest.mark.quick(rho=3.0)
@pytest.mark.parametrize("rho", [0.02, 3.0])
def test_the_reading_that_decides_rho_is_the_least(rho: float) -> None:
    found = compared(ZCDP, k=1, d_out=rho)
    for name in ("permute_and_flip", "exponential_mechanism", "noisy_top_k_with_gaps"):
        readings = _rhos(1 / found[name].scale, name)
        assert found[name].bound == min(readings, key=readings.__getitem__)
        assert min(readings.values()) == pytest.approx(rho, rel=1e-9)


@pytest.mark.slow
def test_a_pair_is_met_by_the_bound_that_is_named() -> None:
    found = compared(PROFILE, k=1, d_out=PAIR)
    flip, odds = found["permute_and_flip"], found["exponential_mechanism"]
    assert (flip.bound, odds.bound) == ("Laplace", "range")
    exact = mpmath.mpf(1) / (1 - 2 * mpmath.log1p(-mpmath.mpf(PAIR[1])))  # 1 - e^((1 - 1 / scale) / 2) = delta
    assert flip.scale == pytest.approx(float(exact), rel=1e-9)
    a = 1 / mpmath.mpf(odds.scale)
    delta = (1 - mpmath.exp(-(a - 1) / 2)) ** 2 / (1 - mpmath.exp(-a))
    assert float(delta) == pytest.approx(PAIR[1], rel=1e-9)
    for row in (flip, odds):
        assert row.loss[0] == 1
        assert row.loss[1] <= PAIR[1]
        assert row.measurement.check(1, PAIR)
        (mechanism,) = [one for one in all_mechanisms() if one.name == row.name]
        smaller = SPACE >> mechanism.build_partial(PROFILE, 1, math.nextafter(row.scale, 0), "ranking", counts=False)
        assert not smaller.check(1, PAIR)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "releases"), [(10, 1), (1, 12)])
def test_curves_of_many_steps_meet_the_pair(k: int, releases: int) -> None:
    found = compared(PROFILE, k=k, d_out=PAIR, releases=releases)
    by_rhos = compared(ZCDP, k=k, d_out=0.0178, releases=releases)
    for row in found:
        (mechanism,) = [one for one in all_mechanisms() if one.name == row.name]

        def at(scale: float, mechanism: Any = mechanism) -> tk.Measurement:
            one = SPACE >> mechanism.build_partial(PROFILE, k, scale, "ranking", counts=False)
            return one if releases == 1 else tk.make_composition([one] * releases)

        assert at(row.scale).check(1, PAIR)
        assert not at(row.scale / CLOSE**2).check(1, PAIR)
    assert found["report_noisy_top_k_gumbel"].bound == "steps"
    assert found["report_noisy_top_k_gumbel"].scale < by_rhos["report_noisy_top_k_gumbel"].scale


@pytest.mark.parametrize("least", [3e-200, 3.0, 3e200, 1e-310])
def test_a_scale_is_found_to_a_thousandth_however_small_or_large(least: float) -> None:
    """Where deltas say nothing of where to look, and so for floats whose product is none."""

    class Falling(plan._ComposedCurves):
        def delta_at_scale(self, scale: float, kind: type | None = None) -> float:
            return self.seen.setdefault((kind, scale), 0.0 if scale >= least else 1.0)

    curves = Falling(lambda _: None, 1, PAIR, 1)  # type: ignore[arg-type, return-value]
    curves.delta_at_scale(least / 1e5)
    found = curves.narrow_scale(None, least * 1e5, least * 1e5 / CLOSE)
    assert least <= found <= least * CLOSE**1.01


@pytest.mark.further
def test_the_curve_of_a_row_is_that_of_its_own_noise() -> None:
    found = compared(PURE, k=2, d_out=1, release="ranking")
    assert found["report_noisy_top_k"].curve == found["report_noisy_top_k_exponential"].curve
    assert found["report_noisy_top_k"].measurement.parameters["noise"] == "Exponential"
    assert found["report_noisy_top_k"].curve != found["report_noisy_top_k_gumbel"].curve
    by_rho = compared(ZCDP, k=2, d_out=0.05, releases=4)
    assert by_rho["report_noisy_top_k"].curve == by_rho["report_noisy_top_k_gumbel"].curve


def test_words_of_bounds() -> None:
    curve = (SPACE >> tk.then_peeled_top_k(PROFILE, k=2, scale=2.0, mechanism="permute_and_flip")).map(1)
    assert [bound_label(bound) for bound in curve.bounds] == ["loss", "zCDP", "steps", "Laplace", "convolution"]
    once = (SPACE >> tk.then_report_noisy_top_k(PROFILE, k=1, scale=2.0)).map(1)
    assert [bound_label(bound) for bound in once.bounds] == ["loss", "zCDP", "range"]
    assert bound_label(UpToDelta(curve.bounds[1], 0.1)) == "zCDP"
    assert bound_label(lambda _: 0.5) == "own"
    assert set(WORDS) >= {bound_label(bound) for bound in curve.bounds}
    assert least_delta_with_label(tk.PrivacyCurve(lambda _: 0.5, curve.bounds[0]), 1) == (0.0, "loss")
    assert least_delta_with_label(tk.PrivacyCurve(curve.bounds[3], curve.bounds[0]), 1) == (0.0, "loss")


@pytest.mark.further
def test_a_comparison_prints_as_a_table() -> None:
    found = compared(ZCDP, k=2, d_out=0.05, releases=4)
    lines = repr(found).splitlines()
    assert "k = 2 of 900, 4 times at d_in = 1 within 0.05" in lines[0]
    assert lines[2].split() == ["mechanism", "scale", "rho", "accuracy", "decided", "by"]
    assert [line.split()[0] for line in lines[3 : 3 + len(found)]] == [row.name for row in found]
    assert f"steps: {WORDS['steps']}" in lines
    assert found["report_noisy_top_k"].bound == "steps"


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"k": 901, "d_out": 1}, tk.errors.ParameterError, "the number of candidates"),
        ({"k": 900, "d_out": 1, "release": "set"}, tk.errors.ParameterError, "neighbours have equal releases"),
        ({"k": 1, "d_out": 0}, tk.errors.ParameterError, "> 0"),
        ({"k": 1, "d_out": math.inf}, tk.errors.ParameterError, "finite"),
        ({"k": 1, "d_out": (1, 0.1)}, tk.errors.ParameterError, "d_out"),
        ({"k": 1, "d_out": 1, "releases": 0}, tk.errors.ParameterError, "releases"),
        ({"k": 1, "d_out": 1, "release": "list"}, tk.errors.ParameterError, "release"),
        ({"k": 1, "d_out": 1, "alpha": 1}, tk.errors.ParameterError, "alpha"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], says: str) -> None:
    raises_exactly(error, lambda: compared(PURE, **options), says)


NO_PAIRS = {"one": (1, 1), "alone": (1,), "curve": tk.PrivacyCurve(lambda _: 0.1), "text": "1"}


@pytest.mark.parametrize("d_out", NO_PAIRS.values(), ids=NO_PAIRS)
def test_budgets_that_are_no_pair_are_refused(d_out: Any) -> None:
    raises_exactly(tk.errors.ParameterError, lambda: compared(PROFILE, k=1, d_out=d_out), "d_out")


@pytest.mark.further
def test_the_number_of_candidates_must_be_known() -> None:
    space = FLOATS, tk.RangeDistance()
    raises_exactly(tk.errors.ParameterError, lambda: tk.planning.compare(*space, PURE, k=1, d_out=1), "n_candidates")
    known = tk.planning.compare(*space, PURE, k=1, d_out=1, n_candidates=900)
    assert known["permute_and_flip"].accuracy == pytest.approx(math.log(900 / 0.05))
    raises_exactly(tk.errors.ParameterError, lambda: known["best"], "no such row")


@pytest.mark.slow
def test_plots(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    matplotlib.use("agg")
    found = compared(PROFILE, k=1, d_out=PAIR)
    axes = found.plot_releases([1, 2], delta=1e-3)
    assert axes.get_ylabel() == "epsilon at delta = 0.001"
    drawn = "exponential_mechanism", "noisy_top_k_with_gaps", "permute_and_flip"
    for line, name in zip(axes.get_lines(), drawn, strict=True):
        once, both = line.get_ydata()
        assert once == found[name].curve.epsilon(1e-3)
        assert once < both < 2.01 * once
    labels = " ".join(text.get_text() for text in axes.texts).replace(",", " ").split()
    assert sorted(labels) == sorted(row.name for row in found)
    drawn = found.plot_curves()
    (first, *_) = drawn.get_lines()
    for epsilon, delta in zip(first.get_xdata(), first.get_ydata(), strict=True):
        assert delta == found["exponential_mechanism"].curve.delta(epsilon)
    assert drawn.get_xgridlines()[0].get_visible()
    assert drawn.get_ylim()[1] > 1, "a curve that begins at 1 would lie on the edge"
    both = found.plot()
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        both.savefig(tmp_path / f"both.{kind}")
        assert (tmp_path / f"both.{kind}").read_bytes().startswith(start)


def test_a_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    found = compared(PURE, k=2, d_out=1, release="ranking")
    raises_exactly(tk.errors.MissingExtraError, found.plot, 'pip install "opendp_topk[plot]"')


def test_a_scale_is_cached_only_if_its_curve_takes_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.apps.planning.plan._least_scale_by_curves", lambda *_: 99.0)
    known: dict[Any, float] = {}
    found = least_scale(lambda scale: tk.make_permute_and_flip(*SPACE, PROFILE, scale=scale), 1, PAIR, 1, known)
    assert (found.parameters["scale"], known) == (99.0, {})


@pytest.mark.slow
def test_several_gaussian_releases_are_one_with_less_noise() -> None:
    """Nine of deviation 3 s lose what one of deviation s loses, whose curve is known: the least s meets delta."""
    space = tk.VectorDomain(tk.AtomDomain(int), size=4), tk.L2Distance()
    found = least_scale(
        lambda scale: tk.make_gaussian(*space, PROFILE, scale=scale), 1, (1.0, 1e-6), 9, None
    ).parameters["scale"]

    def delta(shift: float) -> float:
        above, below = (math.erfc((1 / shift + sign * shift / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return above - math.e * below

    assert delta(3 / found) <= 1e-6 * (1 + 1e-9)
    assert delta(3 / found * CLOSE**4) > 1e-6
