"""Every finite-output mechanism under every measure: all score vectors on a grid, all extreme moves, d <= 5, k <= 3.

The laws are those of an independent oracle, in float64: a wide net for maps that are too small. The tests of each
mechanism hold its own laws, known to 30 digits, against its maps on fewer vectors.
"""

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.losses import ORDERS, number
from tests.oracles import floats

MAX, RANGE, ZCDP = MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
UP, BOTH, SPREAD = METRICS = (tk.LInfDistance(monotonic=True), tk.LInfDistance(), tk.RangeDistance())
NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
GAMMAS = [Fraction(n, 4) for n in range(5)]
SHAPES = [(d, k) for d in range(1, 6) for k in range(1, 4) if k <= d]
CHOICES = [(d, k) for d, k in SHAPES if k < d]
every_shape = pytest.mark.parametrize(("d", "k"), SHAPES)
Law = Callable[[Any], Any]


def moves(metric: tk.Metric, d: int) -> dict[tuple[int, ...], int]:
    """The extreme moves of the scores, and how long each is."""
    signed = itertools.product((-1, 1), repeat=d)
    if metric == BOTH:
        return dict.fromkeys(signed, 1)
    ups = dict.fromkeys(itertools.product((0, 1), repeat=d), 1)
    del ups[(0,) * d]
    if metric == SPREAD:
        return ups
    return ups | {move: 2 for move in itertools.product((-1, 0, 1), repeat=d) if min(move) < 0 < max(move)}


@functools.cache
def pairs(d: int, depth: int) -> tuple[Any, dict[tk.Metric, list[tuple[int, int, int]]]]:
    """Score vectors, and for each metric the neighbours among them as (row, row, distance)."""
    rows: dict[tuple[int, ...], int] = {}
    found: dict[tk.Metric, list[tuple[int, int, int]]] = {metric: [] for metric in METRICS}
    for rest in itertools.combinations_with_replacement(range(0, -depth - 1, -1), d - 1):
        x = (0, *rest)
        for metric in METRICS:
            for move, d_in in moves(metric, d).items():
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                found[metric].append((rows.setdefault(x, len(rows)), rows.setdefault(y, len(rows)), d_in))
    return np.array(list(rows), dtype=np.float64), found


def realised(measure: tk.Measure, before: Any, after: Any) -> Any:
    """The loss of each pair of rows, which are logarithms of laws; for zCDP a lower bound, over a few orders."""
    losses = after - before
    if measure == MAX:
        return np.abs(losses).max(axis=1)
    if measure == RANGE:
        return losses.max(axis=1) - losses.min(axis=1)
    found = []
    for order, (law, loss) in itertools.product((*ORDERS, 300), ((before, losses), (after, -losses))):
        terms = law + order * loss
        top = terms.max(axis=1)
        found.append((top + np.log(np.exp(terms - top[:, None]).sum(axis=1))) / (order * (order - 1)))
    return np.max(found, axis=0)


def assert_bounded(build: Callable[..., tk.Measurement], law: Law, d: int, scale: Fraction, depth: int = 3) -> float:
    """No neighbours exceed any map; the largest share of a map that is reached."""
    scores, neighbours = pairs(d, depth)
    with np.errstate(under="ignore"):
        logs = np.log(law(scores / float(scale)))
    share = 0.0
    for metric, listed in neighbours.items():
        first, second, lengths = np.array(listed).T
        for measure in MEASURES:
            measurement = build(tk.VectorDomain(tk.AtomDomain(int), size=d), metric, measure, scale=scale)
            found = realised(measure, logs[first], logs[second])
            for d_in in set(lengths.tolist()):
                claimed, worst = measurement.map(d_in), found[lengths == d_in].max()
                assert worst <= claimed * (1 + 1e-9) + 1e-10, (metric, measure, d_in)
                share = max(share, worst / claimed if claimed else 0.0)
    return share


@pytest.mark.quick(d=(2, 3))
@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("utility", ["margin", "distance"])
@pytest.mark.parametrize(("d", "k"), CHOICES)
def test_canonical(d: int, k: int, utility: str, gamma: Fraction) -> None:
    for scale, (noise, draw) in itertools.product(
        (Fraction(1), Fraction(1, 4)), ((tk.noise.Gumbel(), floats.softmax), (tk.noise.Exponential(), floats.flip))
    ):
        make = functools.partial(tk.make_canonical_top_k, k=k, gamma=gamma, utility=utility, noise=noise)
        share = assert_bounded(make, lambda x, draw=draw: draw(floats.canonical(x, k, float(gamma), utility)), d, scale)
        assert share > 0.4 or utility == "distance"  # which may leave next to no choice: none at k = 1, gamma = 0


@pytest.mark.quick(d=(1, 2, 3, 4))
@pytest.mark.parametrize("release", ["ranking", "set"])
@every_shape
def test_joint(d: int, k: int, release: str) -> None:
    for scale in (Fraction(1), Fraction(1, 4)):
        build = functools.partial(tk.make_joint_top_k, k=k, release=release)
        share = assert_bounded(build, lambda x: floats.softmax(floats.joint(x, k, release)), d, scale)
        assert share > 0.4 or (release == "set" and k == d) or d == 1


