"""Checks of claims, of this library's own and of foreign ones.

It may import errors, numerics, proof, noises, spaces, spaces.curves, core and measurements.
"""

from .blackbox import Estimate, estimate
from .blackbox_search import Found, search
from .foreign import verify_probabilities
from .lemmas import verify_lemmas
from .registry import Claim, proofs
from .report import Report, Witness
from .shipped import verify_all
from .smt import Verdict
from .verify import verify

__all__ = [
    "Claim",
    "Estimate",
    "Found",
    "Report",
    "Verdict",
    "Witness",
    "estimate",
    "proofs",
    "search",
    "verify",
    "verify_all",
    "verify_lemmas",
    "verify_probabilities",
]
