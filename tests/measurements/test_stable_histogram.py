"""The claims of make_stable_histogram: epsilon and delta on all pairs of tables, the threshold, arguments.

Tries proofs/measurements/any_of.tex.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.merged_laws import released_item_distribution
from opendp_topk.measurements import _key_shares
from opendp_topk.measurements._key_shares import any_event_probability, laplace_tail_bound, per_event_probability
from opendp_topk.measurements.stable_histogram import make_stable_histogram
from opendp_topk.numerics.arithmetic import round_up
from opendp_topk.sampling.distributions.discrete import gaussian_tail_bound
from tests.concepts.links import as_outcome
from tests.concepts.losses import hockey_stick, realised
from tests.concepts.specimens import Specimen
from tests.oracles import discrete, rhos, unlisted

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PROFILE = tk.PrivacyProfile()
DOMAIN = tk.KeyedCountsDomain()
Counts = tuple[int, ...]


def build(
    measure: tk.Measure = MAX, most: int = 2, monotonic: bool = True, each: int = 1, **options: Any
) -> tk.Measurement:
    metric = tk.KeyedCountDistance(most, monotonic, each)
    return make_stable_histogram(DOMAIN, metric, measure, **{"scale": 1} | options)


def cells(count: int, scale: Fraction, level: int, noise: str = "laplace") -> dict[int, Any]:
    """The law of one key: 0 where it is dropped, and its noisy count, merged far above the threshold."""
    if count == 0:
        return {0: mpmath.mpf(1)}
    found: dict[int, Any] = {}
    for z, mass in discrete.masses(noise, scale).items():
        cell = min(count + z, level + 4) if count + z >= level else 0
        found[cell] = found.get(cell, 0) + mass
    return found


def law(h: Counts, scale: Fraction, level: int, noise: str = "laplace") -> dict[Any, Any]:
    parts = [cells(count, scale, level, noise).items() for count in h]
    return {tuple(c for c, _ in one): mpmath.fprod(p for _, p in one) for one in itertools.product(*parts)}


def specimens() -> list[Specimen]:
    link = build(threshold=3)

    def cell(measurement: Any, table: Any) -> Any:
        return tuple(sorted(measurement(table).items))

    normal = build(PROFILE, threshold=3, gaussian=True)
    gaussian = Specimen(normal, ({"a": 1, "b": 1}, {}), lambda table: _items(table, "gaussian"), cell=cell)
    return [Specimen(link, ({"a": 1, "b": 1}, {}), _items, cell=cell), gaussian]


def _items(table: dict[str, int], noise: str = "laplace") -> dict[Any, Any]:
    with mpmath.workdps(45):
        merged: dict[Any, Any] = {}
        for outcome, p in law(tuple(table.values()), Fraction(1), 3, noise).items():
            keys = tuple(key for key, count in zip(table, outcome, strict=True) if count)
            merged[keys] = merged.get(keys, 0) + p
        return merged


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize(("scale", "level"), [(Fraction(1), 3), (Fraction(2), 2), (Fraction(1, 2), 4)])
def test_no_pair_exceeds_the_map_and_both_numbers_are_attained(scale: Fraction, level: int, kind: str) -> None:
    with mpmath.workdps(45):
        laws = {h: law(h, scale, level) for h in itertools.product(range(4), repeat=2)}
    for most in (1, 2):
        measurement = build(MAX, most, kind == "add_remove", scale=scale, threshold=level)
        epsilon, delta = measurement.map(1)
        curve = build(PROFILE, most, kind == "add_remove", scale=scale, threshold=level).map(1)
        met = largest = 0.0
        for move, h in itertools.product(unlisted.moves(most, kind, 2), laws):
            other = tuple(a + b for a, b in zip(h, move, strict=True))
            if other in laws:
                met = max(met, float(hockey_stick(laws[h], laws[other], epsilon)))
                assert hockey_stick(laws[h], laws[other], epsilon / 2) <= curve.delta(epsilon / 2) + 1e-20
                if [a > 0 for a in h] == [a > 0 for a in other]:
                    ratios = (laws[other][y] / laws[h][y] for y in laws[h])
                    largest = max(largest, max(abs(float(mpmath.log(ratio))) for ratio in ratios))
        assert met == pytest.approx(delta, rel=1e-12)
        assert largest <= epsilon * (1 + 1e-12)
        assert kind == "replace" or largest == pytest.approx(epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_sums_of_users_exceed_no_map_and_attain_delta(kind: str) -> None:
    """One user adds up to 2 to each of two keys, or of one."""
    scale, level, each = Fraction(2), 4, 2
    for noise, most in itertools.product(("laplace", "gaussian"), (1, 2)):
        options = {"scale": scale, "threshold": level, "gaussian": noise == "gaussian", "each": each}
        curve = build(PROFILE, most, kind == "add_remove", **options).map(1)
        loss, delta = build(ZCDP, most, kind == "add_remove", **options).map(1)
        epsilon = 8.0 if noise == "gaussian" else build(MAX, most, kind == "add_remove", **options).map(1)[0]
        with mpmath.workdps(20):
            laws = {h: law(h, scale, level, noise) for h in ((0, 0), (0, 2), (3, 0), (1, 3), (2, 2), (2, 5), (5, 5))}
        met = steep = 0.0
        for h, other in itertools.permutations(laws, 2):
            if tuple(b - a for a, b in zip(h, other, strict=True)) in unlisted.moves(most, kind, 2, each):
                for at in (0.0, 0.5, 1.0):
                    found = max(hockey_stick(laws[h], laws[other], at), hockey_stick(laws[other], laws[h], at))
                    assert found <= curve.delta(at) + 1e-15, (noise, most, h, other, at)
                    steep = max(steep, float(found / curve.delta(at)))
                met = max(met, float(hockey_stick(laws[h], laws[other], epsilon)))
        assert met <= delta * (1 + 1e-12)
        assert met == pytest.approx(delta, rel=1e-2 if noise == "gaussian" else 1e-12), (noise, most)
        assert steep > (0.5 if kind == "replace" else 0.7)
        assert loss > 0


def test_the_delta_is_that_of_one_to_max_items_keys_and_no_union_bound() -> None:
    with mpmath.workdps(45):
        x = mpmath.exp(-1)
        q = x**2 / (1 + x)
    for most in (1, 2, 5, 1000):
        assert build(most=most, threshold=3).map(1)[1] == pytest.approx(float(1 - (1 - q) ** most), rel=1e-14)
    assert build(most=5, threshold=3).map(1)[1] < float(5 * q)
    twice, once = float(1 - (1 - x / (1 + x)) ** 2), float(1 - (1 - q) ** 4)
    assert build(threshold=3).map(2) == (4.0, pytest.approx(max(twice, once)))
    assert build(threshold=3).map(3)[1] == 1
    with mpmath.workdps(45):
        far = mpmath.exp(-7) / (1 + x)
        assert build(most=5, each=3, threshold=10).map(1)[1] == pytest.approx(float(1 - (1 - far) ** 5), rel=1e-14)
    assert build(each=3, threshold=3).map(1)[1] == 1
    with mpmath.workdps(45):
        wide = mpmath.exp(mpmath.mpf(-2) / 6) / (1 + mpmath.exp(mpmath.mpf(-1) / 6))
    assert build(scale=6, threshold=3).map(2)[1] == pytest.approx(float(1 - (1 - wide) ** 4), rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("scale", "level"), [(Fraction(2), 4), (Fraction(6), 3), (Fraction(1, 2), 3)])
def test_groups_of_users_attain_the_delta_and_exceed_no_curve(noise: str, scale: Fraction, level: int) -> None:
    """Two users with at most one key each: of a wide noise two keys are worse, of a narrow one one key of both."""
    options = {"scale": scale, "threshold": level, "gaussian": noise == "gaussian"}
    curve, (_, delta) = build(PROFILE, 1, **options).map(2), build(ZCDP, 1, **options).map(2)
    with mpmath.workdps(45):
        laws = {h: law(h, scale, level, noise) for h in itertools.product(range(4), repeat=2)}
    steps = list(unlisted.moves(1, "add_remove", 2))
    met = 0.0
    for one, other, sign, h in itertools.product(steps, steps, (1, -1), laws):
        reached = tuple(n + a + sign * b for n, a, b in zip(h, one, other, strict=True))
        if reached in laws:
            for epsilon in (0.0, 0.3, 1.0):
                assert hockey_stick(laws[h], laws[reached], epsilon) <= curve.delta(epsilon) + 1e-20, (h, reached)
            met = max(met, float(hockey_stick(laws[h], laws[reached], 10)))
    assert met == pytest.approx(delta, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize(("scale", "level"), [(Fraction(1), 3), (Fraction(3, 2), 2)])
def test_gaussian_noise_exceeds_no_map_and_attains_delta(scale: Fraction, level: int, kind: str) -> None:
    with mpmath.workdps(45):
        laws = {h: law(h, scale, level, "gaussian") for h in itertools.product(range(4), repeat=2)}
    for most in (1, 2):
        options = {"scale": scale, "threshold": level, "gaussian": True}
        rho, delta = build(ZCDP, most, kind == "add_remove", **options).map(1)
        curve = build(PROFILE, most, kind == "add_remove", **options).map(1)
        met = largest = 0.0
        for move, h in itertools.product(unlisted.moves(most, kind, 2), laws):
            other = tuple(a + b for a, b in zip(h, move, strict=True))
            if other in laws and any(move):
                met = max(met, float(hockey_stick(laws[h], laws[other], 5)))
                for epsilon in (0.0, 0.7):
                    assert hockey_stick(laws[h], laws[other], epsilon) <= curve.delta(epsilon) + 1e-20
                if [a > 0 for a in h] == [a > 0 for a in other]:
                    largest = max(largest, float(realised(tk.ZeroConcentratedDivergence(), laws[h], laws[other])))
        assert met == pytest.approx(delta, rel=1e-4)
        assert met <= delta
        assert rho * (0.45 if kind == "replace" else 0.9) < largest <= rho * (1 + 1e-12)


@pytest.mark.quick(scale=Fraction(7, 3))
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 3), Fraction(2), Fraction(7, 3), Fraction(50)])
def test_gaussian_tails_are_the_sums_rounded_up(scale: Fraction) -> None:
    with mpmath.workdps(45):
        masses = discrete.masses("gaussian", scale)
        for least in {1, 2, math.ceil(scale), math.ceil(3 * scale), math.ceil(6 * scale)}:
            true = mpmath.fsum(mass for z, mass in masses.items() if z >= least)
            found = mpmath.mpf(float(gaussian_tail_bound(scale, least)))
            assert true <= found <= true * (1 + mpmath.mpf(2) ** -51) + mpmath.mpf(10) ** -34


@pytest.mark.further
def test_gaussian_tails_of_wide_noise_are_those_of_normal_noise_from_above() -> None:
    for scale, z in itertools.product((4096, 10**5, 10**9), (1, 3, 6)):
        found = gaussian_tail_bound(Fraction(scale), z * scale)
        with mpmath.workdps(30):
            normal = mpmath.erfc((z * scale - mpmath.mpf(1) / 2) / (scale * mpmath.sqrt(2))) / 2
            assert normal * (1 - mpmath.mpf(z * z + 1) / scale**2) <= mpmath.mpf(float(found)) <= normal * (1 + 1e-6)
    assert gaussian_tail_bound(Fraction(10**6), 10) == Fraction(1, 2)


@pytest.mark.slow
def test_gaussian_noise_needs_less_where_users_have_many_keys() -> None:
    """At rho = 1/2 and delta = 1e-9, with 50 keys a user: nearly the same scale, and lighter tails."""
    plain = tk.binary_search_chain(lambda scale: build(ZCDP, 50, scale=scale, delta=1e-9), 1, (0.5, 1e-9))
    normal = tk.binary_search_chain(
        lambda scale: build(ZCDP, 50, scale=scale, delta=1e-9, gaussian=True), 1, (0.5, 1e-9)
    )
    assert normal.parameters["scale"] == pytest.approx(math.sqrt(50))
    assert plain.parameters["scale"] == pytest.approx(math.sqrt(50), rel=0.01)
    assert normal.parameters["threshold"] < 50 < 150 < plain.parameters["threshold"] < 200


@pytest.mark.slow
def test_the_gaussian_curve_is_below_that_of_its_rho() -> None:
    options = {"scale": 5, "threshold": 60, "gaussian": True}
    curve, (rho, delta) = build(PROFILE, 3, **options).map(1), build(ZCDP, 3, **options).map(1)
    assert rho == pytest.approx(3 / 50)
    plain = tk.make_zCDP_to_approxDP(build(ZCDP, 3, **options)).map(1)
    for epsilon in (0.2, 0.5, 1.0):
        assert delta < curve.delta(epsilon) < plain.delta(epsilon)
    assert build(PROFILE, 2000, **options).map(1).delta(500) >= delta
    assert build(ZCDP, 3, monotonic=False, **options).map(2)[0] == pytest.approx(2 * 2 * 2 * 3 / 50)


def test_gaussian_releases() -> None:
    found = build(ZCDP, scale=0, threshold=2, gaussian=True)({"b": 5, "c": 9, "one": 1})
    assert as_outcome(found) == (("c", "b"), (9, 5))
    assert build(ZCDP, scale=3, delta=1e-9, gaussian=True)({1: 10**18, 2: 1, 3: 2**63 - 1}).items == (3, 1)
    assert as_outcome(build(ZCDP, delta=1e-3, gaussian=True)({})) == ((), ())


def test_the_losses_are_those_of_laplace_noise() -> None:
    for monotonic, factor in ((True, 1), (False, 2)):
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        epsilon = (space >> tk.then_laplace(tk.MaxDivergence(), scale=7)).map(2 * 3 * factor)
        assert build(MAX, 3, monotonic, scale=7, delta=1e-3).map(2)[0] == epsilon
        options = {"scale": 7, "delta": 1e-3}
        rho = float(Fraction(2 * 3 * factor, 2) * rhos.of_discrete_laplace(Fraction(2, 7), Fraction(1, 7)))
        assert build(ZCDP, 3, monotonic, **options).map(2)[0] == pytest.approx(rho, rel=1e-15)
        rho = float(3 * factor * rhos.of_pure(Fraction(1, 7)))
        assert build(ZCDP, 3, monotonic, **options).map(1)[0] == pytest.approx(rho, rel=1e-15)


def responses(n: int, h: float, epsilon: float) -> float:
    """The delta of n counts that move by one each: a count's loss is h or -h, by the side of the threshold it is on."""
    with mpmath.workdps(40):
        odds = mpmath.exp(h) / (1 + mpmath.exp(h))
        terms = (
            mpmath.binomial(n, up) * odds**up * (1 - odds) ** (n - up) * -mpmath.expm1(epsilon - (2 * up - n) * h)
            for up in range(n + 1)
            if (2 * up - n) * h > epsilon
        )
        return float(mpmath.fsum(terms))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "scale", "monotonic"), [(3, 2, True), (10, 10, True), (10, 10, False), (100, 50, True)]
)
def test_the_laplace_curve_is_that_of_as_many_counts_as_a_user_moves(most: int, scale: int, monotonic: bool) -> None:
    """Curves within 1 per cent of the exact ones; a rho smaller by 1 per mille is refuted, far above the threshold."""
    options = {"scale": scale, "threshold": 60 * scale, "monotonic": monotonic}
    curve, (rho, lost) = build(PROFILE, most, **options).map(1), build(ZCDP, most, **options).map(1)
    n = most if monotonic else 2 * most
    for epsilon in (0.1, 0.5, 0.9):
        met = responses(n, 1 / scale, epsilon)
        assert met <= curve.delta(epsilon) + 1e-15
        assert curve.delta(epsilon) <= lost + 1.01 * met
    far = discrete.masses("laplace", Fraction(scale))
    met = float(sum(p * (abs(z + 1) - abs(z)) for z, p in far.items())) * n / scale  # where the count is one higher
    assert 0.999 * rho < met <= rho * (1 + 1e-12)


