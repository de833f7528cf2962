"""Faults in what bounded ranges, laws with others between them and integer noise cost: prices a little too low."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "range-rho-less",
        "the rho of a range is 2 per cent too small",
        "spaces/concentrated.py",
        "return excess - log1p_down(excess)  # [range-rho]",
        "return (excess - log1p_down(excess)) * 49 / 50  # [range-rho]",
    ),
    Fault(
        "range-rho-small-less",
        "the rho of a small range is 2 per cent too small",
        "spaces/concentrated.py",
        "return _alternating(terms)  # [range-series]",
        "return _alternating(terms) * 49 / 50  # [range-series]",
    ),
    Fault(
        "laplace-rho-less",
        "the rho of laws with others between them is 2 per cent too small",
        "spaces/concentrated.py",
        "return loss - one_minus_exp_down(loss)  # [laplace-rho]",
        "return (loss - one_minus_exp_down(loss)) * 49 / 50  # [laplace-rho]",
    ),
    Fault(
        "laplace-rho-inward",
        "the rho of laws with others between them is rounded down",
        "spaces/concentrated.py",
        "return loss - one_minus_exp_down(loss)  # [laplace-rho]",
        "return loss - one_minus_exp_up(loss)  # [laplace-rho]",
    ),
    Fault(
        "laplace-rho-even",
        "the powers of a small loss end with one that is subtracted",
        "spaces/concentrated.py",
        "_POWERS = 12",
        "_POWERS = 3",
    ),
    Fault(
        "integers-as-reals",
        "integer noise is charged what noise on the reals costs",
        "spaces/concentrated.py",
        " + _flattening(step) * one_minus_exp_up(loss)",
        "",
    ),
    Fault(
        "flat-down",
        "what a step of integer noise adds is 2 per cent too small",
        "spaces/concentrated.py",
        "return 1 - 2 * h * (1 - one_minus_exp_up(h)) / one_minus_exp_up(2 * h)  # [flat]",
        "return (1 - 2 * h * (1 - one_minus_exp_up(h)) / one_minus_exp_up(2 * h)) * 49 / 50  # [flat]",
    ),
    Fault(
        "laplace-curve-less",
        "the curve of Laplace laws is that of a loss 2 per cent smaller",
        "spaces/curves/closed_forms.py",
        "(exact(self.loss) - exact(epsilon)) / 2))  # [laplace-curve]",
        "(exact(self.loss) - exact(epsilon)) * 49 / 100))  # [laplace-curve]",
    ),
    Fault(
        "laplace-implied",
        "Laplace laws of a larger loss count as below those of a smaller one",
        "spaces/curves/closed_forms.py",
        "isinstance(other, LaplacePair) and self.loss <= other.loss",
        "isinstance(other, LaplacePair) and self.loss >= other.loss",
    ),
    Fault(
        "joined-anyway",
        "laws of which only the range is known are charged as if others lay between them",
        "spaces/costs.py",
        "min(rho_of_pure(pure), rho_of_range(width)))  # [bounded]",
        "min(rho_of_laplace(pure), rho_of_range(width)))  # [bounded]",
    ),
    Fault(
        "joined-once",
        "the Laplace curve of several steps is that of one",
        "spaces/costs.py",
        "laplace = LaplacePair(count * loss)",
        "laplace = LaplacePair(loss)",
    ),
    Fault(
        "joined-one-less",
        "one step is left out of the composed curve",
        "spaces/costs.py",
        "Composed(((once, count),))",
        "Composed(((once, count - 1),))",
    ),
    Fault(
        "odds-of-rankings",
        "rankings with logistic noise are charged the range of sets",
        "measurements/_one_shot.py",
        "noise.has_exponential_odds and (steps == 1 or not choice.ordered)  # [odds]",
        "noise.has_exponential_odds  # [odds]",
    ),
    Fault(
        "odds-of-laplace",
        "sets with Laplace noise are charged the range of sets with logistic noise",
        "measurements/_one_shot.py",
        "noise.has_exponential_odds and (steps == 1 or not choice.ordered)  # [odds]",
        "steps == 1 or not choice.ordered  # [odds]",
    ),
    Fault(
        "distance-of-sets",
        "sets by the distance utility are charged what one winner is",
        "measurements/canonical_top_k.py",
        "gamma * r if capped and choice.k == 1 else r  # [moved]",
        "gamma * r if capped else r  # [moved]",
    ),
    Fault(
        "margin-of-one",
        "one winner by the margin utility is charged what it is by the distance utility",
        "measurements/canonical_top_k.py",
        "gamma * r if capped and choice.k == 1 else r  # [moved]",
        "gamma * r if choice.k == 1 else r  # [moved]",
    ),
    Fault(
        "custom-odds",
        "a noise of the caller's may claim exponential odds",
        "noises/noise.py",
        "self.is_two_sided, self.has_exponential_odds\n",
        "self.is_two_sided\n",
    ),
)
