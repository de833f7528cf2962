"""Scores of caps: their values, how far neighbours move them, and a cap that is chosen privately and used."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.spaces import PURE, RANGE
from tests.concepts.specimens import Law, Specimen
from tests.oracles import floats
from tests.tables.test_frames import BACK_ENDS
from tests.transformations.test_count_by_item import add_remove_distance, frame, replace_distance

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

SPACE = tk.FrameDomain("member", "work"), tk.UserDistance()
CAPS = (1, 2, 5)


def reference(rows: list[tuple[Any, Any]], caps: tuple[int, ...], p: int, q: int) -> list[int]:
    own: dict[Any, set[Any]] = {}
    for user, item in rows:
        if user is not None and item is not None:
            own.setdefault(user, set()).add(item)
    return [-abs(q * sum(len(items) <= cap for items in own.values()) - p * len(own)) for cap in caps]


@pytest.mark.quick(make="polars_frame", integers=True)
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[..., Any], integers: bool) -> None:
    names: list[Any] = [1, 2, 3, 4, 5] if integers else ["a", "b", "Z", "é", "c"]
    rows = [(names[u], names[(u * i) % 5]) for u in range(5) for i in range(u + 1)]
    rows += [(None, names[0]), (names[0], None)]
    columns = {"member": [u for u, _ in rows], "work": [i for _, i in rows], "seen": [u for u, _ in rows]}
    for p, q in ((1, 2), (9, 10)):
        found = tk.make_cap_scores(*SPACE, caps=CAPS, share=Fraction(p, q))(make(columns, integers))
        assert found.dtype == np.int64
        assert found.tolist() == reference(rows, CAPS, p, q)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 4)])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_map_holds_on_all_neighbours_and_is_attained(kind: str, share: Fraction) -> None:
    """Three users, of whom the third always has three items."""
    baskets = [None, *(basket for n in (1, 2, 3) for basket in itertools.combinations("abc", n))]
    pairs = itertools.product(baskets, repeat=2)
    held = [{user: basket for user, basket in enumerate(pair) if basket is not None} for pair in pairs]
    p, q = share.numerator, share.denominator
    others = [(9 + n, item) for n in range(8) for item in "abc"]
    scored = []
    for table in held:
        rows = [(user, item) for user, basket in table.items() for item in basket]
        scored.append((table, reference(rows, (1, 2), p, q), reference(rows + others, (1, 2), p, q)))
    scores = tk.make_cap_scores(SPACE[0], tk.UserDistance(kind), caps=(1, 2), share=share)
    worst = dict.fromkeys((1, 2), 0)
    for (left, *before), (right, *after) in itertools.product(scored, repeat=2):
        d = add_remove_distance(left, right) if kind == "add_remove" else replace_distance(left, right)
        if d in worst:
            moves = [abs(b - a) for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True)]
            worst[d] = max(worst[d], *moves)
    assert worst == {d: scores.map(d) for d in (1, 2)}


def test_a_cap_that_is_chosen_privately_and_used() -> None:
    """Nine of ten users have two items, one has fifty: the cap is two, and all is paid for."""
    measure = tk.Approximate(PURE)
    rows = [(user, item) for user in range(900) for item in (user % 5, 5)]
    rows += [(user, item) for user in range(900, 1000) for item in range(50)]
    scores = SPACE >> tk.then_cap_scores(caps=[1, 2, 50], share=Fraction(9, 10))
    chosen = scores >> tk.then_report_noisy_top_k(PURE, k=1, scale=30.0)
    cap = tk.make_approximate(chosen >> tk.index_candidates([1, 2, 50]))

    def capped(found: Any) -> tk.Measurement:
        most = found[0]
        kept = SPACE >> tk.then_bound_contributions(most=most) >> tk.then_count_by_item(candidates=None, max_items=most)
        released: tk.Measurement = kept >> tk.then_stable_histogram(measure, scale=2.0 * most, delta=1e-8)
        return released

    both = tk.make_followed_by(cap, follow=capped, d_in=1, d_out=(0.5, 1e-8))
    assert both.map(1) == (pytest.approx(1.1), 1e-8)
    assert chosen.map(1) == pytest.approx(0.6)
    found, histogram = both(frame(rows, pl.Int64))
    assert found.items == (2,)
    assert set(range(6)) == set(histogram.items) & set(range(6))


def specimens() -> list[Specimen]:
    link = tk.make_cap_scores(*SPACE, caps=(1, 2), share=Fraction(1, 2))

    def law(table: Any) -> Law:
        scores = np.array([reference(table.rows(), (1, 2), 1, 2)], dtype=float)
        return dict(enumerate(floats.softmax(scores / 4)[0].tolist()))

    tables = frame([(1, "a"), (2, "a"), (2, "b")]), frame([(1, "a")])
    return [Specimen(link, tables, law, share=0.3, measurement=link >> tk.then_exponential_mechanism(RANGE, scale=4))]