def sums_of_gaussians(scale: float, n: int) -> tuple[Any, Any]:
    """The law of n independent draws of discrete Gaussian noise together: the sums, and their probabilities."""
    far = math.ceil(16 * scale)
    once = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2 * scale**2))
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, once / once.sum())
    return np.arange(-n * far, n * far + 1.0), law


def moved_counts(noise: str, scale: float, n: int, far: int, missed: float, epsilon: float) -> float:
    """The delta of n counts that move by ``far`` each, where new keys are missed beside with probability ``missed``."""
    if n == 0:
        return 0.0
    if noise == "gaussian":
        total, law = sums_of_gaussians(scale, n)
        loss = (2 * far * total + n * far**2) / (2 * scale**2)
        with np.errstate(over="ignore"):
            return float((law * np.maximum(missed - np.exp(epsilon - loss), 0)).sum())
    assert far == 1
    return missed * responses(n, 1 / scale, epsilon - math.log(missed))


def reached(noise: str, scale: float, least: int) -> float:
    """The probability that noise is at least ``least`` >= 1."""
    if noise == "gaussian":
        total, law = sums_of_gaussians(scale, 1)
        return float(law[total >= least].sum())
    return math.exp(-least / scale) / (1 + math.exp(-1 / scale))


def met_by_users(measurement: tk.Measurement, most: int, monotonic: bool, each: int, users: int, at: float) -> float:
    """The largest delta of tables in which ``users`` users move some of their keys, and others are theirs alone."""
    noise = "gaussian" if measurement.parameters["gaussian"] else "laplace"
    scale, level = measurement.parameters["scale"], measurement.parameters["threshold"]
    far, found = users * each, 0.0
    for alone in range(most + 1):
        moved = (1 if monotonic else 2) * most - alone
        missed = (1 - reached(noise, scale, level - far)) ** alone
        found = max(found, 1 - missed + moved_counts(noise, scale, moved, far, missed, at))
    return found


