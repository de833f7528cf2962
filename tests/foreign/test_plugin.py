"""The plugin for pytest on code of other libraries: a right claim is green, and one that is too small is red.

Each project is run as its users would, by a pytest of its own.
"""

from pathlib import Path

import pytest

from tests.testing.test_plugin import project, run

from .needed import Needed

pytestmark = pytest.mark.foreign

OPENDP = """
import opendp.prelude as dp
import pytest

dp.enable_features("contrib")
SPACE = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
PAIRS = [([0, 0, 0], [1, -1, -1]), ([0, -2, -3], [-1, -1, -2])]
winner = dp.m.make_noisy_max(*SPACE, dp.max_divergence(), scale=1.0)

def test_what_its_map_says(dp_audit):
    dp_audit(winner, epsilon=winner.map(1), samples=2000, pairs=PAIRS)

def test_half_of_it(dp_audit):
    dp_audit(winner, epsilon=winner.map(1) / 2, samples=2000, pairs=PAIRS)
"""
DIFFPRIVLIB = """
import pytest
from diffprivlib.mechanisms import PermuteAndFlip

def winner(scores):
    return PermuteAndFlip(epsilon=2.0, sensitivity=1, utility=scores.tolist()).randomise()

@pytest.mark.dp_audit(epsilon=2, size=3)
def test_sensitivity_is_what_a_score_moves(dp_audit):
    dp_audit(winner)

@pytest.mark.dp_audit(epsilon=2, size=3, d_in=2)
def test_a_score_may_move_further(dp_audit):
    dp_audit(winner)
"""
NUMPY = """
import numpy as np
import pytest

DRAW = np.random.default_rng()

def maximum(scale):
    return lambda scores, n: (scores + DRAW.laplace(scale=scale, size=(n, len(scores)))).argmax(axis=1)

@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_scale_two(dp_audit):
    dp_audit(maximum(2))

@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_scale_half(dp_audit):
    dp_audit(maximum(0.5))
"""
PROJECTS = {
    "opendp": (OPENDP, "test_half_of_it", lambda: Needed("opendp.prelude").enable_features),
    "diffprivlib": (DIFFPRIVLIB, "test_a_score_may_move_further", lambda: Needed("diffprivlib.mechanisms").Laplace),
    "numpy": (NUMPY, "test_scale_half", lambda: None),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_right_claim_is_green_and_a_small_one_red(name: str, tmp_path: Path) -> None:
    text, red, needed = PROJECTS[name]
    needed()
    code, said = run(project(tmp_path, test_claims=text), "--dp-quick")
    assert code == 1, said
    assert "1 failed, 1 passed" in said
    assert f"::{red}" in said
    assert "2 claims: 1 refuted, 1 not refuted, 0 not tested" in said
