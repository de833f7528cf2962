"""The claims of make_weighted_partition_selection: small tables enumerated through all rounds, arguments.

Tries proofs/measurements/new_keys.tex.
"""

import functools
import importlib
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.measurements._new_keys import DiscreteGaussianNoise, largest_normal_shift
from opendp_topk.measurements.weighted_partition_selection import (
    SCALES,
    _release_curve,
    make_weighted_partition_selection,
)
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import chi_square, discrete

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PROFILE = tk.PrivacyProfile()
PHI = NormalDist().cdf
Table = dict[int, tuple[str, ...]]


def build(measure: tk.Measure = ZCDP, neighbors: str = "add_remove", **options: Any) -> tk.Measurement:
    space = tk.FrameDomain("user", "item"), tk.UserDistance(neighbors)
    return make_weighted_partition_selection(*space, measure, **{"max_items": 2, "delta": 0.01} | options)


def frame(table: Table) -> Any:
    rows = [(user, item) for user, items in table.items() for item in items]
    return pl.DataFrame(rows, {"user": pl.Int64, "item": pl.String}, orient="row")


@functools.cache
def threshold(scale: Fraction, keys: int, delta: Fraction) -> Fraction:
    noise = DiscreteGaussianNoise(scale, Fraction(1, 2**28))
    return noise.least_threshold(lambda level: noise.new_partition_probability(1, keys, level) <= delta)


def noise_of(rounds: int, scale: float, delta: float, keys: int = 2, least: int = 1) -> tuple[list[float], list[float]]:
    """The scales and thresholds of the rounds; with a minimum, the last one's threshold of all of delta for each."""
    scales, powers = [Fraction(scale) * part for part in SCALES[rounds]], [3**at for at in range(rounds)]
    shares = [Fraction(power, sum(powers)) if least == 1 else Fraction(1) for power in powers]
    noises = scales if least == 1 else [scales[-1]] * rounds
    levels = [threshold(noise, keys, share * Fraction(delta)) for noise, share in zip(noises, shares, strict=True)]
    return [*map(float, scales)], [float(level) + least - 1 for level in levels]


def law(table: Table, scales: list[float], levels: list[float], least: int = 1) -> dict[tuple[str, ...], float]:
    """The released keys, round by round: normal noise is discrete noise but for a part of 2^-28.

    A key is released, or goes on with a fifth of the weight of others, or with theirs.
    """
    users = Counter(item for items in table.values() for item in items)
    found: dict[tuple[str, ...], float] = Counter()
    paths = {tuple((item, 1) for item in sorted(users)): {(): 1.0}}
    for at, (scale, level) in enumerate(zip(scales, levels, strict=True), 1):
        further: dict[Any, Counter[tuple[str, ...]]] = {}
        for shares, known in paths.items():
            for chance, released, rest in steps(table, dict(shares), scale, level, users, least, at == len(levels)):
                for keys, mass in known.items():
                    further.setdefault(rest, Counter())[(*keys, *released)] += chance * mass
        paths = further
    for known in paths.values():
        for keys, mass in known.items():
            found[tuple(sorted(keys))] += mass
    return found


def steps(
    table: Table, shares: dict[str, int], scale: float, level: float, users: Counter[str], least: int, last: bool
) -> Iterator[tuple[float, tuple[str, ...], tuple[tuple[str, int], ...]]]:
    """The chance of what one round releases and leaves, with the shares of what it leaves."""
    sums = dict.fromkeys(shares, 0.0)
    for items in table.values():
        own = {item: shares[item] for item in items if item in shares}
        for item, share in own.items():
            sums[item] += share / math.hypot(*own.values())
    ways = []
    for item, total in sums.items():
        low, high = PHI((0.75 * scale - total) / scale), PHI((total - level) / scale)
        high *= users[item] >= least and (last or least == 1)
        ways.append([(high, item, 0), (low, item, 1), (1 - low - high, item, 5)])
    for way in itertools.product(*ways):
        released = tuple(item for _, item, share in way if not share)
        yield math.prod(p for p, _, _ in way), released, tuple((item, share) for _, item, share in way if share)