@pytest.mark.parametrize(
    ("noise", "most", "monotonic", "each", "epsilon", "delta"),
    [
        ("gaussian", 1, True, 1, 1, 1e-3),
        ("gaussian", 5, True, 1, 1, 1e-8),
        ("gaussian", 3, False, 1, 0.5, 1e-5),
        ("gaussian", 4, True, 7, 3, 1e-5),
        ("laplace", 2, True, 1, 1, 1e-3),
        ("laplace", 30, True, 1, 1, 1e-6),
        ("laplace", 20, False, 1, 2, 1e-5),
    ],
)
def test_within_epsilon_and_delta_no_user_costs_more(
    noise: str, most: int, monotonic: bool, each: int, epsilon: float, delta: float
) -> None:
    """Keys that are one user's alone, beside counts that the user moves, all combinations; nearly attained."""
    options = {"epsilon": epsilon, "delta": delta, "gaussian": noise == "gaussian", "scale": None, "each": each}
    measurement = build(MAX, most, monotonic, **options)
    loss, claimed = measurement.map(1)
    assert loss == epsilon
    met = met_by_users(measurement, most, monotonic, each, 1, epsilon)
    assert met <= claimed * (1 + 1e-9) <= delta * (1 + 1e-9)
    assert claimed <= 1.05 * met
    assert build(PROFILE, most, monotonic, **options).map(1).delta(epsilon) <= claimed


