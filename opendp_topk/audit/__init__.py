"""Checks of the library's own claims, and of any other's: ``tk.audit``."""

from .foreign import verify_probabilities
from .report import Report, Witness
from .verify import verify

__all__ = ["Report", "Witness", "verify", "verify_probabilities"]
