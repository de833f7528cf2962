"""Conversations about one bit whose exact transcript laws are found by running the real queryables on every path."""

import functools
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

import opendp_topk as tk

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=1), tk.LInfDistance(monotonic=True)
MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
MEASURES = (MAX, RANGE, ZCDP)
ORDERS = [1 + mpmath.mpf(2) ** (mpmath.mpf(n) / 4) for n in range(-48, 33)]


class Tape:
    """The outcomes that the measurements of :func:`noisy_bit` are to have, 0 once the tape is used up."""

    def __init__(self, prefix: tuple[int, ...] = ()) -> None:
        self.prefix = prefix
        self.taken: list[int] = []
        self.mass = Fraction(1)

    def draw(self, chance: Fraction) -> int:
        """1 with probability ``chance``."""
        outcome = self.prefix[len(self.taken)] if len(self.taken) < len(self.prefix) else 0
        self.taken.append(outcome)
        self.mass *= chance if outcome else 1 - chance
        return outcome


Analyst = Callable[[Any, Tape], Any]


def transcripts(interactive: Any, analyst: Analyst, x: int) -> dict[Any, Fraction]:
    """The law of what ``analyst(queryable, tape)`` returns on the input [x], path by path."""
    law: dict[Any, Fraction] = defaultdict(Fraction)
    pending: list[tuple[int, ...]] = [()]
    while pending:
        prefix = pending.pop()
        tape = Tape(prefix)
        law[analyst(interactive([x]), tape)] += tape.mass
        pending += [(*tape.taken[:at], 1) for at in range(len(prefix), len(tape.taken))]
    assert sum(law.values()) == 1
    return dict(law)


def noisy_bit(measure: tk.Measure, tape: Tape, chances: tuple[Fraction, Fraction]) -> tk.Measurement:
    """Releases 1 with probability chances[x]; its map is the true loss, rounded up."""
    loss = bit_loss(measure, chances)
    return tk.make_user_measurement(
        *SPACE,
        measure,
        function=lambda x: tape.draw(chances[int(x[0])]),
        privacy_map=lambda d_in: loss if d_in else 0.0,
        distribution=lambda x: {0: 1 - chances[int(x[0])], 1: chances[int(x[0])]},
    )


@functools.cache
def bit_loss(measure: tk.Measure, chances: tuple[Fraction, Fraction]) -> float:
    """The true loss between the two laws of a noisy bit, rounded up."""
    return true_loss(measure, *({0: 1 - chance, 1: chance} for chance in chances))


def true_loss(measure: tk.Measure, law: dict[Any, Fraction], other: dict[Any, Fraction]) -> float:
    """The divergence of two laws with one support, from its definition, rounded up; for zCDP an upper bound of it."""
    exact = true_rho(law, other) if measure == ZCDP else lower_loss(measure, law, other)
    return math.nextafter(float(exact), math.inf)


def true_rho(law: dict[Any, Fraction], other: dict[Any, Fraction]) -> Any:
    """An upper bound of sup D_alpha / alpha: D_alpha grows with alpha, up to the largest loss."""
    bounds = []
    for p, q in ((law, other), (other, law)):
        values = [renyi(p, q, order) for order in ORDERS]
        bounds += [values[0], *(high / low for high, low in zip(values[1:], ORDERS[:-1], strict=True))]
        bounds.append(max(logarithms(p, q)) / ORDERS[-1])
    return max(bounds)


def renyi(p: dict[Any, Fraction], q: dict[Any, Fraction], order: Any) -> Any:
    """D_order(q || p)."""
    with mpmath.workdps(40):
        terms = zip(p.values(), logarithms(p, q), strict=True)
        return mpmath.log(mpmath.fsum(number(mass) * mpmath.exp(order * loss) for mass, loss in terms)) / (order - 1)


def logarithms(p: dict[Any, Fraction], q: dict[Any, Fraction]) -> list[Any]:
    """The privacy losses ln q(y) / p(y)."""
    with mpmath.workdps(40):
        return [mpmath.log(number(q[y] / p[y])) for y in p]


def number(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def lower_loss(measure: tk.Measure, law: dict[Any, Fraction], other: dict[Any, Fraction]) -> Any:
    """The divergence of two laws; for zCDP a lower bound of it, the maximum over a grid of orders."""
    assert set(law) == set(other)
    with mpmath.workdps(40):
        if measure == ZCDP:
            return max(renyi(p, q, order) / order for p, q in ((law, other), (other, law)) for order in ORDERS)
        losses = logarithms(law, other)
        return max(map(abs, losses)) if measure == MAX else max(losses) - min(losses)
