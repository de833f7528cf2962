"""Faults of answers above a threshold: the known ways in which the sparse vector technique was broken."""

from __future__ import annotations

from tests.mutation.fault import Fault

_ABOVE = "measurements/above_threshold.py"

FAULTS = (
    Fault(
        "threshold-without-noise",
        "the threshold that scores are compared with has no noise",
        _ABOVE,
        "own_scale, bar, bar_scale))  # [fresh]",
        "own_scale, bar, 0 * bar_scale))  # [fresh]",
    ),
    Fault(
        "threshold-anew-for-each-score",
        "the threshold has new noise for each score, so that every answer that is false tells something",
        _ABOVE,
        "own_scale, bar, bar_scale))  # [fresh]",
        "own_scale, LazyNoise(noise), bar_scale))  # [fresh]",
    ),
    Fault(
        "answers-without-noise",
        "scores are compared without noise of their own",
        _ABOVE,
        "LazyNoise(noise), own_scale, bar",
        "LazyNoise(noise), 0 * own_scale, bar",
    ),
    Fault(
        "one-noise-for-all-answers",
        "all scores are compared with one and the same noise",
        _ABOVE,
        "reaches_noisy_threshold(lead, LazyNoise(noise), own_scale, bar",
        "reaches_noisy_threshold(lead, bar, own_scale, bar",
    ),
    Fault(
        "answers-not-counted-in-the-scale",
        "k answers that are true are charged as one",
        _ABOVE,
        "pure = to_fraction(d) / t + k * to_fraction(r) / s",
        "pure = to_fraction(d) / t + to_fraction(r) / s",
    ),
    Fault(
        "answers-halved-both-ways",
        "the price of an answer is halved for scores that move both ways",
        _ABOVE,
        "pure = to_fraction(d) / t + k * to_fraction(r) / s",
        "pure = to_fraction(d) / t + k * to_fraction(d) / s",
    ),
    Fault(
        "true-answers-of-laplace-noise-as-of-gumbel-noise",
        "under zero-concentrated privacy true answers with Laplace noise cost what they do with Gumbel noise",
        "sampling/noises/laplace.py",
        "steepness=Fraction(1443, 1000)",
        "steepness=Fraction(1)",
    ),
    Fault(
        "true-answers-after-the-first-free",
        "under zero-concentrated privacy one true answer is paid for, however many there are",
        _ABOVE,
        "+ k * rho_of_laplace(\n                noise.steepness",
        "+ rho_of_laplace(noise.steepness",
    ),
    Fault(
        "threshold-halved",
        "the price of the threshold is halved for scores that move one way, too",
        _ABOVE,
        "pure = to_fraction(d) / t + k * to_fraction(r) / s",
        "pure = to_fraction(r) / (2 * t) + k * to_fraction(r) / s",
    ),
    Fault(
        "answers-beyond-k",
        "the true answers of a conversation are not counted from question to question",
        _ABOVE,
        "left -= int(found.sum())  # [count]",
        "left -= 0 * int(found.sum())  # [count]",
    ),
    Fault(
        "list-beyond-k",
        "a list of questions goes on after the k-th true answer",
        _ABOVE,
        "            if most == 0:\n                break  # [stop]",
        "            if most == -1:\n                break  # [stop]",
    ),
    Fault(
        "range-of-one-answer",
        "under a bounded range the answers are charged at one end of the losses only",
        _ABOVE,
        "to_fraction(r) / t + 2 * k * to_fraction(r) / s)",
        "to_fraction(r) / t + k * to_fraction(r) / s)",
    ),
    Fault(
        "scores-of-tomorrow",
        "a conversation reads the caller's array, which may change",
        _ABOVE,
        "scores = freeze_if_array(value)  # [held]",
        "scores = value  # [freeze_if_array]",
    ),
    Fault(
        "lazy-digits-anew",
        "further digits of a lazy noise take the place of the first ones",
        "sampling/samplers/lazy_noise.py",
        "self._digits = self._digits << _WORD | word",
        "self._digits = word",
    ),
    Fault(
        "lazy-upper-end-low",
        "the upper end of a lazy noise is that of the lower end of its digits",
        "sampling/samplers/lazy_noise.py",
        "(self._digits + 1) * unit, precision)[1]",
        "self._digits * unit, precision)[1]",
    ),
)
