"""Drawing from a black box: call by call, in batches, by several processes, or with times; with a bar of progress.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ...core.measurement import Measurement
from ...core.rendering import as_outcome
from ...core.repeatable import Batched, Repeatable
from ...errors import ParameterError, TopKError, checks
from ...sampling.samplers.entropy import SYSTEM
from .cells import Unordered

_BATCH = 10_000  # releases at a time, so that memory stays small
_WORTH_A_PROCESS = 1000  # fewer are drawn sooner than a process starts
_TELLING = 10  # so many agreeing releases, none of them the usual one, are no accident


@dataclass(frozen=True)
class Raised:
    """The outcome of a call that raised an error of this class: whoever called learns that, as of a release."""

    kind: str


_KEYS = frozenset({bool, int, float, str, bytes, type(None), Raised})  # types of values that are outcomes as they are


class Draws:
    """Releases of ``function`` as outcomes. ``total`` is how many will be drawn, for the bar.

    With ``timed`` the time of the call, in nanoseconds, is the last value of each, and calls on two inputs take turns.

    An error that a single call raises is an outcome, unless all calls raise. Errors of this library and those of
    batches come through at once: the first speak of arguments, and of the second nobody knows which release it was.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        total: int,
        *,
        batched: bool,
        workers: int,
        progress: bool,
        timed: bool = False,
    ) -> None:
        self._function = checks.function("function", function)
        self._batched, self._timed = checks.flag("batched", batched), checks.flag("timed", timed)
        alone = self._batched or self._timed
        if isinstance(function, Measurement) and isinstance(function.function, Batched | Repeatable) and not alone:
            self._function, self._batched = _at_once(function, function.function), True
        self._workers = checks.count("workers", workers)
        if timed and (batched or self._workers > 1):
            raise ParameterError("timed needs calls one by one: leave batched out, and workers at 1")
        if self._workers > 1 and "fork" not in multiprocessing.get_all_start_methods():
            raise ParameterError("workers must be 1 on this system: more need processes that are forked")
        self._bar = Bar(total, progress)
        self._parts: list[list[Hashable]] = []
        self._returned = False
        self._raised_on: list[Any] = []

    def __call__(self, value: Any, count: int) -> list[Hashable]:
        """``count`` outcomes on ``value``."""
        outcomes = self._drawn(value, count)
        if not self._returned and count:
            self._returned = not all(isinstance(outcome, Raised) for outcome in outcomes)
            self._raised_on = [value]
        return outcomes

    def sides(self, values: Sequence[Any], count: int) -> list[list[Hashable]]:
        """``count`` outcomes on each of two values."""
        if not self._timed:
            return [self(value, count) for value in values]
        return in_turns(self._timed_call, values, count)

    def _timed_call(self, value: Any) -> Hashable:
        start = time.perf_counter_ns()
        released = _called(self._function, value)
        took = float(time.perf_counter_ns() - start)
        self._returned, self._raised_on = self._returned or not isinstance(released, Raised), [value]
        self._bar.add(1)
        return _outcome(released), took

    def _drawn(self, value: Any, count: int) -> list[Hashable]:
        if self._workers == 1 or count < _WORTH_A_PROCESS:
            return _outcomes(self._function, self._batched, value, count, self._bar)
        parts = self._share(value, count)
        for part in parts:
            if any(_repeats(part, other) for other in self._parts):
                raise ParameterError(
                    "workers must be 1 for this function: its copies in two processes drew the same releases in the "
                    "same order, as copies of one pseudo-random generator do"
                )
            self._parts.append(part)
        return [outcome for part in parts for outcome in part]

    def _share(self, value: Any, count: int) -> list[list[Hashable]]:
        """The outcomes of each process. A fork brings the function along, so it need not be pickled."""
        fork, ends = multiprocessing.get_context("fork"), []
        for i in range(self._workers):
            size = count // self._workers + (i < count % self._workers)
            receiver, sender = fork.Pipe(duplex=False)
            process = fork.Process(target=_work, args=(sender, self._function, self._batched, value, size), daemon=True)
            process.start()
            sender.close()
            ends.append((process, receiver, size))
        parts, errors = [], []
        for process, receiver, size in ends:
            try:
                part, error = receiver.recv()
            except EOFError:
                part, error = [], ParameterError("function must not end the process that runs it")
            process.join()
            parts.append(part)
            errors += [error] if error is not None else []
            self._bar.add(size)
        if errors:
            raise errors[0]
        return parts

    def close(self) -> None:
        """End the line of the bar. Where all calls raised, call once more, so that the error comes through."""
        self._bar.close()
        for value in () if self._returned else self._raised_on:
            self._function(value)


