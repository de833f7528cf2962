"""File locks of the operating system; waiting for a lock never delays Ctrl-C.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds; a debit is much faster, so after this time the other process must be hanging
_SHORTEST, _LONGEST = 0.0002, 0.005  # seconds between two attempts: quick at first, gentle to others later
_UNSUPPORTED = errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY
_FAR = 2**40  # lock offset on Windows: beyond all records, since others cannot read locked bytes


def _make_fcntl_lock() -> Callable[[int, bool], None] | None:
    try:
        import fcntl
    except ImportError:
        return None

    def lock_with_fcntl(handle: int, wanted: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB if wanted else fcntl.LOCK_UN)

    return lock_with_fcntl


def _make_msvcrt_lock() -> Callable[[int, bool], None] | None:
    try:
        import msvcrt
    except ImportError:
        return None

    def lock_with_msvcrt(handle: int, wanted: bool) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK if wanted else msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

    return lock_with_msvcrt


def flush_to_disk(handle: int) -> bool:
    """Wait for the disk itself if the system's fsync does not (macOS); return True if that was done."""
    try:
        import fcntl

        fcntl.fcntl(handle, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009
    except (ImportError, AttributeError):
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:  # an error of the disk is raised
            raise
        return False
    return True


_lock = _make_fcntl_lock() or _make_msvcrt_lock()


# proof-region: locks
def has_file_locks() -> bool:
    return _lock is not None


def acquire_lock(handle: int) -> bool:
    """Lock the open file for this handle alone; return True if that succeeded within :data:`PATIENCE`."""
    pause, end = _SHORTEST, time.monotonic() + PATIENCE
    while not try_lock(handle):  # [until-locked]
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
    return True


def try_lock(handle: int) -> bool:
    """Lock the open file if no other handle has locked it; return True if it was locked."""
    assert _lock is not None
    try:
        _lock(handle, True)
    except (BlockingIOError, PermissionError):
        return False
    return True


def release_lock(handle: int) -> None:
    """Unlock the file, even if copies of the handle exist."""
    assert _lock is not None
    _lock(handle, False)


# end-proof-region: locks
