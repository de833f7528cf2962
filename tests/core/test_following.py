"""What may follow a release: refused while the chain is built, before a ledger could have paid for a release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.clocks import unwaited
from tests.concepts.sentinels import raises_exactly

MAX = tk.MaxDivergence()
LOST = tk.Approximate(MAX)
SCORES = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
FEW = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.L01InfDistance(changes=1)
KEYED = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=1)
SAME = tk.make_user_transformation(*FEW, *FEW, function=lambda scores: scores, stability_map=lambda d_in: d_in)
VECTOR, TABLE = [900, 500, 700], {"ash": 900, "birch": 500}
TREES = ["ash", "birch", "cedar"]
AFTER = {
    "add": tk.add_to_counts(9),
    "best": tk.largest_counts(2),
    "from": tk.counts_from(5, TREES),
    "items": tk.index_candidates(TREES),
}
FIRST: dict[str, tuple[Any, Any, set[str]]] = {
    "ranking": (SCORES >> tk.then_report_noisy_top_k(MAX, k=2, scale=1.0), VECTOR, {"items"}),
    "canonical": (SCORES >> tk.then_canonical_top_k(MAX, k=2, scale=1.0), VECTOR, {"items"}),
    "choice": (SCORES >> tk.then_permute_and_flip(MAX, scale=1.0), VECTOR, {"items"}),
    "gaps": (SCORES >> tk.then_noisy_top_k_with_gaps(MAX, k=2, scale=1.0), VECTOR, {"items"}),
    "counts of winners": (SCORES >> tk.then_select_then_count(MAX, k=2, scale=1.0), VECTOR, {"add", "items"}),
    "histogram": (FEW >> tk.then_noisy_histogram(MAX, scale=1.0), VECTOR, {"best", "from"}),
    "laplace": (FEW >> tk.then_laplace(MAX, scale=1.0), VECTOR, {"best", "from"}),
    "gaussian": (FEW >> tk.then_gaussian(tk.PrivacyProfile(), scale=1.0), VECTOR, {"best", "from"}),
    "keys": (KEYED >> tk.then_partition_selection(LOST, epsilon=1.0, delta=1e-9), TABLE, set()),
    "keys with counts": (KEYED >> tk.then_stable_histogram(LOST, scale=1.0, delta=1e-9), TABLE, {"add"}),
    "found": (KEYED >> tk.then_unknown_domain_top_k(LOST, k=1, scale=1.0, limit=2, delta=1e-9), TABLE, set()),
    "found, counted": (
        KEYED >> tk.then_unknown_domain_counts(LOST, k=1, scale=1.0, limit=2, delta=1e-9),
        TABLE,
        {"add"},
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_only_what_takes_a_release_may_follow_it(name: str) -> None:
    first, value, allowed = FIRST[name]
    made = tk.make_minimum_users(*KEYED, minimum_users=2) if value is TABLE else None
    for made_first in (first, tk.make_padded(first, seconds=5), *([made >> first] if made else ())):
        for then, function in AFTER.items():
            if then in allowed:
                with unwaited():
                    (made_first >> function)(value)
            else:
                raises_exactly(tk.SpaceError, lambda m=made_first, f=function: m >> f, "must follow a measurement")


def test_what_follows_a_post_processor_is_what_takes_its_releases() -> None:
    counts = FIRST["histogram"][0] >> AFTER["best"]
    assert (counts >> AFTER["add"])(VECTOR).indices.size == 2
    for first, then in ((counts, "best"), (FIRST["ranking"][0] >> AFTER["items"], "items"), (counts, "from")):
        raises_exactly(tk.SpaceError, lambda first=first, then=then: first >> AFTER[then], "must follow")
    gaps = FIRST["gaps"][0] >> AFTER["items"]
    raises_exactly(tk.SpaceError, lambda: gaps >> AFTER["add"], "field counts")


def test_as_many_counts_as_are_asked_for() -> None:
    for first in (FIRST["histogram"][0], SAME >> FIRST["histogram"][0]):
        raises_exactly(tk.SpaceError, lambda first=first: first >> tk.largest_counts(4), "at least k (4)")
        raises_exactly(tk.SpaceError, lambda first=first: first >> tk.counts_from(1, TREES[:2]), "as many as")


def test_a_function_of_the_caller_may_follow_and_be_followed() -> None:
    own = FIRST["keys"][0] >> (lambda keys: np.array([len(keys), 7]))
    assert (own >> tk.largest_counts(1))(TABLE).counts.tolist() == [7]
    stated = tk.make_user_measurement(*FEW, MAX, function=lambda scores: scores, privacy_map=lambda d_in: 0.0)
    assert (stated >> AFTER["best"])(VECTOR).counts.tolist() == [900, 700]


def test_a_function_without_a_module_may_follow() -> None:
    function = eval("lambda scores: (len(scores), 'all')", {"__builtins__": {"len": len}})
    assert function.__module__ is None
    stated = tk.make_user_measurement(*FEW, MAX, function=function, privacy_map=lambda d_in: 0.0)
    for pairs in (stated, stated >> (lambda pair: pair)):
        assert tk.make_private_selection(pairs, repetitions=tk.TruncatedNegativeBinomial(1, 0.5))(VECTOR)[1] == "all"