# proof-region: turns
def in_turns(call: Callable[[Any], Hashable], values: Sequence[Any], count: int) -> list[list[Hashable]]:
    """``count`` calls on each of two values, in turns of two calls: a fair coin says on which value the first is."""
    found: list[list[Hashable]] = [[], []]
    for coin in (SYSTEM.auxiliary(count) & 1).tolist():  # [coin]
        for side in (coin, 1 - coin):
            found[side].append(call(values[side]))  # [turn]
    return found


# end-proof-region: turns


class Bar:
    """A bar of progress on standard error, drawn at most a hundred times."""

    def __init__(self, total: int, shown: bool) -> None:
        self._total, self._done, self._drawn, self._shown = total, 0, 0, shown

    def steps(self, count: int) -> Iterator[None]:
        """Count ``count`` steps while the caller takes them."""
        for _ in range(count):
            yield
            self.add(1)

    def add(self, count: int) -> None:
        """Count ``count`` steps that have been taken."""
        self._done += count
        if self._shown and 100 * self._done // self._total > self._drawn:
            self._drawn = 100 * self._done // self._total
            share = min(1.0, self._done / self._total)
            sys.stderr.write(f"\raudit [{'#' * round(30 * share):<30}] {share:4.0%}")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._shown:
            sys.stderr.write("\n")


def _outcomes(function: Callable[..., Any], batched: bool, value: Any, count: int, bar: Bar) -> list[Hashable]:
    if not batched:
        return [_outcome(_called(function, value)) for _ in bar.steps(count)]
    outcomes: list[Hashable] = []
    while len(outcomes) < count:
        size = min(_BATCH, count - len(outcomes))
        released = function(value, size)
        if len(released) != size:
            raise ParameterError("function must return as many releases as it is asked for: batched is True")
        outcomes += map(_outcome, released.tolist() if hasattr(released, "tolist") else released)
        bar.add(size)
    return outcomes


def _called(function: Callable[..., Any], value: Any) -> Any:
    """What it releases, or which error it raised."""
    try:
        return function(value)
    except TopKError:
        raise
    except Exception as error:
        return Raised(type(error).__name__)


def _outcome(released: Any) -> Hashable:
    """What :func:`as_outcome` says, at once for what is a key already and for lists of such; sets and dictionaries."""
    if type(released) in _KEYS:
        return released  # type: ignore[no-any-return]
    if isinstance(released, list | tuple):
        return tuple(released) if _KEYS.issuperset(map(type, released)) else tuple(map(_outcome, released))
    if isinstance(released, Mapping):
        return Unordered.of("dict", [(_outcome(key), _outcome(value)) for key, value in released.items()])
    if isinstance(released, Set):
        return Unordered.of("set", [_outcome(element) for element in released])
    return as_outcome(released)


def _at_once(measurement: Measurement, function: Batched | Repeatable) -> Callable[[Any, int], Any]:
    """As many releases as are asked for in one go, with the law of as many calls of ``measurement``."""
    return lambda value, count: function.many(measurement.input_domain.validate(value), count)


def _repeats(part: list[Hashable], other: list[Hashable]) -> bool:
    """Whether two sequences agree as independent ones do not: all along, with ten or more that are not the usual."""
    length = min(len(part), len(other))
    if part[:length] != other[:length]:
        return False
    return length - max(Counter(part[:length]).values()) >= _TELLING


def _work(sender: Any, function: Callable[..., Any], batched: bool, value: Any, count: int) -> None:
    try:
        sender.send((_outcomes(function, batched, value, count, Bar(count, False)), None))
    except Exception as error:
        sender.send(([], error))
