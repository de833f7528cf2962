"""Checks of claims, of this library's own and of foreign ones."""

from .registry import Claim, proofs

__all__ = ["Claim", "proofs"]
