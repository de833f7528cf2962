"""Which process this is: numbers of processes come again, in a child of a child and in a namespace of their own."""

from __future__ import annotations

import os

_MARKS = [object()]  # of this process, renewed in every child


# proof-region: process
def process_identity() -> tuple[int, object]:
    """What equals itself in this process and in no other, whatever their numbers are."""
    return os.getpid(), _MARKS[-1]  # [process-mark]


def _renew_process_mark() -> None:
    _MARKS[:] = [object()]  # [renewed]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_process_mark)
# end-proof-region: process
