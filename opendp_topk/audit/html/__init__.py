"""The claims, their proofs and the verifier's findings as pages for a browser.

It may import errors, numerics, proof, spaces, core and audit.
"""

from .report import refuted, write_report

__all__ = ["refuted", "write_report"]
