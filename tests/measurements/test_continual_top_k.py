"""Running sums, step after step: the laws of whole transcripts, all moves of the nodes, and what is refused."""

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import BudgetError, DataError, DataTypeError, ParameterError, ParameterTypeError, SpaceError
from opendp_topk.measurements import continual_top_k
from opendp_topk.measurements.continual_top_k import changed_root_sums, largest_variance, make_continual_top_k
from tests.concepts.losses import realised
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Law, Specimen
from tests.oracles import discrete, running
from tests.oracles.chi_square import assert_follows

MEASURES = MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
PROFILE = tk.PrivacyProfile()
INT = tk.VectorDomain(tk.AtomDomain(int))
NAMES = {True: "gaussian", False: "laplace"}
MANY = 513  # steps from which on Gaussian noise, too, is that of the nodes of a tree


def build(measure: tk.Measure, changes: int = 1, domain: tk.VectorDomain = INT, **options: Any) -> tk.Measurement:
    given = {"steps": 3, "k": 1, "scale": 1, **options}
    return make_continual_top_k(domain, tk.L01InfDistance(changes=changes, monotonic=True), measure, **given)


def won(measurement: tk.Measurement, counts: Any) -> tuple[int, ...]:
    return tuple(int(one.indices[0]) for one in measurement(counts))


def talk(measurement: tk.Measurement, first: Any) -> tuple[int, ...]:
    """The leaders where every later step brings (0, 2)."""
    lists = measurement(first)
    answers = [lists(None), *(lists([0, 2]) for _ in range(measurement.parameters["steps"] - 1))]
    return tuple(int(one.indices[0]) for one in answers)


def specimens() -> list[Specimen]:
    noise = running.difference("laplace", Fraction(2))

    def law(x: Any) -> Law:
        return running.leaders(2, running.known([x[0] - x[1], x[2] - x[3]]), noise)

    def after(x: Any) -> Law:
        return running.leaders(2, running.known([x[0] - x[1], -2]), noise)

    options = {"steps": 2, "scale": 2, "gaussian": False}
    at_once = Specimen(build(MAX, at_once=True, **options), ((2, 0, 0, 9), (2, 1, 0, 9)), law, share=0.4, cell=won)
    return [at_once, Specimen(build(MAX, **options), ((0, 3), (1, 3)), after, share=0.4, cell=talk)]


# The map against all moves


def nodes_of(cells: np.ndarray) -> np.ndarray:
    """The sums of all runs of 2^i steps that begin after a multiple of 2^i steps, for rows of steps."""
    steps, found = len(cells), []
    for size in (2**i for i in range(20)):
        found += [cells[first : first + size].sum(axis=0) for first in range(0, steps - size + 1, size)]
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("steps", "width"),
    [(1, 2), (2, 2), (4, 1), pytest.param(3, 2, marks=pytest.mark.further), (5, 1)]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in ((7, 1), (4, 2))],
)
def test_all_moves_of_the_nodes(steps: int, width: int) -> None:
    """Every move of the cells by as much as the metric allows; some attain the three bounds together."""
    unit, root = 4 ** (steps - 1), running.root(steps)
    for changes, each in ((1, 1), (2, 1), (3, 1), (1, 2), (2, 2)):
        worst, farthest = Counter[str](), Counter[str]()
        for cells in itertools.product(range(-each, each + 1), repeat=steps * width):
            if steps * width > 6 and min(cells) < 0 < max(cells):
                continue  # moves that go both ways are tried where they are few
            if sum(map(abs, cells)) <= changes * each:
                sums = abs(nodes_of(np.reshape(cells, (steps, width))))
                found = {"each": sums.max(), "total": sums.sum(), "squares": (sums**2).sum()}
                worst |= Counter({name: int(most) for name, most in found.items()})
                rows = abs(root @ np.reshape(cells, (steps, width)) * unit).round()
                found = {"each": rows.max(), "total": rows.sum(), "squares": (rows**2).sum()}
                farthest |= Counter({name: int(most) for name, most in found.items()})
        bound = continual_top_k.changed_node_sums(steps, min(changes, steps * width), each)
        claimed = {"each": bound.each, "total": bound.total, "squares": bound.squares}
        assert all(worst[name] <= claimed[name] for name in claimed), (changes, each)
        if changes <= 2 ** (steps.bit_length() - 1) * width:
            assert dict(worst) == claimed, (changes, each)
        rooted = changed_root_sums(steps, min(changes, steps * width), each)
        claimed = {"each": rooted.each, "total": rooted.total, "squares": rooted.squares}
        assert all(farthest[name] <= claimed[name] for name in claimed), (changes, each)
        if changes <= steps:
            assert (farthest["each"], farthest["squares"]) == (rooted.each, rooted.squares), (changes, each)


