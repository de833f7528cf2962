"""A constructor that nobody has described to the command describes itself, and what it says is true."""

import inspect
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.shipped import find_constructors
from opendp_topk.apps.planning import catalogue
from opendp_topk.apps.planning.catalogue import DESCRIBED, all_mechanisms, discover_mechanism

FIRST = {row.loaded_constructor.__name__: row for row in reversed(DESCRIBED)}
OFFERED = ["report_noisy_top_k", "canonical_top_k", "joint_top_k", "exponential_mechanism", "permute_and_flip"]


@pytest.mark.parametrize("stem", OFFERED)
def test_what_is_discovered_agrees_with_what_was_described(stem: str) -> None:
    described, found = FIRST[f"then_{stem}"], discover_mechanism(getattr(tk, f"make_{stem}"))
    assert (found.name, set(found.releases)) == (stem, set(described.releases))
    assert (found.most == 1) is (described.most == 1), "whether it takes one winner alone is seen at four candidates"
    assert list(inspect.signature(found.loaded_constructor).parameters) == list(
        inspect.signature(described.loaded_constructor).parameters
    )
    assert not found.ranked, "the weaker sentence is the one that every accuracy theorem implies"


@pytest.mark.parametrize("stem", ["laplace", "gaussian", "noisy_top_k_with_gaps", "select_then_count"])
def test_what_releases_no_items_is_not_discovered(stem: str) -> None:
    assert discover_mechanism(getattr(tk, f"make_{stem}")) is None


def test_what_needs_more_than_the_command_knows_is_not_discovered() -> None:
    assert discover_mechanism(tk.make_peeled_top_k) is None


def test_every_constructor_is_described_discovered_or_cannot_be_offered() -> None:
    offered = {row.loaded_constructor.__name__ for row in all_mechanisms()} | {
        f"then_{row.counted}" for row in all_mechanisms()
    }
    left = {
        name: make for name, make in find_constructors().items() if name.replace("make_", "then_", 1) not in offered
    }
    assert {"make_laplace", "make_gaussian"} <= set(left)
    assert [name for name, make in left.items() if discover_mechanism(make) is not None] == []


def test_a_new_constructor_enters_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_sorted_pair(input_domain: Any, input_metric: Any, output_measure: Any, *, k: int, scale: float) -> Any:
        """Choose a {pair} as peeling does."""
        options: dict[str, Any] = {"k": k, "scale": scale, "mechanism": "exponential"}
        return tk.make_peeled_top_k(input_domain, input_metric, output_measure, **options)

    monkeypatch.setattr(catalogue, "find_constructors", lambda: {"make_sorted_pair": make_sorted_pair})
    (row,) = catalogue._discovered_mechanisms()
    assert (row.name, row.releases, row.most) == ("sorted_pair", ("ranking",), None)
    assert row.words.format_map({}) == "choose a {pair} as peeling does"
    built = row.build_partial(tk.MaxDivergence(), 2, 3.0, "ranking", counts=False)
    assert ((tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)) >> built).map(1) == pytest.approx(
        2 / 3
    )
