"""Audit a claim by samples in one call: the claim, the verdict, and the reasons for it.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.measurement import Measurement
from ...errors import ParameterError, checks
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.measures import Approximate, MaxDivergence, Measure, ZeroConcentratedDivergence
from ...spaces.metrics import LInfDistance, Metric
from .blackbox_search import Found, search
from .report import EXIT_CODES, NOT_REFUTED, REFUTED

_TIMED = (
    "time: that of a call, in nanoseconds, is the last value of its release; the probabilities are valid if "
    "no call changes the state of the machine"
)


@dataclass(frozen=True)
class Audited:
    """The result of an audit: the verdict, and the pair of neighbours and the estimate that it is based on."""

    claimed: Any
    verdict: str
    found: Found

    @property
    def exit_code(self) -> int:
        """Exit code: 0, or 1 if the claim is refuted, or 3 if it is not tested."""
        return EXIT_CODES[self.verdict]

    @property
    def pair(self) -> Any:
        """The pair for :func:`audit_pair`, in JSON values: the number of a given pair, or both inputs."""
        found = self.found
        return [list(found.x), list(found.x_neighbor)] if found.number is None else found.number

    @property
    def lines(self) -> list[str]:
        """Return the verdict and the reasons, one per line, for people."""
        estimate = self.found.estimate
        loss, claim = _loss_name(estimate.measure), _claimed_number(self.claimed)
        shown, reach, risk = f"{estimate.lower:.4g}", f"{estimate.reach:.4g}", f"{1 - estimate.confidence:.2g}"
        if self.verdict == REFUTED:
            why = f"{loss} is at least {shown}, but the claim is {claim}; this is wrong with probability at most {risk}"
        elif self.verdict == NOT_REFUTED:
            why = f"{loss} was shown to be at least {shown}, and the claim is {claim}: this does not prove the claim"
        else:
            why = f"the claim is {claim}, and {estimate.samples} samples can never show that {loss} is {reach} or more"
        return [
            f"{self.verdict}: {why}",
            f"tried: {self.found.pairs} pairs of neighbours, the last with {estimate.samples} samples on each side",
            f"reach: this number of samples can refute claims below {reach}",
            *([_TIMED] if estimate.timed else []),
            f"input: {_describe_input(self.found, self.found.x)}",
            f"neighbour: {_describe_input(self.found, self.found.x_neighbor)}",
            *(
                f"event: {seen.event}: {seen.first} of {seen.of} times on the input, {seen.second} on the neighbour"
                for seen in estimate.seen
            ),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for programs, in JSON values only."""
        estimate = self.found.estimate
        return {
            "verdict": self.verdict,
            "loss": _loss_name(estimate.measure),
            "claimed": _claimed_number(self.claimed),
            "at_least": estimate.lower,
            "delta": estimate.delta,
            "error_probability": 1 - estimate.confidence,
            "refutable_below": estimate.reach,
            "samples": estimate.samples,
            "timed": estimate.timed,
            "pairs": self.found.pairs,
            "pair": self.found.number,
            "input": _describe_input(self.found, self.found.x),
            "neighbour": _describe_input(self.found, self.found.x_neighbor),
            "events": [
                {"event": one.event, "input": one.first, "neighbour": one.second, "of": one.of} for one in estimate.seen
            ],
        }


