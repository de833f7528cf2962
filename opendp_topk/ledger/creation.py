"""A new ledger: whole on the disk before it has its name.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .failures import explained, failure

APPLICATION, VERSION = 0x6F74_6B6C, 1  # "otkl": tells a ledger from any other SQLite file; VERSION is the schema's
FORKING = threading.RLock()
_SCHEMA = """
CREATE TABLE about (budget TEXT NOT NULL, measure TEXT NOT NULL);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, measurement TEXT NOT NULL, proof TEXT NOT NULL,
    d_in TEXT NOT NULL, cost TEXT NOT NULL, total TEXT NOT NULL
);
"""


def create(path: Path, budget: str, measure: str) -> None:
    """Make a new ledger at ``path``, whole or not at all; a file that is there already is left alone."""
    draft = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:12]}.new")
    try:
        with FORKING:  # a fork in between would leave the child with the draft's connection
            _write(path, draft, budget, measure)
        _place(path, draft)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                draft.with_name(draft.name + ending).unlink()


# proof-region: creation
@explained("created")
def _write(path: Path, draft: Path, budget: str, measure: str) -> None:
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_SCHEMA}")
        connection.execute("INSERT INTO about VALUES (?, ?)", (budget, measure))
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    with _opened(draft, os.O_RDWR) as handle:
        os.fsync(handle)  # [whole]


@explained("created")
def _place(path: Path, draft: Path) -> None:
    """Give the draft its name. A lock on the folder, which dies with its process, keeps others from doing so too."""
    with _opened(path.parent, os.O_RDONLY) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not path.exists():  # [no-replacement]
            if log(path).exists():  # [no-old-log]
                raise failure(
                    path, "created", "the -wal file of an earlier ledger lies there: restore that ledger, or delete it"
                )
            draft.rename(path)
        os.fsync(folder)


# end-proof-region: creation


def log(path: Path) -> Path:
    """SQLite's write-ahead log of the file ``path``."""
    return path.with_name(path.name + "-wal")


def identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from every other one while it exists; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags)
    try:
        yield handle
    finally:
        os.close(handle)
