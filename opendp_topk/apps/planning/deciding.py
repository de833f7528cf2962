"""Which of several bounds of one loss is the least, by a word for each.

Proof: proofs/planning/comparison.tex
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...errors.checks import Number
from ...numerics.arithmetic import exact
from ...spaces.costs import rho_of_laplace, rho_of_pure, rho_of_range
from ...spaces.curves.closed_forms import ApproximateDP, Concentrated, LaplacePair, RangeSteps
from ...spaces.curves.composed import Composed
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure, bounds_range, is_pure

WORDS = {
    "loss": "the largest loss of an outcome, the mechanism's epsilon",
    "range": "the distance of the largest loss from the smallest",
    "steps": "choices one after the other, each of which is bounded on its own",
    "Laplace": "a law between any two neighbours: no further apart than two Laplace laws",
    "zCDP": "its rho, by Renyi divergences of all orders",
    "convolution": "the losses of all releases and steps, convolved",
    "own": "a theorem about this mechanism alone",
}
"""The words for bounds, the plainest first, and what each stands for."""
_OWN = Fraction(1, 10**9)  # by more than this part of it a rho is below all that other bounds give: far above rounding


# proof-region: deciding
def word(bound: Any) -> str:
    """The word for one bound of a privacy curve."""
    if isinstance(bound, RangeSteps):
        return "range" if bound.k == 1 else "steps"  # [range-or-steps]
    for kind, name in _KINDS:
        if isinstance(bound, kind):
            return name  # [kind]
    return word(bound.bound) if hasattr(bound, "bound") else "own"  # [inner]


_KINDS: tuple[tuple[type, str], ...] = (
    (ApproximateDP, "loss"),
    (Concentrated, "zCDP"),
    (LaplacePair, "Laplace"),
    (Composed, "convolution"),
)


def least_at(curve: PrivacyCurve, epsilon: Number) -> tuple[float, str]:
    """The delta of ``curve`` at ``epsilon``, and the word for the bound that gives it, of equal ones the plainest."""
    deltas = [(PrivacyCurve(bound).delta(epsilon), word(bound)) for bound in curve.bounds]
    return min(deltas, key=lambda pair: (pair[0], list(WORDS).index(pair[1])))  # [least-bound]


def decided(measure: Measure, curve: PrivacyCurve) -> str:
    """The word for what decides the distance of a scalar ``measure``, for a release that has this ``curve``."""
    if is_pure(measure):
        return "loss"
    if bounds_range(measure):
        return "range"
    stated = [bound.rho for bound in curve.bounds if isinstance(bound, Concentrated)]
    rho, name = min(_rhos(curve), key=lambda pair: pair[0], default=(Fraction(0), "own"))  # [least-rho]
    return "own" if not stated or exact(min(stated)) < rho * (1 - _OWN) else name  # [own]


def _rhos(curve: PrivacyCurve) -> list[tuple[Fraction, str]]:
    """Every rho that another bound of the curve gives, with its word."""
    found = []
    for bound in curve.bounds:
        if isinstance(bound, ApproximateDP) and bound.delta == 0 and bound.epsilon < float("inf"):
            found.append((rho_of_pure(exact(bound.epsilon)), "loss"))  # [from-pure]
        if isinstance(bound, RangeSteps) and bound.a < float("inf"):
            found.append((bound.k * rho_of_range(exact(bound.a)), word(bound)))  # [from-range]
        if isinstance(bound, LaplacePair) and bound.loss < float("inf"):
            found.append((rho_of_laplace(exact(bound.loss)), "Laplace"))  # [from-laplace]
        if isinstance(bound, Composed):
            steps = [(count, [rho for rho, _ in _rhos(step)]) for step, count in bound.parts]
            if all(rhos for _, rhos in steps):
                found.append((sum((count * min(rhos) for count, rhos in steps), Fraction(0)), "steps"))  # [from-steps]
    return found


# end-proof-region: deciding
