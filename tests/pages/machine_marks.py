"""The table of docs/machine_checked.md: which theorem a machine has checked, and how its two statements compare."""

from __future__ import annotations

import re
from collections import Counter

from opendp_topk import proof
from proofs.tools.marks import KINDS, kind

HEAD = "| theorem | in Coq | | in which sense |\n|---|---|---|---|\n"
_QUOTED = re.compile(r"``(.*?)''")
_FORMULA = re.compile(r"\$([^$]*)\$")


def table() -> str:
    """How many marks say what, and a line for each."""
    marks = [check for name in proof.document_names() for check in proof.machine_checks(name)]
    theorems = {(check.document, check.label) for check in marks}
    counts = Counter(kind(check) for check in marks)
    said = ", ".join(f"{counts[one]} *{one}*" for one in KINDS)
    rows = []
    for check in marks:
        words = _FORMULA.sub(r"`\1`", _QUOTED.sub(r"“\1”", check.remark.partition(":")[2].strip()))
        rows.append(f"| `{check.document}#{check.label}` | `{check.theorem}` | {kind(check)} | {words} |\n")
    return f"{len(marks)} marks on {len(theorems)} theorems: {said}.\n\n{HEAD}{''.join(rows)}"