def test_maps_are_the_formulas() -> None:
    for steps, changes, d, s in ((52, 1, 1, 8), (52, 10, 1, Fraction(7, 2)), (3, 2, 2, 5), (1, 4, 1, 3)):
        h = len(bin(steps)) - 2
        epsilon = Fraction(h * changes * d) / Fraction(s)
        for measure, exact in ((MAX, epsilon), (RANGE, 2 * epsilon)):
            found = build(measure, changes, steps=steps, scale=s).map(d)
            assert Fraction(math.nextafter(found, 0)) < exact <= Fraction(found)
        assert build(ZCDP, changes, steps=steps, scale=s, gaussian=False).map(d) < epsilon**2 / 2
        q = sum((changes // 2**i) * 4**i + (changes % 2**i) ** 2 for i in range(10))
        assert build(ZCDP, changes, steps=MANY, scale=s).map(d) == pytest.approx(q * d * d / (2 * float(s) ** 2))
    assert build(ZCDP, scale=2).map(1) == (1 + 1 / 4 + 9 / 64) / 8, "the squares of 1, 1/2 and 3/8"
    assert build(ZCDP, 2, steps=2, scale=2).map(1) == (1 + 9 / 4) / 8, "both on the same item, in successive steps"
    assert build(ZCDP, steps=512).map(1) < 1.6 < build(ZCDP, steps=MANY).map(1) == 5
    assert build(MAX, 99, tk.VectorDomain(tk.AtomDomain(int), size=2), steps=3).map(1) == 2 * 6, "six counts there are"
    at_once = tk.VectorDomain(tk.AtomDomain(int), size=6)
    assert build(MAX, 99, at_once, steps=3, at_once=True).map(1) == 2 * 6
    assert build(MAX).map(0) == build(MAX).map(0.5) == 0.0
    assert build(MAX, scale=0).map(1) == build(MAX).map(math.inf) == math.inf


def test_one_step_costs_what_a_histogram_costs() -> None:
    space = INT, tk.L01InfDistance(changes=3)
    for measure in MEASURES:
        histogram = tk.make_noisy_histogram(*space, measure, scale=3)
        assert make_continual_top_k(*space, measure, steps=1, k=1, scale=3).map(2) == histogram.map(2)


def test_the_curve_is_that_of_independent_noise_on_the_nodes() -> None:
    """One count moves by one: it is in three nodes of seven steps, as one of three counts that move in a histogram."""
    three = tk.make_noisy_histogram(INT, tk.L01InfDistance(changes=3), PROFILE, scale=2, gaussian=False).map(1)
    ours = build(PROFILE, steps=7, scale=2, at_once=True, gaussian=False).map(1)
    assert [ours.delta(e) for e in (0.1, 0.5, 2)] == [three.delta(e) for e in (0.1, 0.5, 2)]


@pytest.mark.further
def test_a_search_finds_no_moves_of_the_rows_beyond_the_bound() -> None:
    """Moves of twelve steps and two items that are changed cell by cell, as long as their squares grow."""
    rng, root = np.random.default_rng(5), running.root(12)

    def squares(cells: Any) -> float:
        return float(((root @ cells) ** 2).sum())

    for changes in (1, 3, 8, 11, 12, 17):
        best = 0.0
        for _ in range(20):
            cells = np.zeros((12, 2))
            cells.ravel()[rng.permutation(24)[:changes]] = rng.choice([-1, 1], changes)
            while True:
                tries = []
                for here, there in itertools.product(np.flatnonzero(cells), np.flatnonzero(cells.ravel() == 0)):
                    for sign in (-1, 1):
                        other = cells.copy()
                        other.ravel()[here], other.ravel()[there] = 0, sign
                        tries.append(other)
                better = max([*tries, cells], key=squares)
                if squares(better) <= squares(cells) + 1e-9:
                    break
                cells = better
            best = max(best, squares(cells))
        bound = float(Fraction(changed_root_sums(12, changes, 1).squares, 16**11))
        assert best <= bound + 1e-9
        assert best >= (0.93 if changes > 11 else 1 - 1e-9) * bound, "met up to the length of the best run"


# Laws of whole transcripts

STREAMS = {2: ((0, 0), (3, -4), (-6, 1)), 3: ((0, 0, 0), (4, -5, 2), (-5, 1, -3)), 4: ((0, 0, 0, 0), (3, -5, 4, -4))}


def moves(steps: int, changes: int) -> list[tuple[int, ...]]:
    """By how much one person moves the difference of two counts at each step: a count of each may go up by one."""
    return [one for one in itertools.product((-1, 0, 1), repeat=steps) if sum(map(abs, one)) <= changes]


def leaders_of(steps: int, gaussian: bool, scale: Fraction) -> Any:
    """The law of the leaders as a function of a stream."""
    if gaussian:
        return lambda stream: running.rooted_leaders(steps, stream, scale)
    noise = running.difference("laplace", scale)
    return lambda stream: running.leaders(steps, stream, noise)


@pytest.mark.parametrize(
    ("steps", "gaussian"),
    [
        (2, False),
        (2, True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((3, False), (3, True), (4, False))),
    ],
)
def test_no_law_of_transcripts_exceeds_the_map(steps: int, gaussian: bool) -> None:
    law = leaders_of(steps, gaussian, Fraction(1))
    for x in STREAMS[steps]:
        before = law(running.known(x))
        for changes in (1, 2) if steps < 4 else (1,):
            for move in moves(steps, changes):
                after = law(running.known([a + b for a, b in zip(x, move, strict=True)]))
                for measure in (ZCDP,) if gaussian else MEASURES:
                    claimed = build(measure, changes, steps=steps, scale=1).map(1)
                    assert realised(measure, before, after) <= claimed + 1e-6, (x, move)


@pytest.mark.further
@pytest.mark.parametrize("gaussian", [False, True])
def test_no_law_exceeds_the_map_where_steps_depend_on_the_lists(gaussian: bool) -> None:
    """Two streams whose later counts, and whose difference, depend on who led: the one step that moves is chosen."""
    law, answers = leaders_of(3, gaussian, Fraction(1)), {0: (4, -3, 2), 1: (-2, 5, -4)}
    for first, second in itertools.product((0, 1, 2), repeat=2):  # which step moves where the first, or second, leads

        def stream(leaders: tuple[int, ...], moving: tuple[int, int] | None) -> int:
            led = leaders[0] if leaders else 0
            here = -3 if not leaders else answers[led][len(leaders) - 1]
            step = None if moving is None else (min(moving) if min(moving) == 0 else moving[led])
            return here + (step == len(leaders))

        laws = [law(lambda w, one=one: stream(w, one)) for one in (None, (first, second))]
        for measure in (ZCDP,) if gaussian else MEASURES:
            assert realised(measure, *laws) <= build(measure, scale=1).map(1) + 1e-6, (first, second)


def test_a_level_fewer_would_not_be_paid_for() -> None:
    """In three steps a count is in two nodes: leaders that are unlikely after one and after two steps tell of both."""
    noise = running.difference("laplace", Fraction(1))
    one, other = (running.leaders(2, running.known([x, -6]), noise) for x in (-8, -7))
    loss = float(realised(MAX, one, other))
    assert 1.6 < loss <= build(MAX, steps=2).map(1) == 2
    assert loss > build(MAX, steps=1).map(1), "as if there were the steps alone"


def test_noise_that_nodes_share_would_leak() -> None:
    """With one noise z for y_1, y_2 and y_12 both leaders are functions of z, and neighbours part outcomes."""

    def law(x_1: int, x_2: int) -> dict[Any, float]:
        found: Counter[Any] = Counter()
        for z, p in running.difference("laplace", Fraction(1)).items():
            found[x_1 + z < 0, (x_1 + z) + (x_2 + z) + 2 * (x_1 + x_2 + z) < 0] += p
        return dict(found)

    assert realised(MAX, law(0, 0), law(1, -1)) == math.inf


def test_two_weeks_of_one_item_cost_more_than_two_items() -> None:
    """The rows of two steps move by 1 and 3/2, in quarters by 4 and 6; two items would be twice 1 + 1/4."""
    noise = discrete.masses("gaussian", Fraction(4))
    far = {z: p for z, p in noise.items() if abs(z) < 50}
    order = 2
    moments = [sum(float(far[z]) ** (1 - order) * float(far.get(z - by, 0)) ** order for z in far) for by in (4, 6)]
    rho = sum(map(math.log, moments)) / (order - 1) / order
    assert abs(rho - build(ZCDP, 2, steps=2).map(1)) < 1e-9
    assert continual_top_k.changed_node_sums(2, 2, 1).squares == 6, "of the nodes, one moves by two"


# Samples


@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True])
def test_leaders_follow_the_law(gaussian: bool) -> None:
    x, scale = (2, 0, 0, 3, 4, 2), Fraction(5, 2)
    measurement = build(ZCDP, steps=3, scale=scale, gaussian=gaussian, at_once=True)
    law = leaders_of(3, gaussian, scale)(running.known([2, -3, 2]))
    found = Counter(won(measurement, x) for _ in range(2000))
    assert_follows(found, {one: p / sum(law.values()) for one, p in law.items()}, detects=0.7)


