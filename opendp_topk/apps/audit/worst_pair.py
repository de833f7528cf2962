"""The largest loss over pairs of neighbours, and the local search for a pair with a larger one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import gmpy2

from ...core.measurement import Measurement
from ...errors import CapacityError, DataError, ParameterError, PrivacyViolationError, checks
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.domains import VectorDomain
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
)
from . import losses
from .neighbours import vary_pair
from .report import FAILS, Report, Witness, claim_verdict

Comparison = Callable[[losses.DistributionPair, Any], losses.LossEnclosure]
_POINTS = 12  # steps between the epsilons at which a curve is compared with distributions; each takes milliseconds
_WORTHWHILE = gmpy2.mpq(10**6 + 1, 10**6)  # a smaller gain is not visible in a ratio of four digits


def loss_comparison(measure: Measure, claimed: Any) -> Comparison:
    """Return the function that computes the loss between two distributions under ``measure``.

    Its second argument is a loss up to which the exact value is of no interest.
    """
    if isinstance(measure, MaxDivergence):
        return lambda both, _: losses.largest_absolute_loss(both)
    if isinstance(measure, RangeDivergence):
        return lambda both, _: losses.bounded_range_loss(both)
    if isinstance(measure, ZeroConcentratedDivergence):
        return losses.zcdp_loss
    if measure == Approximate(MaxDivergence()):
        return lambda both, _: losses.hockey_stick_divergence(both, claimed[0])
    if measure == PrivacyProfile():
        points = _curve_points(claimed)
        return lambda both, _: losses.curve_loss(both, points)
    raise ParameterError(
        f"output_measure {measure!r} cannot be verified: no exact comparison of output distributions is known for it"
    )


def _curve_points(curve: PrivacyCurve) -> list[tuple[float, float]]:
    """Return the points at which a curve is checked: epsilons from 0 to that of delta = 10^-9, and that of delta = 0.

    If the former is infinite, the epsilon of delta = 10^-3, or else 1, replaces it; if the latter is, it is omitted.
    """
    last = next((e for e in map(curve.epsilon, (1e-9, 1e-3)) if e < float("inf")), 1.0)
    epsilons = [last * i / _POINTS for i in range(_POINTS + 1)]
    end = curve.epsilon(0)
    return [(e, curve.delta(e)) for e in (*epsilons, *([end] if end < float("inf") else []))]


class LargestLoss:
    """The largest loss found so far, and its pair."""

    def __init__(
        self,
        measurement: Measurement,
        compare: Comparison,
        law: Callable[[Any], losses.Law],
        relative_error: Fraction | None,
        laws: dict[Any, losses.Law],
    ) -> None:
        self.measurement, self.compare, self.relative_error = measurement, compare, relative_error
        self.law, self.laws = law, laws
        self.worst = self.bound = gmpy2.mpfr(0)
        self.witness: Witness | None = None
        self.pairs = self.skipped = 0

    def add_pair(self, x: Any, x_prime: Any) -> bool:
        """Compare the distributions of a pair; return whether its loss is larger than all before."""
        try:
            both = losses.pair_distributions(
                self._cached_distribution(x), self._cached_distribution(x_prime), self.relative_error
            )
        except (CapacityError, DataError):
            self.skipped += 1
            return False
        self.pairs += 1
        found = self.compare(both, self.worst)
        self.bound = max(self.bound, found.upper)
        if self.witness is not None and found.lower <= self.worst:
            return False
        self.worst, self.witness = max(self.worst, found.lower), Witness(x, x_prime, found.where)
        return True

    def vary_worst_pair(self, d_in: Fraction, unit: Fraction, budget: int) -> None:
        """Vary the worst pair one score at a time, as long as that increases the loss."""
        domain, metric = self.measurement.input_domain, self.measurement.input_metric
        assert isinstance(domain, VectorDomain)
        met, better = set(), True
        while better and self.witness is not None:
            better = False
            for pair in vary_pair(domain, metric, d_in, unit, self.witness.x, self.witness.x_prime):
                if pair not in met and self.pairs + self.skipped < budget:
                    met.add(pair)
                    before = self.worst
                    better = self.add_pair(*pair) and self.worst > before * _WORTHWHILE
                if better:
                    break

    def build_report(self, d_in: Any, claimed: Any) -> Report:
        """Return the report, or raise it in an error if it refutes the claim."""
        with gmpy2.context(precision=53, round=gmpy2.RoundDown):
            loss = float(gmpy2.mpfr(self.worst))
        with gmpy2.context(precision=53, round=gmpy2.RoundUp):
            bound = float(gmpy2.mpfr(self.bound))
        found = Report(
            dict(self.measurement.parameters),
            self.measurement.input_metric,
            self.measurement.output_measure,
            d_in,
            claimed,
            loss,
            bound,
            self.witness,
            self.pairs,
            self.skipped,
            claim_verdict(self.worst, claimed),
        )
        if found.verdict == FAILS:
            raise PrivacyViolationError(f"a pair of neighbours refutes the privacy map\n{found!r}", found)
        return found

    def _cached_distribution(self, x: Any) -> losses.Law:
        key = x if isinstance(x, tuple) else id(x)
        if key not in self.laws:
            self.laws[key] = checks.require_instance("law(x)", self.law(x), Mapping, "a mapping of outcomes")
        return self.laws[key]
