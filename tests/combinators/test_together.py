"""Releases for all groups at once: each on the rows of its own group, with the law of one after the other."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.combinators import _together

from ..concepts.sentinels import raises_exactly
from ..oracles.chi_square import assert_follows
from ..oracles.counts import distinct_users
from ..oracles.groups import by_group
from .test_partition_by import ADD, DOMAIN, INNER, MAX, SCHEMA, vouched

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
DRAW = random.Random(5)
TABLE = [(DRAW.randrange(40), DRAW.choice("aabc" if town else "bbcc"), town) for town in (0, 1, 2, 3, 0, 3) * 8]


def counted(books: str = "abc") -> tk.Transformation:
    return tk.make_count_by_item(*INNER, candidates=list(books))


def by_town(members: dict[int, tk.Measurement]) -> tk.Measurement:
    return tk.make_partition_by(DOMAIN, ADD, MAX, measurements=members)


def frame(rows: list[Any] = TABLE) -> Any:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


SELECTIONS = {
    "ranking": lambda scale: tk.make_report_noisy_top_k(*SPACE, MAX, k=2, scale=scale),
    "set": lambda scale: tk.make_report_noisy_top_k(*SPACE, MAX, k=2, scale=scale, release="set"),
    "one": lambda scale: tk.make_permute_and_flip(*SPACE, MAX, scale=scale),
    "joint": lambda scale: tk.make_joint_top_k(*SPACE, MAX, k=2, scale=scale),
}


@pytest.mark.quick(kind="ranking", named=True)
@pytest.mark.parametrize("named", [False, True], ids=["indices", "items"])
@pytest.mark.parametrize("kind", SELECTIONS)
def test_every_group_is_released_on_its_own_counts(kind: str, named: bool) -> None:
    """Without noise the exact best of each group's counts, whichever groups are counted together."""
    choose = counted() >> SELECTIONS[kind](0)
    member = choose >> tk.index_candidates(["a", "b", "c"]) if named else choose
    within = counted() >> (SELECTIONS[kind](0) >> tk.index_candidates(["a", "b", "c"])) if named else choose
    towns = [3, 0, 2, 9, 1]
    for members in ([member] * 5, [member, within] * 2 + [member], [choose] * 5):
        built = by_town(dict(zip(towns, members, strict=True)))
        assert all(_together.match_counted_selection(one) is not None for one in members)
        expected = []
        for one, rows in zip(members, by_group(TABLE, towns), strict=True):
            scores = distinct_users(rows, "abc")
            best = sorted(range(3), key=lambda i: (-scores[i], i))[:2]
            best = sorted(best) if kind == "set" else best
            found: list[Any] = best if one is choose else ["abc"[i] for i in best]
            expected.append(found[0] if kind == "one" else found)
        assert len({str(one) for one in expected}) > 1
        released = [one if kind == "one" else list(one) for one in built(frame())]
        assert released == expected
        if kind == "one":
            assert all(type(one) in (int, str) for one in built(frame()))
        else:
            assert all(isinstance(one, tk.Release | np.ndarray) for one in built(frame()))


def test_members_are_released_alone_or_at_once_as_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_together, "_CELLS", 6)
    same, other = (counted() >> SELECTIONS["ranking"](0) for _ in range(2))
    rare = counted("ca") >> tk.then_report_noisy_top_k(MAX, k=2, scale=0)
    alone = vouched(lambda d_in: d_in, name="alone")
    members = [same, alone, other, same, rare, same, alone, other]
    monkeypatch.setattr(_together, "_LISTS", 2)
    plan = _together.plan_group_releases(members)
    assert plan.lists == {("a", "b", "c"): [0, 2, 3, 5, 7]}
    assert plan.alone == [1, 4, 6]
    towns = [3, 7, 0, 2, 1, 8, 9, 5]
    released = by_town(dict(zip(towns, members, strict=True)))(frame())
    for one, member, rows in zip(released, members, by_group(TABLE, towns), strict=True):
        if member is alone:
            assert one == "alone"
        else:
            books = "ca" if member is rare else "abc"
            scores = distinct_users(rows, books)
            assert list(one) == sorted(range(len(books)), key=lambda i: (-scores[i], i))[:2]


def test_what_is_no_selection_from_counts_is_released_alone() -> None:
    choose = SELECTIONS["ranking"](1)
    clipped = tk.make_user_transformation(
        *SPACE, *SPACE, function=lambda counts: counts // 2, stability_map=lambda d_in: d_in
    )
    gaps = tk.make_noisy_top_k_with_gaps(*SPACE, MAX, k=2, scale=1)
    composed = tk.make_composition([counted() >> choose])
    for member in (counted() >> clipped >> choose, counted() >> gaps, vouched(lambda d_in: d_in), composed):
        assert _together.match_counted_selection(member) is None
        assert _together.plan_group_releases([member] * 2).alone == [0, 1]


@pytest.mark.slow
def test_releases_at_once_follow_the_law_and_do_not_depend_on_each_other() -> None:
    rows = [(0, "a", 1), (1, "b", 0), (2, "b", 0), (3, "c", 1)]
    towns = range(4000)
    choose = counted() >> tk.make_report_noisy_top_k(*SPACE, MAX, k=1, scale=1.5)
    apart = [(1, "b"), (2, "b")], [(0, "a"), (3, "c")]
    laws = [choose.distribution(pl.DataFrame(own, schema=["reader", "book"], orient="row")) for own in apart]
    table = frame([(reader + 4 * pair, book, town + 2 * pair) for pair in range(2000) for reader, book, town in rows])
    built = by_town(dict.fromkeys(towns, choose))
    outcomes = [tuple(map(int, one)) for _ in range(5) for one in built(table)]
    pairs: Counter[Any] = Counter(zip(outcomes[::2], outcomes[1::2], strict=True))
    law: dict[Any, float] = {(a, b): float(p * q) for a, p in laws[0].items() for b, q in laws[1].items()}
    assert_follows(pairs, law, detects=0.2)


def test_an_error_after_a_selection_is_raised() -> None:
    def fail(_: Any) -> Any:
        raise tk.errors.QueryError("nothing to see")

    member = counted() >> SELECTIONS["ranking"](1) >> fail
    raises_exactly(tk.errors.QueryError, lambda: by_town({1: member})(frame()), "nothing to see")


def test_queryables_after_a_selection_are_closed() -> None:
    talk = INNER >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[1.0])
    data = pl.DataFrame([(1, "a")], schema=["reader", "book"], orient="row")
    member = counted() >> SELECTIONS["ranking"](1) >> (lambda _: talk(data))
    for queryable in by_town({1: member, 2: member})(frame()):
        with pytest.raises(tk.errors.QueryError, match="closed"):
            queryable(counted() >> SELECTIONS["one"](4))
