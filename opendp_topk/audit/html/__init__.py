"""The claims, their proofs and the verifier's findings as pages for a browser."""

from .report import refuted, write_report

__all__ = ["refuted", "write_report"]
