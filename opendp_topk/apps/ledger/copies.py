"""Copies of a ledger's records: a backup, and a ledger of the first format taken over."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import LedgerError
from .accounts import MEASURES, Account
from .amounts import Amount, to_texts, total
from .checking import problems
from .creation import write_report
from .entries import RELEASED
from .failures import DAMAGED, failure
from .files import SEPARATOR, FileLog
from .journal import Journal, header
from .logs import path_of
from .moment import log_of
from .records import Record, follow, seal, unseal
from .units import Unit

_FIRST = 0x6F74_6B6C, 1  # application_id and user_version of the first format
_MIGRATED = 2  # the user_version of a file that was taken over: the first format's code refuses it


def backup(journal: Journal, path: str | os.PathLike[str]) -> None:
    """All records of ``journal`` in a new file, which is a ledger itself.

    Raises:
        LedgerError: The records contradict themselves, there is a file of that name, or it cannot be written.
    """
    where, log = path_of(path, "path"), log_of(journal.log)
    found = problems(Journal(log, journal.operator))
    if found:
        raise failure(log.place, "copied", found[0])
    _write(where, (seal(record.fields) for record in log.records()))
    if problems(Journal(FileLog(where))):
        raise failure(str(where), "copied", "it does not read back as it was written")


def _write(where: Path, texts: Iterable[str]) -> None:
    write_report(where, (SEPARATOR + text.encode("ascii") + b"\n" for text in texts), private=True)


def migrate(old: str | os.PathLike[str], new: str | os.PathLike[str], unit: Unit) -> None:
    """Take over a ledger of the first format into a new file; the old one is refused from then on.

    Raises:
        LedgerError: ``old`` is none of the first format or damaged, or ``new`` cannot be written.
    """
    source, where = path_of(old), path_of(new, "new")
    reason = ""
    try:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            _write(where, _taken(connection, unit))
            connection.execute(f"PRAGMA user_version = {_MIGRATED}")
            connection.execute("COMMIT")
        return
    except LedgerError:
        raise
    except (sqlite3.Error, ValueError, ZeroDivisionError, KeyError, TypeError):
        reason = f"it is no ledger of the first format, or {DAMAGED.removeprefix('it is ')}"
    raise failure(str(source), "taken over", reason)


def _taken(connection: sqlite3.Connection, unit: Unit) -> list[str]:
    kind = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    ((budget, measure),) = connection.execute("SELECT budget, measure FROM about").fetchall()
    account = Account(MEASURES[measure], _amount(budget), _amount(budget))
    if kind != _FIRST or account.mixes:
        raise ValueError
    texts, spent = [header(unit, account)], account.nothing
    for expected, row in enumerate(connection.execute("SELECT * FROM releases ORDER BY number"), start=1):
        spent = total(spent, _amount(row[5]))
        if row[0] != expected or _amount(row[6]) != spent or not account.admits(spent):
            raise ValueError
        texts += _records(texts, row, spent)
    return texts


def _records(texts: list[str], row: tuple[Any, ...], spent: Amount) -> list[str]:
    first, last = _own(texts[0]), _own(texts[-1])
    number, time, measurement, proof, d_in, cost, _ = row
    told = {"measurement": measurement, "proof": proof, "d_in": d_in, "label": "", "operator": "unknown", "claim": ""}
    amounts = {"cost": to_texts(_amount(cost)), "spent": to_texts(spent), "entries": number}
    debit = follow(last, first.digest, kind="debit", time=time, **amounts, **told)
    state = {"kind": "state", "of": number, "state": RELEASED, "time": time, "operator": "unknown"}
    return [debit, follow(_own(debit), first.digest, **state)]


def _own(text: str) -> Record:
    found = unseal(text)
    assert found is not None
    return found


def _amount(text: str) -> Amount:
    return tuple(map(Fraction, text.split()))
