"""The log of a ledger on a PostgreSQL server: a row for each record, whose key no two transactions can both write.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.home import process
from ..errors import MissingExtraError
from . import locks, server_address
from .failures import EXISTS, GONE, MISSING, damaged, explained, failure, in_words
from .records import Record, unseal
from .server_table import Rows, begun, flaws, look, made, named, require_sound, said
from .turns import BUSY, Turn, in_work

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_WRITE, _READ = "ISOLATION LEVEL READ COMMITTED READ WRITE", "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PAGE = 1000  # records that are read at once
_AGAIN = ("40001", "40P01", "23505")  # another process was first: nothing was written here
_LOCK = 0x6F74_6B6C  # "otkl": sets these locks apart from those of other programs
_WITHIN = (
    "this thread is in the middle of a debit from it, or of reading it: a signal's handler must not use it, "
    "but set a flag by which its program does when the handler has returned"
)


class PostgresLog:
    """The records of one name in the table ``opendp_topk_ledger`` of a schema."""

    def __init__(self, address: str) -> None:
        self._driver = _driver()
        self._address = server_address.read(address)
        self.place = self._address.place
        self.turn = Turn()
        self._table = named(self._address.schema)
        self._key = _LOCK, zlib.crc32(self.place.partition("#")[2].encode()) - 2**31
        self._connection: psycopg.Connection[Any] | None = None
        self._lent: tuple[int, psycopg.Connection[Any]] | None = None  # to a thread
        self._process: object = None
        self._mark: Record | None = None
        self._warned: list[str] = []

    # proof-region: postgres
    @explained("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` makes of the last record, and return when it is on the disk.

        ``make`` may be called again where another process was first. Without ``durable`` the record may be lost if the
        server fails, alone or with others that follow it.
        """

        def followed(last: Record | None) -> str:
            if last is None:
                raise failure(self.place, "read", GONE)
            return make(last)

        return self._serialised(followed, self._locked("ROW EXCLUSIVE"), durable=durable)

    def _locked(self, mode: str) -> str:
        """The statement that keeps the table as it is until the transaction ends; others may write rows meanwhile."""
        return f"LOCK TABLE ONLY {self._table} IN {mode} MODE"  # [kept-as-it-is]

    def _serialised(self, make: Callable[[Record | None], str], start: str, *, durable: bool = True) -> Record:
        """The record whose text ``make`` makes of the last one, once it is committed; again where another was first."""

        def turns(connection: psycopg.Connection[Any]) -> Record:
            end = time.monotonic() + locks.PATIENCE
            while time.monotonic() < end:
                made = self._turn(connection, make, start, durable=durable)
                if made is not None:
                    if durable:  # what may be lost with its server would be missed
                        self._mark = made
                    return made
            raise failure(self.place, "written", "other processes were always first")

        return self._exclusively(turns)

    def _turn(
        self, connection: psycopg.Connection[Any], make: Callable[[Record | None], str], start: str, *, durable: bool
    ) -> Record | None:
        """The record that is written in a transaction of its own; None where another process was first.

        What is asked of the server is asked in two messages: one before ``make`` and one after it.
        """
        one, other = self._key
        alone = f"SELECT pg_advisory_xact_lock({one}, {other})"  # spares attempts: the key of the table decides
        try:
            looks = [look(self._address.schema)] if durable else []  # what is not waited for charges nothing
            _, *found, last, seen = said(connection, begun(_WRITE), start, alone, *looks, *self._ends())[
                0
            ]  # [exclusive]
            for rows in found:
                require_sound(self.place, "written", rows)  # [sound-table]
            text = self._with(connection, lambda: make(self._last(last, seen)))
            made = unseal(text)
            assert made is not None
            made = made._replace(place=made.number)
            row = f"INSERT INTO {self._table} VALUES ({self._name}, {made.number}, {self._quoted(text)})"  # [append]
            wait = [] if durable else ["SET LOCAL synchronous_commit = off"]
            self._warned.clear()
            (kept,), status = said(connection, *wait, row, self._rows(f"AND number = {made.number}"), "COMMIT")
            if [one.digest for one in self._read(kept)] != [made.digest]:
                raise failure(self.place, "written", "its table did not keep a row")  # [read-back]
            if status != "COMMIT" or self._warned:  # [durable]
                raise failure(self.place, "written", "the server could not say that it is on all its disks")
            return made
        except self._driver.Error as error:
            if error.sqlstate not in _AGAIN:
                raise
        connection.execute("ROLLBACK")  # [rollback]
        return None

    def _with(self, connection: psycopg.Connection[Any], work: Callable[[], T]) -> T:
        """What ``work`` returns, which may read records by this connection while nobody else writes."""
        try:
            self._lent = threading.get_ident(), connection
            return work()
        finally:
            self._lent = None

    def _ends(self) -> tuple[str, str]:
        """What is asked for the last record, and for the one that was seen last."""
        mark = -1 if self._mark is None else self._mark.number
        return self._rows("ORDER BY number DESC LIMIT 1"), self._rows(f"AND number = {mark}")

    def _last(self, last: Rows, seen: Rows) -> Record | None:
        if self._mark is not None and last and [one.digest for one in self._read(seen)] != [self._mark.digest]:
            raise failure(self.place, "read", "an older copy or another ledger has taken its place")  # [mark]
        return next(iter(self._read(last)), None)  # [last]

    def _rows(self, rest: str) -> str:
        return f"SELECT number, record FROM ONLY {self._table} WHERE ledger = {self._name} {rest}"

    def _read(self, rows: Rows) -> list[Record]:
        found = [(number, unseal(text, number)) for number, text in rows]
        if any(record is None or record.number != number for number, record in found):  # [own-number]
            raise damaged(self.place)
        return [record for _, record in found if record is not None]

    def _quoted(self, text: str) -> str:
        """A literal of SQL, by the rules of the connection that is open."""
        return str(self._driver.sql.Literal(text).as_string(self._connection))

    @property
    def _name(self) -> str:
        return self._quoted(self._address.name)

    def _exclusively(self, deed: Callable[[psycopg.Connection[Any]], T]) -> T:
        """What ``deed`` returns of the connection of this process, which is closed after every error.

        No generator stands between taking the turn and giving it back, where Ctrl-C would leave it taken.
        """
        with self.turn.lock:  # [one-thread]
            mine = in_work(self.place)
            if mine in BUSY:
                raise failure(self.place, "used", _WITHIN)
            try:
                BUSY.add(mine)
                if self._connection is None or self._process != process():  # [process]
                    self._lent = None
                    self._connection, self._process = self._connect(), process()
                return deed(self._connection)
            except BaseException:
                self.close()  # [closed-on-error]
                raise
            finally:
                BUSY.discard(mine)

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

    # end-proof-region: postgres

    @explained("created")
    def create(self, header: str) -> None:
        """Make the table if there is none, and the first record.

        Raises:
            LedgerError: There is a first record of this name, or it cannot be made.
        """

        def first(last: Record | None) -> str:
            if last is not None:
                raise failure(self.place, "created", EXISTS)
            return header

        lock = self._locked("ROW EXCLUSIVE")
        for start in (lock, f"{made(self._address.schema)}; {lock}", lock):
            try:
                self._serialised(first, start)
                return
            except (self._driver.errors.UndefinedTable, self._driver.errors.DuplicateTable):
                continue  # there is none yet; or another process has just made it
        raise failure(self.place, "created", "its table comes and goes")

    @explained("opened")
    def first(self) -> Record:
        """The first record: what the ledger is for."""
        found, rows = self._reading(lambda: (look(self._address.schema), self._rows("AND number = 0")))
        require_sound(self.place, "opened", found)
        if not rows:
            raise failure(self.place, "opened", MISSING)
        return self._read(rows)[0]

    @explained("read")
    def last(self) -> Record:
        """The last record."""
        found, rows, seen = self._reading(lambda: (look(self._address.schema), *self._ends()))
        require_sound(self.place, "read", found)
        last = self._last(rows, seen)
        if last is None:
            raise failure(self.place, "read", GONE)
        if last.fields.get("kind") != "state":
            self._mark = last
        return last

    # proof-region: pages
    def records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """All records in their order, or those after one of them; where ``holding`` is given, those whose text has it.

        They are read as they are asked for; also while :meth:`append` makes one.
        """
        since = -1 if after is None else after.number
        while page := self._page(since, holding):
            yield from page
            since = page[-1].number  # [next-page]

    @explained("read")
    def _page(self, since: int, holding: str) -> list[Record]:
        def query() -> tuple[str, ...]:
            told = f"AND pg_catalog.strpos(record, {self._quoted(holding)}) > 0" if holding else ""
            return (self._rows(f"AND number > {since} {told} ORDER BY number LIMIT {1 if holding else _PAGE}"),)

        if self._lent is not None and self._lent[0] == threading.get_ident():
            return self._read(said(self._lent[1], *query())[0][0])
        return self._read(self._reading(query)[0])

    # end-proof-region: pages

    def find(self, reached: Callable[[Record], bool]) -> Record | None:
        """The first record of which ``reached`` says yes, as it does of all that follow it; None if there is none.

        It is found by halving.
        """
        high = self.last()
        if not reached(high):
            return None
        low = -1
        while high.number - low > 1:
            one = self._at((low + high.number) // 2)
            if reached(one):
                high = one
            else:
                low = one.number
        return high

    @explained("read")
    def _at(self, number: int) -> Record:
        (rows,) = self._reading(lambda: (self._rows(f"AND number = {number}"),))
        for found in self._read(rows):
            return found
        raise damaged(self.place)

    @explained("checked")
    def flaws(self) -> list[str]:
        """What in the table and the server's settings is not as it must be."""
        return flaws(self._reading(lambda: (look(self._address.schema),))[0])

    def _reading(self, queries: Callable[[], tuple[str, ...]]) -> list[Rows]:
        """What the server answers in a transaction that changes nothing, in one message."""

        def deed(connection: psycopg.Connection[Any]) -> list[Rows]:
            start = f"{begun(_READ)}; {self._locked('ACCESS SHARE')}"
            return said(connection, start, *queries(), "COMMIT")[0]

        return self._exclusively(deed)

    @explained("read")
    def sync(self) -> None:
        """Return when all records are on the disk: a commit waits for what others wrote before it."""

        def deed(connection: psycopg.Connection[Any]) -> None:
            self._warned.clear()
            _, status = said(connection, begun(_WRITE), "SELECT pg_logical_emit_message(true, '', '')", "COMMIT")
            if status != "COMMIT" or self._warned:
                raise failure(self.place, "read", "the server could not say that it is on all its disks")

        self._exclusively(deed)

    def close(self) -> None:
        """Close the connection; the next use opens one."""
        with self.turn.lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == process():
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
