"""The figures of docs/machine_checked.md: how many theorems a machine has checked, and how two statements compare."""

from collections import Counter

from opendp_topk import proof
from proofs.tools.marks import KINDS, kind


def table() -> str:
    """How many marks say what; ``opendp-topk proofs`` shows each."""
    marks = [check for name in proof.document_names() for check in proof.machine_checks(name)]
    theorems = {(check.document, check.label) for check in marks}
    counts = Counter(kind(check) for check in marks)
    said = ", ".join(f"{counts[one]} *{one}*" for one in KINDS)
    return f"{len(marks)} marks on {len(theorems)} theorems: {said}.\n"
