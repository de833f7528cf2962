"""How fine the grids of compositions are: close enough to be of use, and no more work than was meant."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from opendp_topk.spaces.curves.closed_forms import LaplacePair
from opendp_topk.spaces.curves.covers import choose_grid
from opendp_topk.spaces.curves.curve import PrivacyCurve

TAILED = PrivacyCurve(lambda epsilon: math.exp(-4 * float(epsilon)) / 2)


@pytest.mark.parametrize("parts", [1, 2, 30])
def test_no_more_values_are_read_than_was_meant(parts: int) -> None:
    """A curve that falls to 2^-100 only at 57 of its deviations: one is read closely, and of many each is no more."""
    _, reads = choose_grid(((TAILED, 3),) * parts)
    values = sum(often for _, often in reads)
    assert values <= 16384 + parts
    assert values >= min(16384, 57 * parts / 0.05) / 2


def test_the_part_that_reaches_farthest_in_all_ends_on_a_node() -> None:
    curves = PrivacyCurve(LaplacePair(1)), PrivacyCurve(LaplacePair(3.3))
    for counts in ((100, 1), (1, 100)):
        h, _ = choose_grid(tuple(zip(curves, counts, strict=True)))
        ends = [abs(loss / h - round(loss / h)) < 1e-9 for loss in (1, Fraction(3.3))]
        assert ends == [count == 100 for count in counts]
