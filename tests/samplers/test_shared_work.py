"""What is computed from scores alone takes neighbours the same calls: nothing here draws, or reads a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.numerics.surveyed import GROUP
from opendp_topk.sampling.samplers.advantages import ScaledScores
from opendp_topk.sampling.samplers.bins import order_best_scores
from opendp_topk.sampling.samplers.forecast import forecast_threshold
from opendp_topk.sampling.samplers.joint import SelectionTask, build_layers

SCALE = Fraction(10**4)


def _ahead(scores: NDArray[Any], k: int) -> object:
    groups = np.maximum.reduceat(scores, np.arange(0, len(scores), GROUP))[: len(scores) // GROUP]
    return forecast_threshold(ScaledScores(scores, SCALE, 1), tk.Gumbel(), k, groups)


def _nested(scores: NDArray[Any], k: int) -> object:
    return build_layers(SelectionTask(order_best_scores(scores, 1, k, 100 * SCALE, SCALE), SCALE, k, False))


def _calls(compute: Callable[[NDArray[Any], int], object], scores: NDArray[Any], k: int) -> list[str]:
    """The names of all functions that are called, those of C as well."""
    found: list[str] = []

    def see(frame: FrameType, event: str, called: Any) -> None:
        if event in ("call", "c_call"):
            found.append(frame.f_code.co_name if event == "call" else called.__name__)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        compute(scores, k)
    finally:
        sys.setprofile(before)
    return found


def test_neighbours_take_the_same_calls_and_none_that_tells_equal_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's ``partition`` takes ten times as long with one score above equal ones, and its quickest sort longer."""
    sort, alike = np.sort, []

    def watched(values: Any, **options: Any) -> Any:
        if options.get("kind") != "stable" and values.min() == values.max():
            alike.append(len(values))
        return sort(values, **options)

    monkeypatch.setattr(np, "sort", watched)
    failures = []
    for d in (3_000, 40_000, 300_000):
        for kind in (np.int64, np.float64):
            for compute in (_ahead, _nested):
                equal = np.full(d, 1000, dtype=kind)
                _calls(compute, equal, 5)  # what is computed once is known from here on
                seen = _calls(compute, equal, 5)
                failures += [(d, kind, compute, name) for name in {"partition", "_partition"} & set(seen)]
                for place in (0, d // 2, d - 1):
                    raised = equal.copy()
                    raised[place] += 1
                    if _calls(compute, raised, 5) != seen:
                        failures.append((d, kind, compute, place))
    assert not failures
    assert not alike