@pytest.mark.parametrize(("steps", "gaussian"), [(3, True), (4, False), (7, False)])
def test_sums_follow_the_law(steps: int, gaussian: bool) -> None:
    """The last noisy sums of many candidates, rounded to whole numbers."""
    scale = Fraction(2)
    law: Counter[int] = Counter()
    sums = running.rooted_last_sum(steps, scale) if gaussian else running.last_sum(steps, "laplace", scale)
    for z, p in sums.items():
        law[math.floor(z + Fraction(1, 2))] += p  # type: ignore[assignment]
    n = 20_000
    measurement = build(ZCDP, k=n, steps=steps, scale=scale, gaussian=gaussian, at_once=True)
    counts = np.repeat([3] * (steps - 1) + [-5], n)
    drawn = measurement(counts)[-1].counts - (3 * (steps - 1) - 5)
    assert_follows(discrete.counted(drawn.tolist(), -6, 6), discrete.pooled(dict(law), -6, 6), detects=0.3)


def test_running_sums_share_the_noise_of_the_square_root() -> None:
    """The covariances of the noise of six lists, of 10,000 items; a wrong entry is off by eight deviations or more."""
    n, steps, scale = 10_000, 6, 40
    released = build(ZCDP, k=n, steps=steps, scale=scale, at_once=True)(np.zeros(n * steps, dtype=np.int64))
    noise = np.array([one.counts[np.argsort(one.indices)] for one in released]) / scale
    root = running.root(steps)
    assert np.abs(noise @ noise.T / n - root @ root.T).max() < 0.12
    assert continual_top_k.rooted_variance(steps) == pytest.approx((root @ root.T)[-1, -1])


