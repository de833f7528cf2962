"""The exact verifier: a privacy map against exact output distributions on constructed neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gmpy2

from ...core.measurement import Measurement
from ...errors import CapacityError, DataError, NotDeclaredError, ParameterError, PrivacyViolationError, checks
from ...numerics.arithmetic import to_fraction
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
from .neighbours import LIKELIEST, given_pairs, is_within_distance, neighbouring_pairs, vary_pair
from .report import FAILS, Report, Witness, claim_verdict

_SIZES = (2, 3, 4, 5)  # worst pairs of all mechanisms here need few scores, and distributions grow like d!


def verify(
    measurement: Measurement,
    *,
    d_in: Any = 1,
    law: Callable[[Any], Mapping[Hashable, Any]] | None = None,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    budget: int = 300,
    relative_error: Fraction | None = None,
) -> Report:
    """Check a privacy map against the exact output distributions on neighbouring inputs.

    Neighbours are constructed: scores in blocks that are 0 to 40 scales apart, moved to corners of the metric's ball;
    then, for a third of the budget, variations of the worst pair. The loss between the two output distributions is
    enclosed with a proven error, under zCDP for all orders alpha > 1; a curve is checked at 13 or 14 epsilons. A map is
    refuted only if the loss exceeds it with certainty, so tight maps pass.

    Args:
        measurement: Any measurement with an exact distribution, including your own. The unit of the gaps is its
            parameter ``scale``, or ``d_in`` if it has none. If the domain has no size, vectors of k + 1 to 5 scores
            are tried, k being its parameter ``k``.
        d_in: The distance of neighbours, > 0, in units of the scores. Default: 1.
        law: x -> the exact distribution of the release or of any function of it. Default:
            ``measurement.distribution``. If a release has infinitely many outcomes, merge them, as
            ``opendp_topk.apps.audit.merged_laws`` does.
        pairs: Pairs (x, x') to try instead, which must be public. They are checked to be at distance at most
            ``d_in`` if the metric is one of scores; for other inputs, such as tables, you are responsible for it.
        budget: The largest number of pairs to try; the two likeliest, or the two first of ``pairs``, are always tried.
            Default: 300.
        relative_error: The largest relative error of a declared probability; a zero is exact.
            Default: 10^-10 for distributions that contain a float, 10^-25 for all others.

    Returns:
        A :class:`Report`: the claim, the largest loss, their ratio, the pair with this loss, and the verdict: "holds",
        or "not tested" if a loss is claimed and none was found.

    Raises:
        PrivacyViolationError: A pair refutes the map. The error's ``report`` is the report.
        NotDeclaredError: The measurement declares no exact distribution, and none is given.
        ForeignError: A declared distribution is not a probability distribution.
        ParameterError: The measure or the metric is not supported, a pair is not a pair of neighbours, or no
            distribution could be computed.

    Runtime:
        That of the distributions, and some milliseconds a pair.

    Proof: proofs/audit/losses.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.LInfDistance(monotonic=True)
        >>> report = tk.audit.verify(space >> tk.then_permute_and_flip(tk.RangeDivergence(), scale=1.0))
        >>> report.holds, round(report.tightness, 4)
        (True, 1.0)
    """
    return verify_with({}, measurement, d_in, law, pairs, budget, relative_error)


def verify_with(
    laws: dict[Any, Any],
    measurement: Measurement,
    d_in: Any,
    law: Callable[[Any], Mapping[Hashable, Any]] | None,
    pairs: Iterable[tuple[Any, Any]] | None,
    budget: int,
    relative_error: Fraction | None,
) -> Report:
    """Apply :func:`verify` with known distributions (input -> law); the ones that it computes are added to them."""
    checks.require_instance("measurement", measurement, Measurement, "a measurement")
    if law is None and measurement.declared.law is None:
        raise NotDeclaredError(
            "law must be given, because this measurement declares no exact distribution: use for example one "
            "of opendp_topk.apps.audit.merged_laws"
        )
    if law is not None:
        checks.require_callable("law", law)
    if relative_error is not None:
        relative_error = to_fraction(checks.require_scale(relative_error, "relative_error"))
    budget = checks.require_positive_int("budget", budget)
    if (finite := checks.require_distance(d_in, "d_in")) == math.inf:
        raise ParameterError("d_in must be finite")
    distance = to_fraction(finite)
    claimed = measurement.map(d_in)
    compare = loss_comparison(measurement.output_measure, claimed)
    candidates = (
        _candidate_pairs(measurement, distance) if pairs is None else _require_neighbours(pairs, measurement, distance)
    )
    listed = max(LIKELIEST, budget - budget // 3 if pairs is None else budget)
    met = LargestLoss(measurement, compare, law or measurement.distribution, relative_error, laws)
    for x, x_prime in itertools.islice(candidates, listed):
        met.add_pair(x, x_prime)
    if pairs is None:
        met.vary_worst_pair(distance, _gap_unit(measurement, distance), budget)
    if not met.pairs:
        raise ParameterError(
            "pairs must be given, or a smaller domain: no generated pair has output distributions that can be computed"
        )
    return met.build_report(d_in, claimed)


def _candidate_pairs(measurement: Measurement, d_in: Fraction) -> Iterable[tuple[Any, Any]]:
    domain, metric = measurement.input_domain, measurement.input_metric
    if not isinstance(domain, VectorDomain):
        raise ParameterError("pairs must be given: neighbours can be generated for vectors of scores only")
    is_within_distance(metric, (0,), (0,), d_in)
    if d_in == 0:
        raise ParameterError("d_in must be > 0: inputs at distance 0 are equal")
    k = measurement.parameters.get("k", 1)
    least = k if checks.is_integer(k) else 1
    sizes = tuple(d for d in _SIZES if d > least) or (least + 1,)
    return neighbouring_pairs(
        domain, metric, d_in, _gap_unit(measurement, d_in), sizes if domain.size is None else (domain.size,)
    )


def _gap_unit(measurement: Measurement, d_in: Fraction) -> Fraction:
    scale: Any = measurement.parameters.get("scale")
    return to_fraction(scale) if checks.is_real(scale) and scale > 0 else d_in


def _require_neighbours(
    pairs: Iterable[tuple[Any, Any]], measurement: Measurement, d_in: Fraction
) -> Iterable[tuple[Any, Any]]:
    for x, x_prime in given_pairs(pairs):
        if isinstance(measurement.input_domain, VectorDomain):
            first, second = (tuple(measurement.input_domain.validate(v).tolist()) for v in (x, x_prime))
            if len(first) != len(second) or not is_within_distance(measurement.input_metric, first, second, d_in):
                raise ParameterError("pairs must contain neighbours, but one pair is farther apart than d_in")
            yield first, second
        else:
            yield x, x_prime


# The largest loss over pairs of neighbours, and the local search for a pair with a larger one.

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


@dataclass
class LargestLoss:
    """The largest loss found so far, ``worst``, with its pair, and an upper ``bound`` on the losses of all pairs."""

    measurement: Measurement
    compare: Comparison
    law: Callable[[Any], losses.Law]
    relative_error: Fraction | None
    laws: dict[Any, losses.Law]
    worst: Any = 0
    bound: Any = 0
    witness: Witness | None = None
    pairs: int = 0
    skipped: int = 0

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
        measurement, verdict = self.measurement, claim_verdict(self.worst, claimed)
        about = dict(measurement.parameters), measurement.input_metric, measurement.output_measure, d_in, claimed
        found = Report(*about, loss, bound, self.witness, self.pairs, self.skipped, verdict)
        if found.verdict == FAILS:
            raise PrivacyViolationError(f"a pair of neighbours refutes the privacy map\n{found!r}", found)
        return found

    def _cached_distribution(self, x: Any) -> losses.Law:
        key = x if isinstance(x, tuple) else id(x)
        if key not in self.laws:
            self.laws[key] = checks.require_instance("law(x)", self.law(x), Mapping, "a mapping of outcomes")
        return self.laws[key]
