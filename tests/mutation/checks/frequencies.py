"""Frequencies of releases against laws by brute force; the bits are fixed, so the outcome is too."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.mutation.bits import reproducible
from tests.mutation.library import tk
from tests.mutation.oracles import expect_law, peeled, permute_and_flip, softmax, unordered

_RELEASES, _FEWER = 700, 300


def check() -> None:
    """Releases of every kind of selection and noise follow their laws."""
    for n, cases in ((_RELEASES, _rankings()), (_FEWER, itertools.chain(_sets(), _crowd()))):
        for what, made, scores, law in cases:
            with reproducible(what):
                counts = Counter(_outcome(made(scores)) for _ in range(n))
            expect_law(what, counts, law)
    for what, made, law in _integers():
        with reproducible(what):
            counts = Counter(made([0] * 4000).tolist())
        expect_law(what, counts, law)


Case = tuple[str, Any, Any, Mapping[Any, float]]


def _outcome(release: Any) -> Hashable:
    return release if isinstance(release, int) else tuple(release.tolist())


def _space() -> tuple[Any, Any]:
    return tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)


def _rankings() -> Iterator[Case]:
    pure, zcdp, space = tk.MaxDivergence(), tk.ZeroConcentratedDivergence(), _space()
    x, tau = [4, 2, 0, 3], 2
    s = [score / tau for score in x]
    ranking = peeled(softmax, s, 2)
    yield "one-shot Gumbel", tk.make_report_noisy_top_k(*space, zcdp, k=2, scale=tau), x, ranking
    lowest = peeled(softmax, [-one for one in s], 2)
    yield "minimum", tk.make_report_noisy_top_k(*space, zcdp, k=2, scale=tau, optimize="min"), x, lowest
    chosen = tk.make_report_noisy_top_k(*space, zcdp, k=2, scale=tau, release="set")
    yield "one-shot set", chosen, x, unordered(ranking)
    yield (
        "exponential mechanism",
        tk.make_exponential_mechanism(*space, pure, scale=tau),
        x,
        softmax(dict(enumerate(s))),
    )
    single = permute_and_flip(dict(enumerate(s)))
    yield "permute-and-flip", tk.make_permute_and_flip(*space, pure, scale=tau), x, single
    two = peeled(permute_and_flip, [0.0, -0.5, -1.0], 2)
    twice = tk.make_peeled_top_k(*space, pure, k=2, scale=2, mechanism="permute_and_flip")
    yield "peeled permute-and-flip", twice, [2, 1, 0], two
    x = [6, 4, 3, 1, 0]
    joint = softmax({pair: -max(6 - x[pair[0]], 4 - x[pair[1]]) for pair in itertools.permutations(range(5), 2)})
    yield "joint ranking", tk.make_joint_top_k(*space, pure, k=2, scale=1), x, joint
    both = tk.make_report_noisy_top_k(*space, pure, k=2, scale=2)
    yield "one-shot exponential", both, [2, 1, 0], both.distribution([2, 1, 0])
    laplace = tk.make_lipschitz_top_k(*space, pure, k=1, scale=2, noise=tk.Laplace())
    yield "Laplace", laplace, [2, 1, 0], laplace.distribution([2, 1, 0])


def _sets() -> Iterator[Case]:
    """Canonical top-k: the law over all subsets, by its definition."""
    x, k = [5, 3, 2, 2, 0], 2
    for gamma, loss in ((0.5, "margin"), (0.5, "distance"), (1.0, "margin")):
        utilities = {}
        for subset in itertools.combinations(range(len(x)), k):
            worst, best = min(x[i] for i in subset), max(x[i] for i in range(len(x)) if i not in subset)
            utilities[subset] = gamma * worst - (1 - gamma) * (best if loss == "margin" else max(best, worst))
        made = tk.make_canonical_top_k(*_space(), tk.ZeroConcentratedDivergence(), k=k, scale=1, gamma=gamma, loss=loss)
        yield f"canonical, gamma = {gamma}, {loss}", made, x, softmax(utilities)
    subsets = ((0, 1), (0, 2), (1, 2))
    flips = permute_and_flip({0: 0.5, 1: -0.5, 2: -0.5})
    law = {subset: flips[i] for i, subset in enumerate(subsets)}
    made = tk.make_canonical_top_k(*_space(), tk.MaxDivergence(), k=2, scale=1, noise=tk.Exponential())
    yield "canonical, exponential noise", made, [1, 1, 0], law


def _crowd() -> Iterator[Case]:
    """One leader and two blocks of others, who rise by their tails alone: as likely as not, one of them wins."""
    n, gap = 2 * 4096, math.log(2 * 4096)
    made = tk.make_exponential_mechanism(
        tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(), tk.MaxDivergence(), scale=1.0
    )
    leads = made >> (lambda winner: int(winner == n))
    yield "a leader before a crowd", leads, np.array([0.0] * n + [gap]), {1: 0.5, 0: 0.5}


def _integers() -> Iterator[tuple[str, Any, Mapping[Any, float]]]:
    vectors = tk.VectorDomain(tk.AtomDomain(int))
    laplace = tk.make_laplace(vectors, tk.L1Distance(), tk.MaxDivergence(), scale=2)
    yield "discrete Laplace", laplace, softmax({z: -abs(z) / 2 for z in range(-200, 201)})
    for sigma in (1.5, 3.0):
        gaussian = tk.make_gaussian(vectors, tk.L2Distance(), tk.ZeroConcentratedDivergence(), scale=sigma)
        law = softmax({z: -z * z / (2 * sigma * sigma) for z in range(-60, 61)})
        yield f"discrete Gaussian, {sigma}", gaussian, {z: p for z, p in law.items() if p > 0}
