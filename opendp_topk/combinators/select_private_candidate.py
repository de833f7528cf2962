"""A private candidate that is good enough: the first of several runs whose score reaches a threshold."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.queryable import call_sealed
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.samplers.run_counts import run_count
from .private_selection import make_private_selection
from .repetitions import Law, TruncatedNegativeBinomial, build_private_selection, release_score, require_runs


@proved_by("combinators/select_private_candidate")
def make_select_private_candidate(
    measurement: Measurement, *, stop_probability: Number, threshold: Number | None = None
) -> Measurement:
    """Run a measurement until its score reaches a threshold, and give up at random before.

    After each run that falls short one gives up with probability ``stop_probability``. Without ``threshold`` one stops
    with that probability after each run, and the best of all runs is released: ``make_private_selection`` with the
    geometric law, at a price of about three runs in place of two.

    Args:
        measurement: What is run, as in ``make_private_selection``: it releases pairs (score, candidate).
        stop_probability: A number in (0, 1). The smaller, the more runs, 1 / stop_probability at most on average.
        threshold: A finite number, which is public; None for the best of all.

    Returns:
        A :class:`Measurement` whose release is that of the first run with a score >= ``threshold``, or None where one
        gave up. It declares its exact distribution where ``measurement`` does. Queryables in releases are closed.

    Privacy:
        With epsilon the loss of one run, gamma = ``stop_probability`` and a threshold:

        - MaxDivergence: epsilon + ln((exp(epsilon) + gamma) / (1 + gamma exp(epsilon))), which is below 2 epsilon and
          below epsilon + ln(1 / gamma). An exact supremum over all measurements that lose epsilon.

        Under PrivacyProfile, with delta(e) the curve of one run, the selection has delta at most delta(e) / gamma at
        e + s, where s is the least number with (1 - gamma) delta(s) <= gamma (exp(s) - 1). Under Approximate the same
        with the curve of the pair.

        Never show how often it ran, nor how long it took.

    Accuracy:
        Where a run reaches the threshold with probability p, the selection does with probability
        p / (p + (1 - p) stop_probability).

    Raises:
        ParameterError: ``stop_probability`` is not in (0, 1), or ``threshold`` is no finite number.
        ParameterTypeError: ``measurement`` is none, is interactive or has another measure. On a call, a run released
            no pair.

    Runtime:
        That of the runs.

    Proof: proofs/combinators/select_private_candidate.tex

    References:
        Liu and Talwar, "Private Selection from Private Candidates" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        >>> noisy = space >> tk.then_laplace(tk.MaxDivergence(), scale=20.0)
        >>> run = noisy >> (lambda scores: (max(scores.tolist()), "some model"))
        >>> enough = tk.make_select_private_candidate(run, stop_probability=0.01, threshold=500)
        >>> run.map(1), enough.map(1) < 2 * run.map(1)
        (0.05, True)
        >>> enough([1000, 1200])[1]
        'some model'
    """
    # proof-region: select_private_candidate
    geometric = TruncatedNegativeBinomial(1, stop_probability)  # [check-stop]
    if threshold is None:
        return make_private_selection(measurement, repetitions=geometric)  # [no-threshold]
    require_runs(measurement)  # [check-runs]
    level = checks.require_finite(threshold, "threshold")  # [check-threshold]

    def function(value: Any) -> Any:
        for _ in itertools.repeat(None, run_count(geometric.least, geometric.first, geometric.ratio)):  # [runs]
            release = call_sealed(measurement.function, value)  # [run]
            if release_score(release) >= level:
                return release  # [reached]
        return None  # [gave-up]

    gamma = to_fraction(geometric.stop_probability)

    def selection_distribution(masses: Law, scores: Mapping[Hashable, Number]) -> Law:
        reaching = {outcome: mass for outcome, mass in masses.items() if scores[outcome] >= level}
        above = sum(reaching.values())
        left = (gamma.numerator + (gamma.denominator - gamma.numerator) * above) / gamma.denominator  # [left]
        nothing = gamma.numerator * (1 - above) / gamma.denominator / left
        return {(outcome,): mass / left for outcome, mass in reaching.items()} | {(): nothing}  # [first-law]

    parameters = {"mechanism": "select_private_candidate", "stop_probability": stop_probability, "threshold": level}
    price = TruncatedNegativeBinomial(0, stop_probability)
    return build_private_selection(
        measurement, function, price, 1 / gamma, selection_distribution, parameters
    )  # [price]
    # end-proof-region: select_private_candidate
