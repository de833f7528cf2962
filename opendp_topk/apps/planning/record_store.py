"""Storing the record of a paid release beside the ledger, where it is found even if writing it elsewhere fails."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import TableError
from ...errors.files import quote_path, write_atomically
from ...markup.foreign import json_text
from ..ledger import Ledger
from ..ledger.files import FileLog
from .options import named
from .release_record import ReleaseRecord

STDOUT = "-"


class Interrupted(Exception):
    """Ctrl-C at a point at which something may have been released or paid already."""


def record_as_json(record: ReleaseRecord, *, ascii_only: bool = False) -> str:
    """Return the record as JSON text, as it is written and printed."""
    return json_text(record.as_dict(), ascii_only=ascii_only) + "\n"


@contextlib.contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM while a release is written: it was drawn, so its cost is spent."""
    with handle_signal(signal.SIGINT, signal.SIG_IGN), handle_signal(signal.SIGTERM, signal.SIG_IGN):
        yield


@contextlib.contextmanager
def handle_signal(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Install a signal handler for the block. Other threads than the main one cannot set any, and keep the old one."""
    try:
        before = signal.signal(number, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(number, before)


def records_folder(account: Ledger) -> Path | None:
    """Return the folder of release records beside a ledger's file, or None for a ledger on a server."""
    log = account._journal.log
    return Path(f"{log.path}.records") if isinstance(log, FileLog) else None


class RecordStore:
    """Storage for the record of a release that ``account`` pays for, checked before anything is drawn.

    The record is a file in the ledger's records folder, named by the number of the entry. A ledger on a server has no
    such folder: if ``--out`` is a .csv table of the items, the record is stored beside it as .json.

    Raises:
        TableError: The folder cannot be created or written, or contains records of entries that the ledger does not
            have; or a file with the name of the record beside ``--out`` exists.
    """

    def __init__(self, account: Ledger | None, out: str | None) -> None:
        self.path: Path | None = None  # set once the record is written
        self.failure = ""
        self._folder = None if account is None else records_folder(account)
        table = account is not None and self._folder is None and out not in (None, STDOUT)
        self._beside = Path(str(out)).with_suffix(".json") if table and str(out).lower().endswith(".csv") else None
        if account is not None and self._folder is not None:
            _require_writable(self._folder)
            _require_own_records(self._folder, account)
        if self._beside is not None and self._beside.exists():
            raise TableError(
                named(f"--out must have a new name, because its record {quote_path(str(self._beside))} exists")
            )

    def store_record(self, record: ReleaseRecord) -> None:
        """Write the record. A failure is kept in ``failure`` instead of raised: the release is drawn and paid."""
        if record.ledger is None or (self._folder is None and self._beside is None):
            return
        place = self._beside if self._folder is None else self._folder / f"{record.ledger['entry']}.json"
        assert place is not None
        try:
            with ignore_interrupts():
                write_atomically(place, record_as_json(record).encode("utf-8"), private=self._folder is not None)
                self.path = place
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self.failure = f"its record could not be stored as {quote_path(str(place))}: {reason}"


def _require_writable(folder: Path) -> None:
    reason = ""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if not reason and not os.access(folder, os.W_OK | os.X_OK):
        reason = "no write permission for this account"
    if reason:
        raise TableError(f"the folder {quote_path(str(folder))} for the record of the release cannot be used: {reason}")


def _require_own_records(folder: Path, account: Ledger) -> None:
    numbers = [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]
    entries = account.count()  # after the folder was listed, because other processes may add entries meanwhile
    later = [number for number in numbers if number > entries]
    if later:
        raise TableError(
            f"{quote_path(str(folder))} contains the record of an entry {min(later)}, but the ledger has "
            f"{entries} entries: the folder belongs to another ledger, or this ledger was restored from an "
            "older copy. Move the folder away, or restore its ledger"
        )
