"""The claims of make_partition_selection: (epsilon, delta) on all pairs of tables, the largest chances, arguments."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.errors import CapacityError, ParameterError
from opendp_topk.measurements import partition_selection
from opendp_topk.measurements.partition_selection import make_partition_selection
from opendp_topk.numerics.arithmetic import exp_up
from tests.concepts.losses import hockey_stick
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import unlisted

MAX, PROFILE = tk.Approximate(tk.MaxDivergence()), tk.PrivacyProfile()
DOMAIN = tk.KeyedCountsDomain()


def build(measure: tk.Measure = MAX, most: int = 1, monotonic: bool = True, **options: Any) -> tk.Measurement:
    metric = tk.KeyedCountDistance(most, monotonic)
    return make_partition_selection(DOMAIN, metric, measure, **{"epsilon": 1, "delta": 0.125} | options)


def chances(epsilon: float, delta: float, n: int) -> list[float]:
    """Desfontaines et al. (2020), Theorem 1, as published."""
    found = [0.0]
    for _ in range(n):
        last = found[-1]
        found.append(min(math.exp(epsilon) * last + delta, 1 - math.exp(-epsilon) * (1 - last - delta), 1.0))
    return found


def law(table: dict[str, int], epsilon: float, delta: float) -> dict[Any, float]:
    p = chances(epsilon, delta, 60)
    found: dict[Any, float] = {(): 1.0}
    for key in sorted(table):
        chance = p[min(table[key], 60)]
        found = {keys: m * (1 - chance) for keys, m in found.items()} | {
            (*keys, key): m * chance for keys, m in found.items()
        }
    return {keys: mass for keys, mass in found.items() if mass}


def specimens() -> list[Specimen]:
    share = 1 - math.sqrt(1 - 0.125)
    return [Specimen(build(most=2), ({"a": 1, "b": 1}, {}), lambda table: law(table, 0.5, share))]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.125), (0.25, 1e-6), (3.0, 1e-9), (0, 0.01)])
def test_the_chances_are_those_of_the_paper_and_not_above(epsilon: float, delta: float) -> None:
    measurement = build(epsilon=epsilon, delta=delta)
    for n, expected in enumerate(chances(epsilon, delta, 40)[1:], 1):
        assert float(measurement.distribution({"a": n}).get(("a",), 0)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, 0.125), (0.25, 1e-6), (3.0, 1e-9), (0, 0.01), (9, 0.75), (0.01, 1e-3)]
)
def test_the_chances_are_the_least_of_both_bounds_rounded_down(epsilon: float, delta: float) -> None:
    one, share = 1 << 128, Fraction(delta)
    shrink = exp_up(-Fraction(epsilon))
    found = [0]
    while found[-1] < one:
        p = Fraction(found[-1], one)
        least = min(
            p / shrink + Fraction(int(share * one), one), 1 - shrink * (1 - p - Fraction(int(share * one), one))
        )
        found.append(math.floor(min(least, Fraction(1)) * one))
    assert partition_selection.release_probabilities(Fraction(epsilon), share) == tuple(found)


def test_larger_chances_would_exceed_epsilon_and_delta() -> None:
    """The chances obey both inequalities, and one of them, or the limit 1, is tight at every n."""
    measurement = build(epsilon=1.0, delta=1e-3)
    p = [float(measurement.distribution({"a": n}).get(("a",), 0)) if n else 0.0 for n in range(30)]
    for now, after in itertools.pairwise(p):
        slack = math.e * now + 1e-3 - after, math.e * (1 - after) + 1e-3 - (1 - now), 1 - after
        assert min(slack) == pytest.approx(0, abs=1e-12)
    assert p[-1] == 1


@pytest.mark.slow
@pytest.mark.quick(kind="add_remove", epsilon=1.0)
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.125), (0.5, 0.01)])
def test_no_pair_of_tables_exceeds_the_map(epsilon: float, delta: float, most: int, kind: str) -> None:
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    measurement = build(MAX, most, kind == "add_remove", **options)
    claimed = measurement.map(1)
    assert kind == "replace" or (claimed[0] == epsilon and 0.999 * delta < claimed[1] <= delta)
    curve = build(PROFILE, most, kind == "add_remove", **options).map(1)
    tables = {h: {key: n for key, n in zip("abc", h, strict=True) if n} for h in itertools.product(range(4), repeat=3)}
    laws = {h: {y: float(p) for y, p in measurement.distribution(table).items()} for h, table in tables.items()}
    met = 0.0
    for move, h in itertools.product(unlisted.moves(most, kind, 3), laws):
        other = tuple(a + b for a, b in zip(h, move, strict=True))
        if other in laws:
            met = max(met, unlisted.excess(laws[h], laws[other], claimed[0]))
            assert unlisted.excess(laws[h], laws[other], claimed[0] / 2) <= curve.delta(claimed[0] / 2) + 1e-12
    assert met <= claimed[1] + 1e-12
    assert kind == "replace" or met == pytest.approx(claimed[1])


def composed(n: int, each: float, lost: float, epsilon: float) -> float:
    """The delta of n keys at (each, lost), by multiplying the laws of their losses one after the other."""
    odds = mpmath.exp(each) / (1 + mpmath.exp(each))
    law, gone = {0: mpmath.mpf(1)}, mpmath.mpf(0)
    for _ in range(n):
        gone = gone + (1 - gone) * lost
        moved: dict[int, Any] = {}
        for place, mass in law.items():
            for step, share in ((1, odds), (-1, 1 - odds)):
                moved[place + step] = moved.get(place + step, 0) + mass * share
        law = moved
    above = (mass * -mpmath.expm1(epsilon - place * each) for place, mass in law.items() if place * each > epsilon)
    return float(gone + (1 - gone) * mpmath.fsum(above))


@pytest.mark.further
def test_keys_of_one_user_lose_together_what_is_claimed() -> None:
    """And they use it up, but for a thousandth; with many keys each loses more than its even share."""
    for most, epsilon, delta in ((5, 1.0, 0.125), (30, 1.0, 1e-8), (100, 3.0, 1e-5)):
        measurement = build(most=most, epsilon=epsilon, delta=delta)
        (each, lost), claimed = measurement.parameters["each"], measurement.map(1)
        assert claimed[0] == epsilon
        assert each > 1.1 * epsilon / most
        with mpmath.workdps(40):
            met = composed(most, each, lost, epsilon)
        assert 0.999 * delta < met <= claimed[1] * (1 + 1e-12) <= delta * (1 + 1e-12)


def test_many_keys_of_a_user_take_a_third_of_the_users_of_an_even_split() -> None:
    """Users with whom a key is as likely as not to come out, for 200 keys a user at (1, 1e-8): 1450 and not 3546."""
    p = chances(1 / 200, 1 - (1 - 1e-8) ** (1 / 200), 4000)
    even = next(n for n, chance in enumerate(p) if chance >= 0.5)
    measurement = build(most=200, epsilon=1, delta=1e-8)

    def likely(n: int) -> bool:
        return bool(measurement.distribution({"a": n}).get(("a",), 0) >= Fraction(1, 2))

    assert 3500 < even < 3600
    assert likely(1500)
    assert not likely(1300)


@pytest.mark.slow
def test_a_curve_is_that_of_the_keys_of_one_user() -> None:
    measurement = build(PROFILE, 30, epsilon=1.0, delta=1e-8)
    each, lost = measurement.parameters["each"]
    curve = measurement.map(1)
    for epsilon in (0.1, 0.5, 0.9):
        with mpmath.workdps(40):
            met = composed(30, each, lost, epsilon)
        assert met * (1 - 1e-9) <= curve.delta(epsilon) <= 1.01 * met


def test_groups_add_up_as_group_privacy_says() -> None:
    measurement = build(epsilon=0.5, delta=0.01)
    for d in (1, 2, 5):
        expected = 0.01 * sum(math.exp(0.5 * j) for j in range(d))
        assert measurement.map(d) == (0.5 * d, pytest.approx(expected))
    assert measurement.map(100) == (50.0, 1.0)
    little = build(epsilon=0.05, delta=1e-6)
    for d in (64, 65, 200):  # beyond 64 the largest term stands for each
        expected = 1e-6 * math.expm1(0.05 * d) / math.expm1(0.05)
        assert expected <= little.map(d)[1] * (1 + 1e-12) <= 1e-6 * d * math.exp(0.05 * d) * (1 + 1e-9)
    assert build(monotonic=False, epsilon=0.5, delta=0.01).map(1) == measurement.map(2)
    table, other = ({"a": n} for n in (5, 3))
    laws = measurement.distribution(table), measurement.distribution(other)
    assert hockey_stick(*laws, 1.0) <= measurement.map(2)[1]


def test_keys_that_many_have_are_certain_and_come_in_the_public_order() -> None:
    measurement = build(epsilon=1, delta=1e-6)
    assert measurement({"z": 10**9, "a": 1000, "é": 2**63 - 1}) == ("a", "z", "é")
    assert measurement({10: 10**9, 9: 500}) == (9, 10)
    assert measurement({}) == ()


def test_too_many_keys_for_a_law() -> None:
    raises_exactly(CapacityError, lambda: build().distribution(dict.fromkeys(range(13), 1)), "too many outcomes")


@pytest.mark.slow
def test_a_table_that_does_not_reach_one_is_refused() -> None:
    raises_exactly(ParameterError, lambda: build(epsilon=0, delta=1e-7), "does not reach 1")
