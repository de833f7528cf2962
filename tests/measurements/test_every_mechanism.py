"""What all mechanisms on scores keep: the obligations of a measurement, the ends of the map, the refused arguments.

What one of them alone must show is in its own file.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.links import check_constructor, check_measurement
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.sentinels import raises_exactly

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
UP = tk.LInfDistance(monotonic=True)
NOISES = (tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic())


@dataclass(frozen=True)
class Row:
    """How a mechanism is called: each of its variants with each of its measures."""

    variants: tuple[dict[str, Any], ...] = ({},)
    measures: tuple[tk.Measure, ...] = (MAX, RANGE, ZCDP)
    metric: tk.Metric = UP


ROWS = {
    "make_canonical_top_k": Row(
        tuple(
            {"noise": noise, "optimize": optimize, "utility": utility}
            for noise in (tk.Gumbel(), tk.Exponential())
            for optimize, utility in (("max", "margin"), ("min", "distance"))
        ),
    ),
    "make_exponential_mechanism": Row(({}, {"optimize": "min"})),
    "make_gaussian": Row(measures=(ZCDP,), metric=tk.L2Distance()),
    "make_joint_top_k": Row(({}, {"optimize": "min", "release": "set"})),
    "make_laplace": Row(metric=tk.L1Distance()),
    "make_noisy_histogram": Row(metric=tk.L01InfDistance(changes=2)),
    "make_noisy_top_k_with_gaps": Row(tuple({"noise": noise} for noise in NOISES)),
    "make_peeled_top_k": Row(({"mechanism": "exponential"}, {"mechanism": "permute_and_flip"})),
    "make_permute_and_flip": Row(({}, {"optimize": "min"})),
    "make_report_noisy_top_k": Row(
        (
            *({"optimize": one, "release": release} for one in ("max", "min") for release in ("ranking", "set")),
            *({"noise": noise, "release": release} for noise in NOISES for release in ("ranking", "set")),
        )
    ),
    "make_select_then_count": Row(({}, {"release": "set"}), (MAX, ZCDP)),
}
VARIANTS = [(name, options) for name, row in ROWS.items() for options in row.variants]


def is_integrated(name: str, options: dict[str, Any]) -> bool:
    """Whether the law is the result of a quadrature, which takes long where scores are far apart."""
    return name == "make_report_noisy_top_k" and options.get("noise") in NOISES[2:]


def shown(name: str, options: dict[str, Any]) -> str:
    return "-".join([name.removeprefix("make_"), *(getattr(one, "name", one) for one in options.values())])


EVERY = pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(*one, id=shown(*one), marks=[pytest.mark.slow] if is_integrated(*one) else []) for one in VARIANTS],
)


def test_every_mechanism_has_a_row() -> None:
    assert ROWS.keys() == MECHANISMS.keys()


def taken(name: str) -> set[str]:
    return set(inspect.signature(getattr(tk, name)).parameters)


def sized(size: int | None) -> tk.VectorDomain:
    return tk.VectorDomain(tk.AtomDomain(int), size=size)


def given(name: str, options: dict[str, Any], scale: Any, k: int = 2) -> dict[str, Any]:
    """The arguments by name of a mechanism that has no parameter but those that some other has as well."""
    called = {"k": k, "scale": scale, "count_scale": scale}
    return {one: value for one, value in called.items() if one in taken(name)} | options


@EVERY
def test_obligations(name: str, options: dict[str, Any]) -> None:
    make, then = getattr(tk, name), getattr(tk, name.replace("make_", "then_"))
    size = 3 if is_integrated(name, options) else 4
    members = [[3, 1, 2, 2], (2**70, 0, 1, 2**70 + 1), np.array([0, -5, 2**62, 7])]
    near = [([3, 1, 2, 2], [4, 1, 3, 2], 1), ([3, 1, 2, 2], [4, 0, 2, 2], 2), ([0, 0, 0, 0], [0, 1, 1, 0], 1)]
    for measure in ROWS[name].measures:
        built = check_constructor(make, then, (sized(size), ROWS[name].metric), measure, **given(name, options, 1.5))
        check_measurement(
            built,
            members=members if size == 4 else [[3, 1, 2], np.array([0, -5, 7])],
            non_members=[
                [1, 2],
                [1.0, 2.0, 3.0, 4.0][:size],
                [True, 1, 2, 3][:size],
                "abcd"[:size],
                None,
                [[1, 2]] * size,
            ],
            distances=[Fraction(1, 3), 0.5, 1, 2, 100],
            neighbours=[
                (x[:size], y[:size], d_in) for x, y, d_in in near[: 3 if size == 4 else 1] if built.declared.law
            ],
        )
        assert built.proof.status == "current"
        named = {"choice" if one == "mechanism" else one: options[one] for one in options}
        asked = {one: getattr(value, "name", value) for one, value in named.items()}
        assert built.parameters.items() >= ({"scale": 1.5} | asked).items()


@EVERY
def test_the_map_at_the_ends(name: str, options: dict[str, Any]) -> None:
    """Nothing is lost between equal tables, all without noise; and no scale is too small or too large for a float."""

    for measure in ROWS[name].measures:

        def mapped(d_in: Any, scale: Any, size: int | None = None, k: int = 2, measure: tk.Measure = measure) -> Any:
            make = getattr(tk, name)
            return make(sized(size), ROWS[name].metric, measure, **given(name, options, scale, k)).map(d_in)

        assert mapped(0, 1.5) == mapped(0, 0) == mapped(0.0, 0) == 0
        assert mapped(1, 0) == mapped(math.inf, 1.5) == mapped(10**300, 5e-324) == math.inf
        assert 0 < mapped(1, Fraction(10) ** 400) <= 5e-324
        if "release" in taken(name) and "count_scale" not in taken(name):
            assert mapped(5, 0, size=3, k=3) == (0 if options.get("release") == "set" else math.inf)


WRONG: dict[str, list[tuple[Any, type[Exception], str]]] = {
    "k": [
        *((one, tk.ParameterError, "k must be an integer >= 1") for one in (0, -1)),
        *((one, tk.ParameterTypeError, "k must be an integer >= 1") for one in (True, 1.5, "2", None)),
        (6, tk.ParameterError, "k must be at most the size of input_domain (5)"),
    ],
    "optimize": [
        ("largest", tk.ParameterError, "optimize must be one of 'max', 'min'"),
        *((one, tk.ParameterTypeError, "optimize must be one of 'max', 'min'") for one in (None, 1)),
    ],
    "release": [
        ("list", tk.ParameterError, "release must be one of 'ranking', 'set'"),
        *((one, tk.ParameterTypeError, "release must be one of 'ranking', 'set'") for one in (None, True)),
    ],
    "granularity": [(1, tk.ParameterError, "granularity must be left out")],
    "input_domain": [
        *((one, tk.SpaceError, "does not measure") for one in (tk.AtomDomain(int), tk.FrameDomain("u", "i"))),
        *((one, tk.ParameterTypeError, "input_domain must be a domain") for one in ([1], tk.VectorDomain)),
    ],
} | {
    one: [
        (-1.0, tk.ParameterError, f"{one} must be >= 0"),
        *((value, tk.ParameterError, f"{one} must be finite") for value in (math.nan, math.inf)),
        *((value, tk.ParameterTypeError, f"{one} must be a number >= 0") for value in ("1", True, None, 1j)),
    ]
    for one in ("scale", "count_scale")
}
WRONG["count_scale"] = [case for case in WRONG["count_scale"] if case[0] is not None]  # None: the scale of the winners


@pytest.mark.parametrize("name", ROWS)
def test_bad_arguments(name: str) -> None:
    row = ROWS[name]
    right = {"input_domain": sized(5), "input_metric": row.metric, "output_measure": row.measures[0]}
    right |= given(name, row.variants[0], 1.0)
    getattr(tk, name)(**right)
    metric = f"{type(row.metric).__name__}("
    measure = "" if "gaussian" in taken(name) else f"{type(row.measures[0]).__name__}("  # else it follows the measure
    strange: list[Any] = [one for one in (tk.L1Distance(), tk.L2Distance()) if one != row.metric]
    cases = WRONG | {
        "input_metric": [
            (one, tk.ParameterTypeError, f"input_metric must be {metric}")
            for one in (*strange, tk.UserDistance(), None)
        ],
        "output_measure": [
            (one, tk.ParameterTypeError, f"output_measure must be {measure}")
            for one in (tk.Approximate(RANGE), tk.Approximate(MAX), tk.MaxDivergence, "epsilon", None)
        ],
    }
    for parameter in taken(name) & cases.keys():
        for value, error, words in cases[parameter]:
            raises_exactly(error, lambda one=value, at=parameter: getattr(tk, name)(**right | {at: one}), words)
