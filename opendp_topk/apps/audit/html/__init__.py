"""HTML report of the claims, their proofs and the verifier's findings.

It may import errors, markup, numerics, proof, spaces, core and apps.audit.
"""

from .page import ReportContent
from .report import refuted_findings, untested_findings, write_report

__all__ = ["ReportContent", "refuted_findings", "untested_findings", "write_report"]
