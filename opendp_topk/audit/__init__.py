"""Checks of claims, of this library's own and of foreign ones."""

from .blackbox import Estimate, estimate
from .registry import Claim, proofs

__all__ = ["Claim", "Estimate", "estimate", "proofs"]
