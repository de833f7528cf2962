"""One case of a benchmark: own call and peers in turns, the medians of their ratios, and what they are held to."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .timing import Timed, readable

Stored = Mapping[str, Mapping[str, float]]
WORSE = 1.3


class Goal(NamedTuple):
    """The most that a case may take: times a peer's time, or seconds where no peer is named."""

    most: float
    peer: str = ""

    def __str__(self) -> str:
        return f"{self.most:g}" if self.peer else readable(self.most)


@dataclass(frozen=True)
class Case:
    """The median time in seconds, and of each peer the median of the ratios own / peer."""

    name: str
    own: float
    ratios: Mapping[str, float]
    goal: Goal | None = None

    @property
    def figure(self) -> float:
        """What the goal speaks of; the time, where there is none."""
        return self.ratios[self.goal.peer] if self.goal and self.goal.peer else self.own

    @property
    def met(self) -> bool:
        """Whether the goal is reached; a case without one has none to miss."""
        return self.goal is None or self.figure <= self.goal.most

    def __str__(self) -> str:
        ratios = ", ".join(f"{ratio:.3g} of {peer}" for peer, ratio in self.ratios.items())
        held = f"; goal {self.goal}{'' if self.met else ' MISSED'}" if self.goal else ""
        return f"{self.name:<60} {readable(self.own):>10}   {ratios}{held}"

    def worse(self, stored: Stored) -> list[str]:
        """The ratios that are more than 1.3 times what is stored; those against one pass are no promise."""
        before = stored.get(self.name, {})
        return [
            f"{self.name}: {ratio:.3g} of {peer}, and {before[peer]:.3g} is stored"
            for peer, ratio in self.ratios.items()
            if peer != "max" and before.get(peer, math.inf) * WORSE < ratio
        ]


@dataclass(frozen=True)
class Bench:
    """How a case is measured: each call takes its own time, and peers take turns with it."""

    name: str
    own: Timed
    peers: Mapping[str, Timed] = field(default_factory=dict)
    turns: int = 9
    goal: Goal | None = None

    def __call__(self) -> Case:
        """The case, after one call that builds what is kept."""
        self.own()
        calls = (self.own, *self.peers.values())
        turns = [[call() for call in calls] for _ in range(self.turns)]
        ratios = {
            name: statistics.median(turn[0] / turn[at] for turn in turns if turn[at])
            for at, name in enumerate(self.peers, 1)
        }
        return Case(self.name, statistics.median(turn[0] for turn in turns), ratios, self.goal)


def measured(benches: Iterable[Bench], stored: Stored) -> Iterator[Case]:
    """Each case; one with a ratio that is worse than the stored one once more, since other programs disturb a few."""
    for bench in benches:
        case = bench()
        yield bench() if case.worse(stored) else case


def printed(cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, each shown when it is there."""
    for case in cases:
        print(case, flush=True)
        yield case