def test_keys_of_one_user_beside_shared_keys_cost_more_than_either() -> None:
    options = {"scale": 5, "threshold": 13}
    met = met_by_users(build(ZCDP, 2, **options), 2, True, 1, 1, 0.0)
    lone = 1 - (1 - reached("laplace", 5, 12)) ** 2
    assert 1.2 * max(lone, moved_counts("laplace", 5, 2, 1, 1.0, 0.0)) < met
    assert met <= build(PROFILE, 2, **options).map(1).delta(0) <= 1.2 * met


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "each"), [("gaussian", 1), ("gaussian", 3), ("laplace", 1)])
def test_within_epsilon_and_delta_a_group_is_no_single_user(noise: str, each: int) -> None:
    """Two users with the same keys: counts move twice as far, and keys of theirs alone lead by so much."""
    options = {"epsilon": 1, "delta": 1e-4, "gaussian": noise == "gaussian", "scale": None, "each": each}
    measurement = build(MAX, 3, True, **options)
    loss, claimed = measurement.map(2)
    assert loss == 2
    scale, level = measurement.parameters["scale"], measurement.parameters["threshold"]
    assert 1 - (1 - reached(noise, scale, level - 2 * each)) ** 3 <= claimed * (1 + 1e-9)
    if noise == "gaussian":
        met = met_by_users(measurement, 3, True, each, 2, 2.0)
        assert measurement.map(1)[1] < met <= claimed <= 5 * met


