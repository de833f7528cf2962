"""Audits of functions by enumeration of their random digits.

Proof: proofs/audit/replay.tex
"""

from __future__ import annotations

import contextlib
import heapq
import math
import os
import random
import secrets
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.rendering import as_outcome
from ...errors import ParameterError, TopKError, checks
from ...numerics.arithmetic import round_down, round_up
from .blackbox import RaisedOutcome, log_ratio
from .report import FAILS, HOLDS, NOT_TESTED

# Sources of randomness that branch instead of drawing: each draw has finitely many answers, and all of them are tried.

_WIDEST = 2**16  # most answers of one draw; a draw with more is not enumerated
_GRID = 2**53  # a float of random() is one of this many multiples of 2^-53


class StoppedRun(BaseException):
    """A run that cannot continue; not an Exception, so that the audited function does not catch it."""


class UnansweredDraw(StoppedRun):
    """The next draw has these probabilities and no answer yet."""

    def __init__(self, shares: tuple[Fraction, ...]) -> None:
        self.shares = shares


class NotEnumerable(StoppedRun):
    """The next draw has too many answers to try, or its distribution is not known exactly for this use."""


# proof-region: replay_digits
class AnswerSequence:
    """The answers of one run, one for each draw; the run stops at the first draw without an answer."""

    def __init__(self, answers: Sequence[int]) -> None:
        self._answers, self.used = answers, 0

    def take_answer(self, shares: tuple[Fraction, ...]) -> int:
        """Return the answer of a draw whose answers have the probabilities ``shares``."""
        if len(shares) == 1:
            return 0
        if self.used == len(self._answers):
            raise UnansweredDraw(shares)  # [open]
        answer = self._answers[self.used]
        self.used += 1
        return answer

    def draw_below(self, n: int) -> int:
        if n > _WIDEST:
            raise NotEnumerable
        return self.take_answer((Fraction(1, n),) * n)  # [uniform]


