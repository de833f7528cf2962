"""The claims of make_unknown_domain_top_k: no pair of tables exceeds the map, delta is attained, the law, arguments."""

import itertools
import math
import tracemalloc
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError
from opendp_topk.measurements._moved import ChangedScores, gumbel_bounds
from opendp_topk.measurements.unknown_domain_top_k import make_unknown_domain_top_k, then_unknown_domain_top_k
from tests.concepts.links import as_outcome
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import unlisted
from tests.oracles.unlisted import Counts, Setting

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PROFILE = tk.PrivacyProfile()
SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
NOISES = {"Gumbel": tk.noise.Gumbel(), "Exponential": tk.noise.Exponential()}
SIZES = [(k, limit) for limit in (1, 2, 3) for k in range(1, limit + 1)]
LEVELS = [(1.0, 1.5), (2.0, 1.0), (1.0, 4.0), (0.5, 3.0), (2.0, 0.0)]
"""Scales and thresholds, whose quotients are multiples of a half."""
KEYS = "abc"


def build(measure: tk.Measure = MAX, metric: tk.KeyedCountDistance = SPACE[1], **options: Any) -> tk.Measurement:
    return make_unknown_domain_top_k(SPACE[0], metric, measure, **{"k": 1, "limit": 2, "scale": 2.0} | options)


def of(setting: Setting, measure: tk.Measure = MAX, metric: tk.KeyedCountDistance = SPACE[1]) -> tk.Measurement:
    options = {"k": setting.k, "limit": setting.limit, "scale": setting.tau, "threshold": setting.threshold}
    return build(measure, metric, noise=NOISES[setting.noise], **options)


def mapping(h: Counts) -> dict[str, int]:
    return {KEYS[i]: n for i, n in enumerate(h) if n}


def named(law: Mapping[Hashable, float]) -> dict[Hashable, float]:
    return {(tuple(KEYS[i] for i in keys), stopped): p for (keys, stopped), p in law.items()}  # type: ignore[misc]


def neighbours(most: int, kind: str, largest: int = 3, each: int = 1) -> Iterator[tuple[Counts, Counts]]:
    """All pairs of counts of three keys that one user with up to ``each`` at ``most`` keys makes of each other."""
    for move in unlisted.moves(most, kind, 3, each):
        for h in itertools.product(range(largest + 1), repeat=3):
            other = tuple(a + b for a, b in zip(h, move, strict=True))
            if any(move) and min(other) >= 0:
                yield h, other


def metric_of(kind: str, most: int, each: int = 1) -> tk.KeyedCountDistance:
    return tk.KeyedCountDistance(max_items=most, monotonic=kind == "add_remove", each=each)


def specimens() -> list[Specimen]:
    """Two keys come at once, with as many slots: delta is attained."""
    found = []
    for noise in NOISES:
        setting = Setting(noise, 2, 2, 2.0, 3.0)
        link = of(setting, MAX, tk.KeyedCountDistance(max_items=2))
        pair = {"a": 1, "b": 1}, {}
        found.append(Specimen(link, pair, lambda x, setting=setting: named(unlisted.law(setting, counts_of(x)))))
    return found


def counts_of(h: Mapping[str, int]) -> Counts:
    return tuple(h.get(key, 0) for key in KEYS)


# Every pair of tables of few users on three keys.


@pytest.mark.slow
@pytest.mark.quick(kind="add_remove", noise="Gumbel", most=3)
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_no_pair_of_tables_exceeds_the_map_and_delta_is_attained(noise: str, kind: str, most: int) -> None:
    ratio = 0.0
    for (k, limit), (tau, threshold) in itertools.product(SIZES, LEVELS):
        setting = Setting(noise, k, limit, tau, threshold)
        epsilon, delta = of(setting, MAX, metric_of(kind, most)).map(1)
        for h, other in neighbours(most, kind, 3 if most == 3 else 2):
            found = unlisted.excess(unlisted.law(setting, h), unlisted.law(setting, other), epsilon)
            assert found <= delta + 1e-11, (setting, h, other)
            ratio = max(ratio, found / delta)
    assert ratio >= 0.999


