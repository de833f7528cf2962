"""The claims, their proofs and the verifier's findings as pages for a browser."""

from .page import Material
from .report import refuted, untested, write_report

__all__ = ["Material", "refuted", "untested", "write_report"]
