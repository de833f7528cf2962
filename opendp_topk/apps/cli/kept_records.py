"""Where the record of a paid release is kept, so that what was paid for is found again whatever became of ``--out``."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import TableError
from ...errors.files import quoted, write_whole
from ..ledger import Ledger
from ..ledger.files import FileLog
from ..planning.release_record import ReleaseRecord
from .exit_codes import uninterrupted
from .output import STDOUT, as_json


def folder_of(account: Ledger) -> Path | None:
    """The folder beside a ledger's file in which its records are; None for a ledger on a server."""
    log = account._journal.log
    return Path(f"{log.path}.records") if isinstance(log, FileLog) else None


class KeptRecord:
    """The place of the record of a release that ``account`` is to pay for, made sure of before anything is drawn.

    It is a file in the folder of the ledger's records, named by the entry; of a ledger on a server, it is beside a
    ``--out`` that is a table of the items alone.

    Raises:
        TableError: The folder cannot be made or written, or holds records of entries that the ledger does not have.
    """

    def __init__(self, account: Ledger | None, out: str | None) -> None:
        self.path: Path | None = None  # once it is written
        self.failure = ""
        self._folder = None if account is None else folder_of(account)
        table = account is not None and self._folder is None and out not in (None, STDOUT)
        self._beside = Path(str(out)).with_suffix(".json") if table and str(out).lower().endswith(".csv") else None
        if account is not None and self._folder is not None:
            _require_writable(self._folder)
            _require_own(self._folder, account)
        if self._beside is not None and self._beside.exists():
            raise TableError(
                f"the record beside --out, {quoted(str(self._beside))}, exists already: choose another name"
            )

    def keep(self, record: ReleaseRecord) -> None:
        """Write it; what goes wrong is kept for later, since the release is drawn and paid."""
        if record.ledger is None or (self._folder is None and self._beside is None):
            return
        place = self._beside if self._folder is None else self._folder / f"{record.ledger['entry']}.json"
        assert place is not None
        try:
            with uninterrupted():
                write_whole(place, as_json(record).encode("utf-8"), private=self._folder is not None)
                self.path = place
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self.failure = f"its record could not be kept as {quoted(str(place))}: {reason}"


def _require_writable(folder: Path) -> None:
    reason = ""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if not reason and not os.access(folder, os.W_OK | os.X_OK):
        reason = "this account may not write there"
    if reason:
        raise TableError(f"the record of the release would be kept in {quoted(str(folder))}, which failed: {reason}")


def _require_own(folder: Path, account: Ledger) -> None:
    numbers = [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]
    entries = account.count()  # after the folder was listed: others draw meanwhile
    later = [number for number in numbers if number > entries]
    if later:
        raise TableError(
            f"{quoted(str(folder))} holds the record of an entry {min(later)}, and the ledger has {entries} entries: "
            "it belongs to another ledger, or this one was set back. Move the folder away, or bring its ledger back"
        )
