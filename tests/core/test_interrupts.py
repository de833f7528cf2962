"""An exception of a signal handler comes out of a release or a map as what it is, wherever it strikes.

gmpy2 reads a ``Fraction`` through Python, where a handler may run, and takes what it raises for a bad fraction.
"""

import signal
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from gmpy2 import mpq

from opendp_topk.sampling.samplers import integers
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.tried import specimens_of

READ = Fraction.numerator.fget  # type: ignore[attr-defined]


class Stopped(Exception):
    """What a handler raises."""


class Handler:
    """Runs where the numerator of a Fraction is read, as a handler may; stops at the ``when``-th time."""

    def __init__(self) -> None:
        self.seen, self.when = 0, 0

    def __call__(self, fraction: Fraction) -> int:
        self.seen += 1
        if self.seen == self.when:
            raise Stopped
        return READ(fraction)  # type: ignore[no-any-return]


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Handler:
    made = Handler()
    monkeypatch.setattr(Fraction, "numerator", property(made))
    return made


def stopped_everywhere(handler: Handler, call: Callable[[], Any], most: int = 30) -> int:
    """Stop ``call`` wherever it reads a fraction, or at so many places among many; how often it was stopped.

    What a first call reads and keeps is met in the first places, before any call has come through.
    """
    stopped = sum(_stopped(handler, call, when) for when in range(1, most))
    handler.seen, handler.when = 0, 0
    call()
    return stopped + sum(_stopped(handler, call, when) for when in range(1, handler.seen, handler.seen // most + 1))


def _stopped(handler: Handler, call: Callable[[], Any], when: int) -> bool:
    handler.seen, handler.when = 0, when
    try:
        call()
    except Stopped:
        return True
    return False


@pytest.mark.parametrize("name", MECHANISMS)
def test_wherever_a_release_or_map_is_stopped_the_handlers_exception_comes_out(name: str, handler: Handler) -> None:
    for specimen in specimens_of(name)[:2]:
        measurement, value = specimen.released, specimen.pair[0]
        stopped_everywhere(handler, lambda: measurement(value))  # noqa: B023
        stopped_everywhere(handler, lambda: measurement.map(1))  # noqa: B023
        stopped_everywhere(handler, lambda: measurement.map(Fraction(1, 3)))  # noqa: B023


@pytest.mark.parametrize("draw", [integers.discrete_laplace, integers.discrete_gaussian])
@pytest.mark.parametrize("n", [1, 100])
def test_noise_is_stopped_as_well(draw: Callable[..., Any], n: int, handler: Handler) -> None:
    integers._call_counter.cache_clear()
    assert stopped_everywhere(handler, lambda: draw(Fraction(70, 3), n)) > 0


def test_a_fraction_that_gmpy2_reads_is_noticed(handler: Handler) -> None:
    third = Fraction(1, 3)
    with pytest.raises(SystemError):
        stopped_everywhere(handler, lambda: mpq(third))


@pytest.fixture
def alarms() -> Iterator[None]:
    """A timer whose signal raises; another one that runs is gone."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.usefixtures("alarms")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_of_many_calls_that_are_interrupted_each_ends_or_raises_what_the_handler_raised() -> None:
    calls: list[Callable[[], Any]] = []
    for name in ("make_canonical_top_k", "make_joint_top_k", "make_laplace", "make_gaussian", "make_select_then_count"):
        specimen = specimens_of(name)[0]
        calls += [
            lambda one=specimen: one.released(one.pair[0]),  # type: ignore[misc]
            lambda one=specimen: one.released.map(Fraction(1, 3)),  # type: ignore[misc]
        ]
    interrupted = 0
    for turn in range(3000):
        call = calls[turn % len(calls)]
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + turn % 50 * 2e-5)
                call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted > 100, "hardly any call was interrupted"
