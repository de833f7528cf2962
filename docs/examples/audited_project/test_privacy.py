"""The claims of the project as tests; the last one is red."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from noisy_counts import most_frequent, most_frequent_with_half_the_noise, people

import opendp_topk as tk

VISITS = pl.DataFrame({"person": ["ada", "ada", "bob", "cyd"], "page": ["/", "/a", "/", "/"]})


@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_the_most_frequent_word(dp_audit: Any) -> None:
    dp_audit(most_frequent)


@pytest.mark.dp_audit(epsilon=1, samples=2000)
def test_the_number_of_people(dp_audit: Any) -> None:
    dp_audit(people, pairs=tk.audit.table_pairs(VISITS, user="person"))


@pytest.mark.dp_audit(epsilon=1, batched=True)
def test_half_the_noise_is_not_enough(dp_audit: Any) -> None:
    dp_audit(most_frequent_with_half_the_noise)
