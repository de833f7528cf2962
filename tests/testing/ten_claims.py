"""Ten claims as a project states them, by calls one by one and in batches; ``python -m tests.testing`` runs them.

The tests of this library do not collect them.
"""

import math
import secrets
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import opendp_topk as tk

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=4), tk.LInfDistance()
VISITS = pl.DataFrame({"person": ["ada", "ada", "bob", "cyd"], "page": ["/", "/a", "/", "/"]})
DRAW = np.random.default_rng(secrets.randbits(128))


def geometric() -> int:
    """Discrete Laplace noise of scale 1."""
    share = 1 - math.exp(-1)
    return int(DRAW.geometric(share) - DRAW.geometric(share))


def on_a_grid(values: Any) -> Any:
    """Rounded to sixteenths: which floats a sum can be tells of its summands."""
    return np.round(16 * values) / 16


@pytest.mark.dp_audit(epsilon=1)
def test_laplace_maximum(dp_audit: Any) -> None:
    dp_audit(lambda scores: int((scores + DRAW.laplace(scale=2, size=len(scores))).argmax()))


@pytest.mark.dp_audit(epsilon=1)
def test_exponential_mechanism(dp_audit: Any) -> None:
    def chosen(scores: Any) -> int:
        weights = np.exp((scores - scores.max()) / 2).cumsum()
        return int(np.searchsorted(weights, DRAW.random() * weights[-1]))

    dp_audit(chosen)


@pytest.mark.dp_audit(epsilon=1)
def test_sparse_vector(dp_audit: Any) -> None:
    def first_above(scores: Any) -> int | None:
        threshold = DRAW.laplace(scale=2)
        above = (i for i, score in enumerate(scores) if score + DRAW.laplace(scale=4) >= threshold)
        return next(above, None)

    dp_audit(first_above)


@pytest.mark.dp_audit(epsilon=1)
def test_counts_of_pages(dp_audit: Any) -> None:
    def counts(table: Any) -> tuple[int, ...]:
        first = table.unique("person", keep="first", maintain_order=True)["page"].to_list()
        return tuple(first.count(page) + geometric() for page in ("/", "/a"))

    dp_audit(counts, pairs=tk.audit.table_pairs(VISITS, user="person"))


@pytest.mark.dp_audit(epsilon=1)
def test_number_of_records(dp_audit: Any) -> None:
    dp_audit(lambda records: len(records) + geometric(), pairs=tk.audit.record_pairs(["a", "b", "b"]))


@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_histogram(dp_audit: Any) -> None:
    noise = partial(DRAW.laplace, scale=1)
    dp_audit(lambda scores, n: on_a_grid(scores + noise(size=(n, len(scores)))), input_metric=tk.L1Distance())


@pytest.mark.dp_audit(rho=0.5, size=1, batched=True)
def test_gaussian_sum(dp_audit: Any) -> None:
    dp_audit(lambda scores, n: on_a_grid(scores[0] + DRAW.normal(size=n)))


@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_gumbel_top_2(dp_audit: Any) -> None:
    dp_audit(lambda scores, n: np.argsort(-scores - DRAW.gumbel(scale=4, size=(n, len(scores))), axis=1)[:, :2])


def test_permute_and_flip(dp_audit: Any) -> None:
    dp_audit(SPACE >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0))


def test_top_2_of_the_library(dp_audit: Any) -> None:
    dp_audit(SPACE >> tk.then_report_noisy_top_k(tk.ZeroConcentratedDivergence(), k=2, scale=2.0))
