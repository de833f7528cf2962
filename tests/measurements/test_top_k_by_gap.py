"""The claims of make_top_k_by_gap: its law and its loss on all small cases, what is attained, exact gaps, arguments."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.top_k_by_gap import make_top_k_by_gap
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles.chi_square import assert_follows

MAX, PROFILE = tk.Approximate(tk.MaxDivergence()), tk.PrivacyProfile()
CONCENTRATED = tk.Approximate(tk.ZeroConcentratedDivergence())
NOISES = (tk.noise.Exponential(), tk.noise.Gumbel())
WHOLE = tk.VectorDomain(tk.AtomDomain(int))
MONOTONIC = tk.LInfDistance(monotonic=True)
Law = Mapping[Hashable, float]


def build(measure: tk.Measure = MAX, domain: Any = WHOLE, metric: Any = MONOTONIC, **options: Any) -> tk.Measurement:
    return make_top_k_by_gap(domain, metric, measure, **{"k": 2, "scale": 2, "threshold": 3} | options)


# What the mechanism is, written down once more.
def best(noise: Noise, units: Sequence[float]) -> list[float]:
    """How likely each of some scores is the largest with noise of scale 1."""
    weights = np.exp(np.array(units, dtype=float) - max(units))
    if noise == tk.noise.Gumbel():
        return list(weights / weights.sum())
    found = []
    for i, weight in enumerate(weights):  # it wins with exp(-noisy score) = x, and the others are beyond x
        others = np.poly1d([1.0])
        for other in np.delete(weights, i):
            others *= np.poly1d([-other, 1.0])
        found.append(float(weight * others.integ()(1.0)))
    return found


def passes(noise: Noise, lead: float) -> float:
    """How likely a gap passes that is ahead of the threshold by so many scales."""
    if noise == tk.noise.Gumbel():
        return 1 / (1 + math.exp(-lead))
    return math.exp(lead) / 2 if lead < 0 else 1 - math.exp(-lead) / 2


def order(scores: Sequence[float], sign: int = 1) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: (-sign * scores[i], i))


def gaps(scores: Sequence[float], k: int, sign: int = 1) -> list[float]:
    ranked = sorted((sign * score for score in scores), reverse=True)
    return [ranked[j] - ranked[j + 1] for j in range(k)]


def law(
    noise: Noise,
    scores: Sequence[float],
    k: int,
    scale: float,
    test_scale: float,
    threshold: float,
    sign: int = 1,
    *,
    refused: frozenset[int] = frozenset(),
) -> dict[Hashable, float]:
    """The law of the release; the gaps in ``refused`` never pass."""
    found: dict[Hashable, float] = {(): 0.0}
    led = gaps(scores, k, sign)
    for j, (chance, gap) in enumerate(zip(best(noise, [gap / scale for gap in led]), led, strict=True)):
        passed = 0.0 if j in refused else chance * passes(noise, (gap - threshold) / test_scale)
        found[tuple(sorted(order(scores, sign)[: j + 1]))] = passed
        found[()] += chance - passed
    return {released: mass for released, mass in found.items() if mass > 0}


def excess(one: Law, other: Law, epsilon: float) -> float:
    return math.fsum(max(0.0, mass - math.exp(epsilon) * other.get(outcome, 0.0)) for outcome, mass in one.items())


def renyi(one: Law, other: Law, alpha: float) -> float:
    assert set(one) == set(other)
    return math.log(math.fsum(p**alpha * other[y] ** (1 - alpha) for y, p in one.items())) / (alpha - 1)


def pairs(metric: tk.LInfDistance, size: int, top: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Scores up to ``top``, in order, and what they are after a user; and both exchanged."""
    steps = itertools.product((0, 1) if metric.monotonic else (-1, 0, 1), repeat=size)
    vectors = ((0, *x) for x in itertools.combinations_with_replacement(range(top + 1), size - 1))
    moved = [(x, tuple(a + b for a, b in zip(x, step, strict=True))) for x, step in itertools.product(vectors, steps)]
    return moved + [(b, a) for a, b in moved]


def specimens() -> list[Specimen]:
    options = {"k": 2, "scale": 2, "test_scale": 1, "threshold": 2}
    return [
        Specimen(build(**options, noise=noise), ((0, 1, 1), (1, 1, 1)), lambda x, n=noise: law(n, x, 2, 2, 1, 2))
        for noise in NOISES
    ]