@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_no_sums_of_users_exceed_the_map_and_delta_is_attained(noise: str, kind: str) -> None:
    """One user adds up to 2 at one key: one slot at most changes its key, and not two."""
    ratio = 0.0
    for k, limit in ((1, 1), (2, 2)):
        setting = Setting(noise, k, limit, 2.0, 5.0)
        epsilon, delta = of(setting, MAX, metric_of(kind, 1, 2)).map(1)
        for h, other in neighbours(1, kind, 3, 2):
            found = unlisted.excess(unlisted.law(setting, h), unlisted.law(setting, other), epsilon)
            assert found <= delta + 1e-11, (setting, h, other)
            ratio = max(ratio, found / delta)
    assert ratio >= (0.2 if kind == "replace" else 0.999)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_no_pair_of_tables_exceeds_the_curve(noise: str, kind: str) -> None:
    for (k, limit), (tau, threshold) in itertools.product(SIZES, LEVELS):
        setting = Setting(noise, k, limit, tau, threshold)
        for most in (1, 3):
            curve = of(setting, PROFILE, metric_of(kind, most)).map(1)
            points = [(share * k / tau, curve.delta(share * k / tau)) for share in (0, 0.3, 0.6, 0.9)]
            for h, other in neighbours(most, kind, 2):
                laws = unlisted.law(setting, h), unlisted.law(setting, other)
                for epsilon, delta in points:
                    assert unlisted.excess(*laws, epsilon) <= delta + 1e-11, (setting, h, other, epsilon)


@pytest.mark.further
@pytest.mark.quick(kind="add_remove", most=1)
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_users_with_few_keys_cost_as_many_arrival_times(most: int, kind: str) -> None:
    """The conditional laws of Gumbel noise, whatever k is, of all pairs of tables; the map has the bound at k = 3."""
    met, changed = 0.0, ChangedScores.bounded_contributions(1, most if kind == "add_remove" else 2 * most, 4)
    for (k, limit), (tau, threshold) in itertools.product(((1, 1), (2, 2), (1, 3), (3, 3)), LEVELS[1:4]):
        setting, epsilons = Setting("Gumbel", k, limit, tau, threshold), (0, 0.3 / tau, 1 / tau)
        bounds = gumbel_bounds(changed, Fraction(tau), 99, kind == "add_remove")
        curve = of(setting, PROFILE, metric_of(kind, most)).map(1)
        assert (k == 3 and changed.total == 1) == any("Arrival" in repr(bound) for bound in curve.bounds)
        points = [(epsilon, bound(epsilon)) for bound in bounds for epsilon in epsilons]
        for h, other in neighbours(most, kind, 2):
            laws = unlisted.conditional(setting, h, other), unlisted.conditional(setting, other, h)
            found = max(unlisted.excess(*laws, epsilon) / delta for epsilon, delta in points)
            assert found <= 1 + 1e-9, (setting, h, other)
            met = max(met, found)
    assert met > 0.5


def strict_losses(setting: Setting, most: int, kind: str = "add_remove") -> Iterator[tuple[float, float]]:
    """For each pair the zCDP loss of its conditional laws, and by how much a law fails to hold 1 - delta of its own."""
    _, delta = of(setting, ZCDP, metric_of(kind, most)).map(1)
    for h, other in neighbours(most, kind, 2):
        parts = unlisted.conditional(setting, h, other), unlisted.conditional(setting, other, h)
        loss = max(unlisted.renyi(*parts, order) for order in (1.01, 2, 8, 40))
        laws = unlisted.law(setting, h), unlisted.law(setting, other)
        missing = ((1 - delta) * part[y] - law.get(y, 0.0) for law, part in zip(laws, parts, strict=True) for y in part)
        yield loss, max(missing)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_gumbel_noise_is_approximately_concentrated_in_the_strict_sense(most: int, kind: str) -> None:
    for (k, limit), (tau, threshold) in itertools.product(SIZES, LEVELS[:2] if kind == "replace" else LEVELS):
        setting = Setting("Gumbel", k, limit, tau, threshold)
        rho, _ = of(setting, ZCDP, metric_of(kind, most)).map(1)
        for loss, missing in strict_losses(setting, most, kind):
            assert loss <= rho + 1e-11, setting
            assert missing <= 1e-11, setting


