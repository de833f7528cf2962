"""How often a guess is right: against the worst laws there are, with other arithmetic."""

from __future__ import annotations

import math

import mpmath
import pytest

from opendp_topk.spaces.curves.guesses import attack_accuracy, total_variation


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_of_pure_privacy_the_share_of_right_guesses_is_exact_and_rounded_up(epsilon: float) -> None:
    share = 100 / (1 + mpmath.exp(-epsilon))
    found = attack_accuracy(total_variation(epsilon))
    assert 0 <= found - float(share) <= 0.1
    assert (attack_accuracy(0.0), attack_accuracy(1.0)) == (50.0, 100.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (0.0, 0.3), (3.0, 1e-6)])
def test_of_a_pair_it_is_that_of_the_worst_pair_of_laws(epsilon: float, delta: float) -> None:
    """The worst laws: with probability delta they differ for sure, else they are those of randomised response."""
    kept = 1 - delta
    likely = kept * math.exp(epsilon) / (1 + math.exp(epsilon))
    laws = [delta, likely, kept - likely, 0.0], [0.0, kept - likely, likely, delta]
    apart = sum(abs(p - q) for p, q in zip(*laws, strict=True)) / 2
    assert total_variation(epsilon, delta) == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 20.0])
def test_of_rho_it_is_above_that_of_a_gaussian(rho: float) -> None:
    """Gaussian laws at distance sqrt(2 rho) have this rho, and total variation erf(sqrt(rho) / 2)."""
    apart = float(mpmath.erf(mpmath.sqrt(rho) / 2))
    found = total_variation(rho, concentrated=True)
    assert apart <= found <= min(1.0, 1.45 * apart)
    assert found <= total_variation(rho, 0.01, concentrated=True) <= found + 0.01
