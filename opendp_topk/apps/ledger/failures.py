"""What can go wrong with a ledger's log, in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ...errors import LedgerError
from ...errors.files import quoted


class Placed(Protocol):
    """What has a place that a message may name."""

    @property
    def place(self) -> str: ...


P = ParamSpec("P")
Holder = TypeVar("Holder", bound=Placed)
Result = TypeVar("Result")

EXISTS = "there is something of that name already: open a ledger with Ledger(address), or choose another name"
MISSING = "there is no ledger of that name: create one with Ledger.create or `opendp-topk ledger create`"
GONE = "there is no ledger of that name any more: restore it from a backup that is not older than the last release"
DAMAGED = "it is damaged: restore it from a backup that is not older than the last release"
DAMAGED_FILE = (
    f"{DAMAGED}, or try `opendp-topk ledger repair`, which keeps what verifies and never lowers what was spent"
)
STATES = {
    "08": "the connection to the server failed",
    "0A": "the server cannot write: it is a standby",
    "25006": "the server cannot write: it is a standby, or only reads",
    "25P03": "the server ended the transaction, in which this process was silent for too long",
    "25": "the server had ended the transaction",
    "28": "the server refuses this account",
    "3D": "the server has no such database",
    "3F": "the database has no such schema: create it, or name another one as #schema/name",
    "42501": "this account may not do that: grant it USAGE on the schema, and SELECT and INSERT on the table",
    "42809": "what has the table's name is no ordinary table",
    "42": "the server's tables are not those of a ledger",
    "53300": "the server has no connection left for this account",
    "53200": "the server has no memory left",
    "53": "the server has no room left",
    "55": "another process kept it locked",
    "57014": "somebody cancelled the statement, or a timeout of the server did",
    "57P05": "the server ended the connection, which was idle for too long",
    "57": "the server was stopped",
    "XX": "the server's data are damaged",
}
_NO_TABLE = "42P01"
_LONGEST = 400  # characters of what a server says


def _missing(deed: str) -> str:
    return MISSING if deed == "opened" else GONE


def explained(
    deed: str,
) -> Callable[[Callable[Concatenate[Holder, P], Result]], Callable[Concatenate[Holder, P], Result]]:
    """Decorate what is done to a log: errors of the system and of a server become a :class:`LedgerError`."""

    def decorate(function: Callable[Concatenate[Holder, P], Result]) -> Callable[Concatenate[Holder, P], Result]:
        @wraps(function)
        def guarded(holder: Holder, /, *args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                return function(holder, *args, **kwargs)
            except LedgerError:
                raise
            except FileNotFoundError as error:
                reason = str(error.strerror) if deed == "created" else _missing(deed)
            except OSError as error:
                reason = error.strerror or type(error).__name__
            except Exception as error:
                if not type(error).__module__.startswith("psycopg"):
                    raise
                state = getattr(error, "sqlstate", None) or "08"
                known = STATES.get(state) or STATES.get(state[:2], "the server reports an error")
                said = f"{known} (SQLSTATE {state})"
                reason = _missing(deed) if state == _NO_TABLE else said
            raise failure(holder.place, deed, reason)

        return guarded

    return decorate


def in_words(said: str, secret: str) -> str:
    """What a server says, on one printable line without the password."""
    line = " ".join("".join(one if one.isprintable() else " " for one in said).split())
    return (line.replace(secret, "...") if secret else line)[:_LONGEST].rstrip(".")


def failure(place: str, deed: str, reason: str) -> LedgerError:
    return LedgerError(f"the ledger {quoted(place)} could not be {deed}: {reason}. Nothing was released")


def damaged(place: str, where: str = "") -> LedgerError:
    """The error for a log whose parts contradict each other."""
    return failure(place, "read", f"{DAMAGED}{where and f' ({where})'}")
