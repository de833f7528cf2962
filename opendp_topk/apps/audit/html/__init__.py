"""HTML pages of audits: the claims, their proofs and the verifier's findings, and the result of one audit by samples.

It may import errors, markup, proof and apps.audit.
"""

from .documents import PinnedRegion, ProofDocument, load_documents
from .findings import Finding, collect_findings
from .pages import render_audit
from .report import ReportContent, write_report

__all__ = [
    "Finding",
    "PinnedRegion",
    "ProofDocument",
    "ReportContent",
    "collect_findings",
    "load_documents",
    "render_audit",
    "write_report",
]
