"""The claims, their proofs and the verifier's findings as pages for a browser.

It may import errors, markup, numerics, proof, spaces, core and apps.audit.
"""

from .page import Material
from .report import refuted, untested, write_report

__all__ = ["Material", "refuted", "untested", "write_report"]
