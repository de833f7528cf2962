"""The log of a ledger on a PostgreSQL server: a row for each record, written in serialisable transactions.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from ..errors import MissingExtraError
from .failures import EXISTS, GONE, MISSING, damaged, explained, failure
from .files import FORKING
from .locks import PATIENCE
from .records import Record, unseal
from .units import name_of

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_TABLE = "opendp_topk_ledger"
_COLUMNS = [("ledger", "text", "NO"), ("number", "bigint", "NO"), ("record", "text", "NO")]
_SCHEMA = f"""CREATE TABLE IF NOT EXISTS {_TABLE} (
    ledger text NOT NULL, number bigint NOT NULL, record text NOT NULL, PRIMARY KEY (ledger, number))"""
_AGAIN = ("40001", "40P01", "23505", "42P07")  # another process was first: nothing was written here
_LOCK = 0x6F74_6B6C  # "otkl": sets these locks apart from those of other programs
_TIMES = 50  # each time another process has written, so that it ends


class PostgresLog:
    """The records of one name in the table ``opendp_topk_ledger`` of a database.

    The address is one of libpq; what stands behind ``#`` is the ledger's name, ``budget`` if nothing does.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.name = name_of("the ledger's name behind #", unquote(parts.fragment) or "budget")
        self.place = f"postgresql://{parts.hostname or ''}{parts.path}#{self.name}"
        self._address = address.partition("#")[0]
        self._driver = _driver()
        self._connection: psycopg.Connection[Any] | None = None
        self._process = 0
        self._mark: Record | None = None

    # proof-region: postgres
    @explained("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` makes of the last record, and return when it is on the disk.

        ``make`` may be called again where another process was first. ``durable`` says nothing here: every row is.
        """

        def work(connection: psycopg.Connection[Any]) -> Record:
            last = self._last(connection)
            text = make(last)
            made = unseal(text, last.number + 1)
            assert made is not None
            row = self.name, made.number, text
            connection.execute(f"INSERT INTO {_TABLE} VALUES (%s, %s, %s)", row)  # [append]
            if [one.digest for one in self._select(connection, "AND number = %s", made.number)] != [made.digest]:
                raise failure(self.place, "written", "its table did not keep a row")  # [read-back]
            return made

        self._mark = self._serialised(work)
        return self._mark

    def _serialised(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What ``work`` returns, once its transaction is committed; it may run again where another was first."""
        with self._locked() as connection:
            for _ in range(_TIMES):
                try:
                    connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")  # [exclusive]
                    done = work(connection)
                    connection.execute("COMMIT")  # [durable]
                    return done
                except self._driver.Error as error:
                    if error.sqlstate not in _AGAIN:
                        raise
                    connection.execute("ROLLBACK")  # [rollback]
        raise failure(self.place, "written", "other processes were always first")

    @contextmanager
    def _locked(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, while no other process that does the same holds the lock of this name."""
        with self._connected() as connection:
            key = _LOCK, self.name
            connection.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", key)
            yield connection
            connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", key)

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection of this process, for one thread at a time; it is closed after every error."""
        with FORKING:  # [one-thread]
            if self._connection is None or self._process != os.getpid():  # [process]
                self._connection, self._process = self._connect(), os.getpid()
            connection = self._connection
            try:
                yield connection
            except BaseException:
                self.close()  # [closed-on-error]
                raise

    def _connect(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = self._driver.connect(
            self._address, autocommit=True, connect_timeout=int(PATIENCE)
        )
        connection.execute("SET synchronous_commit = on")  # [synchronous]
        connection.execute(f"SET lock_timeout = '{PATIENCE:.0f}s'")
        if connection.execute("SHOW fsync").fetchone() != ("on",):  # [fsync]
            raise failure(self.place, "opened", "the server does not wait for its disk (fsync is off)")
        return connection

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
        query = f"SELECT number, record FROM {_TABLE} WHERE ledger = %s {rest}"
        found = [(number, unseal(text, number)) for number, text in connection.execute(query, (self.name, *values))]
        if any(record is None or record.number != number for number, record in found):  # [own-number]
            raise damaged(self.place)
        return [record for _, record in found if record is not None]

    # end-proof-region: postgres

    @explained("created")
    def create(self, header: str) -> None:
        """Make the table if there is none, and the first record.

        Raises:
            LedgerError: There is a first record of this name.
        """

        def work(connection: psycopg.Connection[Any]) -> None:
            connection.execute(_SCHEMA)
            if self._select(connection, "ORDER BY number LIMIT 1"):
                raise failure(self.place, "created", EXISTS)
            connection.execute(f"INSERT INTO {_TABLE} VALUES (%s, 0, %s)", (self.name, header))

        self._serialised(work)

    @explained("opened")
    def first(self) -> Record:
        """The first record: what the ledger is for."""
        with self._connected() as connection:
            found = self._select(connection, "AND number = 0")
        if not found:
            raise failure(self.place, "opened", MISSING)
        return found[0]

    @explained("read")
    def last(self) -> Record:
        """The last record."""
        with self._connected() as connection:
            self._mark = self._last(connection)
        return self._mark

    @explained("read")
    def records(self, after: Record | None = None) -> list[Record]:
        """All records in their order, or those after one of them."""
        with self._connected() as connection:
            return self._select(connection, "AND number > %s ORDER BY number", -1 if after is None else after.number)

    @explained("checked")
    def flaws(self) -> list[str]:
        """What in the table's schema is not as it was made: columns, triggers, rules, row security."""
        with self._connected() as connection:
            columns = connection.execute(
                "SELECT column_name, data_type, is_nullable FROM information_schema.columns"
                " WHERE table_name = %s AND table_schema = current_schema() ORDER BY ordinal_position",
                (_TABLE,),
            ).fetchall()
            found = [] if columns == _COLUMNS else ["the table has other columns than a ledger's"]
            for what, query in _FOREIGN.items():
                if connection.execute(query, (_TABLE,)).fetchone() != (0,):
                    found.append(f"the table has {what}")
        return found

    def sync(self) -> None:
        """Every commit waits for the disk already."""

    def close(self) -> None:
        """Close the connection; the next use opens one."""
        with FORKING:
            if self._connection is not None and self._process == os.getpid():
                with suppress(self._driver.Error):
                    self._connection.close()
            self._connection = None


_FOREIGN = {
    "triggers": "SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal",
    "rules": "SELECT count(*) FROM pg_rewrite WHERE ev_class = %s::regclass",
    "row security": "SELECT count(*) FROM pg_class WHERE oid = %s::regclass AND (relrowsecurity OR relkind <> 'r')",
    "no primary key": "SELECT 1 - count(*) FROM pg_index WHERE indrelid = %s::regclass AND indisprimary",
}


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise MissingExtraError('a ledger on a server needs psycopg 3: pip install "opendp_topk[postgres]"')
    return psycopg
