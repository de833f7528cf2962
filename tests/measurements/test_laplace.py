"""The claims of make_laplace: maps against mass ratios, the law of its releases, arguments."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.laplace import make_laplace, then_laplace

from ..concepts.links import check_constructor, check_measurement
from ..concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, raises_exactly
from ..oracles import discrete
from ..oracles.chi_square import assert_follows
from ..oracles.rhos import of_discrete_laplace as rho

MAX, RANGE, ZCDP = MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
INT = tk.VectorDomain(tk.AtomDomain(int))
ORDERS = (Fraction(3, 2), 2, 5)


def build(measure: tk.Measure = MAX, d: int | None = None, kind: type = int, **options: Any) -> tk.Measurement:
    return make_laplace(tk.VectorDomain(tk.AtomDomain(kind), size=d), tk.L1Distance(), measure, **options)


def realised(measure: tk.Measure, scale: Fraction, move: tuple[int, ...]) -> Any:
    """The loss of independent coordinates that move so: losses, ranges and Renyi divergences add up."""
    reach = max(map(abs, move)) + 3
    if measure == MAX:
        return sum(discrete.max_loss("laplace", scale, shift, reach) for shift in move)
    if measure == RANGE:
        return sum(discrete.loss_range("laplace", scale, shift, reach) for shift in move)
    return max(sum(discrete.renyi("laplace", scale, shift, order) for shift in move) / order for order in ORDERS)


@pytest.mark.quick(scale="1/2", measure=("MaxDivergence()", "RangeDivergence()"))
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3)], ids=str)
def test_no_neighbour_exceeds_the_map(measure: tk.Measure, scale: Fraction) -> None:
    measurement = build(measure, scale=scale)
    for move in itertools.product((-2, -1, 0, 1, 3), repeat=2):
        found = realised(measure, scale, tuple(sorted(map(abs, move))))
        claimed = measurement.map(sum(map(abs, move)))
        assert found <= claimed * (1 + 1e-25), move
        if measure != ZCDP:
            assert found >= claimed * (1 - 1e-15), "attained"


@pytest.mark.parametrize(
    ("measure", "d", "kind", "options", "d_in", "cost"),
    [
        (MAX, None, int, {"scale": 7}, 2, Fraction(2, 7)),
        (MAX, 3, int, {"scale": 0.1}, 2, 2 / Fraction(0.1)),
        (RANGE, None, int, {"scale": 7}, 2, Fraction(4, 7)),
        (ZCDP, None, int, {"scale": 7}, 2, rho(Fraction(2, 7), Fraction(1, 7))),
        (ZCDP, None, int, {"scale": Fraction(7, 3)}, 1.3, rho(Fraction(3, 7), Fraction(3, 7))),
        (MAX, 4, float, {"scale": 7, "granularity": 0.25}, 2, Fraction(1, 4) * 11 / 7),
        (MAX, 4, float, {"scale": 7, "granularity": 0.25}, 1e-9, Fraction(1, 4) * 4 / 7),
        (MAX, 1, float, {"scale": 7, "granularity": Fraction(1, 3)}, 2, Fraction(2, 7)),
        (RANGE, 2, float, {"scale": 7, "granularity": Fraction(1, 3)}, 2, Fraction(2, 3) * 7 / 7),
        (ZCDP, 2, float, {"scale": 7, "granularity": Fraction(1, 3)}, 2, rho(Fraction(1, 3), Fraction(1, 21))),
    ],
)
def test_the_map_is_the_formula_rounded_up_once(
    measure: tk.Measure, d: int | None, kind: type, options: dict[str, Any], d_in: Any, cost: Fraction
) -> None:
    found = build(measure, d, kind, **options).map(d_in)
    assert isinstance(found, float)
    assert math.nextafter(found, 0) < cost <= found


def test_the_floats_pay_for_the_pairs_that_rounding_drives_apart() -> None:
    """Two floats a hair apart on either side of a middle: the releases are a step apart, which costs g / b."""
    measurement = build(MAX, 1, float, scale=2, granularity=1)
    x, y = [math.nextafter(0.5, 0)], [0.5]
    assert build(MAX, 1, float, scale=0, granularity=1)(x).tolist() == [0.0]
    assert build(MAX, 1, float, scale=0, granularity=1)(y).tolist() == [1.0]
    assert measurement.map(y[0] - x[0]) == 0.5


def test_releases_follow_the_law() -> None:
    scale, n = Fraction(5, 2), 20_000
    x = np.array([7, -3] * (n // 2))
    found = build(scale=scale)(x)
    assert found.shape == (n,)
    law = discrete.pooled(discrete.masses("laplace", scale), -15, 15)
    assert_follows(discrete.counted((found - x).tolist(), -15, 15), law, detects=0.2)
    assert_follows(
        discrete.counted((found - x)[::2].tolist(), -12, 12),
        discrete.pooled(discrete.masses("laplace", scale), -12, 12),
        detects=0.28,
    )


@pytest.mark.further
def test_releases_of_floats_follow_the_law_on_the_grid() -> None:
    scale, step, n = Fraction(1), Fraction(1, 4), 8000
    found = build(MAX, n, float, scale=scale, granularity=step)([0.3] * n)
    steps = [Fraction(value) / step - 1 for value in found.tolist()]
    assert all(value.denominator == 1 for value in steps)
    law = discrete.pooled(discrete.masses("laplace", scale / step), -20, 20)
    assert_follows(discrete.counted(map(int, steps), -20, 20), law, detects=0.43)


def test_coordinates_are_independent() -> None:
    pairs = build(scale=1)([0] * 40_000).reshape(-1, 2).clip(-2, 2)
    mass = discrete.pooled(discrete.masses("laplace", Fraction(1)), -1, 1)
    names = dict(zip((-2, -1, 0, 1, 2), mass, strict=True))
    law = {(a, b): p * q for a, p in mass.items() for b, q in mass.items()}
    counts: dict[Any, int] = {}
    for a, b in pairs.tolist():
        counts[names[a], names[b]] = counts.get((names[a], names[b]), 0) + 1
    assert_follows(counts, law, detects=0.19)


def test_without_noise_the_scores_are_released() -> None:
    assert build(scale=0)([3, -1, 2**70]).tolist() == [3, -1, 2**70]
    assert build(MAX, 2, float, scale=0, granularity=0.5)([0.3, -1.3]).tolist() == [0.5, -1.5]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations_with_floats(measure: tk.Measure) -> None:
    check_measurement(
        build(measure, 3, float, scale=1.5, granularity=2**-10),
        members=[[3.0, 1.5, -2.0], np.array([0.0, 1e300, 5e-324])],
        non_members=[[1.0, 2.0], [1, 2, 3], [math.nan, 0.0, 0.0]],
        distances=[Fraction(1, 3000), 0.5, 1, 2, 100],
    )


def test_the_constructor_and_its_partial() -> None:
    built = check_constructor(make_laplace, then_laplace, (INT, tk.L1Distance()), MAX, scale=2)
    assert built.proof.name == "measurements/laplace"
    assert "granularity" not in built.parameters
    assert build(MAX, 2, float, scale=2, granularity=0.5).parameters["granularity"] == 0.5


def test_noisy_scores_are_no_indices() -> None:
    raises_exactly(tk.SpaceError, lambda: build(d=2, scale=1) >> tk.index_candidates(["a", "b"]), "releases indices")


@pytest.mark.parametrize(
    ("option", "value", "error", "required"),
    [
        ("input_domain", tk.VectorDomain(tk.AtomDomain(float), size=2), tk.ParameterError, "granularity must be given"),
        ("input_metric", tk.LInfDistance(), tk.ParameterTypeError, "input_metric must be L1Distance()"),
    ],
)
def test_bad_arguments(option: str, value: Any, error: type[Exception], required: str) -> None:
    arguments: dict[str, Any] = {
        "input_domain": INT,
        "input_metric": tk.L1Distance(),
        "output_measure": MAX,
        "scale": 1.0,
    }
    raises_exactly(error, lambda: make_laplace(**(arguments | {option: value})), required)


@pytest.mark.parametrize(
    ("scores", "error", "required"),
    [
        ([SENTINEL_FLOAT, math.nan], tk.DataError, "scores must be finite"),
        ([SENTINEL_FLOAT], tk.DataError, "exactly 2"),
        ([SENTINEL_INT, 2], tk.DataTypeError, "must be floats"),
        (None, tk.DataTypeError, "one-dimensional array, list or tuple"),
    ],
)
def test_bad_scores_are_refused_before_anything_is_drawn(
    scores: Any, error: type[Exception], required: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", lambda n: pytest.fail("randomness was drawn"))
    measurement = build(MAX, 2, float, scale=1.0, granularity=1)
    raises_exactly(error, lambda: measurement(scores), required)


@pytest.mark.parametrize("d_in", [-1, -0.5, math.nan, "1", None, True])
def test_bad_distances(d_in: Any) -> None:
    raises_exactly(tk.ParameterError, lambda: build(scale=1).map(d_in), "d_in must be")
