"""Mechanisms of the corpus that one audit tells apart; ``python -m tests.audit.corpus`` has them all."""

from __future__ import annotations

import pytest

from opendp_topk.apps.audit.report import NOT_REFUTED, REFUTED
from tests.audit import mechanisms
from tests.audit.corpus import after, before

OLD = (*mechanisms.BROKEN, *mechanisms.RIGHT)  # other tests audit these
MISSED = (before.sparse_vector_with_its_values,)
LATER = (
    after.histogram_twice_at_the_price_of_one,
    after.exponential_mechanism_that_overflows,
)  # found by later readings
RARE = ("top 2 with noise cut at 16", "top 2 with noise cut at 21.3")  # take 200,000 samples
HEAVY = (before.laplace_parallel, before.prefix_sums, before.clamped_mean)


@pytest.mark.slow
def test_broken_ones_are_found_and_right_ones_are_not_accused() -> None:
    tried = [case for case in before.CASES if case.release not in OLD + MISSED + HEAVY and case.name not in RARE]
    tried += [case for case in after.CASES if case.release in LATER]
    wanted = {case.name: NOT_REFUTED if case.right else REFUTED for case in tried}
    assert set(wanted.values()) == {REFUTED, NOT_REFUTED}
    assert {case.name: case.audited(1, 20_000) for case in tried} == wanted


@pytest.mark.slow
def test_a_cut_at_the_edge_of_what_samples_show_is_found_with_every_seed() -> None:
    """Which of many gaps shows most is chance when they are ranked: the best alone misses it with one seed of three."""
    (case,) = (case for case in before.CASES if case.name == RARE[1])
    assert [case.audited(seed, 200_000) for seed in (1, 2, 3)] == [REFUTED] * 3
