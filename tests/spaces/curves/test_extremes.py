"""Work and memory of curves are bounded at every scale: a small part of ``python -m tests.spaces.curves.extremes``."""

from __future__ import annotations

import resource

import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.curves.covers import choose_grid
from tests.concepts.turns import in_turn

from .extremes import BUDGET, HUGE, MAKERS, PROFILE, TINY, Case, faults


@pytest.mark.slow
@pytest.mark.parametrize("name", in_turn(list(MAKERS), 2))
def test_a_curve_takes_little_time_and_memory_at_every_scale(name: str) -> None:
    few = [Case(name, scale, 2, 1) for scale in (TINY, 0.05, 50.0, HUGE)]
    many = Case(name, 1e-3, 10**4, 1), Case(name, 0.3, 10**6, 1), Case(name, 1.0, 2, 10**18)
    assert faults(name, [*few, *many], limits=3.0)[0] == []


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_grid_of_noise_far_too_small_has_an_end(gaussian: bool) -> None:
    """Nearly all losses are one then, and their deviation is no guide to a grid."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=2)
    counts = space >> tk.then_noisy_histogram(PROFILE, scale=0.05, gaussian=gaussian)
    composed = [bound for bound in counts.map(1).bounds if isinstance(bound, Composed)]
    assert composed
    for bound in composed:
        assert sum(often * every for every, often in choose_grid(bound.parts)[1]) <= 2**18


@pytest.mark.parametrize("scale", [1e-3, 1e-9])
def test_what_one_step_excludes_needs_no_grid(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """No grid is made where a step alone says nothing at the epsilon of the budget, nor where the sum meets it."""
    monkeypatch.setattr("opendp_topk.spaces.curves.composed._tail_masses", lambda parts: pytest.fail("a grid"))
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for noise, passes in ((scale, False), (1 / scale, True)):
        top = space >> tk.then_peeled_top_k(PROFILE, k=3, scale=noise, mechanism="permute_and_flip")
        assert top.check(1, BUDGET) is passes


@pytest.mark.slow
def test_a_search_whose_first_probes_lose_all_ends() -> None:
    """It took the memory of the machine, and ended the process."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, limits[1]))
    try:
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        three = lambda scale: tk.make_repeat(space >> tk.then_laplace(PROFILE, scale=scale), times=3)  # noqa: E731
        assert 2.9 < tk.binary_search_param(three, 1, BUDGET, bounds=(1e-9, 1e9)) <= 3
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
