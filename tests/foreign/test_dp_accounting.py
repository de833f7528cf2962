"""Composed curves between the optimistic and the pessimistic estimates of dp-accounting, on mixed compositions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.closed_forms import ApproximateDP
from opendp_topk.spaces.curves.curve import PrivacyCurve
from opendp_topk.spaces.curves.discrete import DiscreteGaussian, DiscreteLaplace
from opendp_topk.spaces.curves.totals import compose

from .needed import Needed

accounting = Needed("dp_accounting")
pld = Needed("dp_accounting.pld.privacy_loss_distribution")
common = Needed("dp_accounting.pld.common")
pytestmark = pytest.mark.foreign

DELTA = 1e-6
STEP = 1e-4  # of their grid
Part = tuple[PrivacyCurve, Callable[[bool], Any]]


def up(value: Any) -> float:
    return min(1.0, float(value) * (1 + 2.0**-50))


def laplace(scale: float) -> Part:
    loss = 1 / scale
    curve = PrivacyCurve(lambda e: 0.0 if e >= loss else up(-math.expm1((float(e) - loss) / 2)))
    return curve, lambda high: pld.from_laplace_mechanism(scale, **grid(high))


def gaussian(scale: float) -> Part:
    def delta(epsilon: Any) -> float:
        with mpmath.workdps(40):
            mu, e = 1 / mpmath.mpf(scale), mpmath.mpf(epsilon.numerator) / epsilon.denominator
            return up(mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu))

    return PrivacyCurve(lambda e: delta(Fraction(e))), lambda high: pld.from_gaussian_mechanism(scale, **grid(high))


def discrete_laplace(scale: float) -> Part:
    curve = PrivacyCurve(DiscreteLaplace(2, Fraction(scale)))
    return curve, lambda high: pld.from_discrete_laplace_mechanism(1 / scale, sensitivity=2, **grid(high))


def discrete_gaussian(scale: float) -> Part:
    curve = PrivacyCurve(DiscreteGaussian(1, Fraction(scale)))
    return curve, lambda high: pld.from_discrete_gaussian_mechanism(scale, sensitivity=1, **grid(high))


def randomised_response(scale: float) -> Part:
    flipped = 2 / (1 + math.exp(1 / scale))
    curve = PrivacyCurve(ApproximateDP(1 / scale))
    options = {"value_discretization_interval": STEP}
    return curve, lambda high: pld.from_randomized_response(flipped, 2, pessimistic_estimate=high, **options)


def grid(high: bool) -> dict[str, Any]:
    return {"value_discretization_interval": STEP, "pessimistic_estimate": high, "use_connect_dots": high}


KINDS = (laplace, gaussian, discrete_laplace, discrete_gaussian, randomised_response)


@pytest.mark.parametrize("seed", range(30))
def test_mixed_compositions(seed: int) -> None:
    chosen = random.Random(seed)
    parts = []
    for kind in chosen.sample(KINDS, chosen.randint(2, 4)):
        parts.append((*kind(chosen.choice((2.0, 3.0, 5.0, 10.0, 25.0))), chosen.choice((1, 2, 5, 20))))
    whole = compose([curve for curve, _, count in parts for _ in range(count)])
    estimates = []
    for high in (False, True):
        joint = None
        for _, theirs, count in parts:
            one = theirs(high).self_compose(count)
            joint = one if joint is None else joint.compose(one)
        estimates.append(joint.get_epsilon_for_delta(DELTA))
    found = whole.epsilon(DELTA)
    assert estimates[0] <= found * (1 + 1e-9)
    assert found <= estimates[1] * 1.002


def test_a_hundred_winners_cost_no_more_than_by_any_of_their_accounts() -> None:
    """One-shot Gumbel noise of scale k: what its epsilon, or its rho, is by any accountant there."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    k = 100
    curve = (space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=k, scale=float(k))).map(1)
    rdp = accounting.rdp.RdpAccountant()
    rdp.compose(accounting.ZCDpEvent(k * (1 / k) ** 2 / 8))
    pure = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(1 / k, 0)).self_compose(k)
    least = min(rdp.get_epsilon(DELTA), pure.get_epsilon_for_delta(DELTA))
    assert curve.epsilon(DELTA) < least
    print(f"epsilon at delta = {DELTA}: {curve.epsilon(DELTA):.4f} here, {least:.4f} there")