def test_without_dummies_the_strict_claim_is_false() -> None:
    setting = Setting("Gumbel", 2, 3, 2.0, 0.5, dummies=False)
    rho, _ = of(setting, ZCDP, metric_of("add_remove", 3)).map(1)
    assert max(loss for loss, _ in strict_losses(setting, 3)) > 1.5 * rho


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize(("n", "lead"), [(3, 4.0), (2, 3.0), (1, 3.0)], ids=["no +1", "n - 1 slots", "one slot"])
def test_a_delta_that_forgets_something_is_refuted(noise: str, n: int, lead: float) -> None:
    """The delta of three slots, at a lead of 4 - 1 scales, is attained; of each of these it is more than 1.05 times."""
    setting = Setting(noise, 3, 3, 1.0, 4.0)
    worst = max(_excess(setting, *pair) for pair in neighbours(3, "add_remove"))
    assert worst > 1.05 * unlisted.delta(noise, n, lead)


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize(
    ("fault", "pair"),
    [
        ("order_by_data", ((2, 2, 2, 2, 2, 2, 0), (2, 2, 2, 2, 2, 2, 1))),
        ("limit_of_data", ((3, 3, 3, 3, 0), (3, 3, 3, 3, 1))),
    ],
)
def test_slots_that_depend_on_the_data_are_refuted(noise: str, fault: str, pair: tuple[Counts, Counts]) -> None:
    claimed = unlisted.delta(noise, 1, 3.0)
    sound, planted = Setting(noise, 1, 3, 1.0, 4.0), Setting(noise, 1, 3, 1.0, 4.0, **{fault: True})
    assert _excess(sound, *pair) <= claimed
    assert _excess(planted, *pair) > 1.05 * claimed


def _excess(setting: Setting, h: Counts, other: Counts) -> float:
    return unlisted.excess(unlisted.law(setting, h), unlisted.law(setting, other), setting.k / setting.tau)


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel")
@pytest.mark.parametrize("noise", sorted(NOISES))
def test_groups_of_users(noise: str) -> None:
    """Two users who come, who go, or one of each."""
    for (k, limit), (tau, threshold) in itertools.product(((1, 1), (2, 3)), LEVELS[:3]):
        setting = Setting(noise, k, limit, tau, threshold)
        epsilon, delta = of(setting, MAX, metric_of("add_remove", 1)).map(2)
        moves = [tuple(a + s * b for a, b in zip(*pair, strict=True)) for pair in PAIRS_OF_MOVES for s in (1, -1)]
        for h, move in itertools.product(itertools.product(range(4), repeat=3), moves):
            other = tuple(a + b for a, b in zip(h, move, strict=True))
            if min(other) >= 0:
                found = unlisted.excess(unlisted.law(setting, h), unlisted.law(setting, other), epsilon)
                assert found <= delta + 1e-11, (setting, h, other)


