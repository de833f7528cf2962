"""make_unknown_domain_counts: no pair of tables exceeds the map, what moves of the counts, the release, arguments."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.merged_laws import item_count_distribution
from opendp_topk.measurements import unknown_domain_counts
from opendp_topk.measurements.unknown_domain_counts import make_unknown_domain_counts
from opendp_topk.spaces.costs import Cost
from tests.concepts.links import as_outcome
from tests.concepts.specimens import Specimen
from tests.oracles import discrete, unlisted
from tests.oracles.chi_square import assert_follows
from tests.oracles.unlisted import Counts, Setting

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PROFILE = tk.PrivacyProfile()
SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
NOISES = {"Gumbel": tk.noise.Gumbel(), "Exponential": tk.noise.Exponential()}
KEYS = "abc"
REACH = 4
"""Noisy counts are merged beyond it."""


def build(measure: tk.Measure = MAX, most: int | None = None, monotonic: bool = True, **options: Any) -> tk.Measurement:
    given = {"k": 1, "limit": 2, "scale": 2.0, "count_scale": 1.0}
    return make_unknown_domain_counts(SPACE[0], tk.KeyedCountDistance(most, monotonic), measure, **given | options)


def of(setting: Setting, measure: tk.Measure, count_scale: Any, most: int, kind: str) -> tk.Measurement:
    options = {"k": setting.k, "limit": setting.limit, "scale": setting.tau, "threshold": setting.threshold}
    noise = NOISES[setting.noise]
    return build(measure, most, kind == "add_remove", noise=noise, count_scale=count_scale, **options)


@functools.cache
def cells(name: str, scale: Fraction, count: int) -> Mapping[Any, float]:
    """The noisy count, merged beyond 0 and REACH."""
    moved = {count + z: p for z, p in discrete.masses(name, scale).items()}
    return {cell: float(p) for cell, p in discrete.pooled(moved, 0, REACH).items()}


def with_counts(law: Mapping[Any, float], h: Counts, name: str, scale: Fraction) -> dict[Any, float]:
    """The law of (keys, stopped) and of the noisy counts of the keys."""
    found = {}
    for (keys, stopped), p in law.items():
        for chosen in itertools.product(*(cells(name, scale, h[i]).items() for i in keys)):
            found[keys, stopped, tuple(cell for cell, _ in chosen)] = p * math.prod(mass for _, mass in chosen)
    return found


def specimens() -> list[Specimen]:
    setting = Setting("Gumbel", 1, 2, 2.0, 1.0)
    link = of(setting, MAX, 2, 2, "add_remove")

    def law(table: dict[str, int]) -> dict[Any, Any]:
        h = tuple(table.get(key, 0) for key in KEYS)
        return with_counts(unlisted.law(setting, h), h, "laplace", Fraction(2))

    def cell(measurement: tk.Measurement, table: Any) -> Any:
        found = measurement(table)
        return tuple(KEYS.index(key) for key in found.items), found.stopped, tuple(map(_cell, found.counts))

    return [Specimen(link, ({"a": 1, "b": 1}, {}), law, cell=cell)]


def _cell(count: int) -> Any:
    return discrete.BELOW if count < 0 else discrete.ABOVE if count > REACH else count


@pytest.mark.parametrize(("measure", "name"), [(MAX, "laplace"), (PROFILE, "gaussian"), (ZCDP, "gaussian")])
def test_counts_have_the_noise_of_their_measure(measure: tk.Measure, name: str) -> None:
    """One key of very many users: whether its count is within six of the true one tells Laplace from Gaussian noise."""
    link, users = build(measure, 2, count_scale=3, threshold=9), 10**6
    drawn = Counter(abs(link({"a": users}).counts[0] - users) <= 6 for _ in range(2000))
    near = sum(p for z, p in discrete.masses(name, Fraction(3)).items() if abs(z) <= 6)
    assert_follows(drawn, {True: near, False: 1 - near}, detects=0.13)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_as_many_counts_are_charged_as_users_move(kind: str) -> None:
    """Where all keys are found and selecting costs next to nothing, what is left is the noise of the moved counts.

    d users do the same: they add ``most`` keys, and give up as many others where they are exchanged. Of m such counts
    only the sum of the noises matters, whose law is a convolution.
    """
    b, epsilon, wrong = 2, 0.25, []
    noise = {z: float(p) for z, p in discrete.masses("gaussian", Fraction(b)).items() if abs(z) <= 20 * b}
    least = min(noise)
    sums = [np.array([1.0])]
    for _ in range(4):
        sums.append(np.convolve(sums[-1], [noise[z] for z in sorted(noise)]))
    for k, most, d in itertools.product((1, 4), (1, 2, None), (1, 2)):
        moved = min(k, (most or k) * (2 if kind == "replace" else 1))
        losses = (moved * d * d + 2 * d * (moved * least + np.arange(len(sums[moved])))) / (2 * b * b)
        delta = float(sums[moved] @ np.maximum(0, -np.expm1(epsilon - losses)))
        options = {"k": k, "limit": k, "scale": 1e9, "delta": 1e-12, "count_scale": float(b)}
        claimed = build(PROFILE, most, kind == "add_remove", **options).map(d).delta(epsilon)
        if claimed < delta * (1 - 1e-9) or (d == 1 and claimed > delta * 1.02):
            wrong.append((k, most, d, delta, claimed))
    assert wrong == []


def moved_together(name: str, b: int, moves: Any, epsilon: float) -> float:
    """The delta of independent counts with noise that move so: their losses add up to one integer."""
    noise, most = discrete.masses(name, Fraction(b)), 20 * b
    masses = [float(noise.get(z, 0)) for z in range(-most, most + 1)]
    length = 2 * most * sum(moves) + 1
    whole = np.ones(length // 2 + 1, dtype=complex)
    for move in moves:
        spread = np.zeros(length)
        spread[: 2 * most * move + 1 : move] = masses
        whole *= np.fft.rfft(spread)
    sums, products = np.fft.irfft(whole, length), np.arange(length) - length // 2
    losses = (sum(move * move for move in moves) + 2 * products) / (2 * b * b)
    return float(sums @ np.maximum(0, -np.expm1(epsilon - losses)))


@pytest.mark.slow
@pytest.mark.parametrize("monotonic", [True, False])
def test_witness_users_who_have_the_same_keys_nearly_attain_the_curve(monotonic: bool) -> None:
    """n counts move by d each, and not n d of them; users whose keys are others, by chance, lose no more."""
    draw = np.random.default_rng(5)
    for k, most, d, b, near in ((9, 2, 3, 24, 1.15), (40, 1, 10, 40, 1.06), (5, 1, 2, 3, 9)):
        n = min(k, most * (1 if monotonic else 2))
        options = {"k": k, "limit": k, "scale": 1e12, "delta": 1e-15, "count_scale": b}
        curve = build(PROFILE, most, monotonic, **options).map(d)
        for epsilon in (0.0, 1.5 * d / b):
            claimed = curve.delta(epsilon)
            met = moved_together("gaussian", b, [d] * n, epsilon)
            assert met <= claimed <= near * met, (k, most, d, b, epsilon)
        for _ in range(3):
            users = [draw.choice(k, most, replace=False) for _ in range(d if monotonic else 2 * d)]
            moves = np.bincount(np.concatenate(users[:d]), minlength=k)
            moves -= np.bincount(np.concatenate([[], *users[d:]]).astype(int), minlength=k)
            sizes = [abs(int(move)) for move in moves if move]
            assert moved_together("gaussian", b, sizes, d / b) <= curve.delta(d / b), (k, most, d, b, sizes)


@pytest.mark.further
def test_more_counts_than_are_composed_have_no_epsilon() -> None:
    """Gaussian noise has none; 1100 users who have one key move one count by 1100, at a scale of as much."""
    options = {"k": 1100, "limit": 1100, "scale": 1e12, "delta": 1e-15, "count_scale": 1100}
    curve = build(PROFILE, 1, **options).map(1100)
    normal = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    for epsilon in (1.01, 0.5, 3.0):
        true = normal(0.5 - epsilon) - math.exp(epsilon) * normal(-0.5 - epsilon)
        assert true <= curve.delta(epsilon) <= 1.01 * true


@functools.cache
def law_of(setting: Setting, h: Counts, name: str, scale: Fraction) -> Mapping[Any, float]:
    """The law of the whole release; a table is a neighbour of many."""
    return with_counts(unlisted.law(setting, h), h, name, scale)


# Every pair of tables of few users on three keys.

SETTINGS = [(1, 1, 1.0, 1.5), (2, 2, 2.0, 1.0), (2, 3, 1.0, 1.5)]
TABLES = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 1), (2, 2, 2)]


def pairs(most: int, kind: str) -> Iterator[tuple[Counts, Counts]]:
    for move, h in itertools.product(unlisted.moves(most, kind, 3), TABLES):
        other = tuple(a + b for a, b in zip(h, move, strict=True))
        if any(move) and min(other) >= 0:
            yield h, other


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("most", [1, 2])
def test_no_pair_of_tables_exceeds_epsilon_and_delta(noise: str, kind: str, most: int) -> None:
    ratio = 0.0
    for k, limit, tau, threshold in SETTINGS:
        setting, scale = Setting(noise, k, limit, tau, threshold), Fraction(2)
        epsilon, delta = of(setting, MAX, scale, most, kind).map(1)
        for h, other in pairs(most, kind):
            laws = [law_of(setting, one, "laplace", scale) for one in (h, other)]
            found = unlisted.excess(*laws, epsilon)
            assert found <= delta + 1e-11, (setting, h, other)
            ratio = max(ratio, found / delta)
    assert ratio >= 0.999


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_gumbel_and_gaussian_noise_are_approximately_concentrated(kind: str, most: int) -> None:
    largest = 0.0
    for k, limit, tau, threshold in SETTINGS:
        setting, scale = Setting("Gumbel", k, limit, tau, threshold), Fraction(3, 2)
        rho, delta = of(setting, ZCDP, scale, most, kind).map(1)
        curve = of(setting, PROFILE, scale, most, kind).map(1)
        claimed = {epsilon: curve.delta(epsilon) for epsilon in (0.0, 1.0)}
        for h, other in pairs(most, kind):
            kept = [unlisted.conditional(setting, h, other), unlisted.conditional(setting, other, h)]
            parts = [with_counts(law, one, "gaussian", scale) for law, one in zip(kept, (h, other), strict=True)]
            positive = [{y: p for y, p in part.items() if p > 1e-30} for part in parts]
            both = positive[0].keys() & positive[1].keys()
            losses = [unlisted.renyi(*({y: part[y] for y in both} for part in parts), order) for order in (1.01, 2, 4)]
            assert max(losses) <= rho * (1 + 1e-9) + 1e-9, (setting, h, other)
            largest = max(largest, max(losses) / rho)
            laws = [law_of(setting, one, "gaussian", scale) for one in (h, other)]
            for law, part in zip(laws, parts, strict=True):
                assert all((1 - delta) * p <= law.get(y, 0.0) + 1e-11 for y, p in part.items())
            for epsilon, allowed in claimed.items():
                assert unlisted.excess(*laws, epsilon) <= allowed + 1e-11, (setting, h, other, epsilon)
    assert largest > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_no_curve_with_exponential_noise_is_exceeded(kind: str) -> None:
    for k, limit, tau, threshold in SETTINGS:
        setting, scale = Setting("Exponential", k, limit, tau, threshold), Fraction(3, 2)
        curve = of(setting, PROFILE, scale, 2, kind).map(1)
        claimed = {epsilon: curve.delta(epsilon) for epsilon in (0.0, 1.0)}
        for h, other in pairs(2, kind):
            laws = [law_of(setting, one, "gaussian", scale) for one in (h, other)]
            for epsilon, allowed in claimed.items():
                assert unlisted.excess(*laws, epsilon) <= allowed + 1e-11, (setting, h, other, epsilon)


def test_counts_of_fewer_keys_than_move_are_refuted() -> None:
    """With two keys a user, one moved count is too few: rankings and counts of both lose more."""
    setting, scale = Setting("Gumbel", 2, 3, 4.0, 0.5), Fraction(1)
    h, other = (3, 2, 2), (3, 3, 3)
    laws = [law_of(setting, one, "laplace", scale) for one in (h, other)]
    loss = max(abs(math.log(laws[0][y] / laws[1][y])) for y in laws[0])
    assert of(setting, MAX, scale, 2, "add_remove").map(1)[0] >= loss > 2 / 4 + 1.5


@pytest.mark.parametrize(("monotonic", "c"), [(True, 1), (False, 2)])
def test_the_map_is_the_sum_of_both(monotonic: bool, c: int) -> None:
    for most, k, d in itertools.product((1, 3, None), (1, 2, 5), (1, 2)):
        n = k if most is None else min(k, c * most)
        options = {"k": k, "limit": 9, "delta": 1e-6, "scale": 7, "count_scale": 3}
        r = Fraction(c * d, 7)
        plain = tk.make_unknown_domain_top_k(
            SPACE[0], tk.KeyedCountDistance(most, monotonic), MAX, k=k, limit=9, delta=1e-6, scale=7
        )
        epsilon, delta = build(MAX, most, monotonic, **options).map(d)
        assert Fraction(math.nextafter(epsilon, 0)) < k * r + Fraction(n * d, 3) <= Fraction(epsilon)
        assert delta == plain.map(d)[1]
        with mpmath.workdps(30):
            z = mpmath.mpf(c * d) / 7 / -mpmath.expm1(-mpmath.mpf(c * d) / 7)
            rho = k * (z - 1 - mpmath.log(z)) + mpmath.mpf(n * d * d) / 18
        assert build(ZCDP, most, monotonic, **options).map(d)[0] == pytest.approx(float(rho), rel=1e-14)


@pytest.mark.slow
def test_sums_of_users_move_as_many_counts_further() -> None:
    """One user adds up to 5 at 2 keys: two counts move by 5 each, not one or ten of them by one."""
    options = {"k": 3, "limit": 4, "scale": 20.0, "threshold": 90.0, "count_scale": 4.0}
    for monotonic, c in ((True, 1), (False, 2)):
        metric = tk.KeyedCountDistance(2, monotonic, each=5)
        found = {one: make_unknown_domain_counts(SPACE[0], metric, one, **options).map(1) for one in (MAX, ZCDP)}
        n, r = min(3, 2 * c), c * 5 / 20
        exp = r / math.expm1(r)
        winners = exp - 1 - math.log(exp)
        assert found[MAX][0] == pytest.approx(3 * r + n * 5 / 4)
        assert found[ZCDP][0] == pytest.approx(3 * winners + n * 25 / 32)
        lead = (90 - 5 * c) / 20
        assert found[MAX][1] == pytest.approx(2 / (2 + math.exp(lead)), rel=1e-12)


@pytest.mark.slow
def test_the_curve_counts_the_counts() -> None:
    assert build(PROFILE, delta=1e-9, count_scale=0.1).map(1).delta(3.0) > 0.9
    assert build(PROFILE, delta=1e-9, count_scale=100.0).map(1).delta(0.6) < 1e-6


@pytest.mark.slow
def test_curves_are_below_those_of_rho_and_hold_for_many_counts() -> None:
    options = {"k": 4, "limit": 9, "delta": 1e-9, "scale": 9.0, "count_scale": 8.0}
    curve = build(PROFILE, 2, **options).map(1)
    plain = tk.make_zCDP_to_approxDP(build(ZCDP, 2, **options)).map(1)
    for epsilon in (0.3, 0.6, 1.0):
        assert 1e-9 <= curve.delta(epsilon) < plain.delta(epsilon)
    many = options | {"k": 1100, "limit": 1100}
    assert build(PROFILE, None, **many).map(1).delta(1000.0) <= 1e-8


def test_what_is_released() -> None:
    table = {"a": 900, "b": 950, "c": 1}
    found = build(k=3, limit=5, delta=1e-9, count_scale=0.01)(table)
    assert as_outcome(found) == (("b", "a"), (950, 900), True)
    assert all(type(count) is int for count in found.counts)
    assert as_outcome(build(delta=1e-9)({})) == ((), (), True)
    assert build(ZCDP, k=1, limit=1, delta=1e-9)({5: 2**63 - 1, 7: 2}).items == (5,)
    exact = build(k=2, scale=0.0, count_scale=0.0, threshold=1)
    assert as_outcome(exact({"z": 2, "y": 2})) == (("y", "z"), (2, 2), False)
    assert exact.map(1) == (math.inf, 1.0)
    assert exact.map(0) == (0.0, 0.0)


def test_counts_cost_no_more_than_winners_by_default() -> None:
    for measure, factor in ((MAX, 1), (ZCDP, 2)):
        for monotonic, c in ((True, 1), (False, 2)):
            built = make_unknown_domain_counts(
                SPACE[0], tk.KeyedCountDistance(None, monotonic), measure, k=3, limit=5, delta=1e-6, scale=8.0
            )
            assert built.parameters["count_scale"] == Fraction(8 * factor, c)
            plain = tk.make_unknown_domain_top_k(
                SPACE[0], tk.KeyedCountDistance(None, monotonic), measure, k=3, limit=5, delta=1e-6, scale=8.0
            )
            assert built.map(1)[0] == pytest.approx(2 * plain.map(1)[0], rel=0.01)


def test_the_merged_law_is_that_of_the_definition() -> None:
    setting = Setting("Gumbel", 2, 2, 2.0, 1.0)
    for measure, name in ((MAX, "laplace"), (ZCDP, "gaussian")):
        found = item_count_distribution(of(setting, measure, 2, 2, "add_remove"), REACH)({"a": 1, "b": 3})
        expected = with_counts(unlisted.law(setting, (1, 3, 0)), (1, 3, 0), name, Fraction(2))
        merged: dict[Any, float] = {}
        for (items, stopped, cells_), p in found.items():  # type: ignore[misc]
            cell = tuple(discrete.BELOW if c == "below" or (c != "above" and c < 0) else c for c in cells_)
            outcome = tuple(KEYS.index(key) for key in items), stopped, cell
            merged[outcome] = merged.get(outcome, 0.0) + float(p)
        assert merged.keys() == expected.keys()
        assert all(abs(merged[y] - p) < 1e-11 for y, p in expected.items())


def test_what_bounds_nothing_is_no_zero() -> None:
    known, unknown = Cost(pure=Fraction(1), rho=Fraction(0)), Cost(rho=Fraction(2))
    assert unknown_domain_counts._sum_costs(known, unknown) == Cost(rho=Fraction(2))
    assert unknown_domain_counts._sum_costs(known, known) == Cost(pure=Fraction(2), rho=Fraction(0))
