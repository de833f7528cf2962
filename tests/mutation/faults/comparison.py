"""Faults of mechanisms side by side: budgets of several releases, least scales, and what is said to have decided."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "one-release-for-all",
        "several releases are compared at the loss of one",
        "apps/planning/plan.py",
        "return loss if releases == 1 else repeated_loss(measure, loss, releases)",
        "return loss",
    ),
    Fault(
        "a-little-too-much",
        "two percent less noise than the budget asks for",
        "apps/planning/plan.py",
        'bounds=near).parameters["scale"]\n        return make(scale)',
        'bounds=near).parameters["scale"]\n        return make(0.98 * scale)',
    ),
    Fault(
        "bounds-that-pass",
        "a search begins between scales that both pass",
        "apps/planning/plan.py",
        "low, high = scale / (1 + 2 * _AGREES), scale * (1 + 2 * _AGREES)\n        if not make(low).check(d_in, d_out)",
        "low, high = scale * (1 + _AGREES), scale * (1 + 2 * _AGREES)\n        if True",
    ),
    Fault(
        "worst-bound-decides",
        "the bound with the largest delta is said to have decided",
        "apps/planning/plan.py",
        "return min(deltas,",
        "return max(deltas,",
    ),
    Fault(
        "worst-rho-decides",
        "the bound with the largest rho is said to have decided",
        "apps/planning/plan.py",
        "min(_implied_rhos(curve),",
        "max(_implied_rhos(curve),",
    ),
    Fault(
        "plan-of-one-release",
        "a plan for several releases tells what one of them loses",
        "apps/planning/plan.py",
        "self.query.releases)  # [total]",
        "1)  # [total]",
    ),
    Fault(
        "curve-of-another-noise",
        "exponential noise is drawn with the curve of Gumbel noise",
        "apps/planning/catalogue.py",
        "_noise_option(default_noise(measure)) if self.by_measure else",
        "_noise_option(default_noise(PrivacyProfile())) if self.by_measure else",
    ),
)