PAIRS_OF_MOVES = list(itertools.product(unlisted.moves(1, "add_remove", 3), repeat=2))


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("n", [1, 2, 3, 50])
@pytest.mark.parametrize("lead", [Fraction(-7, 2), Fraction(-1, 3), 0, Fraction(1, 10**6), 1, Fraction(61, 2), 300])
def test_deltas_are_never_below_the_exact_ones(noise: str, n: int, lead: Fraction) -> None:
    metric = tk.KeyedCountDistance(max_items=n)
    claimed = build(metric=metric, limit=100, scale=1, threshold=4 + lead, noise=NOISES[noise]).map(4)[1]
    with mpmath.workdps(400):
        slots, g = min(100, 4 * n), mpmath.mpf(Fraction(lead).numerator) / Fraction(lead).denominator
        x = mpmath.exp(-g)
        true = slots / (slots + 1 / x)
        if noise == "Exponential":
            true = 1 - (1 - max(0, 1 - x) ** (slots + 1)) / ((slots + 1) * x)
        assert true <= mpmath.mpf(claimed) <= true * (1 + mpmath.mpf(2) ** -51)


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-8, 1e-300, Fraction(1, 3), Fraction(1, 10**9)])
@pytest.mark.parametrize("scale", [Fraction(1, 3), 4.0, 1e300])
def test_the_threshold_keeps_delta_and_no_smaller_one_does(noise: str, delta: Any, scale: Any) -> None:
    measurement = build(limit=50, scale=scale, delta=delta, noise=NOISES[noise])
    assert measurement.map(1)[1] <= delta
    lower = Fraction(measurement.parameters["threshold"]) * (1 - Fraction(1, 10**9))
    if lower > 1:
        assert build(limit=50, scale=scale, threshold=lower, noise=NOISES[noise]).map(1)[1] > delta


def test_a_larger_delta_needs_no_lead() -> None:
    assert build(limit=1, delta=0.9, scale=3.0).parameters["threshold"] == 1


def test_the_law_is_that_of_the_definition() -> None:
    for noise, (k, limit) in itertools.product(NOISES, SIZES):
        setting = Setting(noise, k, limit, 2.0, 3.0)
        for h in ((0, 0, 0), (0, 2, 0), (3, 1, 1), (2, 3, 3)):
            declared = of(setting).distribution(mapping(h))
            expected = named(unlisted.law(setting, h))
            assert declared.keys() == expected.keys()
            assert all(abs(float(declared[y]) - p) < 1e-11 for y, p in expected.items())


def test_ties_are_broken_by_the_public_order_of_keys() -> None:
    exact = build(k=2, limit=2, scale=0, threshold=0)
    assert exact({"z": 1, "é": 1, "a": 1, "b": 1}).items == ("a", "b")
    assert exact({10: 5, 9: 5, -1: 5}).items == (-1, 9)
    assert build(k=1, limit=1, scale=0, threshold=1)({"b": 2, "a": 1}).items == ("b",)
    assert as_outcome(build(k=1, limit=1, scale=0, threshold=2)({"b": 2, "a": 1})) == ((), True)


def test_large_counts_and_fractions_are_exact() -> None:
    table = {"a": 2**63 - 1, "b": 2**63 - 2, "c": 1}
    assert build(k=2, limit=2, scale=Fraction(1, 10**6), threshold=Fraction(1, 3))(table).items == ("a", "b")
    assert as_outcome(build(k=3, limit=3, scale=Fraction(1, 10**6), threshold=1e300)(table)) == ((), True)


def test_an_empty_table_one_user_and_one_key() -> None:
    found = build(k=3, limit=5, delta=1e-9)
    assert as_outcome(found({})) == ((), True)
    assert found.distribution({}) == {((), True): 1}
    assert sum(found({"alone": 1}).items == () for _ in range(50)) == 50
    assert as_outcome(found({"all": 10**6})) == (("all",), True)


def test_accuracy_bounds_what_surely_gets_in() -> None:
    for noise, terms in (("Gumbel", 21 * 2), ("Exponential", 21)):
        measurement = build(k=2, limit=20, scale=3.0, threshold=10, noise=NOISES[noise])
        assert measurement.accuracy(1, 0.05) == pytest.approx(3 * math.log(terms / 0.05))
        sure = {"a": 10 + math.ceil(measurement.accuracy(1, 0.05)) + 1, "b": 1}
        chances = build(k=1, limit=2, scale=3.0, threshold=10, noise=NOISES[noise]).distribution(sure)
        missed = sum(p for (keys, _), p in chances.items() if "a" not in keys)
        assert missed < 0.05


