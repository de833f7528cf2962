"""What can go wrong with a ledger's file, in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ..errors import LedgerError

PATIENCE = 120.0  # a debit takes moments: who waits so long waits for a process that hangs


class _Placed(Protocol):
    @property
    def path(self) -> Path: ...


P = ParamSpec("P")
Holder = TypeVar("Holder", bound="_Placed | Path")
Result = TypeVar("Result")

REASONS = {
    "BUSY": f"another process kept it locked for {PATIENCE:.0f} seconds",
    "LOCKED": f"another process kept it locked for {PATIENCE:.0f} seconds",
    "FULL": "the disk is full",
    "IOERR": "reading or writing failed: the disk may be full or a limit on the size of files may be reached",
    "READONLY": "it may not be written: check the permissions of the file and its folder",
    "PERM": "it may not be written: check the permissions of the file and its folder",
    "CANTOPEN": "it cannot be opened: check that the file exists, and the permissions of the file and its folder",
    "CORRUPT": "it is damaged: restore it from a backup that is not older than the last release",
    "NOTADB": "it is not a ledger, or damaged: restore it from a backup that is not older than the last release",
}


def explained(
    deed: str,
) -> Callable[[Callable[Concatenate[Holder, P], Result]], Callable[Concatenate[Holder, P], Result]]:
    """Decorate what is done to a file: errors of the system and of SQLite become a :class:`LedgerError`."""

    def decorate(function: Callable[Concatenate[Holder, P], Result]) -> Callable[Concatenate[Holder, P], Result]:
        @wraps(function)
        def guarded(holder: Holder, /, *args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                return function(holder, *args, **kwargs)
            except LedgerError:
                raise
            except sqlite3.Error as error:
                name = getattr(error, "sqlite_errorname", "") or ""
                kind = name.removeprefix("SQLITE_").split("_")[0]
                reason = REASONS.get(kind, f"SQLite reports {name or type(error).__name__}")
            except OSError as error:
                reason = error.strerror or type(error).__name__
            raise failure(holder if isinstance(holder, Path) else holder.path, deed, reason)

        return guarded

    return decorate


def failure(path: Path, deed: str, reason: str) -> LedgerError:
    return LedgerError(f"the ledger {str(path)!r} could not be {deed}: {reason}. Nothing was released")


def damaged(path: Path) -> LedgerError:
    """The error for a file whose parts contradict each other."""
    return failure(path, "read", REASONS["CORRUPT"])
