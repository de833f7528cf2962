"""What a measurement declares of its steps: along a chain, on other measures, and before a function of the release."""

from __future__ import annotations

import math
from fractions import Fraction

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly

SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
MAX = tk.Approximate(tk.MaxDivergence())
TABLE = {"a": 900, "b": 800}


def best(k: int, scale: float = 4.0) -> tk.Measurement:
    return tk.make_unknown_domain_top_k(*SPACE, MAX, k=k, scale=scale, limit=10, delta=1e-6)


def test_steps_after_a_transformation_have_the_range_at_its_outputs() -> None:
    twice = tk.make_user_transformation(*SPACE, *SPACE, function=dict, stability_map=lambda d_in: 2 * d_in)
    query, plain = (twice >> best(3)).declared.steps, best(3).declared.steps
    assert query is not None
    assert plain is not None
    assert (query.most, query.width(1), query.delta(1)) == (3, Fraction(1, 2), plain.delta(2))
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    assert queryable(twice >> best(3)).items == ("a", "b")
    assert queryable.privacy_loss(1) == best(3).map(2)


def test_a_function_of_the_release_shows_no_steps() -> None:
    assert (best(3) >> (lambda found: found.items)).declared.steps is None
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    queryable(best(3) >> (lambda found: tk.Release(items=(), stopped=found.stopped)))
    assert queryable.privacy_loss(1) == best(3).map(1)


def test_another_measure_keeps_them() -> None:
    converted = tk.make_zCDP_to_approxDP(
        tk.make_unknown_domain_top_k(
            *SPACE, tk.Approximate(tk.ZeroConcentratedDivergence()), k=2, scale=4.0, limit=10, delta=1e-6
        )
    )
    assert converted.declared.steps is not None
    assert converted.declared.steps.width(3) == Fraction(3, 4)


def test_without_noise_the_range_is_infinite_and_without_distance_nothing_is_lost() -> None:
    steps = best(2, scale=0.0).declared.steps
    assert steps is not None
    assert steps.width(1) == math.inf
    kept = best(2).declared.steps
    assert kept is not None
    assert (kept.width(0), kept.delta(0)) == (0, 0)
    queryable = tk.make_fully_adaptive_composition(*SPACE, MAX)(TABLE)
    queryable(best(2, scale=0.0))
    assert queryable.privacy_loss(1) == (math.inf, 1.0)
    raises_exactly(tk.DistanceError, lambda: queryable.privacy_loss(-1), "d_in")