def specimens() -> list[Specimen]:
    """A key of two users; many independent releases of it are one release of many such keys."""
    link = build(PROFILE, max_items=1, scale=1.0, delta=0.02, rounds=1)
    left: Table = {1: ("a",), 2: ("a",)}

    def of(table: Any) -> Any:
        return law({user: (item,) for user, item in table.rows()}, *noise_of(1, 1.0, 0.02, 1))

    def draws(n: int) -> list[Hashable]:
        return sorted(releases(link, left, n), reverse=True)

    return [Specimen(link, (frame(left), frame({1: ("a",)})), of, share=0.02, draws=draws)]


def releases(link: tk.Measurement, table: Table, n: int) -> list[tuple[str, ...]]:
    """Independent releases, which are one of a table of as many worlds, each with keys of its own."""
    users = {8 * at + user: tuple(f"{at} {i}" for i in items) for at in range(n) for user, items in table.items()}
    found: list[tuple[str, ...]] = [()] * n
    for at, item in sorted(key.split() for key in link(frame(users))):
        found[int(at)] += (item,)
    return found


WORLD: Table = {1: ("a", "b"), 2: ("b", "c"), 3: ("b",)}


@pytest.mark.parametrize(("least", "rounds"), [(1, 3), (2, 3), (1, 2)])
def test_the_law_of_all_rounds(least: int, rounds: int) -> None:
    link = build(PROFILE, scale=0.8, delta=0.1, rounds=rounds, minimum_users=least)
    exact = law(WORLD, *noise_of(rounds, 0.8, 0.1, least=least), least)
    assert chi_square.p_value(Counter(releases(link, WORLD, 16_000)), exact) > chi_square.ODDS


def excess(before: Any, after: Any, epsilon: float) -> float:
    z = math.exp(epsilon)
    return max(
        sum(max(0.0, one.get(y, 0.0) - z * other.get(y, 0.0)) for y in one)
        for one, other in ((before, after), (after, before))
    )


def tables(users: int) -> Iterable[Table]:
    """Each of some users has one of the sets of two of three keys, or none."""
    baskets = [(), *[tuple(c) for n in (1, 2) for c in itertools.combinations("abc", n)]]
    for chosen in itertools.combinations_with_replacement(baskets, users):
        yield {at: items for at, items in enumerate(chosen) if items}


@pytest.mark.further
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_no_pair_of_tables_exceeds_the_map_and_some_come_near(neighbors: str, rounds: int) -> None:
    for scale, delta, least in ((1.5, 0.05, 1), (0.8, 1e-3, 1), (0.8, 1e-3, 3)):
        link = build(PROFILE, neighbors, scale=scale, delta=delta, rounds=rounds, minimum_users=least)
        scales, levels = noise_of(rounds, scale, delta, least=least)
        assert link.parameters["threshold"] == levels[-1]
        curve = link.map(1)
        claimed = {epsilon: curve.delta(epsilon) for epsilon in (0.0, 0.5, 1.5)}
        near = dict.fromkeys(claimed, 0.0)
        for rest in [*tables(2), dict.fromkeys(range(6), ("a", "b"))]:
            laws = [law(rest | {99 + at: b for at, b in t.items()}, scales, levels, least) for t in tables(1)]
            for pair in itertools.combinations(laws, 2) if neighbors == "replace" else ((laws[0], one) for one in laws):
                for epsilon, bound in claimed.items():
                    met = excess(*pair, epsilon)
                    assert met <= bound, (rest, epsilon)
                    near[epsilon] = max(near[epsilon], met / bound)
        assert max(near.values()) > 0.35, near


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(("scale", "delta"), [(2.0, 0.01), (1.0, 1e-4)])
def test_a_new_key_is_nearly_as_likely_in_all_rounds_together_as_claimed(
    rounds: int, scale: float, delta: float
) -> None:
    claimed = build(PROFILE, max_items=1, scale=scale, delta=delta, rounds=rounds).map(1).delta(30)
    met = 1 - law({1: ("x",)}, *noise_of(rounds, scale, delta, 1))[()]
    assert 0.97 < met / claimed <= 1