class UniformFloat:
    """A float of ``random()``, k / 2^53 with k uniform; comparisons narrow it to an interval."""

    def __init__(self, tape: AnswerSequence) -> None:
        self._tape, self._low, self._high = tape, 0, _GRID

    def _is_index_below(self, count: int) -> bool:
        if count <= self._low or count >= self._high:
            return count >= self._high
        share = Fraction(count - self._low, self._high - self._low)
        below = self._tape.take_answer((share, 1 - share)) == 0  # [coin]
        self._low, self._high = (self._low, count) if below else (count, self._high)
        return below

    def __lt__(self, other: Any) -> bool:
        return self._is_index_below(-(-_to_grid_units(other) // 1))

    def __le__(self, other: Any) -> bool:
        return self._is_index_below(_to_grid_units(other) // 1 + 1)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def _refuse_use(self, *_: Any) -> Any:
        raise NotEnumerable

    __eq__ = __ne__ = __hash__ = __float__ = __int__ = __index__ = __bool__ = __abs__ = __neg__ = _refuse_use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refuse_use
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __rpow__ = __round__ = __floor__ = __ceil__ = _refuse_use
    __trunc__ = __repr__ = __str__ = _refuse_use


def _to_grid_units(other: Any) -> Fraction:
    if isinstance(other, UniformFloat) or not math.isfinite(other):
        raise NotEnumerable
    return Fraction(float(other)) * _GRID


class EnumeratedRandom(random.Random):
    """A ``random.Random`` that takes its bits from a sequence of answers."""

    def __new__(cls, tape: AnswerSequence) -> EnumeratedRandom:
        return super().__new__(cls)

    def __init__(self, tape: AnswerSequence) -> None:
        super().__init__()
        self._tape = tape

    def random(self) -> Any:
        """Return a float that supports comparisons."""
        return UniformFloat(self._tape)

    def getrandbits(self, k: int, /) -> int:
        return self._tape.draw_below(1 << k)

    def randbytes(self, n: int) -> bytes:
        return bytes(self._tape.draw_below(256) for _ in range(n))

    def seed(self, *_: Any, **__: Any) -> None:
        """Ignore the seed: the digits are given."""


class EnumeratedGenerator:
    """The methods of a NumPy ``Generator`` whose draws have few answers; other methods do not exist."""

    def __init__(self, tape: AnswerSequence) -> None:
        self._tape = tape

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotEnumerable

    def _fill_array(self, size: Any, one: Any) -> Any:
        import numpy as np

        if size is None:
            return one()
        drawn = np.empty(size, dtype=object)
        for place in np.ndindex(drawn.shape):
            drawn[place] = one()
        plain = all(isinstance(value, int) for value in drawn.flat)
        return drawn.astype(np.int64) if plain else drawn

    def integers(self, low: int, high: int | None = None, size: Any = None, *, endpoint: bool = False) -> Any:
        start, end = (0, low) if high is None else (low, high)
        return self._fill_array(size, lambda: int(start) + self._tape.draw_below(int(end) - int(start) + endpoint))

    def random(self, size: Any = None) -> Any:
        """Return floats that support comparisons."""
        return self._fill_array(size, lambda: UniformFloat(self._tape))

    def bytes(self, length: int) -> bytes:
        return bytes(self._tape.draw_below(256) for _ in range(length))

    def choice(self, a: Any, size: Any = None, p: Any = None) -> Any:
        """Return an element of ``a``, or a number below it, by its probability."""
        import numpy as np

        items = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        if p is None:
            return self._fill_array(size, lambda: items[self._tape.draw_below(len(items))].item())
        ends = np.cumsum(p)
        ends /= ends[-1]

        def draw_item() -> Any:
            drawn = UniformFloat(self._tape)
            return items[next(i for i, end in enumerate(ends) if drawn < float(end))].item()

        return self._fill_array(size, draw_item)

    def permutation(self, x: Any) -> Any:
        import numpy as np

        items = list(range(x)) if isinstance(x, int | np.integer) else list(x)
        self.shuffle(items)
        return np.array(items)

    def shuffle(self, x: Any) -> None:
        for last in range(len(x) - 1, 0, -1):
            other = self._tape.draw_below(last + 1)
            x[last], x[other] = x[other], x[last]


# end-proof-region: replay_digits


@contextlib.contextmanager
def replace_system_random(tape: AnswerSequence) -> Iterator[None]:
    """Make ``secrets``, ``os.urandom`` and the functions of ``random`` draw from ``tape`` inside this context."""
    drawn = EnumeratedRandom(tape)
    below = drawn._randbelow  # type: ignore[attr-defined]
    names = [name for name in random.__all__ if hasattr(random.Random, name) and name != "seed"]
    placed: list[tuple[Any, str, Any]] = [(random, name, getattr(drawn, name)) for name in names]
    placed += [(random.SystemRandom, name, _as_method(getattr(drawn, name))) for name in ("getrandbits", "random")]
    placed += [(home, name, drawn.randbytes) for home, name in ((random, "_urandom"), (os, "urandom"))]
    placed += [(secrets, "randbits", drawn.getrandbits), (secrets, "choice", drawn.choice)]
    placed += [(secrets, "randbelow", below), (secrets, "token_bytes", lambda nbytes=32: drawn.randbytes(nbytes))]
    kept = [(home, name, vars(home)[name]) for home, name, _ in placed]
    try:
        for home, name, stand_in in placed:
            setattr(home, name, stand_in)
        yield
    finally:
        for home, name, original in kept:
            setattr(home, name, original)


def _as_method(function: Any) -> Any:
    return lambda _, *arguments: function(*arguments)


# The exact output distribution of a function that draws few digits: all digits, the same for both neighbours.

SOURCES = ("generator", "random", "system")
_MOST_PATHS = 10**6  # most pending paths, so that memory use stays small


@dataclass(frozen=True)
class Replayed:
    """The result of an enumeration of digits, without statistical error.

    The loss is at least ``lower``, and equal to it up to rounding if ``unexplored`` is 0. ``unexplored`` is the larger
    of the probabilities, on the two inputs, of the digits that were not tried. ``outcomes`` form the event that
    distinguishes the inputs, ``runs`` is the number of calls, and ``draws`` the largest number of draws in a call.
    """

    lower: float
    delta: float
    unexplored: float
    outcomes: tuple[Hashable, ...]
    runs: int
    draws: int

    def verdict(self, epsilon: Any) -> str:
        """Return ``"fails"``, ``"holds"`` (by enumeration of all digits), or ``"not tested"`` if digits are left."""
        if self.lower > checks.require_distance(epsilon, "epsilon"):
            return FAILS
        return NOT_TESTED if self.unexplored else HOLDS


@dataclass(frozen=True)
class _EnumeratedDistribution:
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
    """Enumerate the digits that ``function`` draws, and compare the exact output distributions on two neighbours.

    Every draw branches into all its answers, the likeliest paths first. A constant seed, digits that are used twice and
    supports that differ are detected with no chance of error. Draws of more than 2^16 answers, and floats used for
    more than comparisons with numbers, are not enumerated: their probability is ``unexplored``.

    Args:
        function: Called as ``function(x, source)``, or as ``function(x)`` under ``source="system"``. It must draw only
            from this source, not change ``x``, and not catch ``BaseException``. An ``Exception`` that it raises is an
            outcome.
        x: An input.
        x_neighbor: A neighbouring input.
        source: ``"generator"`` (default): replaces a NumPy ``Generator``, with ``integers``, ``random``, ``choice``,
            ``permutation``, ``shuffle`` and ``bytes``; ``"random"``: a ``random.Random``; ``"system"``: the functions
            of ``random``, ``secrets`` and ``os.urandom`` are replaced while it runs, in all threads.
        delta: The delta at which the loss is computed, in [0, 1]. Default: 0.
        runs: The largest number of calls on each input. Default: 20,000.

    Returns:
        A :class:`Replayed`.

    Raises:
        ParameterError: ``function`` released different values for the same digits: it has another source.

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
    checks.require_callable("function", function)
    if source not in SOURCES:
        raise ParameterError('source must be "generator", "random" or "system"')
    shift, most = checks.require_unit_interval(delta, "delta"), checks.require_positive_int("runs", runs)
    first, second = (_enumerate_distribution(function, value, source, most) for value in (x, x_neighbor))
    lower, event = max(
        (_epsilon_lower_bound(*sides, Fraction(shift)) for sides in ((first, second), (second, first))),
        key=lambda found: found[0],
    )
    rest = max(first.rest, second.rest)
    return Replayed(
        lower, float(shift), round_up(rest), event, first.runs + second.runs, max(first.draws, second.draws)
    )


# proof-region: replay
def _enumerate_distribution(
    function: Callable[..., Any], value: Any, source: str, most: int
) -> _EnumeratedDistribution:
    """Return the probabilities of the outcomes that were found, and of the digits that were not tried."""
    masses: dict[Hashable, Fraction] = {}
    rest, runs, draws, order = Fraction(0), 0, 0, 0
    paths: list[tuple[Fraction, int, tuple[int, ...]]] = [(Fraction(-1), 0, ())]
    while paths and runs < most:
        negative, _, answers = heapq.heappop(paths)  # [likeliest]
        runs += 1
        try:
            outcome = _run_with_answers(function, value, source, answers)
        except UnansweredDraw as node:
            if len(paths) + len(node.shares) > _MOST_PATHS:
                rest -= negative
                continue
            for answer, share in enumerate(node.shares):
                order += 1
                heapq.heappush(paths, (negative * share, order, (*answers, answer)))  # [children]
        except NotEnumerable:
            rest -= negative  # [unlisted]
        else:
            if not masses and _run_with_answers(function, value, source, answers) != outcome:
                raise ParameterError("function must draw only from source: the same digits gave two different releases")
            masses[outcome] = masses.get(outcome, Fraction(0)) - negative  # [leaf]
        draws = max(draws, len(answers))
    return _EnumeratedDistribution(masses, rest - sum(negative for negative, _, _ in paths), runs, draws)  # [rest]


def _run_with_answers(function: Callable[..., Any], value: Any, source: str, answers: tuple[int, ...]) -> Hashable:
    tape = AnswerSequence(answers)
    try:
        if source == "system":
            with replace_system_random(tape):
                released = function(value)
        else:
            released = function(value, EnumeratedRandom(tape) if source == "random" else EnumeratedGenerator(tape))
        outcome = as_outcome(released)
    except TopKError:
        raise
    except Exception as error:
        outcome = RaisedOutcome(type(error).__name__)
    if tape.used != len(answers):
        raise ParameterError("function must draw only from source: the same digits led to different draws")
    return outcome


def _epsilon_lower_bound(
    first: _EnumeratedDistribution, second: _EnumeratedDistribution, delta: Fraction
) -> tuple[float, tuple[Hashable, ...]]:
    """Return a lower bound on the least epsilon at ``delta`` from ``first`` to ``second``, and its event."""
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