@pytest.mark.further
@pytest.mark.parametrize(
    ("most", "gaussian", "least"), [(5, True, 72), (10, True, 103), (100, True, 340), (100, False, 1200)]
)
def test_within_epsilon_and_delta_keys_share_what_may_be_lost(most: int, gaussian: bool, least: int) -> None:
    """Splitting epsilon among the keys of a user leads to thresholds of 99, 202 and 2235."""
    split = build(MAX, most, scale=most, delta=1e-8)
    assert split.map(1)[0] == 1
    found = build(MAX, most, epsilon=1, delta=1e-8, gaussian=gaussian, scale=None).parameters["threshold"]
    assert found <= least < split.parameters["threshold"]


@pytest.mark.further
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("most", [1, 6, 2000])
@pytest.mark.parametrize("epsilon", [200, 65, 1e-9])
def test_within_any_epsilon_a_scale_is_found(epsilon: float, most: int, gaussian: bool) -> None:
    measurement = build(MAX, most, epsilon=epsilon, delta=1e-6, gaussian=gaussian, scale=None)
    assert measurement.map(1) == (epsilon, pytest.approx(5e-7, abs=5e-7))
    if not gaussian and epsilon > 64:
        assert measurement.parameters["scale"] == pytest.approx(most / epsilon, rel=1e-15)


