"""Files that are open for a block, and closed at its end whatever interrupts it.

A signal's handler may raise between any two calls: also when a file was opened and nobody has its number yet, or where
a function that would close it begins. So a file is opened and put into an object in one call, and that object's own
``with`` closes it: there is no line of Python between.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

# Opening must not wait for the other end of a pipe; elsewhere these flags do not exist or mean nothing.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"))
_OWNER = 0o600  # who may read a ledger learns what was released and when, so that only its owner may


# proof-region: handles
def opening(path: Path, flags: int) -> Iterator[io.FileIO]:
    """What ``with next(...) as stream`` opens: the file, and if it is made by this, for its owner alone."""
    return map(io.FileIO, map(os.open, (path,), (flags | _FLAGS,), (_OWNER,)), ("rb",))  # [one-step]


# end-proof-region: handles
