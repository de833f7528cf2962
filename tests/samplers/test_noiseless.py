"""The exact top-k against a plain sort, across chunks."""

from __future__ import annotations

import random

import numpy as np
import pytest

from opendp_topk.sampling.samplers import entropy as noiseless

from .adversaries import canonical


@pytest.mark.quick(chunk=(1, 7))
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 10**6])
@pytest.mark.parametrize("kind", ["ties", "floats", "int64", "uint64", "object", "signed zeros"])
def test_top_k_is_the_stable_sort(chunk: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noiseless, "_CHUNK", chunk)
    rng = random.Random(f"{chunk} {kind}")
    pick = {
        "ties": lambda: rng.randrange(3),
        "floats": lambda: rng.choice((rng.gauss(0, 1), 0.5, 5e-324, -1e308)),
        "int64": lambda: rng.choice((-(2**63), 2**63 - 1, 2**53 + rng.randrange(3))),
        "uint64": lambda: 2**64 - 1 - rng.randrange(3),
        "object": lambda: 10**30 + rng.randrange(3),
        "signed zeros": lambda: rng.choice((0.0, -0.0)),
    }[kind]
    for _ in range(60):
        scores = [pick() for _ in range(rng.randint(1, 30))]
        for sign in (1, -1):
            order = sorted(range(len(scores)), key=lambda i: (-sign * scores[i], i))
            for k in {1, len(scores), rng.randint(1, len(scores))}:
                values = canonical(scores)
                assert noiseless.top_k(values, k, sign=sign, ordered=True).tolist() == order[:k]
                assert noiseless.top_k(values, k, sign=sign, ordered=False).tolist() == sorted(order[:k])


def test_winners_are_int64() -> None:
    assert noiseless.top_k(np.array([1.0, 2.0]), 1, sign=1, ordered=True).dtype == np.int64
