"""Printing and writing results: JSON and text, new files, and the record of a release."""

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
from typing import Any

import typer

from ...errors import ParameterError, TableError
from ...errors.files import DraftFile, quote_path
from ...markup.foreign import json_text, spreadsheet_cell
from ..ledger.files import write_report
from ..ledger.logs import resolve_path
from ..planning.record_store import STDOUT, record_as_json
from ..planning.release_record import ReleaseRecord
from . import show
from .record_words import group_column


def require_file_ending(to: str, endings: tuple[str, ...]) -> None:
    """Raise unless ``to`` ends in one of ``endings``, or is standard output and JSON lines are allowed."""
    if Path(to).suffix.lower() not in endings and not (to == STDOUT and ".jsonl" in endings):
        raise ParameterError(f"--to must be a name that ends in {' or '.join(endings)}")


def write_output_file(to: str, option: str, text: str) -> None:
    """Write ``text`` to a new file; the umask determines who may read it."""
    write_report(resolve_path(to, option), text.encode("utf-8"))


def write_text_file(to: str, text: str, *, as_json: bool = False) -> None:
    """Write ``text`` to a new file and print a confirmation, or print it if ``to`` is -."""
    if to == STDOUT:
        typer.echo(text, nl=False)
        return
    write_output_file(to, "--to", text)
    print_action({"written": to}, f"Written to {to}.", as_json=as_json)


def print_action(fields: dict[str, Any], words: str, *, as_json: bool) -> None:
    """Print what was done: as JSON on standard output, or in words on standard error."""
    if as_json:
        print_json(fields)
    else:
        show.print_note(words)


def print_result(fields: dict[str, Any], *words: str, as_json: bool) -> None:
    """Print a result on standard output, as JSON or in words."""
    if as_json:
        print_json(fields)
    else:
        show.print_paragraphs(*words)


def print_json(fields: dict[str, Any]) -> None:
    typer.echo(json_text(fields, ascii_only=True))


# The destination of a release record: checked before anything is drawn, and written whole or not at all.


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
        if not self.is_file:
            return self
        self._claim = DraftFile(self._target)
        try:
            self._claim.__enter__()
            return self
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a valid file name"
        except BaseException:
            self._claim.discard()
            raise
        raise TableError(f"--out cannot be written in the folder {quote_path(str(self._target.parent))}: {reason}")

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


def _record_as_csv(record: ReleaseRecord) -> str:
    """Return the released items, or quantiles, as CSV with a header.

    The columns are group and rank or quantile (if there are any), item or number, and count or gap.
    """
    released, asked = record.released, record.asked
    columns = [
        *group_column(record),
        *asked.labels(record),
        *record.item_columns(asked.heading(record) if asked.numbers else "item"),
    ]
    if released.counts is not None:
        columns.append(("count", released.counts))
    if released.gaps is not None:
        columns.append(("gap", released.gaps))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    cell = str if asked.numbers else spreadsheet_cell  # numbers are safe in spreadsheets, signs too
    writer.writerows(map(cell, line) for line in zip(*(values for _, values in columns), strict=True))
    return text.getvalue()
