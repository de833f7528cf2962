"""The claims of make_gaussian: the map against Renyi divergences, the law of its releases, arguments."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.gaussian import make_gaussian, then_gaussian

from ..concepts.links import check_constructor, check_measurement
from ..concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, raises_exactly
from ..oracles import discrete
from ..oracles.chi_square import assert_follows
from ..oracles.noise import number

ZCDP = tk.ZeroConcentratedDivergence()
INT = tk.VectorDomain(tk.AtomDomain(int))


def build(d: int | None = None, kind: type = int, **options: Any) -> tk.Measurement:
    return make_gaussian(tk.VectorDomain(tk.AtomDomain(kind), size=d), tk.L2Distance(), ZCDP, **options)


@pytest.mark.further
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3)], ids=str)
@pytest.mark.parametrize("order", [Fraction(5, 4), Fraction(3, 2), 2, 3, Fraction(7, 2)], ids=str)
def test_no_neighbour_exceeds_the_map_and_whole_orders_attain_it(scale: Fraction, order: int | Fraction) -> None:
    measurement = build(scale=scale)
    for move in itertools.product((-1, 0, 2), repeat=2):
        square = sum(shift * shift for shift in move)
        claimed = square / (2 * scale * scale)
        with mpmath.workdps(40):
            found = sum(discrete.renyi("gaussian", scale, shift, order) for shift in move) / number(Fraction(order))
            assert found <= number(claimed) + mpmath.mpf(10) ** -22, move
            if order in (2, 3):
                assert found >= number(claimed) - mpmath.mpf(10) ** -22, "attained"
        if square in (0, 1, 4):
            assert measurement.map(math.isqrt(square)) >= claimed


@pytest.mark.parametrize(
    ("d", "kind", "options", "d_in", "cost"),
    [
        (None, int, {"scale": 7}, 2, Fraction(2, 49)),
        (3, int, {"scale": 0.1}, math.sqrt(2), 2 / (2 * Fraction(0.1) ** 2)),
        (None, int, {"scale": Fraction(7, 3)}, Fraction(4, 3), Fraction(9, 98)),
        (1, float, {"scale": 7, "granularity": 0.5}, 2, Fraction(1, 4) * (15 + 2 * 3 + 1) / 98),
        (4, float, {"scale": 7, "granularity": 0.5}, 1e-9, Fraction(1, 4) * 4 / 98),
        (4, float, {"scale": 7, "granularity": 0.5}, 2, Fraction(1, 4) * (15 + 2 * 7 + 4) / 98),
    ],
)
def test_the_map_is_the_formula_rounded_up_once(
    d: int | None, kind: type, options: dict[str, Any], d_in: Any, cost: Fraction
) -> None:
    found = build(d, kind, **options).map(d_in)
    assert isinstance(found, float)
    assert math.nextafter(found, 0) < cost <= found


def test_releases_follow_the_law() -> None:
    scale, n = Fraction(5, 2), 20_000
    x = np.array([7, -3] * (n // 2))
    found = build(scale=scale)(x)
    assert found.shape == (n,)
    law = discrete.pooled(discrete.masses("gaussian", scale), -9, 9)
    assert_follows(discrete.counted((found - x).tolist(), -9, 9), law, detects=0.23)
    assert_follows(discrete.counted((found - x)[::2].tolist(), -9, 9), law, detects=0.32)


def test_releases_of_floats_follow_the_law_on_the_grid() -> None:
    scale, step, n = Fraction(1), Fraction(1, 4), 8000
    found = build(n, float, scale=scale, granularity=step)([0.3] * n)
    steps = [Fraction(value) / step - 1 for value in found.tolist()]
    assert all(value.denominator == 1 for value in steps)
    law = discrete.pooled(discrete.masses("gaussian", scale / step), -12, 12)
    assert_follows(discrete.counted(map(int, steps), -12, 12), law, detects=0.49)


def test_without_noise_the_scores_are_released() -> None:
    assert build(scale=0)([3, -1, 2**70]).tolist() == [3, -1, 2**70]


def test_obligations_with_floats() -> None:
    check_measurement(
        build(3, float, scale=1.5, granularity=Fraction(1, 3)),
        members=[[3.0, 1.5, -2.0], np.array([0.0, 1e300, 5e-324])],
        non_members=[[1.0, 2.0], [1, 2, 3], [math.nan, 0.0, 0.0]],
        distances=[Fraction(1, 3000), 0.5, 1, 2, 100],
    )


def test_the_constructor_and_its_partial() -> None:
    built = check_constructor(make_gaussian, then_gaussian, (INT, tk.L2Distance()), ZCDP, scale=2)
    assert built.proof.name == "measurements/gaussian"
    assert build(2, float, scale=2, granularity=0.5).parameters["granularity"] == 0.5


def test_noisy_scores_are_no_indices() -> None:
    raises_exactly(tk.SpaceError, lambda: build(d=2, scale=1) >> tk.index_candidates(["a", "b"]), "releases indices")


@pytest.mark.parametrize(
    ("option", "value", "error", "required"),
    [
        ("input_domain", tk.VectorDomain(tk.AtomDomain(float), size=2), tk.ParameterError, "granularity must be given"),
        ("input_metric", tk.RangeDistance(), tk.ParameterTypeError, "input_metric must be L2Distance()"),
        ("output_measure", tk.MaxDivergence(), tk.ParameterTypeError, "must be ZeroConcentratedDivergence()"),
        ("output_measure", tk.RangeDivergence(), tk.ParameterTypeError, "must be ZeroConcentratedDivergence()"),
    ],
)
def test_bad_arguments(option: str, value: Any, error: type[Exception], required: str) -> None:
    arguments: dict[str, Any] = {
        "input_domain": INT,
        "input_metric": tk.L2Distance(),
        "output_measure": ZCDP,
        "scale": 1.0,
    }
    raises_exactly(error, lambda: make_gaussian(**(arguments | {option: value})), required)


@pytest.mark.parametrize(
    ("scores", "error", "required"),
    [
        ([SENTINEL_FLOAT, math.nan], tk.DataError, "scores must be finite"),
        ([SENTINEL_FLOAT], tk.DataError, "exactly 2"),
        ([SENTINEL_INT, 2], tk.DataTypeError, "must be floats"),
    ],
)
def test_bad_scores_are_refused_before_anything_is_drawn(
    scores: Any, error: type[Exception], required: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", lambda n: pytest.fail("randomness was drawn"))
    raises_exactly(error, lambda: build(2, float, scale=1.0, granularity=1)(scores), required)


@pytest.mark.parametrize("d_in", [-1, -0.5, math.nan, "1", None, True])
def test_bad_distances(d_in: Any) -> None:
    raises_exactly(tk.ParameterError, lambda: build(scale=1).map(d_in), "d_in must be")
