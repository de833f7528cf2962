"""One-shot selection: independent noise on every score at once, and the k best are released.

Proof: proofs/measurements/one_shot.tex, proofs/measurements/one_shot_mechanism.tex
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from ..noises.noise import Noise
from ..samplers import race, rows
from ..samplers.merge import Race
from ..spaces.concentrated import rho_of_range
from ..spaces.costs import FREE, Cost
from ._choice import Choice
from ._permute_and_flip_range import permute_and_flip_range
from ._selection import Law, SelectionMechanism, Success


# proof-region: one_shot
def one_shot(noise: Noise) -> SelectionMechanism:
    """The selection of the k best of scores with independent ``noise``; of a noise of the caller's no law is known.

    What only exact laws, accuracies and probabilities need is loaded when one is asked for.
    """
    return SelectionMechanism(
        sample=lambda scores, choice: race.top_k(
            scores, choice.tau, noise, choice.k, sign=choice.sign, ordered=choice.ordered
        ),
        cost=lambda choice, r: one_shot_cost(noise, choice, r),
        accuracy=_accuracy(noise),
        law=_law(noise) if noise.race else None,
        success=_success(noise) if noise.race else None,
        many=lambda scores, choice, times: rows.top_k(
            scores, choice.tau, noise, choice.k, times, sign=choice.sign, ordered=choice.ordered
        ),
        each=lambda vectors, choice: rows.each(
            vectors, choice.tau, noise, choice.k, sign=choice.sign, ordered=choice.ordered
        ),
        surveys=True,
        race=lambda choice: Race(choice.tau, noise, choice.k, choice.sign, choice.ordered),
    )  # [mechanism]


def _accuracy(noise: Noise) -> Callable[[int, Choice, Any], float]:
    def accuracy(n: int, choice: Choice, alpha: Any) -> float:
        from ..distributions import one_shot as laws
        from ..distributions import union_bound

        bound = laws.accuracy if noise.is_proven else union_bound.accuracy
        return bound(noise, n, choice.k, choice.tau, alpha)  # [accuracy]

    return accuracy


def _law(noise: Noise) -> Law:
    def law(units: list[Fraction], choice: Choice) -> dict[Hashable, Any]:
        from ..distributions import one_shot as laws

        return laws.law(noise, units, choice.tau == 0, choice.k, choice.ordered)  # [law]

    return law


def _success(noise: Noise) -> Success:
    def success(scores: NDArray[Any], choice: Choice, sure: int, reach: int) -> tuple[float, float]:
        from ..distributions import one_shot_success

        return one_shot_success.probability(noise, scores, choice.tau, choice.k, choice.sign, sure, reach)  # [success]

    return success


# end-proof-region: one_shot


# proof-region: one_shot_cost
def one_shot_cost(noise: Noise, choice: Choice, r: Fraction) -> Cost:
    """The cost of the k best of noisy scores, a ranking or a set, at range distance ``r > 0``."""
    steps = choice.steps
    if noise.is_max_stable:
        return Cost(steps * r, (choice.touched - 1) * r, steps * rho_of_range(r), (steps, r))  # [max-stable]
    if noise.is_two_sided:
        loss = choice.two_sided_steps * r
        odds = noise.has_exponential_odds and (steps == 1 or not choice.ordered)  # [odds]
        return Cost.linear(loss, loss if odds else 2 * loss)  # [two-sided-cost]
    if steps == 0:
        return FREE  # [free]
    if noise.is_memoryless and steps == 1:
        return Cost.linear(r, permute_and_flip_range(r))  # [single]
    return Cost.linear(steps * r, choice.touched * r)  # [one-sided]


# end-proof-region: one_shot_cost
