"""Private selection: the best of a random number of runs, or the first run that is good enough."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.queryable import call_sealed
from ..errors import checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import to_fraction
from ..sampling.samplers.run_counts import run_count
from .repetitions import (
    Law,
    Poisson,
    Repetitions,
    TruncatedNegativeBinomial,
    build_private_selection,
    release_score,
    require_runs,
)


@proved_by("combinators/private_selection")
@mark_experimental("its arguments may change")
def make_private_selection(measurement: Measurement, *, repetitions: Repetitions) -> Measurement:
    """Run a measurement a random number of times, and release the run with the best score.

    ``x -> the best of M(x), ..., M(x)``, N times, with N drawn first and never released. The best of a fixed number of
    runs can lose as much as all runs together. With a random, hidden number of runs it loses, under pure differential
    privacy, less than two runs (shape 0) or three runs (shape 1). For example, train a private model with
    hyper-parameters that are drawn at random in each run, and release only the best model.

    Experimental: its arguments may change.

    Args:
        measurement: The measurement to run, under ``MaxDivergence()``, ``Approximate(MaxDivergence())`` or
            ``PrivacyProfile()``, not interactive. It releases pairs (score, candidate). The score is a real number,
            which its map must cover as well; higher scores are better, and NaN counts as the lowest. The candidate may
            be anything.
        repetitions: The distribution of the number of runs:
            ``TruncatedNegativeBinomial(shape=..., stop_probability=...)`` or ``Poisson(mean=...)``.

    Returns:
        A :class:`Measurement` that releases the result of the best run, the first one if several are equal, or None if
        there was no run, which only ``Poisson`` allows. It declares its exact output distribution if ``measurement``
        does. Queryables in releases are closed.

    Privacy:
        With epsilon the loss of one run, gamma = ``stop_probability`` and eta = ``shape``:

        - MaxDivergence, TruncatedNegativeBinomial: epsilon + (1 + eta) s, where
          s = ln((exp(epsilon) + gamma) / (1 + gamma exp(epsilon))), which is below epsilon and ln(1 / gamma);
        - MaxDivergence, Poisson: epsilon + mean tanh(epsilon / 2).

        Both are tight: they are exact suprema over all measurements that lose epsilon. Under PrivacyProfile, with
        delta(e) the curve of one run, the selection has delta at most E[N] delta(e) at e + (1 + eta) s, where s is the
        least number with (1 - gamma) delta(s) <= gamma (exp(s) - 1), and at e + mean delta(0) for Poisson. Under
        Approximate the same applies to the curve of the pair.

        Do not reveal the number of runs or the running time. The time of a release reveals the number of runs, and the
        map does not cover this. The map is not valid if the number of runs is truncated at a limit or released.

    Accuracy:
        The best run is among the best share b of all runs with probability 1 - E[(1 - b)^N]. For the geometric
        distribution (shape 1) with mean m this is b m / (1 + b (m - 1)).

    Raises:
        ParameterTypeError: ``measurement`` is not a measurement, is interactive or has another measure, or
            ``repetitions`` is not one of the two distributions. On a call, a run did not release a pair.

    Runtime:
        That of the runs, E[N] on average, and a hundredth of a millisecond per run.

    Proof: proofs/combinators/private_selection.tex

    References:
        Liu and Talwar, "Private Selection from Private Candidates" (2019). Papernot and Steinke, "Hyperparameter Tuning
        with Renyi Differential Privacy" (2022).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        >>> noisy = space >> tk.then_laplace(tk.MaxDivergence(), scale=20.0)
        >>> run = noisy >> (lambda scores: (max(scores.tolist()), "some model"))
        >>> often = tk.TruncatedNegativeBinomial(shape=0, stop_probability=0.01)
        >>> best = tk.make_private_selection(run, repetitions=often)
        >>> run.map(1), best.map(1) <= 2 * run.map(1)
        (0.05, True)
        >>> best([1000, 1200])[1]
        'some model'
    """
    # proof-region: private_selection
    require_runs(measurement)  # [check-runs]
    hint = "TruncatedNegativeBinomial(shape=..., stop_probability=...) or Poisson(mean=...)"
    checks.require_instance("repetitions", repetitions, TruncatedNegativeBinomial | Poisson, hint)  # type: ignore[arg-type]

    def function(value: Any) -> Any:
        best: Any = None
        top: Number = -math.inf
        for _ in itertools.repeat(None, run_count(repetitions.least, repetitions.first, repetitions.ratio)):  # [runs]
            release = call_sealed(measurement.function, value)  # [run]
            score = release_score(release)
            if best is None or score > top:
                best, top = release, score  # [better]
        return best  # [best]

    def selection_distribution(masses: Law, scores: Mapping[Hashable, Number]) -> Law:
        levels: dict[Number, Any] = {}
        for outcome, mass in masses.items():
            levels[scores[outcome]] = levels.get(scores[outcome], 0) + mass
        below: Any = 0
        weights: dict[Number, Any] = {}
        for score in sorted(levels):
            reached = below + levels[score]
            gain = repetitions.generating(reached) - repetitions.generating(below)
            weights[score] = gain / levels[score] if levels[score] else 0  # [weight]
            below = reached
        found: dict[Hashable, Any] = {(outcome,): mass * weights[scores[outcome]] for outcome, mass in masses.items()}
        return found if repetitions.least else found | {(): repetitions.generating(0)}  # [best-law]

    parameters = {"mechanism": "private_selection", "repetitions": repetitions}
    return build_private_selection(
        measurement, function, repetitions, repetitions.most, selection_distribution, parameters
    )  # [price]
    # end-proof-region: private_selection


@proved_by("combinators/private_selection")
@mark_experimental("its arguments may change")
def make_select_private_candidate(
    measurement: Measurement, *, stop_probability: Number, threshold: Number | None = None
) -> Measurement:
    """Run a measurement until its score reaches a threshold, or until a random stop.

    After each run below the threshold, the procedure gives up with probability ``stop_probability``. Without
    ``threshold`` it stops with that probability after each run and releases the best of all runs. This is
    ``make_private_selection`` with the geometric distribution, which loses up to three runs instead of two.

    Experimental: its arguments may change.

    Args:
        measurement: The measurement to run, as in ``make_private_selection``: it releases pairs (score, candidate).
        stop_probability: A number in (0, 1). A smaller one gives more runs, at most 1 / stop_probability on average.
        threshold: A finite number, which is public. The default None selects the best of all runs.

    Returns:
        A :class:`Measurement` that releases the result of the first run with a score >= ``threshold``, or None if it
        gave up. It declares its exact output distribution if ``measurement`` does. Queryables in releases are closed.

    Privacy:
        With epsilon the loss of one run, gamma = ``stop_probability`` and a threshold:

        - MaxDivergence: epsilon + ln((exp(epsilon) + gamma) / (1 + gamma exp(epsilon))), which is below 2 epsilon and
          below epsilon + ln(1 / gamma). An exact supremum over all measurements that lose epsilon.

        Under PrivacyProfile, with delta(e) the curve of one run, the selection has delta at most delta(e) / gamma at
        e + s, where s is the least number with (1 - gamma) delta(s) <= gamma (exp(s) - 1). Under Approximate the same
        applies to the curve of the pair.

        Do not reveal the number of runs or the running time.

    Accuracy:
        If a run reaches the threshold with probability p, the selection does so with probability
        p / (p + (1 - p) stop_probability).

    Raises:
        ParameterError: ``stop_probability`` is not in (0, 1), or ``threshold`` is not finite.
        ParameterTypeError: ``measurement`` is not a measurement, is interactive or has another measure, or another
            argument is not a number. On a call, a run did not release a pair.

    Runtime:
        That of the runs.

    Proof: proofs/combinators/private_selection.tex

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
