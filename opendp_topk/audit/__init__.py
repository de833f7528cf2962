"""Checks of the library's own claims, and of any other's: ``tk.audit``."""

from .foreign import verify_probabilities
from .lemmas import Verdict, verify_lemmas
from .report import Report, Witness
from .shipped import verify_all
from .verify import verify

__all__ = ["Report", "Verdict", "Witness", "verify", "verify_all", "verify_lemmas", "verify_probabilities"]
