"""Printing and writing the record of a release."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from ...errors import ParameterError, TableError
from ...errors.files import DraftFile, quote_path, write_atomically
from ...markup.foreign import json_text, spreadsheet_cell
from ..ledger import Ledger
from ..ledger.files import FileLog
from ..planning.release_record import ReleaseRecord
from .exit_codes import ignore_interrupts
from .record_words import group_column, item_columns, item_ranks

# The destination of a release record: checked before anything is drawn, and written whole or not at all.

STDOUT = "-"


def flush_stdout() -> None:
    """Flush standard output; an OSError means that the printed text was not written."""
    if sys.stdout is not None:
        sys.stdout.flush()


def unprinted_release_error(error: OSError) -> TableError:
    """Return the error for a release that could not be printed, and discard the output that is still buffered."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    reason = error.strerror or type(error).__name__
    return TableError(f"the release could not be printed: {reason}. It was drawn, and its cost is spent")


class RecordDestination:
    """Destination of one record: a file, standard output (``-``) or nowhere (None), as a context manager.

    Entering it creates a temporary file beside the target, so an unwritable folder is found before anything is drawn.
    Leaving it without :meth:`write_record` removes that file.

    Args:
        out: The path of the file, ``-`` or None.
        force: Whether an existing file may be replaced.
        keep: Files that are never replaced, even with ``force``: those that are read.
    """

    def __init__(self, out: str | None, *, force: bool = False, keep: Iterable[str | Path] = ()) -> None:
        self.is_file = out is not None and out != STDOUT
        self._stdout = out == STDOUT
        self._force = force
        self._target = Path(os.path.realpath(_require_file_name(out))) if out is not None and self.is_file else Path()
        self._claim: DraftFile | None = None
        if self.is_file:
            self._require_replaceable(out, keep)

    def _require_replaceable(self, out: str | None, keep: Iterable[str | Path]) -> None:
        if not self._target.exists():
            return
        if not self._target.is_file():
            raise ParameterError(f"--out must be a file, or - for standard output, but {out!r} is neither")
        if any(os.path.exists(path) and os.path.samefile(self._target, path) for path in keep):
            raise ParameterError("--out must not be one of the input files")
        if not self._force:
            raise ParameterError(f"--out {out!r} exists already: choose another name, or add --force to replace it")

    def __enter__(self) -> RecordDestination:
        if self.is_file:
            reason = None
            try:
                self._claim = DraftFile(self._target)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "not a valid file name"
            if reason is not None:
                raise TableError(
                    f"--out cannot be written in the folder {quote_path(str(self._target.parent))}: {reason}"
                )
        return self

    def write_record(self, record: ReleaseRecord) -> None:
        """Write ``record`` as JSON, or only its items as a table if the name of the file ends in .csv.

        Raises:
            TableError: The record could not be printed, or its file could not be written; then no part of it remains.
        """
        if self._stdout:
            encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
            try:
                sys.stdout.write(record_as_json(record, ascii_only=encoding != "utf8"))
                sys.stdout.flush()
                return
            except OSError as error:
                failure = unprinted_release_error(error)
            raise failure
        if self._claim is None:
            return
        reason = None
        try:
            text = _record_as_csv(record) if self._target.suffix.lower() == ".csv" else record_as_json(record)
            self._claim.write_content(text.encode("utf-8"))
            self._claim.publish(replace=self._force)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        if reason is not None:
            raise TableError(f"the record could not be written: {reason}. The release was drawn, and its cost is spent")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._claim is not None:
            self._claim.discard()


def _require_file_name(out: str) -> str:
    """Return ``out`` if it is a possible file name."""
    reason = ""
    try:
        os.fsencode(out)
        os.lstat(out)
    except ValueError:
        reason = "contains a character that is not allowed in file names"
    except OSError as error:
        reason = "is longer than a file name can be" if error.errno == errno.ENAMETOOLONG else ""
    if reason:
        raise ParameterError(f"--out must be the name of a file, but {quote_path(out)} {reason}")
    return out


def record_as_json(record: ReleaseRecord, *, ascii_only: bool = False) -> str:
    """Return the record as JSON text, as it is written and printed."""
    return json_text(record.as_dict(), ascii_only=ascii_only) + "\n"


def _record_as_csv(record: ReleaseRecord) -> str:
    """Return the released items, or quantiles, as CSV with a header.

    The columns are group and rank (if there are any), item, and count or gap.
    """
    released = record.released
    if record.quantiles:
        head, lines = ["number"], [[str(one)] for one in released.items]  # numbers are safe in spreadsheets, signs too
        if len(record.quantiles) > 1:
            head, lines = ["quantile", *head], [[str(q), *one] for q, one in zip(record.quantiles, lines, strict=True)]
        return "".join(",".join(line) + "\n" for line in [head, *lines])
    columns = item_columns(record, "item")
    if record.release == "ranking":
        columns = [("rank", item_ranks(record)), *columns]
    columns = [*group_column(record), *columns]
    if released.counts is not None:
        columns.append(("count", released.counts))
    if released.gaps is not None:
        columns.append(("gap", released.gaps))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    writer.writerows(map(spreadsheet_cell, line) for line in zip(*(values for _, values in columns), strict=True))
    return text.getvalue()


# Storing the record of a paid release beside the ledger, so that it can be found even if writing ``--out`` fails.


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
            raise TableError(f"--out must have a new name, because its record {quote_path(str(self._beside))} exists")

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