def audit_claim(
    function: Callable[..., Any],
    *,
    epsilon: Any = None,
    delta: Any = 0.0,
    rho: Any = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    size: int | None = None,
    input_metric: Metric | None = None,
    d_in: Any = 1,
    scale: Any = None,
    extremes: bool = True,
    samples: int = 20_000,
    confidence: float = 0.999,
    batched: bool = False,
    timed: bool = False,
) -> Audited:
    """Try to refute a claim about ``function`` from its releases only.

    Args:
        function: Called with a vector of scores, an array which it must not change, or with an input of ``pairs``; each
            call must be independent of all others. If it is a measurement, its map is the default claim.
        epsilon: The claim under pure privacy, or with ``delta`` under approximate privacy; > 0.
        delta: The delta of the claim, in [0, 1). Default: 0.
        rho: The claim under zero-concentrated privacy, instead of ``epsilon``.
        pairs: Neighbouring inputs, such as :func:`record_pairs` and :func:`table_pairs` return. Default: vectors of
            scores are constructed, as in :func:`search`.
        size: The number of scores, if ``function`` takes no other. Default: 2 to 6 are tried.
        input_metric: The distance between neighbours. Default: that of a measurement, or ``LInfDistance()``.
        d_in: The largest distance between neighbours. Default: 1.
        scale, extremes, batched, timed: As for :func:`search`.
        samples: The number of releases drawn on each input of the pair that is tested in the end; about four times as
            many serve the search. Default: 20,000.
        confidence: A true claim is refuted with probability at most 1 - ``confidence``. Default: 0.999.

    Returns:
        An :class:`Audited` with one of three verdicts: ``"refuted"``; ``"not refuted"``, which proves nothing; and
        ``"not tested"``, if this number of samples could not have refuted a claim as large as this one.

    Raises:
        ParameterError: No claim is given, or two claims are given, or an argument is out of range.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance()
        >>> winner = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=0.5)
        >>> [tk.audit.audit_claim(winner, epsilon=claim, samples=4000).verdict for claim in (2, 4, 40)]
        ['refuted', 'not refuted', 'not tested']

    References:
        Ding et al., "Detecting Violations of Differential Privacy" (2018), who search for neighbours and events.
    """
    measure, claimed = _parse_claim(function, epsilon, delta, rho, d_in)
    vectors = pairs is None and not isinstance(function, Measurement)
    found = search(
        function,
        input_domain=VectorDomain(AtomDomain(float), size=size) if vectors else None,
        input_metric=LInfDistance() if vectors and input_metric is None else input_metric,
        measure=measure,
        d_in=d_in,
        scale=scale,
        samples=samples,
        confidence=confidence,
        delta=claimed[1] if isinstance(claimed, tuple) else 0.0,
        pairs=pairs,
        extremes=extremes,
        batched=batched,
        timed=timed,
    )
    return Audited(claimed, found.estimate.verdict(claimed), found)


def audit_pair(function: Callable[..., Any], pair: Any, *, pairs: Any = None, **settings: Any) -> Audited:
    """Audit one pair again with fresh samples: the pair ``Audited.pair``, or the one of this number among ``pairs``."""
    if isinstance(pair, int):
        given = [] if pairs is None else list(pairs)
        if not 0 <= pair < len(given):
            raise ParameterError("pair must be the number of a given pair: pairs are numbered from 0")
        chosen, number = given[pair], pair
    else:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, list) and side for side in pair)):
            raise ParameterError("pair must be two lists of scores, or the number of a given pair")
        chosen, number = (np.array(pair[0]), np.array(pair[1])), None
    again = audit_claim(function, pairs=[chosen], **settings)
    x, x_neighbor = chosen if number is not None else map(tuple, pair)
    return replace(again, found=replace(again.found, x=x, x_neighbor=x_neighbor, number=number))


def _parse_claim(function: Any, epsilon: Any, delta: Any, rho: Any, d_in: Any) -> tuple[Measure, Any]:
    if epsilon is not None and rho is not None:
        raise ParameterError("epsilon and rho are different claims: give only one of them")
    if rho is not None:
        if checks.require_unit_interval(delta, "delta"):
            raise ParameterError("delta requires epsilon: it cannot be combined with rho")
        return ZeroConcentratedDivergence(), _require_positive("rho", rho)
    if epsilon is not None:
        pure, share = _require_positive("epsilon", epsilon), checks.require_unit_interval(delta, "delta")
        return (Approximate(MaxDivergence()), (pure, float(share))) if share else (MaxDivergence(), pure)
    if not isinstance(function, Measurement):
        raise ParameterError("epsilon or rho must be given, because function is not a measurement with a privacy map")
    return function.output_measure, function.map(d_in)


def _require_positive(name: str, value: Any) -> Any:
    number = checks.require_distance(value, name)
    if not 0 < number < math.inf:
        raise ParameterError(f"{name} must be > 0 and finite")
    return number


def _loss_name(measure: Measure) -> str:
    names = {"ZeroConcentratedDivergence": "rho", "RangeDivergence": "the bounded range"}
    return names.get(type(measure).__name__, "epsilon")


def _claimed_number(claimed: Any) -> float:
    return float(claimed[0] if isinstance(claimed, tuple) else claimed)


def _describe_input(found: Found, value: Any) -> str:
    """Return a constructed input in full; for a caller's own input, which may contain data, only its number."""
    return str(value) if found.number is None else f"pair {found.number} of the given pairs"
