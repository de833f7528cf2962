"""Private selection: the best of a random number of runs of one measurement, which may be a whole training."""

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
def make_private_selection(measurement: Measurement, *, repetitions: Repetitions) -> Measurement:
    """Run a measurement a random number of times, and release the run with the best score.

    ``x -> the best of M(x), ..., M(x)``, N times, where N is drawn first and never shown. The best of a fixed number of
    runs would cost as much as all of them; that nobody knows how often was tried is what makes it cheap. So a private
    model is trained with many hyper-parameters, each drawn at random in its run, and only the best one is paid, twice
    or three times.

    Args:
        measurement: What is run, under ``MaxDivergence()``, ``Approximate(MaxDivergence())`` or ``PrivacyProfile()``,
            not interactive. It releases pairs (score, candidate): the score a real number, the higher the better,
            which is private itself; the candidate anything. NaN counts as the lowest score.
        repetitions: The law of the number of runs, ``TruncatedNegativeBinomial(shape=..., stop_probability=...)`` or
            ``Poisson(mean=...)``.

    Returns:
        A :class:`Measurement` whose release is that of the best run, the first of equals; None where there was no run,
        which only ``Poisson`` allows. It declares its exact distribution where ``measurement`` does. Queryables in
        releases are closed.

    Privacy:
        With epsilon the loss of one run, gamma = ``stop_probability`` and eta = ``shape``:

        - MaxDivergence, TruncatedNegativeBinomial: epsilon + (1 + eta) s, where
          s = ln((exp(epsilon) + gamma) / (1 + gamma exp(epsilon))), which is below epsilon and ln(1 / gamma);
        - MaxDivergence, Poisson: epsilon + mean tanh(epsilon / 2).

        Both are exact suprema over all measurements that lose epsilon. Under PrivacyProfile, with delta(e) the curve of
        one run, the selection has delta at most E[N] delta(e) at e + (1 + eta) s, where s is the least number with
        (1 - gamma) delta(s) <= gamma (exp(s) - 1), and at e + mean delta(0) for Poisson. Under Approximate the same
        with the curve of the pair.

        Never show how often it ran, nor how long it took: a run more or less is seen in the time that a release takes,
        and the price does not cover it. A number of runs that is cut at some limit, or shown, has another price.

    Accuracy:
        The best run is among the best share b of all runs with probability 1 - E[(1 - b)^N]: for the geometric law
        (shape 1) of mean m that is b m / (1 + b (m - 1)).

    Raises:
        ParameterTypeError: ``measurement`` is none, is interactive or has another measure, or ``repetitions`` is no
            such law. On a call, a run released no pair.

    Runtime:
        That of the runs, E[N] on average, and a hundredth of a millisecond for each.

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
