"""Records of a log, each chained to the one before it, and the errors of a log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from ...errors import LedgerError
from ...errors.files import quote_path

# Error messages for a ledger's log.


Operation = TypeVar("Operation", bound=Callable[..., Any])  # its first argument has the ``place`` of the message

EXISTS = "the name is already in use: open the ledger that has it, or choose another name"
MISSING = "there is no ledger of that name: create one with Ledger.create or `opendp-topk ledger create`"
GONE = "it no longer exists: restore it from a backup that is not older than the last release"
DAMAGED = "it is damaged: restore it from a backup that is not older than the last release"
DAMAGED_FILE = (
    f"{DAMAGED}, or try `opendp-topk ledger repair`, which keeps all records that verify and never lowers the "
    "spent budget"
)
STATES = {
    "08": "the connection to the server failed",
    "0A": "the server cannot write: it is a standby",
    "25006": "the server cannot write: it is a standby, or read-only",
    "25P03": "the server ended the transaction, because this process was idle for too long",
    "25": "the server had ended the transaction",
    "28": "the server refuses this account",
    "3D": "the server has no such database",
    "3F": "the database has no such schema: create it, or name another one as #schema/name",
    "42501": "this account lacks permissions: grant it USAGE on the schema, and SELECT and INSERT on the table",
    "42809": "the name of the table does not refer to an ordinary table",
    "42": "the server's tables are not those of a ledger",
    "53300": "the server has no free connection for this account",
    "53200": "the server is out of memory",
    "53": "the server is out of disk space",
    "55": "another process kept it locked",
    "57014": "the statement was cancelled by a user or by a timeout of the server",
    "57P05": "the server ended the connection, which was idle for too long",
    "57": "the server was stopped",
    "XX": "the server's data are damaged",
}
_NO_TABLE = "42P01"
_LONGEST = 400  # characters of a server's message


def _missing_ledger_reason(deed: str) -> str:
    return MISSING if deed == "opened" else GONE


def convert_to_ledger_error(deed: str) -> Callable[[Operation], Operation]:
    """Decorate an operation on a log: errors of the system and of a server become a :class:`LedgerError`."""

    def wrap_operation(function: Operation) -> Operation:
        @wraps(function)
        def run_with_conversion(holder: Any, /, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(holder, *args, **kwargs)
            except LedgerError:
                raise
            except FileNotFoundError as error:
                reason = str(error.strerror) if deed == "created" else _missing_ledger_reason(deed)
            except OSError as error:
                reason = error.strerror or type(error).__name__
            except Exception as error:
                if not type(error).__module__.startswith("psycopg"):
                    raise
                state = getattr(error, "sqlstate", None) or "08"
                known = STATES.get(state) or STATES.get(state[:2], "the server reports an error")
                said = f"{known} (SQLSTATE {state})"
                reason = _missing_ledger_reason(deed) if state == _NO_TABLE else said
            raise ledger_error(holder.place, deed, reason)

        return run_with_conversion  # type: ignore[return-value]

    return wrap_operation


def printable_message(said: str, secret: str) -> str:
    """Return a server's message on one printable line without the password."""
    line = " ".join("".join(one if one.isprintable() else " " for one in said).split())
    return (line.replace(secret, "...") if secret else line)[:_LONGEST].rstrip(".")


def ledger_error(place: str, deed: str, reason: str) -> LedgerError:
    return LedgerError(f"the ledger {quote_path(place)} could not be {deed}: {reason}. Nothing was released")


def damaged_log_error(place: str, where: str = "") -> LedgerError:
    return ledger_error(place, "read", f"{DAMAGED}{where and f' ({where})'}")


# Records of a ledger, each with the digest of its text and of the record before it.
#
# Proof: proofs/ledger/storage.tex

FORMAT, VERSION = "opendp_topk ledger", 1  # the only version that is read and written
_KEPT: tuple[str, ...] = "entries", "spent", "accepted"  # fields copied from the record before
_HEX = 64  # hexadecimal digits of SHA-256


class Record(NamedTuple):
    """Record: its digest, its fields, its place in the log, and the length of its text."""

    digest: str
    fields: dict[str, Any]
    place: int = 0
    size: int = 0

    @property
    def number(self) -> int:
        return int(self.fields["number"])


# proof-region: records
def seal_record(fields: dict[str, Any]) -> str:
    """Return a record's text, in ASCII without control characters: the digest of the JSON, a blank, and the JSON."""
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return f"{_digest(text)} {text}"  # [sealed]


def unseal_record(text: str, place: int = 0) -> Record | None:
    """Invert :func:`seal_record`; return None for every text whose digest does not match."""
    digest, blank, content = text[:_HEX], text[_HEX : _HEX + 1], text[_HEX + 1 :]
    if blank != " " or digest != _digest(content):  # [own-digest]
        return None
    try:
        fields = json.loads(content)
    except ValueError:
        return None
    known = isinstance(fields, dict) and isinstance(fields.get("number"), int)
    return Record(digest, fields, place, len(text)) if known else None


def next_record_text(last: Record, ledger: str, **fields: Any) -> str:
    """Return the text of the record after ``last`` in the ledger whose first record has the digest ``ledger``."""
    kept = {name: last.fields[name] for name in _KEPT if name in last.fields}
    chained = {"number": last.number + 1, "previous": last.digest, "ledger": ledger}  # [chained]
    return seal_record({**chained, **kept, **fields})


def is_next_record(before: Record, after: Record) -> bool:
    return after.number == before.number + 1 and after.fields.get("previous") == before.digest  # [link]


def is_durable_record(record: Record) -> bool:
    """Return True if its append waited for the disk, as all do except records of an entry's state."""
    return record.fields.get("kind") != "state"  # [not-waited-for]


def server_binding_text(last: Record, server: str) -> str:
    """Return the text of the record after ``last`` that binds its ledger to a server."""
    ledger = str(last.fields.get("ledger", last.digest))
    return next_record_text(last, ledger, kind="accept", accepted=sorted({*accepted_kinds_in(last), server}))


def accepted_kinds_in(record: Record) -> list[str]:
    """Return the kinds of file systems and the servers that the ledger accepts, up to this record."""
    found = record.fields.get("accepted", [])
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


# end-proof-region: records


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("ascii", "replace")).hexdigest()


def record_head(record: Record) -> str:
    """Return one line that identifies the record and all records before it, to be stored elsewhere."""
    return f"{record.number}-{record.digest}"