@pytest.mark.further
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("metric", [MONOTONIC, tk.LInfDistance()], ids=["monotonic", "both ways"])
@pytest.mark.parametrize(
    ("k", "scale", "test_scale", "threshold"), [(1, 1, 1, 3), (2, 2, 1, 2), (2, 1, 3, 0), (3, 1, 0.5, 4), (2, 9, 1, 5)]
)
def test_no_pair_exceeds_the_map(
    noise: Noise, metric: Any, k: int, scale: float, test_scale: float, threshold: float
) -> None:
    scales = {"scale": scale, "test_scale": test_scale, "threshold": threshold}
    options = {"k": k, "noise": noise, "metric": metric} | scales
    moved = 1 if metric.monotonic else 2
    epsilon, delta = build(**options).map(1)
    curve = build(PROFILE, **options).map(1)
    allowed = {part: curve.delta(part * epsilon) for part in (0.25, 0.75)}
    assert epsilon == (k > 1) * 2 * moved / scale + moved / test_scale
    assert delta == pytest.approx(passes(noise, (moved - threshold) / test_scale))
    met, spent, known = 0.0, 0.0, functools.cache(lambda x: law(noise, x, k, **scales))
    for x, other in pairs(metric, k + 1, 4 if k < 3 else 2):
        laws = known(x), known(other)
        met = max(met, excess(*laws, epsilon))
        assert all(excess(*laws, part * epsilon) <= most + 1e-12 for part, most in allowed.items())
        spent = max(spent, *(math.log(p / laws[1][y]) for y, p in laws[0].items() if y in laws[1]))
    assert met <= delta + 1e-12
    assert spent <= epsilon + 1e-9
    assert k > 1 or met == pytest.approx(delta)
    assert spent > 0.4 * epsilon


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize(("k", "scale", "test_scale", "threshold"), [(1, 1, 1, 3), (2, 2, 1, 2), (2, 0.5, 2, 1)])
def test_all_but_delta_is_within_rho(noise: Noise, k: int, scale: float, test_scale: float, threshold: float) -> None:
    """Where sets that differ never pass, the Renyi divergences are within rho, and 1 - delta of the release is this."""
    scales = {"scale": scale, "test_scale": test_scale, "threshold": threshold}
    rho, delta = build(CONCENTRATED, k=k, noise=noise, **scales).map(1)
    met = 0.0
    for x, other in pairs(MONOTONIC, 3, 3):
        here, there = order(x), order(other)
        apart = frozenset(j for j in range(k) if set(here[: j + 1]) != set(there[: j + 1]))
        whole, rest = law(noise, x, k, **scales), law(noise, x, k, **scales, refused=apart)
        neighbour = law(noise, other, k, **scales, refused=apart)
        assert all(whole[y] >= (1 - delta) * mass * (1 - 1e-12) for y, mass in rest.items())
        met = max(met, *(renyi(rest, neighbour, alpha) / alpha for alpha in (1.01, 1.5, 2, 5, 30)))
    assert 0.3 * rho < met <= rho


BROKEN: dict[str, dict[str, float]] = {
    "no test": {"threshold": -30},
    "a threshold that forgets how far gaps move": {"threshold": 4},
    "little noise in the test": {"test_scale": 0.1},
    "little noise in the choice": {"scale": 0.1},
    "a quarter of the noise in the choice": {"scale": 0.5},
}


@pytest.mark.further
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("version", BROKEN)
def test_versions_that_leave_out_a_step_are_refuted(version: str, noise: Noise) -> None:
    """Under the claim of the whole mechanism, on all pairs of three small scores."""
    options: dict[str, Any] = {"scale": 2, "test_scale": 1, "threshold": 5}
    epsilon, delta = build(noise=noise, **options).map(1)
    worst = 0.0
    for x, other in pairs(MONOTONIC, 3, 6):
        worst = max(worst, excess(*(law(noise, y, 2, **(options | BROKEN[version])) for y in (x, other)), epsilon))
    assert worst > 1.1 * delta


def test_epsilon_is_attained_by_a_set_that_both_release() -> None:
    options = {"k": 2, "scale": 2, "test_scale": 1, "threshold": 3}
    epsilon, _ = build(**options).map(1)
    mass, other = (law(tk.noise.Exponential(), x, **options)[0, 1] for x in ((9, 0, 0), (9, 1, 0)))
    assert math.log(other / mass) == pytest.approx(epsilon)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_declared_law_is_that_of_the_mechanism(noise: Noise, sign: int) -> None:
    optimize = {1: "max", -1: "min"}[sign]
    for x in ([5, 5, 1, 0], [0, 9, 9, 2], [3, 1, 4, 1], [7, 7, 7, 7]):
        declared = build(k=3, scale=2, test_scale=3, noise=noise, optimize=optimize).distribution(x)
        expected = law(noise, x, 3, 2, 3, 3, sign)
        assert declared.keys() == expected.keys()
        assert all(float(declared[y]) == pytest.approx(p, rel=1e-9) for y, p in expected.items())


@pytest.mark.further
@pytest.mark.parametrize(("noise", "element"), [(NOISES[0], float), (NOISES[1], int)], ids=["floats", "integers"])
def test_releases_follow_the_law(noise: Noise, element: type) -> None:
    domain = tk.VectorDomain(tk.AtomDomain(element))
    measurement = build(domain=domain, metric=tk.RangeDistance(), k=3, scale=2, test_scale=1, noise=noise)
    x = [element(score) for score in (9, 1, 6, 5, 2)]
    drawn = Counter(tuple(measurement(x).tolist()) for _ in range(1500))
    assert_follows(drawn, law(noise, x, 3, 2, 1, 3), detects=0.4)


