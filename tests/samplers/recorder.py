"""A record of what a race drew, and of what it knows of the candidates for which nothing was drawn."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import forecast, race, scan

from ..oracles import noise as oracle
from .streams import Streams

_MOST_NOISE = 60.0
"""Below the noise of a uniform with 80 leading ones, of which random streams have fewer."""


class Recorder:
    """Watches ``Scan`` and the race through a block: what entered, from the tail or not, and what did not.

    Attributes:
        levels: For each candidate that was left to the tail, with how many leading ones it would have entered.
        branches: How often each way through a block was taken.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, streams: Streams) -> None:
        self.streams = streams
        self.levels: dict[int, int] = {}
        self.branches: Counter[str] = Counter()
        tail, body = scan.Scan.draw_tail_prefixes, scan.Scan.draw_body_prefixes
        skip, split = race._race_tail_only, race._race_near_and_tail
        survivors, wrong = forecast.draw_survivors, forecast._all_others

        def watched_tail(this: Any, index: np.ndarray, levels: np.ndarray) -> Any:
            for i, level in zip(index.tolist(), levels.tolist(), strict=True):
                self.streams.ones[i] = level
            return tail(this, index, levels)

        def watched_body(this: Any, index: np.ndarray, levels: np.ndarray) -> Any:
            self.streams.redrawn = set(index.tolist())
            drawn = body(this, index, levels)
            self.streams.redrawn = set()
            for i, level in zip(index.tolist(), levels.tolist(), strict=True):
                assert self.streams.digits(i, level) < 2**level - 1, "a candidate came twice, by tail and by body"
            return drawn

        def watched_survivors(levels: np.ndarray, entropy: Any) -> np.ndarray:
            self.branches["forecast"] += 1
            for block, level in enumerate(levels.tolist()):
                self.levels.update(dict.fromkeys(range(block * race.BLOCK, (block + 1) * race.BLOCK), level))
            return survivors(levels, entropy)

        def watched_wrong(*arguments: Any) -> None:
            self.branches["wrong forecast"] += 1
            wrong(*arguments)

        def watched_skip(this: Any, batch: np.ndarray, levels: np.ndarray) -> None:
            self.branches["deep skip" if levels.min() >= race._DEEP[0] else "shallow skip"] += 1
            for block, level in zip(batch.tolist(), levels.tolist(), strict=True):
                self.levels.update(dict.fromkeys(range(block * race.BLOCK, (block + 1) * race.BLOCK), level))
            skip(this, batch, levels)

        def watched_split(this: Any, batch: np.ndarray, near: np.ndarray, level: int, least: int) -> None:
            left = np.flatnonzero(~near.ravel())
            if 2 * np.count_nonzero(near) >= near.size:
                self.branches["draw all"] += 1
            else:
                self.branches["deep split" if level in race._DEEP else "shallow split"] += 1
                candidates = batch[left // race.BLOCK] * race.BLOCK + left % race.BLOCK
                self.levels.update(dict.fromkeys(candidates.tolist(), level))
            split(this, batch, near, level, least)

        monkeypatch.setattr(scan.Scan, "draw_tail_prefixes", watched_tail)
        monkeypatch.setattr(race, "_race_tail_only", watched_skip)
        monkeypatch.setattr(race, "_race_near_and_tail", watched_split)
        monkeypatch.setattr(scan.Scan, "draw_body_prefixes", watched_body)
        monkeypatch.setattr(forecast, "draw_survivors", watched_survivors)
        monkeypatch.setattr(forecast, "_all_others", watched_wrong)

    def check(self, name: str, scores: list[Any], scale: Fraction, sign: int, winners: list[int], d: int) -> None:
        """The ranking ``winners`` is that of all that were drawn, and nobody else could have been among them."""
        drawn = sorted(self.streams.read)
        undrawn = sorted(set(range(d)) - set(drawn))
        assert set(undrawn) <= set(self.levels), "a candidate was neither drawn nor left to the tail"
        assert set(self.streams.ones) <= set(self.levels)
        origin = Fraction(scores[winners[-1]])

        def advantage(i: int) -> Fraction:
            return sign * (Fraction(scores[i]) - origin) / scale

        with mpmath.workdps(120):

            def value(i: int) -> Any:
                u = Fraction(2 * self.streams.digits(i, 256) + 1, 2**257)
                return oracle.number(advantage(i)) + oracle.QUANTILE[name](u)

            values = [value(i) for i in winners]
            assert all(a > b for a, b in pairwise(values))
            last = values[-1]
            chosen = set(winners)
            for i in drawn:
                if i not in chosen and float(advantage(i)) + _MOST_NOISE >= float(last) - 1:
                    assert value(i) < last
            highest: dict[int, Any] = {}
            for i in undrawn:
                level = self.levels[i]
                highest[level] = max(highest.get(level, scores[i] * sign), scores[i] * sign)
            for level, score in highest.items():
                reach = (Fraction(score) - sign * origin) / scale
                limit = oracle.QUANTILE[name](1 - Fraction(1, 2**level))
                assert oracle.number(reach) + limit < last, "a candidate that was not drawn could have won"
