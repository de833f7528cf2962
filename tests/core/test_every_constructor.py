"""What all constructors keep, on their specimens: under each measure that one takes, make and then build the same.

Mechanisms on scores, of which more is asked, are in ``tests/measurements/test_every_mechanism.py``.
"""

import functools
import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.links import check_constructor, check_measurement, check_transformation
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.refusals import evaluate, refusals
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.concepts.spaces import PROFILE, RANGE
from tests.concepts.tried import specimens_of

PURE, CONCENTRATED = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
MEASURES = (*(PURE, RANGE, CONCENTRATED, PROFILE), *(tk.Approximate(PURE), tk.Approximate(CONCENTRATED)))
ELSEWHERE = ("make_above_threshold", "make_drop_groups", "make_fully_adaptive_composition", "make_padded")
"""Its law is large; its table has nulls, which differ from themselves; it has no map; it waits."""
NAMES = [name for name in tk.__all__ if name.startswith("make_") and name not in {*MECHANISMS, *ELSEWHERE}]
NO_MEMBERS = (None, "abc", [[SENTINEL_INT]], {SENTINEL_TEXT: 0}, {"a": 1, 2: 3}, {"a": 1.5}, [SENTINEL_INT, "a"])
NOT_FREE_AT_ZERO = {
    f"make_{name}"
    for name in ("adaptive_composition", "fix_delta", "followed_by", "pay_what_you_get", "privacy_filter")
}


def built(name: str, link: Any) -> Iterator[Any]:
    """The link, and where it begins a chain others like it, under every measure that its constructor takes."""
    recipe, make = link._claim.recipe, getattr(tk, name)
    given = inspect.signature(make).bind(*recipe.arguments, **recipe.options).arguments
    if "input_domain" not in given:
        yield link
        return
    space = given.pop("input_domain"), given.pop("input_metric")
    then = getattr(tk, name.replace("make_", "then_"))
    for measure in MEASURES if "output_measure" in given else (None,):
        options = given if measure is None else given | {"output_measure": measure}
        try:
            make(*space, **options).map(1)
        except (tk.errors.ParameterError, tk.errors.ParameterTypeError, tk.errors.SpaceError, tk.errors.ForeignError):
            continue
        yield check_constructor(make, then, space, **options)


@pytest.mark.quick
@pytest.mark.parametrize("name", NAMES)
def test_obligations(name: str) -> None:
    for specimen in specimens_of(name):
        every = list(built(name, specimen.link))
        assert every
        for link in every:
            if isinstance(link, tk.Measurement):
                distances = [1] if link.output_measure == MEASURES[3] else [1, 2, 3]
                tables = {"members": specimen.pair, "non_members": NO_MEMBERS, "distances": distances}
                check_measurement(link, **tables, free_at_zero=name not in NOT_FREE_AT_ZERO)
            elif isinstance(link, tk.Transformation) and not link.randomized:
                check_transformation(link, members=specimen.pair, non_members=NO_MEMBERS, distances=[1, 2, 3])


OUTSIDE = ("0", "-1", "nan", "inf", "other", "7")
"""Values of the right type; all other wrong ones are of another."""
INTEGERS: tuple[Any, ...] = (0, -1, True, 1.5, "2")
NUMBERS: tuple[Any, ...] = (-1, math.nan, math.inf, "1", True, 1j)
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ["k", "limit", "max_items", "max_rows", "max_groups", "minimum_users", "places", "steps"], INTEGERS
    ),
    **dict.fromkeys(["times", "calls", "most"], INTEGERS),
    **dict.fromkeys(["scale", "count_scale", "threshold_scale", "test_scale", "penalty", "epsilon"], NUMBERS),
    **dict.fromkeys(["delta", "missed"], (*NUMBERS, 7)),
    "threshold": ("1", True, 1j),
    **dict.fromkeys(["optimize", "release", "by", "mechanism", "utility"], ("other", 1, True, None)),
    **dict.fromkeys(["gaussian", "at_once", "monotonic"], (1, "yes")),
    "input_domain": (None, tk.VectorDomain, [1]),
    "input_metric": (None, tk.LInfDistance, 1),
    "output_measure": (None, tk.MaxDivergence, 1.0, "epsilon"),
    "measurement": (None, 1, tk.LInfDistance()),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", [*NAMES, *ELSEWHERE, *MECHANISMS])
def test_bad_arguments(name: str) -> None:
    """Each is refused by an error that names it."""
    make = getattr(tk, name)
    recipe, signature = specimens_of(name)[0].link._claim.recipe, inspect.signature(make)
    given = signature.bind(*recipe.arguments, **recipe.options).arguments
    for parameter in signature.parameters.keys() & WRONG.keys():
        if parameter in given or signature.parameters[parameter].default is not None:  # else it may exclude another
            for value in WRONG[parameter]:
                error = tk.errors.ParameterError if str(value) in OUTSIDE else tk.errors.ParameterTypeError
                raises_exactly(error, functools.partial(make, **given | {parameter: value}), parameter)
    for call, error, words in refusals(Path(__file__).parent, f"{name}("):
        options = given | evaluate(f"dict{call.removeprefix(name)}")
        raises_exactly(error, functools.partial(make, **options), words)