@pytest.mark.quick(d=(1, 2, 3, 4))
@every_shape
def test_peeled(d: int, k: int) -> None:
    for scale in (Fraction(1), Fraction(1, 4)):
        for mechanism, choice in (("exponential", floats.softmax), ("permute_and_flip", floats.flip)):
            build = functools.partial(tk.make_peeled_top_k, k=k, mechanism=mechanism)
            share = assert_bounded(build, lambda x, c=choice: floats.peeled(c, x, k), d, scale, depth=2)
            assert share > 0.4 or d == 1


@pytest.mark.parametrize("d", range(1, 6))
def test_single_choices(d: int) -> None:
    for scale in (Fraction(1), Fraction(1, 4)):
        for build, choice in ((tk.make_exponential_mechanism, floats.softmax), (tk.make_permute_and_flip, floats.flip)):
            assert assert_bounded(build, choice, d, scale) > 0.8 or d == 1


@pytest.mark.quick(d=(1, 2, 3))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@every_shape
def test_one_shot(d: int, k: int, noise: Any) -> None:
    for scale in (Fraction(1), Fraction(1, 2)):
        for release in ("ranking", "set"):

            def law(x: Any, release: str = release) -> Any:
                rankings = floats.one_shot(noise.name, x, k)
                return rankings if release == "ranking" else floats.sets(rankings, d, k)

            build = functools.partial(tk.make_report_noisy_top_k, k=k, noise=noise, release=release)
            share = assert_bounded(build, law, d, scale, depth=2 if d < 5 else 1)
            assert share > 0.3 or (release == "set" and k == d) or d == 1


@pytest.mark.quick(d=(1, 2, 3))
@pytest.mark.parametrize("release", ["ranking", "set"])
@every_shape
def test_select_then_count(d: int, k: int, release: str) -> None:
    """Given the winners w each count loses |move| / b, and alpha move^2 / (2 sigma^2) at most, over all its values."""
    scores, neighbours = pairs(d, 2 if d < 5 else 1)
    outcomes = [
        list(w) for w in (itertools.permutations if release == "ranking" else itertools.combinations)(range(d), k)
    ]
    scale, spread = Fraction(2), Fraction(3)
    for measure, noise in ((MAX, "Exponential"), (ZCDP, "Gumbel")):
        rankings = floats.one_shot(noise, scores / float(scale), k)
        logs = np.log(rankings if release == "ranking" else floats.sets(rankings, d, k))
        for metric in (UP, BOTH):
            space = tk.VectorDomain(tk.AtomDomain(int), size=d), metric
            both = tk.make_select_then_count(*space, measure, k=k, scale=scale, count_scale=spread, release=release)
            first, second, lengths = np.array(neighbours[metric]).T
            moved = np.abs(scores[second] - scores[first]) / float(spread)
            if measure == MAX:
                counted = np.stack([moved[:, w].sum(axis=1) for w in outcomes], axis=1)
                found = (np.abs(logs[second] - logs[first]) + counted).max(axis=1)
            else:
                counted = np.stack([(moved[:, w] ** 2).sum(axis=1) / 2 for w in outcomes], axis=1)
                found = np.zeros(len(first))
                for order, (a, b) in itertools.product((*ORDERS, 300), ((first, second), (second, first))):
                    terms = logs[a] + order * (logs[b] - logs[a]) + (order - 1) * order * counted
                    top = terms.max(axis=1)
                    moment = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
                    found = np.maximum(found, moment / (order * (order - 1)))
            for d_in in set(lengths.tolist()):
                worst, claimed = found[lengths == d_in].max(), both.map(d_in)
                assert worst <= claimed * (1 + 1e-9) + 1e-10, (metric, measure, d_in)
                assert worst > 0.4 * claimed or d_in > 1


@pytest.mark.further
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_oracle_agrees_with_the_laws_known_to_30_digits(noise: Any) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    for x, k in (([3, 0, 2], 3), ([3, 0, -1, 2], 2)):
        declared = tk.make_report_noisy_top_k(*space, MAX, k=k, scale=2, noise=noise).distribution(x)
        found = floats.one_shot(noise.name, np.array([x]) / 2, k)[0]
        for y, p in zip(itertools.permutations(range(len(x)), k), found.tolist(), strict=True):
            assert abs(p / float(number(declared[y])) - 1) < 1e-11


def test_maps_that_are_a_little_too_small_are_refuted() -> None:
    """A twentieth less than what is claimed is noticed for the range of permute-and-flip and of one choice."""
    for build, choice in ((tk.make_exponential_mechanism, floats.softmax), (tk.make_permute_and_flip, floats.flip)):

        def planted(*space: Any, scale: Fraction, build: Any = build) -> tk.Measurement:
            return build(*space, scale=scale * Fraction(20, 19))  # type: ignore[no-any-return]

        with pytest.raises(AssertionError, match="Divergence"):
            assert_bounded(planted, choice, 3, Fraction(1))