@pytest.mark.quick(scale=100.0)
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("scale", [Fraction(1, 3), 2, 100.0, 1e200])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-9, 1e-290])
def test_the_threshold_is_the_least_that_keeps_delta(delta: float, scale: Any, most: int) -> None:
    measurement = build(most=most, scale=scale, delta=delta)
    assert measurement.map(1)[1] <= delta
    level = measurement.parameters["threshold"]
    lower = level - (int(scale) >> 49 if scale > 2**53 else 1)  # beyond 2^53 up to a part of 2^-52 of the scale
    assert level == 2 or build(most=most, scale=scale, threshold=lower).map(1)[1] > delta


def test_what_is_released() -> None:
    exact = build(scale=0, threshold=2)
    assert as_outcome(exact({"b": 5, "a": 5, "c": 9, "one": 1})) == (("c", "a", "b"), (9, 5, 5))
    assert exact.map(1) == (float("inf"), 1.0)
    assert as_outcome(build(delta=1e-9)({})) == ((), ())
    found = build(delta=1e-9)({1: 10**18, 2: 1, 3: 2**63 - 1})
    assert found.items == (3, 1)
    assert all(type(count) is int for count in found.counts)


def test_the_merged_law_is_that_of_the_definition() -> None:
    table = {"a": 1, "b": 4}
    for noise in ("laplace", "gaussian"):
        found = released_item_distribution(build(ZCDP, threshold=3, gaussian=noise == "gaussian"))(table)
        expected = _items(table, noise)
        assert found.keys() == expected.keys()
        assert all(abs(found[y] - p) < 1e-30 for y, p in expected.items())


def test_of_very_many_keys_each_gets_the_same_part() -> None:
    assert _key_shares.per_partition_budget(Fraction(1), Fraction(1, 1000), 1025)[0] == Fraction(1, 1025)
    assert _key_shares.per_partition_budget(Fraction(1), Fraction(1, 1000), 1)[0] == 1


# One of several events, a share of delta, and the tail of discrete Laplace noise, against 400 digits.


def number(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("n", [0, 1, 2, 7, 10**9])
@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(1, 10**12), Fraction(1, 2**900)])
def test_any_of_is_the_exact_number_rounded_up(chance: Fraction, n: int) -> None:
    with mpmath.workdps(700):
        exact, found = 1 - (1 - number(chance)) ** n, number(any_event_probability(chance, n))
        assert exact * (1 - mpmath.mpf(10) ** -300) <= found <= exact * (1 + mpmath.mpf(2) ** -100)


@pytest.mark.parametrize("n", [1, 2, 5, 1000])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-9, 1e-200])
def test_the_share_is_the_largest(delta: float, n: int) -> None:
    share = per_event_probability(Fraction(delta), n)
    assert round_up(any_event_probability(share, n)) <= delta
    assert round_up(any_event_probability(share * (1 + Fraction(1, 2**40)), n)) > delta


@pytest.mark.parametrize("least", [1, 2, 50, 3000])
@pytest.mark.parametrize("scale", [Fraction(1, 7), Fraction(3), Fraction(1000)])
def test_the_tail_is_the_exact_sum_rounded_up(scale: Fraction, least: int) -> None:
    with mpmath.workdps(60):
        x = mpmath.exp(-1 / number(scale))
        exact, found = x**least / (1 + x), number(laplace_tail_bound(scale, least))
        assert exact <= found
        assert found <= exact * (1 + mpmath.mpf(2) ** -100) or found < mpmath.mpf(2) ** -1150
