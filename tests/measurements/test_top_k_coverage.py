"""The claims of make_top_k_coverage: every law enumerated, its curve attacked and met, tables of all engines.

Nothing here computes with the library what it is compared with: users are sets, and counts are taken one by one.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.top_k_coverage import _choose_greedily, make_top_k_coverage
from opendp_topk.sampling.samplers import race
from opendp_topk.tables import frames, rows
from opendp_topk.tables.frames import identifier_columns
from opendp_topk.tables.memberships import read_memberships
from tests.concepts.links import check_measurement
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles.chi_square import assert_follows

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

MAX, ZCDP, PROFILE = tk.MaxDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile()
SPACE = tk.FrameDomain("user", "item")
Users = Sequence[frozenset[int]]
Law = dict[tuple[int, ...], float]


def build(measure: tk.Measure = MAX, neighbors: str = "add_remove", **options: Any) -> tk.Measurement:
    given = {"candidates": range(3), "k": 2, "scale": 1.0} | options
    return make_top_k_coverage(SPACE, tk.UserDistance(neighbors), measure, **given)


def frame(users: Users) -> Any:
    pairs = [(at, item) for at, items in enumerate(users) for item in sorted(items)]
    return pl.DataFrame(pairs, {"user": pl.Int64, "item": pl.Int64}, orient="row")


def law(users: Users, d: int, k: int, scale: float) -> Law:
    """The probability of each list of k choices: weights of users who have no earlier choice."""
    found: Law = {(): 1.0}
    for _ in range(k):
        longer: Law = {}
        for chosen, mass in found.items():
            left = [item for item in range(d) if item not in chosen]
            unreached = [items for items in users if items.isdisjoint(chosen)]
            weights = [math.exp(sum(item in items for items in unreached) / scale) for item in left]
            for item, weight in zip(left, weights, strict=True):
                longer[*chosen, item] = mass * weight / sum(weights)
        found = longer
    return found


def greedy(users: Users, d: int, k: int) -> tuple[int, ...]:
    chosen: tuple[int, ...] = ()
    for _ in range(k):
        unreached = [items for items in users if items.isdisjoint(chosen)]
        left = [item for item in range(d) if item not in chosen]
        chosen += (max(left, key=lambda item: (sum(item in items for items in unreached), -item)),)
    return chosen


def excess(p: Law, q: Law, epsilon: float) -> float:
    """The hockey stick both ways."""
    z = math.exp(epsilon)
    return max(sum(max(0.0, one[y] - z * other[y]) for y in one) for one, other in ((p, q), (q, p)))


def some_tables(generator: np.random.Generator, number: int) -> Iterator[tuple[int, int, float, Users, frozenset[int]]]:
    """Candidates, choices, a scale, users, and one user more."""
    for _ in range(number):
        d = int(generator.integers(2, 6))
        k, n = int(generator.integers(1, min(d, 4) + 1)), int(generator.integers(0, 7))
        sets = generator.random((n + 1, d)) < generator.choice([0.2, 0.5, 0.8])
        users = [frozenset(np.flatnonzero(one).tolist()) for one in sets]
        yield d, k, 1 / float(generator.uniform(0.1, 3)), users[1:], users[0] or frozenset({0})


USERS: Users = [frozenset({0, 1}), frozenset({1, 2}), frozenset({2})]


def specimens() -> list[Specimen]:
    """One user more, who has two of three items."""
    pair = frame(USERS), frame([*USERS, frozenset({0, 2})])

    def of(table: Any) -> Any:
        return law([frozenset(items) for items in table.group_by("user").agg("item")["item"].to_list()], 3, 2, 1.0)

    return [Specimen(build(PROFILE), pair, of, share=0.5), Specimen(build(MAX), pair, of, share=0.3)]


@pytest.mark.slow
def test_many_releases_have_the_enumerated_law() -> None:
    users: Users = [*[frozenset({0, 1})] * 3, *[frozenset({1})] * 2, frozenset({2}), frozenset({1, 2})]
    held, n = read_memberships(identifier_columns(frame(users), {"user": "user", "item": "item"}), range(3)), 40_000

    def choose_one(counts: Any) -> int:
        return int(race.top_k(counts, Fraction(1), tk.noise.Gumbel(), 1, sign=1, ordered=True)[0])

    drawn = Counter(tuple(_choose_greedily(held, 2, choose_one)) for _ in range(n))
    assert_follows(drawn, law(users, 3, 2, 1.0), detects=0.05)


@pytest.mark.parametrize("measure", [MAX, ZCDP, PROFILE])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_obligations_of_a_measurement(measure: tk.Measure, neighbors: str) -> None:
    more, other = [*USERS, frozenset({0, 2})], [*USERS[:2], frozenset({0})]
    pairs = [(frame(USERS), frame(more), 1), (frame(USERS), frame(other), 2)]
    if neighbors == "replace":
        pairs.append((frame(USERS), frame(other), 1))
    members = [frame(USERS), frame([]), frame([frozenset({9})])]
    others = [pl.DataFrame({"user": [1]}), [1, 2], pl.DataFrame({"user": [1], "item": [0.5]})]
    tables = {"members": members, "non_members": others, "distances": [1, 2, 5]}
    check_measurement(build(measure, neighbors), **tables, neighbours=pairs)


@pytest.mark.parametrize("d_in", [1, *(pytest.param(n, marks=pytest.mark.further) for n in (2, 3))])
def test_no_enumerated_tables_exceed_a_map(d_in: int) -> None:
    """Users are added, and under replace exchanged, ``d_in`` of them; of one some tables come near."""
    generator, near = np.random.default_rng(d_in), dict.fromkeys((MAX, ZCDP, PROFILE), 0.0)
    for d, k, scale, users, user in some_tables(generator, 14 if d_in == 1 else 60):
        added = [frozenset({int(generator.integers(d))} | user) for _ in range(d_in)]
        for neighbors, before in (("add_remove", users), ("replace", [*users, *[frozenset({0})] * d_in])):
            p, q = law(before, d, k, scale), law([*users, *added], d, k, scale)
            logs = {y: math.log(q[y] / p[y]) for y in p}
            order = 1.5
            renyi = max(
                math.log(sum(a[y] * math.exp((order - 1) * s * logs[y]) for y in a)) / (order - 1) / order
                for a, s in ((q, 1), (p, -1))
            )
            curve = build(PROFILE, neighbors, candidates=range(d), k=k, scale=scale).map(d_in)
            shares = {
                measure: loss / max(1e-9, build(measure, neighbors, candidates=range(d), k=k, scale=scale).map(d_in))
                for measure, loss in ((MAX, max(map(abs, logs.values()))), (ZCDP, renyi))
                if d > 1
            } | {PROFILE: max(excess(p, q, e) / max(1e-9, curve.delta(e)) for e in (0.0, 0.3, 1.0, 2.5))}
            for measure, share in shares.items():
                assert share <= 1 + 1e-6, (neighbors, d, k, scale, users, added, measure)
                if neighbors == "add_remove":
                    near[measure] = max(near[measure], share)
    assert min(near.values()) > (0.6 if d_in == 1 else 0.25), near


def test_the_curve_is_met_by_many_choices_and_does_not_grow_with_them() -> None:
    """One item of many users, the new one among them; all others have nobody, and it comes when its time has come."""
    d, k, scale, popular = 100_000, 1500, 9.0, 60
    curve = build(PROFILE, candidates=range(d), k=k, scale=scale).map(1)
    others = np.arange(d - 1, d - 1 - k, -1.0)

    def when(count: int) -> Any:
        share = math.exp(count / scale) / (math.exp(count / scale) + others)
        waits = np.append(1, np.cumprod(1 - share))
        return np.append(waits[:-1] * share, waits[-1])

    p, q = when(popular), when(popular + 1)
    for epsilon in (0.0, 0.1, 0.5):
        met = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
        assert 0.95 * curve.delta(epsilon) <= met <= curve.delta(epsilon)
    r = 1 / scale
    exact = (1 - math.exp(-r)) * math.exp(-(0.5 + r) / math.expm1(r))
    assert exact <= curve.delta(0.5) <= exact * (1 + 1e-9)
    assert curve.delta(0.5) < build(PROFILE, "replace", candidates=range(d), k=k, scale=2 * scale).map(1).delta(0.5)


def test_maps_are_those_of_steps() -> None:
    for k, steps in ((1, 1), (2, 2), (3, 2)):
        assert build(MAX, k=k, scale=4).map(1) == steps / 4
        assert build(MAX, "replace", k=k, scale=4).map(3) == steps * 6 / 4
        z = 0.25 / -math.expm1(-0.25)
        assert build(ZCDP, k=k, scale=4).map(1) == pytest.approx(steps * (z - 1 - math.log(z)), rel=1e-12)
    assert build(MAX, candidates=[7], k=1, scale=0).map(5) == 0
    assert build(MAX, scale=0).map(1) == math.inf
    assert build(MAX, scale=0).map(0) == 0


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("engine", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_tables_of_all_engines_are_counted_alike(engine: str, strings: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the choices are the greedy ones, whatever is null, repeated or not listed, and in many parts."""
    monkeypatch.setattr(frames, "_ROWS", 7)
    generator = np.random.default_rng(int(strings))
    for _ in range(3):
        pairs = generator.integers(0, (40, 9), (150, 2)).tolist()
        users = {u: frozenset(i for v, i in pairs if v == u and i < 7) for u, _ in pairs}
        listed: list[Any] = list(range(7))
        table = [(None, 1), (3, None), *pairs]
        if strings:
            listed, table = list(map(str, listed)), [tuple(None if x is None else str(x) for x in row) for row in table]
        data = pl.DataFrame(table, ["user", "item"], orient="row")
        if engine in ("pandas", "duckdb"):
            pytest.importorskip(engine)
        made = {
            "polars": lambda data=data: data,
            "lazy": lambda data=data: data.lazy(),
            "pandas": lambda data=data: data.to_pandas(),
            "pyarrow": lambda data=data: data.to_arrow(),
            "duckdb": lambda data=data: __import__("duckdb").from_arrow(data.to_arrow()),
        }[engine]()
        expected = tuple(listed[i] for i in greedy(list(users.values()), 7, 5))
        assert build(candidates=listed, k=5, scale=0)(made) == expected


