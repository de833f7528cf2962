"""Identity of this process. Process IDs are not unique: a later child or another PID namespace may reuse one."""

from __future__ import annotations

import os

_MARKS = [object()]  # identifies this process; replaced in every child


# proof-region: process
def process_identity() -> tuple[int, object]:
    """Return a value that equals itself in this process and in no other, even one with the same process ID."""
    return os.getpid(), _MARKS[-1]  # [process-mark]


def _renew_process_mark() -> None:
    _MARKS[:] = [object()]  # [renewed]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_process_mark)
# end-proof-region: process
