"""A new ledger's file: whole on the disk before it has its name.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...errors import LedgerError
from ...errors.files import quoted, write_whole
from .failures import EXISTS, explained, failure
from .files import SEPARATOR, FileLog, write
from .handles import opening


# proof-region: creation
@explained("created")
def create(log: FileLog, header: str) -> None:
    """Make the file of ``log`` with this first record, whole or not at all.

    Raises:
        LedgerError: There is a file of that name, which is left as it is, or it cannot be made.
    """
    path = log.path
    draft = path.parent / f".{path.name[:20]}.{uuid.uuid4().hex[:12]}.new"
    try:
        write_new(draft, SEPARATOR + header.encode("ascii") + b"\n")  # [whole]
        with next(opening(draft, os.O_RDONLY)) as stream:
            log.require_fit(stream.fileno())  # [fit-first]
        if not _placed(draft, path):
            raise failure(log.place, "created", EXISTS)
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_folder(path.parent)


def _placed(draft: Path, path: Path) -> bool:
    """Give the draft its name, unless a file has it; whether it got it."""
    with suppress(FileExistsError):  # [no-replacement]
        try:
            os.link(draft, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            write_new(path, draft.read_bytes())
        return True
    return False


def write_new(path: Path, content: bytes) -> None:
    """A new file that only its owner may read, on the disk when this returns.

    Raises:
        FileExistsError: There is a file of that name.
    """
    with next(opening(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)) as stream:
        try:
            write(stream.fileno(), content)
            os.fsync(stream.fileno())
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise


def sync_folder(folder: Path) -> None:
    """Let the names in ``folder`` reach the disk, where this account may open it (on Windows nobody may)."""
    opened: list[int] = []
    try:
        with suppress(PermissionError):  # [folder]
            opened.extend(map(os.open, (folder,), (os.O_RDONLY,)))  # in one step, as files are
        for handle in opened:
            os.fsync(handle)
    finally:
        for handle in opened:
            os.close(handle)


# end-proof-region: creation


def write_report(path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
    """A new file beside a ledger, for people or a copy of it; one that is private its owner alone may read.

    Raises:
        LedgerError: There is a file of that name, or it could not be written.
    """
    try:
        write_whole(path, content, private=private)
        return
    except FileExistsError:
        reason = "it exists already: choose another name"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have that name"
    raise LedgerError(f"the file {quoted(str(path))} could not be written: {reason}")