def test_without_noise_the_sums_are_those_of_the_counts() -> None:
    rng = np.random.default_rng(7)
    table = rng.integers(-50, 1000, size=(45, 6))
    table[3] += 2**62
    lists = build(ZCDP, steps=45, k=6, scale=0, at_once=True)(table.ravel())
    asked = build(ZCDP, steps=45, k=6, scale=0)(table[0])
    answers = [asked(None), *map(asked, table[1:])]
    sums = [0] * 6
    for counts, at_once, answer in zip(table.tolist(), lists, answers, strict=True):
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        expected = sorted(sums, reverse=True)
        assert at_once.counts.tolist() == answer.counts.tolist() == expected
        assert [sums[i] for i in at_once.indices] == [sums[i] for i in answer.indices] == expected
    huge = build(ZCDP, steps=2, scale=0, at_once=True)([2**70, 2**70 + 1, 3, 5])
    assert huge[1].counts.tolist() == [2**70 + 6]
    assert build(ZCDP, steps=2, scale=0, at_once=True)(np.array([2**63, 2**63], dtype=np.uint64))[1].counts == [2**64]


def test_items_take_the_place_of_indices_and_equal_sums_keep_their_order() -> None:
    first, second = build(ZCDP, steps=2, k=2, scale=0, at_once=True, items=["ash", "birch"])([1, 1, 0, 4])
    assert isinstance(first, tk.Release)
    assert (first.items, second.items) == (("ash", "birch"), ("birch", "ash"))


