"""Transformations that draw: the mark is handed on, and what may follow them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.examples import COUNTS, times
from tests.concepts.sentinels import raises_exactly


def drawn() -> Any:
    return dataclasses.replace(times(2), randomized=True)


def test_a_chain_draws_if_one_of_its_links_does() -> None:
    assert not (times(2) >> times(3)).randomized
    assert (drawn() >> times(3)).randomized
    assert (times(3) >> drawn()).randomized


@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile()])
def test_mixtures_lose_no_more_under_these(measure: Any) -> None:
    plain, mixed = (link >> tk.then_report_noisy_top_k(measure, k=1, scale=2.0) for link in (times(2), drawn()))
    assert mixed.map(3) == plain.map(3)
    assert plain.declared.law is not None
    assert (mixed.declared.law, mixed.declared.success) == (None, None)
    if measure != tk.PrivacyProfile():
        assert tk.make_approximate(mixed).map(1) == (mixed.map(1), 0.0)


def test_ranges_are_refused() -> None:
    ranges = COUNTS >> tk.then_report_noisy_top_k(tk.RangeDivergence(), k=1, scale=2.0)
    for measurement in (ranges, tk.make_approximate(ranges)):
        assert (times(2) >> measurement).map(1) is not None
        raises_exactly(tk.SpaceError, lambda one=measurement: drawn() >> one, "randomised", "MaxDivergence()")