def test_the_accuracy_is_kept_for_all_tables() -> None:
    for d, k, scale, users, user in some_tables(np.random.default_rng(5), 40):
        everybody = [*users, user]
        best = max(
            sum(not items.isdisjoint(chosen) for items in everybody) for chosen in itertools.combinations(range(d), k)
        )
        for alpha in (0.5, 0.1):
            lost = scale * math.log(d * k / alpha)
            missed = sum(
                mass
                for chosen, mass in law(everybody, d, k, scale).items()
                if sum(not items.isdisjoint(chosen) for items in everybody) < (1 - 1 / math.e) * best - k * lost
            )
            assert missed <= alpha


def test_names_come_in_the_order_of_the_choices() -> None:
    link = build(candidates=["b", "a", "c"], k=3, scale=0)
    assert link(pl.DataFrame({"user": [1, 2, 3, 3], "item": ["c", "c", "a", "c"]})) == ("c", "b", "a")
    assert link(pl.DataFrame({"user": [1], "item": ["z"]})) == ("b", "a", "c")
    assert link.parameters["candidates"] == 3


def test_spaces_and_tables_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped = tk.FrameDomain("user", "item", group="day")
    whole = partial(make_top_k_coverage, grouped, tk.UserDistance(), MAX, candidates=[1], k=1, scale=1)
    raises_exactly(tk.errors.ParameterTypeError, whole)
    words = pl.DataFrame({"user": [1], "item": ["x"]})
    raises_exactly(tk.errors.DataTypeError, lambda: build()(words), "strings", "integers")
    monkeypatch.setattr(rows.Rows, "implementation", type("Engine", (), {"is_pyspark": lambda self: True})())
    raises_exactly(tk.errors.DataTypeError, lambda: build()(frame(USERS)), "Spark")
