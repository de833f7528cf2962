"""Wrong arguments of the audit, of released indices and of counts: errors of the library."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.sentinels import SENTINEL_TEXT, leaks

SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
TOP = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
NAMED, BEST, FROM = tk.index_candidates(["a", "b"]), tk.largest_counts(1, ["a", "b"]), tk.counts_from(1, ["a", "b"])
NO_PAIRS: tuple[Any, ...] = (3, True, [3], [(1, 2, 3)], ["ab"], [([1, 2],)])


@pytest.mark.parametrize("records", [None, 3, SENTINEL_TEXT, b"ab", itertools.count(), iter([1])])
def test_records(records: Any) -> None:
    with pytest.raises(tk.ParameterTypeError, match="records must be a list of records") as caught:
        tk.audit.record_pairs(records)
    assert not leaks(caught.value)


@pytest.mark.parametrize("pairs", NO_PAIRS)
def test_pairs(pairs: Any) -> None:
    with pytest.raises(tk.ParameterTypeError, match="pairs must"):
        tk.audit.verify(TOP, pairs=pairs)
    for audit in (tk.audit.search, tk.audit.audit_claim):
        with pytest.raises(tk.ParameterTypeError, match="pairs must"):
            audit(lambda x: 0, pairs=pairs, **_claim(audit))


def _claim(audit: Any) -> dict[str, Any]:
    return {"measure": tk.MaxDivergence()} if audit is tk.audit.search else {"epsilon": 1.0}


def test_pairs_without_end() -> None:
    endless = itertools.repeat(([1, 2], [1, 3]))
    assert tk.audit.verify(TOP, pairs=endless, budget=3).pairs == 3
    with pytest.raises(tk.ParameterTypeError, match="may have no end"):
        tk.audit.search(lambda x: 0, pairs=endless, measure=tk.MaxDivergence())  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"law": 3}, {"relative_error": "a"}, {"relative_error": -1}, {"budget": "a"}])
def test_options_of_verify(options: Any) -> None:
    with pytest.raises(tk.ParameterError):
        tk.audit.verify(TOP, **options)


@pytest.mark.parametrize(
    "index", ["a", None, 2, -1, 0.5, True, [0, 7], ["a"], np.array([0.5]), np.array(["a"]), {0: 1}]
)
def test_what_is_no_index_names_nothing(index: Any) -> None:
    with pytest.raises(tk.DataError, match="must be called with indices of its items"):
        NAMED(index)


def test_indices_name_items() -> None:
    assert NAMED(np.int64(1)) == "b"
    assert (NAMED([1, 0]).items, NAMED(np.array([0])).items) == (("b", "a"), ("a",))


@pytest.mark.parametrize(
    "counts", ["a", None, 3, [3, 1], np.array([["a"]]), np.array(["a", "b"]), np.array(3), {"a": 1}]
)
def test_what_is_no_array_of_counts(counts: Any) -> None:
    for best in (BEST, FROM):
        with pytest.raises(tk.DataTypeError, match="one-dimensional array of numbers"):
            best(counts)


@pytest.mark.slow
def test_candidates_without_end() -> None:
    for ask in (tk.candidate_remarks, tk.index_candidates, lambda items: tk.largest_counts(1, items)):
        with pytest.raises(tk.CandidatesError, match="an iterator may have no end"):
            ask(itertools.repeat("a"))