def test_gaps_are_exact() -> None:
    """Scores that floats would round together, and gaps that are no float64, without noise."""
    large = build(scale=0, test_scale=0, threshold=2)
    assert large([2**53, 2**53 + 2, 2**53 - 1]).tolist() == [1]
    assert large([2**53 + 1, 2**53, 2**53 - 1]).tolist() == []
    assert large([2**70, 2**70 + 1, 2**70 - 3, 5]).tolist() == [0, 1]
    floats = tk.VectorDomain(tk.AtomDomain(float))
    lead = Fraction(1.0) - Fraction(5e-324)
    for threshold, released in ((lead, [1]), (lead + Fraction(1, 2**1080), [])):
        exact = build(domain=floats, scale=0, test_scale=0, threshold=threshold)
        assert exact([5e-324, 1.0, 0.0]).tolist() == released


def test_equal_scores_and_gaps_go_by_the_lowest_index() -> None:
    exact = build(k=3, scale=0, test_scale=0, threshold=1)
    assert exact([0, 1, 1, 2]).tolist() == [3]
    assert exact([5, 5, 5, 5, 5]).tolist() == []
    assert build(k=3, scale=0, test_scale=0, threshold=0)([5, 5, 5, 5]).tolist() == [0]
    least = build(k=3, scale=0, test_scale=0, threshold=1, optimize="min")
    assert least([4, 9, 1, 8]).tolist() == [0, 2]


def test_a_large_gap_is_found_and_a_small_one_refused() -> None:
    six = tk.VectorDomain(tk.AtomDomain(int), size=6)
    measurement = build(domain=six, k=4, scale=4, delta=1e-9, threshold=None) >> tk.index_candidates([*"abcdef"])
    assert measurement([9000, 10, 9020, 20, 8990, 30]).items == ("a", "c", "e")
    assert measurement([10, 10, 10, 11, 10, 10]).items == ()


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("metric", [MONOTONIC, tk.LInfDistance(), tk.RangeDistance()], ids=repr)
def test_the_threshold_is_the_least_that_keeps_delta(noise: Noise, metric: Any) -> None:
    options: dict[str, Any] = {"metric": metric, "noise": noise, "scale": 6}
    for delta in (0.25, 1e-3, 1e-9):
        measurement = build(**options, delta=delta, threshold=None)
        assert measurement.map(1)[1] <= delta
        lower = measurement.parameters["threshold"] * (1 - 1e-9)
        assert build(**options, threshold=lower).map(1)[1] > delta


def test_a_group_moves_gaps_by_as_much_as_its_users_do_together() -> None:
    for noise in NOISES:
        epsilon, delta = build(noise=noise, scale=4, test_scale=2, threshold=9).map(3)
        assert (epsilon, delta) == (2 * 3 / 4 + 3 / 2, pytest.approx(passes(noise, (3 - 9) / 2)))
    assert build(threshold=1, test_scale=1).map(4)[1] == pytest.approx(passes(tk.noise.Exponential(), 3))


@pytest.mark.slow
def test_planned_together_several_cost_less_than_their_sum(tmp_path: Path) -> None:
    """At the scales that the guide on choosing names; a little less noise is refused."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "choose.md").read_text("utf-8")
    assert "four sets need scale 14.1 instead of 16, and twelve 26.9 instead of 48" in text
    whole = {"budget": (1, "1e-9"), "measure": tk.PrivacyProfile(), "own_delta": "1e-9", "dataset": "votes"}
    for times, scale, added in ((4, 14.1, 16), (12, 26.9, 48)):
        given: dict[str, Any] = {"k": 10, "threshold": None, "noise": tk.noise.Gumbel()}
        given["delta"] = Fraction(1, 2 * times * 10**9)
        assert times * build(MAX, scale=added, **given).map(1)[0] == 1
        with tk.ledger.Ledger.create(tmp_path / str(times), metric=MONOTONIC, **whole) as ledger:
            for at in (0.99 * scale, scale):
                weeks = [(build(tk.PrivacyProfile(), scale=at, **given), f"week {n}") for n in range(times)]
                if at < scale:
                    with pytest.raises(tk.errors.BudgetError):
                        ledger.reserve_all(weeks)
            assert ledger.reserve_all(weeks).release("week 2", [10**6] * 3 + [*range(20)]).tolist() == [0, 1, 2]


def test_without_noise_nothing_is_promised() -> None:
    for options in ({"scale": 0}, {"test_scale": 0}):
        assert build(**options).map(1) == (math.inf, 1.0)
        assert build(**options).map(0) == (0.0, 0.0)
    one = build(k=1, scale=0, test_scale=2)
    assert one.map(1) == build(k=1, scale=5, test_scale=2).map(1) == (0.5, pytest.approx(math.exp(-1) / 2))


def test_too_few_scores() -> None:
    raises_exactly(tk.errors.DataError, lambda: build()([1, 2]), "k + 1")
    raises_exactly(tk.errors.DataError, lambda: build().distribution([1, 2]), "k + 1")
