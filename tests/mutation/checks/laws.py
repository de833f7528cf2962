"""Declared laws against brute force."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect, peeled, permute_and_flip, softmax, unordered


def check() -> None:
    """The exact distributions that constructors declare are those of their definitions."""
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance()
    pure, s = tk.MaxDivergence(), [0.0, 1.5, -0.5, 1.0]
    gumbel = peeled(softmax, s, 2)
    one_shot = tk.make_lipschitz_top_k(*space, pure, k=2, scale=2, noise=tk.Gumbel())
    _same("one-shot Gumbel", one_shot.distribution([2 * x for x in s]), gumbel)
    chosen = tk.make_lipschitz_top_k(*space, pure, k=2, scale=1, noise=tk.Gumbel(), release="set")
    _same("one-shot Gumbel, a set", chosen.distribution(s), unordered(gumbel))
    lowest = tk.make_lipschitz_top_k(*space, pure, k=2, scale=1, noise=tk.Gumbel(), optimize="min")
    _same("one-shot Gumbel, the least", lowest.distribution([-x for x in s]), gumbel)
    single = {(i,): p for i, p in permute_and_flip(dict(enumerate(s))).items()}
    exponential = tk.make_lipschitz_top_k(*space, pure, k=1, scale=1, noise=tk.Exponential())
    _same("one-shot exponential", exponential.distribution(s), single)
    twice = tk.make_peeled_top_k(*space, pure, k=2, scale=1, mechanism="permute_and_flip")
    _same("peeled permute-and-flip", twice.distribution(s), peeled(permute_and_flip, s, 2))
    choice = tk.make_lipschitz_top_k(*space, pure, k=1, scale=1, noise=tk.Laplace())
    below = 1 - math.exp(-1) * (0.5 + 0.25)
    _same("two with Laplace noise", choice.distribution([1.0, 0.0]), {(0,): below, (1,): 1 - below})


def _same(what: str, found: Mapping[Any, Any], law: Mapping[Any, float]) -> None:
    expect(set(found) == set(law), f"{what}: the declared law has other outcomes")
    for outcome, mass in law.items():
        expect(abs(float(found[outcome]) - mass) < 1e-12, f"{what}: the declared law is wrong")
