"""The exact law of a function that draws few digits: the same digits for both neighbours, all of them.

Proof: proofs/audit/replay.tex
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.rendering import as_outcome
from ...errors import ParameterError, TopKError, checks
from ...numerics.arithmetic import round_down, round_up
from .bounds import log_ratio
from .digits import Generator, Open, Random, Tape, Unlisted, system
from .draws import Raised
from .verdicts import FAILS, HOLDS, NOT_TESTED

SOURCES = ("generator", "random", "system")
_MOST_PATHS = 10**6  # that wait, so that memory stays small


@dataclass(frozen=True)
class Replayed:
    """What the enumeration of digits shows, without statistics.

    The loss is at least ``lower``, and equal to it up to rounding where nothing is ``unexplored``: the larger of the
    probabilities, on the two inputs, of the digits that were not tried. ``outcomes`` are the ones of the event by which
    the inputs are told apart, ``runs`` the calls of the function, and ``draws`` the most draws of any.
    """

    lower: float
    delta: float
    unexplored: float
    outcomes: tuple[Hashable, ...]
    runs: int
    draws: int

    def verdict(self, epsilon: Any) -> str:
        """``"fails"``, ``"holds"`` (by enumeration of all digits), or ``"not tested"``: digits are left."""
        if self.lower > checks.distance(epsilon, "epsilon"):
            return FAILS
        return NOT_TESTED if self.unexplored else HOLDS


@dataclass(frozen=True)
class _Law:
    masses: dict[Hashable, Fraction]
    rest: Fraction
    runs: int
    draws: int


def replay(
    function: Callable[..., Any],
    x: Any,
    x_neighbor: Any,
    *,
    source: str = "generator",
    delta: float = 0.0,
    runs: int = 20_000,
) -> Replayed:
    """Enumerate the digits that ``function`` draws, and compare the exact laws of its releases on two neighbours.

    Every draw branches into all its answers, the likeliest paths first. A seed that is constant, digits that are used
    twice and supports that differ show as they are, with no chance of error. Draws of more than 2^16 answers, and
    floats that are not only compared with numbers, are not enumerated: their probability is ``unexplored``.

    Args:
        function: Called as ``function(x, source)``, or as ``function(x)`` under ``source="system"``. It must draw from
            this source alone, not change ``x``, and catch no ``BaseException``. An ``Exception`` that it raises is an
            outcome.
        x: An input.
        x_neighbor: A neighbouring input.
        source: ``"generator"``: in place of a NumPy ``Generator``, with ``integers``, ``random``, ``choice``,
            ``permutation``, ``shuffle`` and ``bytes``; ``"random"``: a ``random.Random``; ``"system"``: the functions
            of ``random``, ``secrets`` and ``os.urandom`` are replaced while it runs, in all threads.
        delta: The loss is that at this delta, in [0, 1].
        runs: At most so many calls are made on each input.

    Returns:
        A :class:`Replayed`.

    Raises:
        ParameterError: ``function`` released different things for the same digits: it has another source.

    Runtime:
        At most 2 ``runs`` calls, one for each draw that is met.

    Example:
        >>> import opendp_topk as tk
        >>> def respond(bit, source):
        ...     return bit if source.random() < 0.75 else 1 - bit
        >>> found = tk.audit.replay(respond, 0, 1)
        >>> round(found.lower, 9), found.unexplored, found.verdict(1.0)
        (1.098612289, 0.0, 'fails')
    """
    checks.function("function", function)
    if source not in SOURCES:
        raise ParameterError('source must be "generator", "random" or "system"')
    shift, most = checks.share(delta, "delta"), checks.count("runs", runs)
    first, second = (_law(function, value, source, most) for value in (x, x_neighbor))
    lower, event = max(
        (_loss(*sides, Fraction(shift)) for sides in ((first, second), (second, first))), key=lambda found: found[0]
    )
    rest = max(first.rest, second.rest)
    return Replayed(
        lower, float(shift), round_up(rest), event, first.runs + second.runs, max(first.draws, second.draws)
    )


# proof-region: replay
def _law(function: Callable[..., Any], value: Any, source: str, most: int) -> _Law:
    """The probabilities of the outcomes that were met, and of the digits that were not tried."""
    masses: dict[Hashable, Fraction] = {}
    rest, runs, draws, order = Fraction(0), 0, 0, 0
    paths: list[tuple[Fraction, int, tuple[int, ...]]] = [(Fraction(-1), 0, ())]
    while paths and runs < most:
        negative, _, answers = heapq.heappop(paths)  # [likeliest]
        runs += 1
        try:
            outcome = _run(function, value, source, answers)
        except Open as node:
            if len(paths) + len(node.shares) > _MOST_PATHS:
                rest -= negative
                continue
            for answer, share in enumerate(node.shares):
                order += 1
                heapq.heappush(paths, (negative * share, order, (*answers, answer)))  # [children]
        except Unlisted:
            rest -= negative  # [unlisted]
        else:
            if not masses and _run(function, value, source, answers) != outcome:
                raise ParameterError(
                    "function must draw from its source alone: the same digits gave two different releases"
                )
            masses[outcome] = masses.get(outcome, Fraction(0)) - negative  # [leaf]
        draws = max(draws, len(answers))
    return _Law(masses, rest - sum(negative for negative, _, _ in paths), runs, draws)  # [rest]


def _run(function: Callable[..., Any], value: Any, source: str, answers: tuple[int, ...]) -> Hashable:
    tape = Tape(answers)
    try:
        if source == "system":
            with system(tape):
                released = function(value)
        else:
            released = function(value, Random(tape) if source == "random" else Generator(tape))
        outcome = as_outcome(released)
    except TopKError:
        raise
    except Exception as error:
        outcome = Raised(type(error).__name__)
    if tape.used != len(answers):
        raise ParameterError("function must draw from its source alone: the same digits led to different draws")
    return outcome


def _loss(first: _Law, second: _Law, delta: Fraction) -> tuple[float, tuple[Hashable, ...]]:
    """At most the least epsilon at ``delta`` from the first law to the second, and the event that shows it."""
    p, q = first.masses, second.masses
    ranked = sorted(p, key=lambda outcome: q.get(outcome, Fraction(0)) / p[outcome])
    best: tuple[float, tuple[Hashable, ...]] = (0.0, ())
    likely, rare = -delta, second.rest
    for n, outcome in enumerate(ranked, 1):
        likely, rare = likely + p[outcome], rare + q.get(outcome, Fraction(0))
        if likely > rare:
            shown = log_ratio(round_down(likely), round_up(rare)) if rare else math.inf  # [exact-event]
            best = max(best, (shown, tuple(ranked[:n])), key=lambda found: found[0])
    return best


# end-proof-region: replay
