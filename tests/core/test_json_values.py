"""Releases and parameters of every constructor as JSON."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.combinations import COMBINATIONS
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.specimens import Specimen

ALL: dict[str, Callable[[], list[Specimen]]] = {**MECHANISMS, **COMBINATIONS}


def written(value: Any) -> Any:
    """What comes back from JSON as the standard has it."""
    return json.loads(json.dumps(tk.json_values(value), allow_nan=False))


@pytest.mark.parametrize("name", ALL)
def test_releases_and_parameters_of_every_constructor(name: str) -> None:
    for specimen in ALL[name]():
        assert written(specimen.link.parameters).keys() == specimen.link.parameters.keys()
        if isinstance(specimen.released, tk.Measurement) and not specimen.released.interactive:
            written(specimen.released(specimen.pair[0]))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([1, 2]), [1, 2]),
        (np.float64(0.5), 0.5),
        (2**70, 2**70),
        (Fraction(1, 3), "1/3"),
        (Decimal("0.10"), "0.10"),
        (math.inf, "inf"),
        (np.array([math.nan, 1.0]), ["nan", 1.0]),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (tk.Release(items=["a"]), {"items": ["a"]}),
        (tk.Release(items=["a"], counts=np.array([3])), {"items": ["a"], "counts": [3]}),
        (tk.Release(items=("a", ("b", 1)), stopped=False), {"items": ["a", ["b", 1]], "stopped": False}),
        ({"a": tk.Release(indices=np.array([1]), gaps=np.array([math.inf]))}, {"a": {"indices": [1], "gaps": ["inf"]}}),
        ({1: "a", "1": "b"}, [[1, "a"], ["1", "b"]]),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    assert written(value) == expected


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(tk.ParameterTypeError, match="object of type object"):
        tk.json_values([object()])
