"""Where the record of a release goes: checked before anything is drawn, and written whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import ParameterError, TableError

STDOUT = "-"


def flush() -> None:
    """Bring to standard output what was printed; an OSError says that it did not get there."""
    if sys.stdout is not None:
        sys.stdout.flush()


def unprinted(error: OSError) -> TableError:
    """The error for a release that standard output did not take. What is left of it is dropped."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    reason = error.strerror or type(error).__name__
    return TableError(f"the release could not be printed: {reason}. It was drawn and has its cost")


class Destination:
    """A place for one record: a file, standard output (``-``) or nowhere (None), as a context manager.

    Entering it claims a temporary file beside the target, so that a release is never drawn only to be lost.
    Leaving it without :meth:`write` removes that file again.

    Args:
        out: The path of the file, ``-`` or None.
        force: Whether a file that exists may be replaced.
        keep: Files that may not be replaced, whatever ``force`` is: those that are read.
    """

    def __init__(self, out: str | None, *, force: bool = False, keep: Iterable[str | Path] = ()) -> None:
        self.is_file = out is not None and out != STDOUT
        self._stdout = out == STDOUT
        self._force = force
        self._target = Path(os.path.realpath(out)) if out is not None and self.is_file else Path()
        self._claim: Path | None = None
        if self.is_file:
            self._refuse(out, keep)

    def _refuse(self, out: str | None, keep: Iterable[str | Path]) -> None:
        if not self._target.exists():
            return
        if not self._target.is_file():
            raise ParameterError(f"--out must be a file (or - for standard output), which {out!r} is not")
        if any(os.path.exists(path) and os.path.samefile(self._target, path) for path in keep):
            raise ParameterError("--out must not be a file that is read")
        if not self._force:
            raise ParameterError(f"--out {out!r} exists already: choose another name, or add --force to replace it")

    def __enter__(self) -> Destination:
        if self.is_file:
            claim = self._target.with_name(f".{self._target.name[:100]}.{uuid.uuid4().hex[:8]}.partial")
            reason = None
            try:
                os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
                self._claim = claim
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "no such name"
            if reason is not None:
                raise TableError(f"--out cannot be written in the folder {str(self._target.parent)!r}: {reason}")
        return self

    def write(self, record: dict[str, Any]) -> None:
        """Write ``record`` as JSON; to a file whose name ends in .csv, the items alone, as a table.

        Raises:
            TableError: The file could not be written; nothing of it is left.
        """
        if self._stdout:
            encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
            try:
                sys.stdout.write(_as_json(record, ensure_ascii=encoding != "utf8"))
                sys.stdout.flush()
                return
            except OSError as error:
                failure = unprinted(error)
            raise failure
        if self._claim is None:
            return
        reason = None
        try:
            with self._claim.open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(_as_csv(record) if self._target.suffix.lower() == ".csv" else _as_json(record))
                stream.flush()
                os.fsync(stream.fileno())
            self._publish(self._claim)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        if reason is not None:
            raise TableError(f"the record could not be written: {reason}. The release above was drawn and has its cost")

    def _publish(self, claim: Path) -> None:
        if not self._force:
            try:
                os.link(claim, self._target)
                return
            except FileExistsError:
                raise  # it has come to exist meanwhile
            except OSError:
                pass  # a file system without hard links
        os.replace(claim, self._target)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._claim is not None:
            self._claim.unlink(missing_ok=True)


def _as_json(record: dict[str, Any], *, ensure_ascii: bool = False) -> str:
    return json.dumps(record, indent=2, ensure_ascii=ensure_ascii) + "\n"


def _as_csv(record: dict[str, Any]) -> str:
    """One line an item under a header: rank (of a ranking), item, count or gap (where released)."""
    columns = {"item": record["items"]}
    if record["release"] == "ranking":
        columns = {"rank": range(1, len(record["items"]) + 1), **columns}
    if "counts" in record:
        columns["count"] = record["counts"]
    if "gaps" in record:
        columns["gap"] = record["gaps"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
