"""Checks of claims, of this library's own and of foreign ones."""

from .blackbox import Estimate, estimate

__all__ = ["Estimate", "estimate"]
