"""One-shot releases from 10 scores to 10^8, of six shapes: against no noise, inexact noise, and one plain pass."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .bench import Bench, Goal
from .shapes import inexact, ranking, shapes
from .timing import thread

WINNERS = (10, 1000)
_TURNS = {10: 101, 100: 101, 1000: 51, 10**4: 21, 10**5: 9, 10**6: 15, 10**7: 5}
_GOALS = {(10**6, 10): 0.6, (10**6, 1000): 1.0, (10**7, 10): 0.25}  # times np.argpartition


class Spot(NamedTuple):
    """Scores of a shape, d of them, and k winners."""

    shape: str
    d: int
    k: int

    def __str__(self) -> str:
        return f"{self.shape}, d = {self.d}, k = {self.k}"


def benches(most: int) -> Iterator[tuple[Spot, Bench]]:
    """All shapes, sizes up to 10^most, and numbers of winners below the size; one vector is there at a time."""
    for power in range(1, most + 1):
        for shape, x in shapes(10**power):
            for k in WINNERS:
                if k < len(x):
                    yield Spot(shape, len(x), k), bench(Spot(shape, len(x), k), x)


def with_goals() -> Iterator[Bench]:
    """Those that are held to a goal."""
    for d, k in _GOALS:
        yield from (bench(Spot(shape, d, k), x) for shape, x in shapes(d))


def bench(spot: Spot, x: Any) -> Bench:
    """The release of k of the scores x."""
    k, draw = spot.k, np.random.default_rng(0)
    peers: dict[str, Callable[[], Any]] = {
        "argpartition": lambda: np.argpartition(x, -k)[-k:],
        "inexact": partial(inexact, x, k, draw.exponential),
        "max": lambda: np.max(x),
    }
    times = {name: thread(call) for name, call in peers.items()}
    return Bench(str(spot), thread(partial(ranking(x, k), x)), times, _TURNS.get(spot.d, 1), _goal(spot))


def _goal(spot: Spot) -> Goal | None:
    most = _GOALS.get((spot.d, spot.k))
    if most is None:
        return None
    return Goal(0.8 if spot.shape == "equal" and (spot.d, spot.k) == (10**6, 10) else most, "argpartition")