def test_no_number_of_new_keys_exceeds_the_curve_of_one_round_where_all_sums_are_released() -> None:
    link = build(PROFILE, max_items=40, epsilon=2.0, delta=1e-6, rounds=1)
    curve, scale, level = link.map(1), link.parameters["scale"], link.parameters["threshold"]
    for epsilon in (1.5, 1.9, 2.0, 2.2):
        met, claimed = 0.0, curve.delta(epsilon)
        for n, new in [(1, 0), *itertools.combinations_with_replacement(range(40, 0, -3), 2)]:
            lost = 1 - PHI((level - 1 / math.sqrt(n)) / scale) ** new
            hidden = normal_deltas((1 - new / n) / scale**2, np.array([epsilon]))[0]
            met = max(met, (lost + (1 - lost) * hidden) / claimed)
        assert 0.97 < met <= 1 + 1e-6, (epsilon, met)


def normal_deltas(square: float, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    if square == 0:
        return np.maximum(1 - np.exp(epsilons), 0)
    mu = math.sqrt(square)
    return np.array([PHI(mu / 2 - e / mu) - math.exp(e) * PHI(-mu / 2 - e / mu) for e in epsilons])


def stick(before: list[float], after: list[float], epsilon: float) -> float:
    """The larger hockey stick of two laws of independent keys with these probabilities."""
    one, other = (functools.reduce(np.kron, [np.array([p, 1 - p]) for p in law]) for law in (before, after))
    z = math.exp(epsilon)
    return float(max(np.maximum(one - z * other, 0).sum(), np.maximum(other - z * one, 0).sum()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "level", "most", "replaced"), [(1, 6, 4, 0), (2, 8, 4, 0), (3, 13, 4, 0), (1, 6, 2, 1)]
)
def test_no_user_exceeds_the_curve_of_one_round_and_some_meet_it(
    scale: int, level: int, most: int, replaced: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users with up to four keys, of which some are new, and others give the rest any sum; and two users for one."""
    monkeypatch.setattr(importlib.import_module(_release_curve.__module__), "UNIT", 16)
    curve = _release_curve([DiscreteGaussianNoise(Fraction(scale), STEP)], [Fraction(level)], 1, most, 1 + replaced)
    with mpmath.workdps(30):
        beyond = {z: float(p) for z, p in tails(Fraction(scale)).items()}
    deltas, met, tried = {e: curve.delta(e) for e in (0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)}, 0.0, 0

    def users() -> Iterator[tuple[list[float], list[float], list[float]]]:
        """Probabilities of shared keys without a user and with her, and those of her new ones."""
        for n in range(1, most + 1):
            weight = math.isqrt(256 // n)
            for old in range(n + 1):
                for gaps in itertools.combinations_with_replacement(range(-24 * scale, 25 * scale, 4 * scale), old):
                    own = [beyond[16 * level - weight]] * (n - old)
                    yield [beyond[g] for g in gaps], [beyond[g - weight] for g in gaps], own

    for without, with_her, own in users():
        for other, with_other, others in users() if replaced else [([], [], [])]:
            before = [*without, *with_other, *[0.0] * len(own), *others]
            after = [*with_her, *other, *own, *[0.0] * len(others)]
            for epsilon, delta in deltas.items():
                found, tried = stick(before, after, epsilon), tried + 1
                assert found <= delta, (before, after, epsilon)
                met = max(met, found / delta)
    assert tried > 10_000
    assert replaced or met > 0.95, met


def test_the_least_scale_has_a_threshold_at_once() -> None:
    assert 1 < build(scale=Fraction(1, 2**16)).parameters["threshold"] < 1.001


@pytest.mark.slow
def test_epsilon_and_delta_are_met_and_noise_is_not_too_much() -> None:
    for neighbors, factor in (("add_remove", 1.0), ("replace", math.sqrt(2))):
        for rounds in (1, 3):
            found = build(MAX, neighbors, epsilon=1.0, delta=1e-8, max_items=50, rounds=rounds)
            epsilon, delta = found.map(1)
            assert epsilon == 1
            assert 0.99e-8 < delta <= 1e-8
            assert 5.1 * factor < found.parameters["scale"] < 5.3 * factor
    curve = build(PROFILE, epsilon=1.0, delta=1e-8, max_items=50).map(1)
    assert 0.99 < curve.epsilon(1e-8) <= 1


@pytest.mark.slow
def test_maps() -> None:
    rho, delta = build(scale=2.0, rounds=1).map(1)
    assert (rho, delta <= 0.01) == (1 / 8, True)
    assert build(scale=2.0, rounds=1, neighbors="replace").map(1)[0] == 1 / 4
    assert build(scale=2.0, rounds=1).map(2)[0] == 1 / 2
    assert 0.9995 / 8 < build(scale=2.0).map(1)[0] <= 1 / 8
    assert build(scale=2.0).map(2)[1] > build(scale=2.0).map(1)[1]
    assert build(scale=0).map(1) == (math.inf, 1.0)
    assert build(scale=2.0).map(2**40) == (math.inf, 1.0)


@pytest.mark.further
@pytest.mark.parametrize("rounds", [1, 3])
def test_keys_of_many_come_out_and_those_of_one_do_not(rounds: int) -> None:
    table = {at: ("a", "b") if at % 2 else ("b", f"own {at}") for at in range(4000)}
    release = build(MAX, epsilon=1.0, delta=1e-8, rounds=rounds)
    assert release.map(1)[0] == 1
    assert release(frame(table)) == ("a", "b")
    assert release(frame({})) == ()
    assert build(scale=0)(frame({1: ("a",), 2: ("a",), 3: ("a", "b")})) == ("a",)


@pytest.mark.further
@pytest.mark.parametrize("rounds", [1, 3])
def test_keys_of_fewer_users_than_the_minimum_never_come_out(rounds: int) -> None:
    table = {at: ("all", "nine") if at < 9 else ("all", "ten") if at < 19 else ("all",) for at in range(30)}
    little = build(scale=Fraction(1, 1000), rounds=rounds, minimum_users=10)
    own = threshold(SCALES[rounds][-1] / 1000, 2, Fraction(0.01))
    assert little.parameters["threshold"] == float(own) + 9, "all of delta is that of the last round"
    assert little(frame(table)) == ("all",), "the weight of those who have two keys is below 1"
    assert little(frame(dict.fromkeys(range(11), ("ten",)) | dict.fromkeys(range(20, 29), ("nine",)))) == ("ten",)
    wide = build(scale=100.0, delta=0.5, rounds=rounds, minimum_users=10)
    nines = {9 * key + at: (f"nine {key}",) for key in range(150) for at in range(9)}
    tens = {10_000 + 10 * key + at: (f"ten {key}",) for key in range(150) for at in range(10)}
    found = wide(frame(nines | tens))
    assert found, "each of 150 keys comes out with a chance of 1/8 at least: none does once in 10^8 times"
    assert all(key.startswith("ten") for key in found)


@pytest.mark.further
def test_weight_of_keys_that_are_released_goes_to_others() -> None:
    """Each of 4920 users has the key of all and one of 120: without the former these weigh 41 each and not 29."""
    table = {at: ("all", f"key {at % 120:03}") for at in range(4920)}
    counts = {rounds: len(build(MAX, epsilon=1.0, delta=1e-8, rounds=rounds)(frame(table))) for rounds in (1, 2)}
    assert counts[1] < 75 <= counts[2]


def test_hopeless_keys_leave_their_weight_to_others() -> None:
    """Each of 120 keys has 60 users, whose nine other keys are theirs alone: 19 weigh less than 30 in later rounds."""
    table = {at: (f"key {at % 120:03}", *(f"own {at} {n}" for n in range(9))) for at in range(7200)}
    found = build(max_items=10, scale=1.0)(frame(table))
    assert sum(key.startswith("key") for key in found) >= 113


# How likely new keys are, against weights of many kinds.


STEP = Fraction(1, 16)


def reached(weights: tuple[int, ...], beyond: dict[int, Any], level: int) -> Any:
    """The chance that one of these sums, in steps, reaches the level."""
    return 1 - mpmath.fprod(1 - beyond[level - weight] for weight in weights)


def tails(scale: Fraction) -> dict[int, Any]:
    """The chance that noise is at least so many steps: sums of the discrete law itself."""
    masses = discrete.masses("gaussian", scale / STEP)
    last = sorted(masses, reverse=True)
    return dict(zip(last, itertools.accumulate(masses[z] for z in last), strict=True))


def spread(length: int, keys: int) -> set[tuple[int, ...]]:
    """Weights of this length, in steps: equal ones, and one large one beside small ones."""
    found = set()
    for n, large in itertools.product(range(1, keys + 1), range(length * 16 + 1)):
        rest = length**2 * 256 - large**2
        small = math.isqrt(rest // (n - 1)) if n > 1 else 0
        found.add(tuple(w for w in (large, *[small] * (n - 1)) if w))
    return found - {()}


@pytest.mark.parametrize(("scale", "length", "keys", "level"), [(1, 1, 4, 6), (3, 1, 6, 14), (1, 2, 3, 8)])
def test_no_weights_exceed_what_is_lost_and_some_come_near(scale: int, length: int, keys: int, level: int) -> None:
    claimed = DiscreteGaussianNoise(Fraction(scale), STEP).new_partition_probability(length, keys, Fraction(level))
    with mpmath.workdps(30):
        beyond = tails(Fraction(scale))
        met = max(reached(weights, beyond, 16 * level) for weights in spread(length, keys))
        assert met <= mpmath.mpf(claimed.numerator) / claimed.denominator
        assert met > 0.8 * float(claimed)


def test_a_threshold_that_is_too_near_loses_all() -> None:
    assert DiscreteGaussianNoise(Fraction(2), STEP).new_partition_probability(1, 3, Fraction(3)) == 1
    assert DiscreteGaussianNoise(Fraction(2), STEP).new_partition_probability(1, 3, Fraction(4)) < 1


@pytest.mark.further
def test_the_threshold_keeps_delta_and_is_about_the_least() -> None:
    for scale, keys, delta in ((Fraction(5), 50, 1e-8), (Fraction(1, 3), 1, 0.4), (Fraction(40), 1000, 1e-200)):
        noise, level = DiscreteGaussianNoise(scale, Fraction(1, 2**28)), threshold(scale, keys, Fraction(delta))
        assert noise.new_partition_probability(1, keys, level) <= delta
        assert delta > 0.1 or noise.new_partition_probability(1, keys, level - scale / 1000) > delta
        assert (level / noise.step).denominator == 1
    raises_exactly(tk.errors.ParameterError, lambda: threshold(scale, 1, Fraction(1, 10**2000)), "too small")


def test_the_threshold_of_equal_weights_is_that_of_the_paper() -> None:
    """Gopi et al. (2020), Theorem 5.1, as published, is met to a thousandth where equal weights are the worst."""
    scale, keys, delta = 5.0, 50, 5e-9
    quantile = mpmath.erfinv(1 - 2 * -mpmath.expm1(mpmath.log1p(-delta) / keys)) * mpmath.sqrt(2)
    published = 1 / math.sqrt(keys) + scale * float(quantile)
    assert float(threshold(Fraction(5), keys, Fraction(delta))) == pytest.approx(published, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_threshold_is_about_the_least_of_all_shares_of_delta(rounds: int) -> None:
    """No other part of delta for the noise has a threshold that is smaller by half a percent."""
    for neighbors, epsilon, delta, keys in (("add_remove", 1.0, 1e-8, 50), ("replace", 0.1, 1e-5, 300)):
        made = build(PROFILE, neighbors, epsilon=epsilon, delta=delta, max_items=keys, rounds=rounds)
        both_ways, last = 1 + (neighbors == "replace"), int(made.parameters["threshold"] * 0.995 * 2**28)
        for share in (0.2, 0.5, 0.7, 0.9, 0.995):
            scale = math.sqrt(both_ways) / largest_normal_shift(epsilon, delta * share)
            noises = [DiscreteGaussianNoise(Fraction(scale) * part, Fraction(1, 2**28)) for part in SCALES[rounds]]
            early = noise_of(rounds, scale, delta * (1 - share), keys)[1][:-1]
            levels = [*map(Fraction, early), Fraction(last, 2**28)]
            curve = _release_curve(noises, levels, 1, keys, both_ways)
            assert not curve.is_within(epsilon, delta), (neighbors, share)
