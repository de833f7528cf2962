"""Sign-offs: who has read a proof and accepted it, in a TOML file that the reader names."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ...errors import ParameterError, TableError, checks

_FIELDS = ("name", "digest", "by", "date")


@dataclass(frozen=True)
class Signoff:
    """One person's acceptance of one document as it stood: ``digest`` is that of all that was read."""

    name: str
    digest: str
    by: str
    date: str


def read_signoffs(file: str | os.PathLike[str]) -> list[Signoff]:
    """All sign-offs of a file, in its order.

    Raises:
        TableError: The file cannot be read, or is not such a file.
    """
    reason = ""
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        reason = "it is not TOML"
    if not reason:
        rows = found.get("signoff", [])
        if set(found) <= {"signoff"} and isinstance(rows, list) and all(map(_is_row, rows)):
            return [Signoff(**row) for row in rows]
        reason = f"each [[signoff]] must have the texts {', '.join(_FIELDS)} and nothing else"
    raise TableError(f"the sign-offs {os.fspath(file)!r} could not be read: {reason}")


def accept(name: str, digest: str, *, by: str, file: str | os.PathLike[str], on: date | None = None) -> Signoff:
    """Append a sign-off to ``file``, which is made if it does not exist.

    Raises:
        ParameterError: ``by`` is empty, or the same sign-off stands there already.
        TableError: The file cannot be read or written.
    """
    if not isinstance(by, str) or not by.strip() or not by.isprintable():
        raise ParameterError("by must be the name of the person who read the proof")
    checks.instance("name", name, str, "the name of a proof document")
    path = Path(file)
    there = read_signoffs(path) if path.exists() else []
    signoff = Signoff(name, digest, by.strip(), (on or date.today()).isoformat())
    if any((one.name, one.digest, one.by) == (signoff.name, signoff.digest, signoff.by) for one in there):
        raise ParameterError(f"{signoff.by} has signed {name} as it stands already")
    lines = [f"{field} = {json.dumps(getattr(signoff, field), ensure_ascii=False)}" for field in _FIELDS]
    reason = ""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n".join(["[[signoff]]", *lines, "", ""]))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise TableError(f"the sign-off could not be written to {os.fspath(file)!r}: {reason}")
    return signoff


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and set(row) == set(_FIELDS) and all(isinstance(value, str) for value in row.values())
