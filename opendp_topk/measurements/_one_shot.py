"""One-shot selection: independent noise on every score at once, and the k best are released.

Proof: proofs/measurements/one_shot.tex, proofs/measurements/one_shot_engine.tex
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from ..distributions import one_shot as laws
from ..distributions import one_shot_success, union_bound
from ..noises.standard import Exponential, Gumbel, Laplace, Logistic, Noise
from ..numerics.arithmetic import round_up
from ..samplers import race
from ..spaces.measures import MaxDivergence, Measure, RangeDivergence
from ._permute_and_flip_range import permute_and_flip_range
from ._selection import Engine, Success


# proof-region: one_shot
def one_shot(noise: Noise) -> Engine:
    """The selection of the k best of scores with independent ``noise``; of a noise of the caller's no law is known."""
    accuracy = laws.accuracy if noise.is_proven else union_bound.accuracy
    return Engine(
        sample=lambda scores, tau, k, sign, ordered: race.top_k(scores, tau, noise, k, sign=sign, ordered=ordered),
        loss=lambda measure, k, size, ordered, r: one_shot_loss(measure, noise, k, size, ordered, r),
        law=partial(laws.law, noise) if noise.is_proven else None,
        accuracy=lambda n, k, tau, alpha: accuracy(noise, n, k, tau, alpha),
        success=_success(noise) if noise.is_proven else None,
        steps=gumbel_steps if noise == Gumbel() else None,  # [steps]
    )  # [engine]


def _success(noise: Noise) -> Success:
    return lambda scores, tau, k, sign, ordered, sure, reach: one_shot_success.probability(
        noise, scores, tau, k, sign, sure, reach
    )


def gumbel_steps(k: int, size: int | None, r: Fraction) -> tuple[int, Fraction]:
    """The choices of one that make up a ranking, and the range of each."""
    return k if size is None else min(k, size - 1), r  # [gumbel-steps]


# end-proof-region: one_shot


# proof-region: one_shot_loss
def one_shot_loss(measure: Measure, noise: Noise, k: int, size: int | None, ordered: bool, r: Fraction) -> float:
    """The loss of the k best of noisy scores (a ranking if ``ordered``, else a set) at range distance ``r > 0``.

    ``measure`` is one of the three main measures, ``size`` the number of candidates where it is known.
    """
    steps = k if size is None else min(k, size - 1)  # [cap-steps]
    if steps == 0 or (k == size and not ordered):
        return 0.0  # [free]
    width = 2 * k if size is None else min(2 * k, size)  # [cap-width]
    if noise in (Laplace(), Logistic()):
        if size is not None:
            steps = min(k, size // 2 if ordered else size - k)  # [two-sided]
        width = 2 * steps  # [two-sided-width]
    if isinstance(measure, MaxDivergence):
        return round_up(steps * r)  # [max-map]
    if noise == Gumbel():
        return round_up((width - 1) * r if isinstance(measure, RangeDivergence) else steps * r * r / 8)  # [gumbel]
    single = noise == Exponential() and steps == 1
    bound = permute_and_flip_range(r) if single else width * r  # [bounded-range]
    return round_up(bound if isinstance(measure, RangeDivergence) else bound * bound / 8)  # [hoeffding]


# end-proof-region: one_shot_loss
