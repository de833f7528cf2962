"""Selection under PrivacyProfile: the curve of the mechanism itself, held against enumerated neighbours.

Tries proofs/spaces/curves/range_steps.tex.
"""

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, ZCDPBound
from tests.concepts.links import check_measurement
from tests.concepts.losses import hockey_stick
from tests.oracles import rhos

PROFILE = tk.PrivacyProfile()
RANGE = tk.RangeDistance()
MAKERS: dict[str, Any] = {
    "one-shot": (tk.make_report_noisy_top_k, {"k": 2}),
    "one-shot set": (tk.make_report_noisy_top_k, {"k": 2, "release": "set"}),
    "three": (tk.make_report_noisy_top_k, {"k": 3}),
    "peeled": (tk.make_peeled_top_k, {"k": 2, "mechanism": "exponential"}),
    "peeled permute-and-flip": (tk.make_peeled_top_k, {"k": 2, "mechanism": "permute_and_flip"}),
    "exponential mechanism": (tk.make_exponential_mechanism, {}),
    "permute-and-flip": (tk.make_permute_and_flip, {}),
    "canonical": (tk.make_canonical_top_k, {"k": 2}),
    "Laplace": (tk.make_report_noisy_top_k, {"k": 2, "noise": tk.noise.Laplace()}),
}

# Composing curves takes a second.
QUICK = tuple(name for name in MAKERS if name != "peeled permute-and-flip")


def build(name: str, size: int | None = None, metric: tk.Metric = RANGE, **options: Any) -> tk.Measurement:
    make, own = MAKERS[name]
    measurement: tk.Measurement = make(tk.VectorDomain(tk.AtomDomain(int), size=size), metric, PROFILE, **own | options)
    return measurement


@pytest.mark.further
@pytest.mark.quick(name=QUICK)
@pytest.mark.parametrize("name", MAKERS)
def test_obligations(name: str) -> None:
    near = [([3, 1, 2, 2], [4, 1, 3, 2], 1), ([0, 0, 0, 0], [0, 1, 1, 0], 1)]
    tables = {"members": [[3, 1, 2, 2]], "non_members": [[0.5, 1.0, 2.0, 2.0]], "distances": [1, 2, 9]}
    check_measurement(build(name, scale=2.5), **tables, neighbours=near)


@pytest.mark.further
@pytest.mark.quick(scale=4, name=tuple(name for name in QUICK if name != "Laplace"))
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("scale", [Fraction(4), Fraction(1), Fraction(1, 3)])
def test_no_neighbour_exceeds_the_curve(name: str, scale: Fraction) -> None:
    """Moves that are worst in theory, at scores where losses are large; epsilons up to beyond k r."""
    if name == "Laplace" and scale < 1:
        pytest.skip("the oracle of Laplace rankings needs many terms at this scale")
    measurement = build(name, size=4, scale=scale)
    curve = measurement.map(1)
    for base in ((0, 0, 0, 0), (0, -2, -2, -4), (3, 0, 0, 0)):
        for move in ((0, 1, 1, 0), (1, 0, 0, 0), (1, 1, 1, 0), (0, 1, 0, 1)):
            laws = [measurement.distribution(x) for x in (base, [a + b for a, b in zip(base, move, strict=True)])]
            for step in range(13):
                epsilon = Fraction(step, 4) / scale
                found = hockey_stick(*laws, epsilon)
                assert found <= curve.delta(epsilon) * (1 + mpmath.mpf("1e-20")) + mpmath.mpf("1e-22"), (base, move)


def test_the_curve_of_one_choice_is_nearly_attained() -> None:
    """Two candidates, the better one moved: the two-outcome mechanism of the theorem at the t of the scores."""
    measurement = build("exponential mechanism", size=2, scale=Fraction(1))
    curve = measurement.map(1)
    epsilon = Fraction(1, 4)
    laws = [[measurement.distribution(x) for x in ((0, gap), (1, gap))] for gap in (0, 1)]
    best = max(hockey_stick(*pair, epsilon) for pair in laws)
    assert 0.5 * curve.delta(epsilon) < best <= curve.delta(epsilon)


HALF = rhos.of_range(Fraction(1, 2))


@pytest.mark.parametrize(
    ("name", "size", "bounds"),
    [
        ("one-shot", None, (ApproximateDP(1), ZCDPBound(2 * HALF), AdaptiveRangeBound(2, Fraction(1, 2)))),
        ("one-shot", 2, (ApproximateDP(0.5), ZCDPBound(HALF), AdaptiveRangeBound(1, Fraction(1, 2)))),
        ("peeled", None, (ApproximateDP(1), ZCDPBound(2 * HALF), AdaptiveRangeBound(2, Fraction(1, 2)))),
        ("exponential mechanism", None, (ApproximateDP(0.5), ZCDPBound(HALF), AdaptiveRangeBound(1, 0.5))),
        ("canonical", None, (ApproximateDP(0.5), ZCDPBound(HALF), AdaptiveRangeBound(1, 0.5))),
    ],
)
def test_the_curve_joins_all_claims(name: str, size: int | None, bounds: Any) -> None:
    """The rho as it is before rounding, and at most a part in 2^100 above it."""
    found, (pure, rho, steps) = build(name, size=size, scale=2).map(1).bounds, bounds
    assert (found[0], found[2:]) == (pure, (steps,))
    assert rho.rho <= found[1].rho <= rho.rho * (1 + Fraction(1, 2**100))


@pytest.mark.further
@pytest.mark.quick(name=QUICK)
@pytest.mark.parametrize("name", MAKERS)
def test_the_curve_is_never_above_the_other_claims(name: str) -> None:
    make, own = MAKERS[name]
    space = tk.VectorDomain(tk.AtomDomain(int)), RANGE
    if name.startswith(("one-shot", "three")):
        make, own = tk.make_report_noisy_top_k, own | {"noise": tk.noise.Gumbel()}
    pure = make(*space, tk.MaxDivergence(), scale=3, **own)
    zcdp = tk.make_zCDP_to_approxDP(make(*space, tk.ZeroConcentratedDivergence(), scale=3, **own))
    wide = tk.make_range_to_approxDP(make(*space, tk.RangeDivergence(), scale=3, **own))
    curve = build(name, scale=3).map(1)
    assert curve.delta(pure.map(1)) == 0
    for delta in (0, 1e-12, 1e-6, 0.01):
        assert curve.epsilon(delta) <= min(pure.map(1), zcdp.map(1).epsilon(delta))
        if MAKERS[name][1].get("k", 1) == 1 or name == "canonical":
            assert curve.epsilon(delta) <= wide.map(1).epsilon(delta)


def test_the_map_at_the_ends() -> None:
    noisy, exact = build("one-shot", scale=1.5), build("one-shot", scale=0)
    for measurement in (noisy, exact):
        assert measurement.map(0).delta(0) == 0
    for curve in (exact.map(1), noisy.map(math.inf)):
        assert curve == PROFILE.infinite
        assert curve.delta(1e308) == 1
    assert build("one-shot set", size=2, scale=0).map(5).delta(0) == 0
    assert build("one-shot", size=1, k=1, scale=1).map(5).delta(0) == 0
    assert build("one-shot", scale=5e-324).map(10**300).delta(1e308) == 1


def test_gumbel_noise_is_drawn() -> None:
    measurement = build("one-shot", scale=1)
    assert measurement.parameters["noise"] == "Gumbel"
    chain = measurement >> tk.index_candidates(["a", "b", "c"])
    assert chain.map(1) == measurement.map(1)
    assert len(chain([1, 2, 3])) == 2
