"""Which tests fail where nothing is wrong: those kill no fault.

In the control every region of code that a proof speaks of is changed without effect: a comment on its first line, and
``pass`` before each ``return``. So every pin is stale there. A test that fails on it notices edits, not faults.

The room ``proof`` is no part of any pin, and its tests are those of the pins: for its faults the control is sound but
for such edits of that room alone.
"""

import re
from pathlib import Path

from .checkout import ROOT, Checkout, write
from .fault import PINNING

_START, _END = re.compile(r"\s*# proof-region: "), re.compile(r"\s*# end-proof-region: ")
_RETURN = re.compile(r"(\s+)return\b")


def control(root: Path, source: Path = ROOT, *, pinning: bool = False) -> Checkout:
    """A copy at ``root`` of the checkout, in which all code of proofs is changed and does what it did.

    With ``pinning`` the code that reads pins is changed instead.
    """
    made, package = Checkout(root, source), root / "opendp_topk"
    for path in sorted((package / PINNING if pinning else package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        changed = harmless(f"# proof-region: all\n{text}") if pinning else harmless(text)
        if changed != text:
            write(path, changed)
    return made


def harmless(text: str) -> str:
    """``text`` with an edit without effect in every region."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = (inside or bool(_START.match(line))) and not _END.match(line)
        found = _RETURN.match(line) if inside else None
        lines += [f"{found[1]}pass", line] if found else [line]
        if _START.match(line):
            lines.append(f"{line[: len(line) - len(line.lstrip())]}# A comment that changes nothing.")
    return "\n".join(lines) + "\n"
