"""``python -m tests.machine``: compile the checked core, and list what it proves, on which axioms, in which time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from opendp_topk import proof

from . import coq


def main() -> None:
    """Print the seconds of each source, and each statement that a document calls checked with its axioms."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, seconds in coq.compiled(folder).items():
            print(f"{name:<24} {seconds:6.1f} s", flush=True)
        marks = [check for name in proof.documents() for check in proof.checks(name)]
        for theorem, used in coq.axioms(folder, {check.theorem for check in marks}).items():
            about = sorted({f"{check.document}#{check.label}" for check in marks if check.theorem == theorem})
            print(f"{theorem}: {', '.join(about)}; {len(used)} axioms, {'standard' if used <= coq.AXIOMS else used}")


if __name__ == "__main__":
    main()
