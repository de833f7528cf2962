"""The auditor finds faults of releases of unlisted keys that show strongly, and none in the library's mechanism.

Tries proofs/measurements/unknown_domain_top_k.tex; ``python -m tests.audit.unlisted`` finds the others, too.
"""

from __future__ import annotations

import pytest

from .unlisted import NONE, Case, cases

STRONG = "K read from the data", "no dummies"
TRIED = [case for case in cases() if case.fault in (NONE, *STRONG)]


@pytest.mark.slow
@pytest.mark.parametrize("case", TRIED, ids=lambda case: case.fault)
def test_few_samples_refute_strong_faults_and_nothing_else(case: Case) -> None:
    assert case.audit(20_000).contradicts(case.claimed) is (case.fault in STRONG)