def test_the_losses_are_those_of_one_shot_selection() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=6), tk.RangeDistance()
    for noise, k in itertools.product(NOISES, (1, 3)):
        options = {"k": k, "scale": 7, "noise": NOISES[noise]}
        for monotonic, r in ((True, 2), (False, 4)):
            metric = tk.KeyedCountDistance(monotonic=monotonic)
            plain = (space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), **options)).map(r)
            assert build(MAX, metric, **options, limit=5, delta=1e-3).map(2)[0] == plain
            if noise == "Gumbel":
                plain = (space >> tk.then_report_noisy_top_k(tk.ZeroConcentratedDivergence(), **options)).map(r)
                assert build(ZCDP, metric, **options, limit=5, delta=1e-3).map(2)[0] == plain


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_curves_are_those_of_one_shot_selection_up_to_delta(noise: str) -> None:
    """A mixture with what holds but for an event of probability delta, or, for exponential noise, the sum."""
    options = {"k": 2, "scale": 2, "noise": NOISES[noise]}
    space = tk.VectorDomain(tk.AtomDomain(int), size=4), tk.RangeDistance()
    plain = (space >> tk.then_report_noisy_top_k(PROFILE, **options)).map(1)
    delta = build(MAX, **options, limit=3, threshold=3).map(1)[1]
    curve = build(PROFILE, **options, limit=3, threshold=3).map(1)
    for epsilon in (0, 0.4, 0.8, 2):
        rest = 1 - delta if noise == "Gumbel" else 1
        assert curve.delta(epsilon) == pytest.approx(min(1, delta + rest * plain.delta(epsilon)), rel=1e-12)


@pytest.mark.slow
def test_the_auditor_refutes_a_delta_without_the_one_and_not_the_true_one() -> None:
    """By samples alone: at the delta of scores 0 instead of 1 no epsilon holds for an item that one table lacks."""
    measurement = build(k=1, scale=1, threshold=3)
    epsilon, delta = measurement.map(1)
    pair = {"a": 1, "b": 1}, {}
    for allowed, refuted in ((delta, False), (unlisted.delta("Gumbel", 2, 3.0), True)):
        found = tk.audit.estimate(measurement, *pair, samples=4000, measure=MAX, confidence=1 - 1e-9, delta=allowed)
        assert found.contradicts((epsilon, allowed)) is refuted


def test_a_search_for_the_scale_meets_both_numbers() -> None:
    found = tk.binary_search_chain(
        lambda scale: SPACE >> then_unknown_domain_top_k(MAX, k=10, scale=scale, limit=100, delta=1e-8), 1, (1.0, 1e-8)
    )
    assert found.parameters["scale"] == 10


@pytest.mark.parametrize("limit", [2**22 + 1, 2**26, 2**33, 2**63])
def test_a_limit_for_which_there_may_be_no_memory_is_refused_when_it_is_built(limit: int) -> None:
    raises_exactly(ParameterError, lambda: build(limit=limit, delta=1e-9), "limit must be at most 2^22 (4194304)")
    raises_exactly(ParameterError, lambda: build(limit=2**22, k=limit, delta=1e-9), "k must be at most limit")
    counts = {"k": 1, "scale": 2.0, "count_scale": 2.0, "delta": 1e-9}
    raises_exactly(
        ParameterError, lambda: tk.make_unknown_domain_counts(*SPACE, MAX, limit=limit, **counts), "limit must be"
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("keys", [0, 1000, 1001])
def test_the_largest_limit_has_memory_enough_however_many_keys_there_are(keys: int, k: int) -> None:
    top = build(k=k, limit=2**22, scale=1.0, delta=1e-9)
    counts = {key: 1 + key % 7 for key in range(keys)}
    tracemalloc.start()
    try:
        assert len(top(counts).items) <= k
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