# Accuracy


@pytest.mark.further
def test_the_variance_is_that_of_the_weights() -> None:
    for steps in (1, 2, 3, 4, 7):
        law, one = (running.last_sum(t, "gaussian", Fraction(1)) for t in (steps, 1))
        ratio = sum(float(z) ** 2 * p for z, p in law.items()) / sum(float(z) ** 2 * p for z, p in one.items())
        assert abs(ratio - float(continual_top_k.running_sum_variance(steps))) < 1e-9
    for steps in range(1, 300):
        assert largest_variance(steps) == max(map(continual_top_k.running_sum_variance, range(1, steps + 1)))
        assert largest_variance(steps) <= Fraction(steps.bit_length() + 2, 2)


@pytest.mark.parametrize("gaussian", [False, True])
def test_accuracy_holds_and_is_not_idle(gaussian: bool) -> None:
    scale, alpha = Fraction(2), 0.07
    for steps in (3,) if gaussian else (3, 7):
        law = running.rooted_last_sum(3, scale) if gaussian else running.last_sum(steps, "laplace", scale)
        bound = build(ZCDP, steps=steps, scale=scale, gaussian=gaussian).accuracy(1, alpha)
        share = alpha / steps
        assert sum(p for z, p in law.items() if abs(z) > bound / 2) <= share
        assert sum(p for z, p in law.items() if abs(z) > bound / 4) > share
    assert build(ZCDP, scale=0).accuracy(5) == 0.0
    assert build(MAX, scale=1e308).accuracy(5) == build(ZCDP, scale=1e200).accuracy(5) == math.inf
    raises_exactly(ParameterError, lambda: build(ZCDP, k=3).accuracy(2), "n_candidates must be at least k")


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_noise_of_many_nodes_is_within_the_bound(gaussian: bool) -> None:
    """Fifty of them with a weight of one each."""
    one = discrete.masses(NAMES[gaussian], Fraction(2))
    masses = np.array([float(one.get(z, 0)) for z in range(-60, 61)])
    total = functools.reduce(np.convolve, [masses] * 50)
    sizes = abs(np.arange(len(total)) - len(total) // 2)
    bound = continual_top_k.noise_error_bound(Fraction(2), Fraction(50), Fraction(1, 5), gaussian=gaussian)
    assert total[sizes > bound / 2].sum() <= 0.2 < total[sizes > bound / 4].sum()
    if gaussian:
        assert bound == pytest.approx(2 * math.sqrt(2 * 50 * 2**2 * math.log(2 * 5)), rel=1e-12)


def test_the_square_root_is_nearer_than_the_tree_and_than_releases_of_their_own() -> None:
    """At one rho, by the variances after the worst step."""

    def root_cost(steps: int, changes: int) -> Fraction:
        return Fraction(
            changed_root_sums(steps, changes, 1).squares, 16 ** (steps - 1)
        ) * continual_top_k.rooted_variance(steps)

    def tree_cost(steps: int, changes: int) -> Fraction:
        return continual_top_k.changed_node_sums(steps, changes, 1).squares * largest_variance(steps)

    for steps, changes in itertools.product((2, 3, 9, 52, 99), (1, 2, 7, 60)):
        assert root_cost(steps, changes) < tree_cost(steps, changes)
        assert root_cost(steps, 1) < steps, "a fresh release after each step shares rho among all steps"
    assert f"{math.sqrt(tree_cost(52, 1) / root_cost(52, 1)):.2f}" == "1.91"
    assert f"{math.sqrt(root_cost(52, 1) / 52):.2f}" == "0.32"
    lone = [steps for steps in range(1, 100) if largest_variance(steps) * steps.bit_length() ** 2 >= steps**2]
    assert lone == [1, 2], "Laplace noise on nodes is nearer than on separate releases from three steps on"


# The conversation


def test_a_conversation_refuses_without_a_change() -> None:
    lists = build(ZCDP, scale=0, steps=3, k=2)([5, 1])
    assert lists(None).counts.tolist() == lists(None).counts.tolist() == [5, 1]
    raises_exactly(DataError, lambda: lists([1, 2, 3]), "as many as those of the first step")
    for query in ("12", [1, 0.5], 3, [[1, 2]], [True, False]):
        with pytest.raises(DataError):
            lists(query)
    counts = np.array([0, 7])
    assert lists(counts).counts.tolist() == [8, 5]
    counts[:] = 1000
    assert lists([1, 0]).counts.tolist() == [8, 6]
    raises_exactly(BudgetError, lambda: lists([1, 0]), "all steps have been taken")
    assert lists(None).counts.tolist() == [8, 6], "what was released may be seen again"
    raises_exactly(DataError, lambda: build(ZCDP, k=3)([5, 1]), "at least k (3)")


def test_a_list_is_the_same_when_it_is_asked_for_again() -> None:
    lists = build(ZCDP, scale=50, k=4, steps=5)([0] * 4)
    for step in range(4):
        first, again = lists(None if step == 0 else [0] * 4), lists(None)
        assert [*first.indices, *first.counts] == [*again.indices, *again.counts]


def test_a_ledger_of_users_takes_it_at_a_stated_price(tmp_path: Path) -> None:
    ledger = tk.ledger.Ledger.create(
        tmp_path / "ledger", budget=1, measure=ZCDP, metric=tk.UserDistance(), dataset="a year"
    )
    weekly = build(ZCDP, steps=52, scale=4)
    raises_exactly(SpaceError, lambda: ledger.reserve(weekly), "metric of the ledger, UserDistance")
    with ledger.reserve(cost=weekly.exact_map(1), label="52 weekly lists"):
        lists = weekly([10, 500])
        assert ledger.spent() == weekly.map(1) == pytest.approx(2.3223 / 32, rel=1e-3)
        lists([3, 4])
    assert ledger.spent() == weekly.map(1)


def test_the_noise_follows_the_measure_or_the_word() -> None:
    for measure, gaussian in ((MAX, False), (RANGE, False), (ZCDP, True)):
        assert build(measure).parameters["gaussian"] is gaussian
    assert build(ZCDP, gaussian=False).parameters["gaussian"] is False


def test_other_measures_and_metrics_are_refused() -> None:
    raises_exactly(ParameterTypeError, lambda: build(MAX, gaussian=True), "output_measure")
    raises_exactly(ParameterTypeError, lambda: build(PROFILE), "output_measure")
    raises_exactly(ParameterTypeError, lambda: build(tk.Approximate(ZCDP), at_once=True), "output_measure")
    wrong = INT, tk.L1Distance()
    raises_exactly(
        ParameterTypeError, lambda: make_continual_top_k(*wrong, ZCDP, steps=2, k=1, scale=1), "L01InfDistance"
    )
    raises_exactly(DataError, lambda: build(ZCDP, at_once=True)([1, 2, 3, 4]), "for each step")


# Tables

FRAMES = tk.FrameDomain("reader", "book")
BOOKS = ["a", "b"]


def of_tables(kind: str = "add_remove", most: int = 2, **options: Any) -> tk.Measurement:
    given = {"steps": 2, "k": 2, "scale": 0, "items": BOOKS, "max_items": most, **options}
    return make_continual_top_k(FRAMES, tk.UserDistance(kind), given.pop("measure", ZCDP), **given)


def lent(rows: Any) -> Any:
    pl = pytest.importorskip("polars", reason="tables are made with polars")
    return pl.DataFrame([*rows], schema={"reader": pl.Int64, "book": pl.String}, orient="row")


def cells(measurement: tk.Measurement, stream: Any) -> list[int]:
    """The counts of each step, from the exact running sums."""
    lists, sums = measurement(lent(stream[0])), []
    for step in range(len(stream)):
        found = lists(lent(stream[step])) if step else lists(None)
        sums.append([dict(zip(found.items, found.counts.tolist(), strict=True))[book] for book in BOOKS])
    return np.diff(np.array([[0, 0], *sums]), axis=0).ravel().tolist()


def counted_by_hand(stream: Any, most: int) -> list[int]:
    """Each reader alone: every week with a book once, the first of them."""
    found = Counter[tuple[int, str]]()
    for reader in {reader for step in stream for reader, _ in step}:
        own = sorted({(t, book) for t, step in enumerate(stream) for one, book in step if one == reader})
        found.update(own[:most])
    return [found[t, book] for t in range(len(stream)) for book in BOOKS]


PAIRS = [(step, book) for step in (0, 1) for book in BOOKS]
OWN = [one for size in range(4) for one in itertools.combinations_with_replacement(PAIRS, size)]


@pytest.mark.parametrize(
    "most", [1, pytest.param(2, marks=pytest.mark.further), pytest.param(3, marks=pytest.mark.slow)]
)
def test_no_reader_moves_more_than_the_map_pays_for(most: int) -> None:
    """All rows that one reader may have in two weeks, twice a book in a week included, beside others."""
    measurement, others = of_tables(most=most), ((2, (0, "a")), (2, (0, "a")), (3, (1, "b")), (2, (1, "a")))
    farthest = 0
    for own in OWN[:: 1 if most > 1 else 5]:
        both = []
        for rows in (others, (*others, *((1, cell) for cell in own))):
            stream = [[(reader, book) for reader, (t, book) in rows if t == step] for step in (0, 1)]
            both.append(cells(measurement, stream))
            assert both[-1] == counted_by_hand(stream, most)
        moves = [after - before for before, after in zip(*both, strict=True)]
        assert set(moves) <= {0, 1}
        assert sum(moves) <= most
        rows = running.root(2) @ np.reshape(moves, (2, 2))
        assert (rows**2).sum() <= changed_root_sums(2, most, 1).squares / 16 + 1e-9
        farthest = max(farthest, sum(moves))
    assert farthest == most


def test_the_map_of_tables_is_that_of_as_many_counts() -> None:
    for measure in MEASURES:
        for most, d in ((1, 1), (2, 1), (5, 3)):
            options = {"steps": 7, "scale": 3.0, "measure": measure}
            plain = tk.VectorDomain(tk.AtomDomain(int), size=2)
            for kind, changes in (("add_remove", most), ("replace", 2 * most)):
                vectors = make_continual_top_k(
                    plain, tk.L01InfDistance(changes=changes), measure, steps=7, k=2, scale=3.0
                )
                assert of_tables(kind, most, **options).map(d) == vectors.map(d)


def test_tables_are_checked_before_anything_is_taken(tmp_path: Path) -> None:
    lists = of_tables(steps=3)(lent([(1, "a"), (1, "a")]))
    words = pytest.importorskip("polars").DataFrame({"reader": ["1"], "book": ["b"]})
    raises_exactly(DataTypeError, lambda: lists(words), "integers in the tables of all steps")
    raises_exactly(DataTypeError, lambda: lists(words.with_columns(reader=1, book=2)), "candidates")
    raises_exactly(DataTypeError, lambda: lists([1, 2]), "table")
    assert lists(lent([(1, "b"), (2, "b")])).counts.tolist() == [2, 1]
    assert lists(lent([(1, "b"), (1, "a")])).counts.tolist() == [2, 1], "of reader 1 two counts were taken"
    raises_exactly(BudgetError, lambda: lists(lent([])), "all steps")
    unit = {"metric": tk.UserDistance(), "user": "reader"}
    with tk.ledger.Ledger.create(tmp_path / "l", budget=1, measure=ZCDP, dataset="loans", **unit) as ledger:
        year = of_tables(scale=8.0)
        talk = ledger.release(year, lent([(1, "a")]), label="year")
        assert ledger.spent() == year.map(1)
        assert len(talk(lent([(1, "b")])).items) == 2


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"items": None}, ParameterError, "items"),
        ({"items": ["a", 1]}, ParameterError, "items"),
        ({"items": [True, False]}, ParameterError, "items"),
        ({"max_items": 0}, ParameterError, "max_items"),
        ({"max_items": None}, ParameterTypeError, "max_items"),
        ({"at_once": True}, ParameterError, "at_once"),
        ({"k": 3}, SpaceError, "k (3)"),
    ],
)
def test_bad_arguments_of_tables_are_refused(options: dict[str, Any], error: type[Exception], word: str) -> None:
    raises_exactly(error, lambda: of_tables(**options), word)
    raises_exactly(ParameterError, lambda: build(ZCDP, max_items=2), "max_items")
    kept = (FRAMES, tk.UserDistance()) >> tk.then_bound_contributions(most=1)
    raises_exactly(SpaceError, lambda: kept >> of_tables(), "more data")
