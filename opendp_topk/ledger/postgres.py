"""The log of a ledger on a PostgreSQL server: a row for each record, whose key no two transactions can both write.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import MissingExtraError
from . import locks, server_address
from .failures import EXISTS, GONE, MISSING, damaged, explained, failure, in_words
from .files import FORKING
from .records import Record, unseal
from .server_table import begun, flaws, made, named

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_WRITE = begun("ISOLATION LEVEL READ COMMITTED READ WRITE")
_READ = begun("ISOLATION LEVEL REPEATABLE READ READ ONLY")
_AGAIN = ("40001", "40P01", "23505")  # another process was first: nothing was written here
_LOCK = 0x6F74_6B6C  # "otkl": sets these locks apart from those of other programs
_WITHIN = (
    "this thread is in the middle of a debit from it, or of reading it: a signal's handler must not use it, "
    "but set a flag by which its program does when the handler has returned"
)
_BUSY: set[str] = set()  # the places in use, by the one thread that has its turn


class PostgresLog:
    """The records of one name in the table ``opendp_topk_ledger`` of a schema."""

    def __init__(self, address: str) -> None:
        self._driver = _driver()
        self._address = server_address.read(address)
        self.place = self._address.place
        self._table = named(self._address.schema)
        self._key = _LOCK, zlib.crc32(self.place.partition("#")[2].encode()) - 2**31
        self._connection: psycopg.Connection[Any] | None = None
        self._lent: psycopg.Connection[Any] | None = None
        self._process = 0
        self._mark: Record | None = None
        self._warned: list[str] = []

    # proof-region: postgres
    @explained("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` makes of the last record, and return when it is on the disk.

        ``make`` may be called again where another process was first. ``durable`` says nothing here: every row is.
        """

        def work(connection: psycopg.Connection[Any]) -> Record:
            last = self._last(connection)
            self._lent = connection
            try:
                text = make(last)
            finally:
                self._lent = None
            return self._insert(connection, text, last.number + 1)

        self._mark = self._serialised(work, self._locked("ROW EXCLUSIVE"))
        return self._mark

    def _insert(self, connection: psycopg.Connection[Any], text: str, number: int) -> Record:
        made = unseal(text, number)
        assert made is not None
        row = self._address.name, made.number, text
        connection.execute(f"INSERT INTO {self._table} VALUES (%s, %s, %s)", row)  # [append]
        if [one.digest for one in self._select(connection, "AND number = %s", made.number)] != [made.digest]:
            raise failure(self.place, "written", "its table did not keep a row")  # [read-back]
        return made

    def _locked(self, mode: str) -> str:
        """The statement that keeps the table as it is until the transaction ends; others may write rows meanwhile."""
        return f"LOCK TABLE ONLY {self._table} IN {mode} MODE"  # [kept-as-it-is]

    def _serialised(self, work: Callable[[psycopg.Connection[Any]], T], start: str) -> T:
        """What ``work`` returns, once its transaction is committed; it may run again where another was first."""

        def turns(connection: psycopg.Connection[Any]) -> T:
            end = time.monotonic() + locks.PATIENCE
            while time.monotonic() < end:
                done = self._turn(connection, work, start)
                if done:
                    return done[0]
            raise failure(self.place, "written", "other processes were always first")

        return self._exclusively(turns)

    def _turn(
        self, connection: psycopg.Connection[Any], work: Callable[[psycopg.Connection[Any]], T], start: str
    ) -> list[T]:
        """What ``work`` returns in a transaction of its own; nothing where another process was first."""
        alone = "SELECT pg_advisory_xact_lock({}, {})".format(
            *self._key
        )  # spares attempts: the key of the table decides
        try:
            connection.execute(f"{_WRITE}; {start}; {alone}")  # [exclusive]
            self._require_sound(connection, "written")  # [sound-table]
            done = [work(connection)]
            self._warned.clear()
            if connection.execute("COMMIT").statusmessage != "COMMIT" or self._warned:  # [durable]
                raise failure(self.place, "written", "the server could not say that it is on all its disks")
            return done
        except self._driver.Error as error:
            if error.sqlstate not in _AGAIN:
                raise
        connection.execute("ROLLBACK")  # [rollback]
        return []

    def _require_sound(self, connection: psycopg.Connection[Any], deed: str) -> None:
        found = flaws(connection, self._address.schema)
        if found:
            raise failure(self.place, deed, "; ".join(found))

    def _exclusively(self, deed: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What ``deed`` returns of the connection of this process, which is closed after every error.

        No generator stands between taking the turn and giving it back, where Ctrl-C would leave it taken.
        """
        with FORKING:  # [one-thread]
            if self.place in _BUSY:
                raise failure(self.place, "used", _WITHIN)
            try:
                _BUSY.add(self.place)
                if self._connection is None or self._process != os.getpid():  # [process]
                    self._connection, self._process = self._connect(), os.getpid()
                return deed(self._connection)
            except BaseException:
                self.close()  # [closed-on-error]
                raise
            finally:
                _BUSY.discard(self.place)

    def _connect(self) -> psycopg.Connection[Any]:
        reason = ""
        try:
            connection: psycopg.Connection[Any] = self._driver.connect(**self._address.options, autocommit=True)
            connection.add_notice_handler(self._notice)
            return connection
        except (self._driver.Error, UnicodeError) as error:
            reason = in_words(str(error), str(self._address.options.get("password") or ""))
        raise failure(self.place, "reached", reason)

    def _notice(self, notice: Any) -> None:
        if notice.severity_nonlocalized == "WARNING":  # as for a commit that did not wait for a replica
            self._warned.append(notice.sqlstate)

    def _last(self, connection: psycopg.Connection[Any]) -> Record:
        rows = self._select(connection, "ORDER BY number DESC LIMIT 1")
        if not rows:
            raise failure(self.place, "read", GONE)
        if self._mark is not None:
            seen = self._select(connection, "AND number = %s", self._mark.number)
            if [one.digest for one in seen] != [self._mark.digest]:  # [mark]
                raise failure(self.place, "read", "an older copy or another ledger has taken its place")
        return rows[0]  # [last]

    def _select(self, connection: psycopg.Connection[Any], rest: str, *values: Any) -> list[Record]:
        query = f"SELECT number, record FROM ONLY {self._table} WHERE ledger = %s {rest}"
        rows = connection.execute(query, (self._address.name, *values))
        found = [(number, unseal(text, number)) for number, text in rows]
        if any(record is None or record.number != number for number, record in found):  # [own-number]
            raise damaged(self.place)
        return [record for _, record in found if record is not None]

    # end-proof-region: postgres

    @explained("created")
    def create(self, header: str) -> None:
        """Make the table if there is none, and the first record.

        Raises:
            LedgerError: There is a first record of this name, or it cannot be made.
        """

        def work(connection: psycopg.Connection[Any]) -> None:
            if self._select(connection, "ORDER BY number LIMIT 1"):
                raise failure(self.place, "created", EXISTS)
            self._insert(connection, header, 0)

        lock = self._locked("ROW EXCLUSIVE")
        for start in (lock, f"{made(self._address.schema)}; {lock}", lock):
            try:
                self._serialised(work, start)
                return
            except (self._driver.errors.UndefinedTable, self._driver.errors.DuplicateTable):
                continue  # there is none yet; or another process has just made it
        raise failure(self.place, "created", "its table comes and goes")

    @explained("opened")
    def first(self) -> Record:
        """The first record: what the ledger is for."""

        def work(connection: psycopg.Connection[Any]) -> list[Record]:
            self._require_sound(connection, "opened")
            return self._select(connection, "AND number = 0")

        found = self._reading(work)
        if not found:
            raise failure(self.place, "opened", MISSING)
        return found[0]

    @explained("read")
    def last(self) -> Record:
        """The last record."""

        def work(connection: psycopg.Connection[Any]) -> Record:
            self._require_sound(connection, "read")
            return self._last(connection)

        self._mark = self._reading(work)
        return self._mark

    @explained("read")
    def records(self, after: Record | None = None) -> list[Record]:
        """All records in their order, or those after one of them; also while :meth:`append` makes one."""
        since = -1 if after is None else after.number

        def work(connection: psycopg.Connection[Any]) -> list[Record]:
            return self._select(connection, "AND number > %s ORDER BY number", since)

        lent, self._lent = self._lent, None
        if lent is None:
            return self._reading(work)
        try:
            return work(lent)
        finally:
            self._lent = lent

    @explained("checked")
    def flaws(self) -> list[str]:
        """What in the table and the server's settings is not as it must be."""
        return self._reading(lambda connection: flaws(connection, self._address.schema))

    def _reading(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What ``work`` returns in a transaction that changes nothing."""

        def deed(connection: psycopg.Connection[Any]) -> T:
            connection.execute(f"{_READ}; {self._locked('ACCESS SHARE')}")
            done = work(connection)
            connection.execute("COMMIT")
            return done

        return self._exclusively(deed)

    def sync(self) -> None:
        """Every commit waits for the disk already."""

    def close(self) -> None:
        """Close the connection; the next use opens one."""
        with FORKING:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == os.getpid():
                with suppress(self._driver.Error):
                    connection.close()


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise MissingExtraError('a ledger on a server needs psycopg 3: pip install "opendp_topk[postgres]"')
    return psycopg
