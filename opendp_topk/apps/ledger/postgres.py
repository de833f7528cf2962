"""Ledgers in a table of a PostgreSQL server."""

from __future__ import annotations

import heapq
import ipaddress
import os
import re
import selectors
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from ...core.home import process
from ...errors import LedgerError
from ...errors.extras import load
from . import locks
from .records import (
    EXISTS,
    GONE,
    MISSING,
    Record,
    accepted_in,
    bind,
    damaged,
    explained,
    failure,
    in_words,
    lasts,
    seal,
    unseal,
)
from .stated import name_of
from .turns import BUSY, Turn, in_work

if TYPE_CHECKING:
    import psycopg


# The address of a ledger on a PostgreSQL server: which server, database, schema and name, and how it is shown.
#
# What an address leaves open, libpq takes from the environment; it is looked up once, and shown. No part in which a
# password may stand is ever shown. To other machines connections are encrypted, unless ``sslmode`` says otherwise, in
# the address, the environment or a service.

_LONGEST = 2000  # characters of an address
_FORM = "postgresql://user@host:port/database#schema/name, with special characters as %XX"
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}", re.ASCII)  # longer names are cut by the server
_DEFAULT = "public", "budget"
ITSELF = "local" + "host"  # the name that every machine has for itself
_FIXED = ("host", "hostaddr", "port", "dbname", "user")
_KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
_WATCHED = {"connect_timeout": "60", **_KEEPALIVES, "tcp_user_timeout": "60000"}  # this one in milliseconds


@dataclass(frozen=True)
class Address:
    """Where a ledger is: what libpq connects to, the schema of its table, its name there, and what people are shown."""

    options: dict[str, Any] = field(repr=False)
    schema: str
    name: str
    place: str


def read(address: str) -> Address:
    """What ``address`` says.

    Raises:
        LedgerError: It is no address of PostgreSQL, is too long, or has an option that libpq does not know.
        ParameterError: The name of the ledger is no name.
    """
    text = str.__str__(address)
    head, _, fragment = text.partition("#")
    rest = head.partition("//")[2]
    if len(text) > _LONGEST or not text.isprintable():
        raise _refused(f"it must be printable and at most {_LONGEST} characters")
    if rest.count("@") > rest[: re.search(r"[/?]|$", rest).start()].count("@") or rest.count("@") > 1:  # type: ignore[union-attr]
        raise _refused("`@` may stand only between account and host")
    if "@" in fragment or "#" in fragment:
        raise _refused("neither `@` nor `#` may stand in the schema and the name")
    schema, name = _named(fragment)
    given = _parsed(head)
    found = {**({} if "service" in given else _environment()), **given}
    where = [str(found.get(part) or "") for part in ("host", "port", "dbname")]
    if not re.fullmatch(r"[0-9,]*", where[1]) or not "".join(where).isprintable():
        raise _refused("the port must be a number")
    host, port, database = where[0] or str(found.get("hostaddr") or ""), where[1], where[2] or found.get("user", "")
    place = f"postgresql://{host}{port and f':{port}'}/{database}#{schema}/{name}"
    stated = "service" in given or os.environ.get("PGSERVICE") or os.environ.get("PGSSLMODE") or _is_here(found)
    sealed = {} if stated else {"sslmode": "require"}
    return Address({**_WATCHED, **sealed, **found, "client_encoding": "UTF8"}, schema, name, place)


def _is_here(found: dict[str, Any]) -> bool:
    """Return True if all hosts are this machine, to which nobody listens on the way."""
    hosts = str(found.get("hostaddr") or found.get("host") or "").split(",")
    return all(not one or one[0] in "/@" or one == ITSELF or _is_loopback(one) for one in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _named(fragment: str) -> tuple[str, str]:
    """Schema and name; each of them may be left out."""
    try:
        parts = [unquote(part, errors="strict") for part in fragment.split("/")]
    except UnicodeDecodeError:
        parts = []
    if len(parts) not in (1, 2):
        raise _refused("behind # stand a schema and a name")
    schema, name = ("", *parts)[-2:]
    schema = schema or _DEFAULT[0]
    if not _SCHEMA.fullmatch(schema):
        raise _refused("the schema must be letters, digits and `_`, at most 63")
    return schema, name_of("the ledger's name behind #", name or _DEFAULT[1])


def _parsed(head: str) -> dict[str, Any]:
    from psycopg import Error, conninfo

    try:
        return dict(conninfo.conninfo_to_dict(head))
    except (Error, UnicodeError):  # whose words may hold a password
        pass
    known = {option.keyword.decode() for option in _options()} | {"ssl"}
    asked = [part.partition("=")[0] for part in head.partition("?")[2].split("&")]
    unknown = [name for name in asked if name and name not in known and name.isidentifier()]
    raise _refused(f"libpq knows no option {unknown[0]!r}" if unknown else "libpq cannot read it")


def _environment() -> dict[str, str]:
    """Return the values that libpq takes from the environment if the address does not set them."""
    values = {option.keyword.decode(): option.val for option in _options()}
    return {name: value.decode() for name in _FIXED if (value := values.get(name))}


def _options() -> list[Any]:
    from psycopg import pq

    return list(pq.Conninfo.get_defaults())


def _refused(reason: str) -> LedgerError:
    return LedgerError(f"the address of the ledger's server is refused: {reason}. It has the form {_FORM}")


# The table in which a PostgreSQL server keeps ledgers: how it is made, and what it and the server must be like.
#
# Proof: proofs/ledger/storage.tex

Rows = list[tuple[Any, ...]]
TABLE = "opendp_topk_ledger"
_COLUMNS = "ledger text t f t C, number bigint t f t -, record text t f t C"
_PATIENT, _ABANDONED = "120s", "60s"  # for a lock; and for a client that has begun a transaction and says nothing


# proof-region: table
def named(schema: str) -> str:
    """The table of ``schema``, as every statement names it."""
    return f'"{schema}"."{TABLE}"'  # [schema]


def made(schema: str) -> str:
    """The statement that makes the table."""
    return (
        f'CREATE TABLE {named(schema)} (ledger text COLLATE "C" NOT NULL, number bigint NOT NULL,'
        ' record text COLLATE "C" NOT NULL, PRIMARY KEY (ledger, number)) USING heap'
    )


def begun(mode: str) -> str:
    """The statements that begin a transaction, in which no setting of the role or the session counts."""
    return (
        f"BEGIN {mode};"
        " SET LOCAL search_path = pg_catalog, pg_temp;"  # [search-path]
        " SET LOCAL synchronous_commit = on;"  # [synchronous]
        " SET LOCAL client_min_messages = warning;"  # [warnings]
        " SET LOCAL quote_all_identifiers = off;"  # which would change the names of types
        " SET LOCAL row_security = off;"  # an error in place of rows that are hidden
        " SET LOCAL statement_timeout = 0;"  # which would end a commit's wait for a replica, and count as success
        f" SET LOCAL lock_timeout = '{_PATIENT}';"
        f" SET LOCAL idle_in_transaction_session_timeout = '{_ABANDONED}'"
    )


_HAS = "EXISTS (SELECT FROM pg_catalog."
_HIDING = "data_sync_retry", "zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages"
FLAWS = {
    "the table is no ordinary one, but a view, partitioned, a partition, or elsewhere": (
        "c.relkind <> 'r' OR c.relispartition"  # [ordinary]
    ),
    "the table is UNLOGGED or temporary: a crash would empty it": "c.relpersistence <> 'p'",  # [permanent]
    "the table inherits from another one, or another one from it": (
        f"{_HAS}pg_inherits WHERE c.oid IN (inhrelid, inhparent))"
    ),
    "the table is not kept by PostgreSQL's own heap": (
        "c.relkind = 'r' AND c.relam <> (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'heap')"
    ),
    "the table has other columns than a ledger's": (
        "(SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, pg_catalog.format_type(a.atttypid,"
        " a.atttypmod), a.attnotnull, a.atthasdef, a.attidentity = '' AND a.attgenerated = '',"
        " CASE a.attcollation WHEN 0 THEN '-' WHEN 'pg_catalog.\"C\"'::pg_catalog.regcollation THEN 'C' ELSE '?' END),"
        " ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0"
        f" AND NOT a.attisdropped) IS DISTINCT FROM '{_COLUMNS}'"
    ),
    "the table has no primary key of a ledger's": (
        f"NOT {_HAS}pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisunique AND i.indisvalid"
        " AND i.indisready AND i.indislive AND i.indimmediate AND i.indkey::text = '1 2')"  # [key]
    ),
    "the table has other constraints or indexes than its primary key": (
        "(SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid = c.oid) > 1"
        f" OR {_HAS}pg_constraint WHERE conrelid = c.oid AND contype NOT IN ('p', 'n'))"
    ),
    "the table has triggers": f"{_HAS}pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal)",  # [no-triggers]
    "the table has rules": f"{_HAS}pg_rewrite WHERE ev_class = c.oid)",  # [no-rules]
    "the table has row security": (
        f"c.relrowsecurity OR c.relforcerowsecurity OR {_HAS}pg_policy WHERE polrelid = c.oid)"
    ),
    "the table is the target of a subscription, which writes to it what was paid elsewhere": (
        f"{_HAS}pg_subscription_rel WHERE srrelid = c.oid)"  # [no-subscription]
    ),
    "the server does not wait for its disk (fsync is off)": "pg_catalog.current_setting('fsync') <> 'on'",  # [fsync]
    "the server may tear pages (full_page_writes is off)": "pg_catalog.current_setting('full_page_writes') <> 'on'",
    f"the server hides lost writes ({', '.join(_HIDING[:-1])} or {_HIDING[-1]} is on)": " OR ".join(
        f"pg_catalog.current_setting('{one}') <> 'off'"
        for one in _HIDING  # [hides-nothing]
    ),
    "the server does not wait for commits": "pg_catalog.current_setting('synchronous_commit') <> 'on'",
    "the server is a standby, which may lag behind": "pg_catalog.pg_is_in_recovery()",  # [primary]
}


LASTING = """AND pg_catalog.strpos(record, '"kind":"state"') = 0"""  # what was waited for; a text has \\" for "
_OWN = (  # of a copy, a restored dump, another server or one that was promoted, some of it differs
    "pg_catalog.concat_ws('/',"
    " 'server ' || (SELECT system_identifier FROM pg_catalog.pg_control_system()), d.oid, c.oid,"
    " CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN"
    " pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END)"  # [own-server]
)
_SERVER = re.compile(r"server [0-9]+/[0-9]+/[0-9]+(/[0-9A-F]{8})?", re.ASCII)


def is_server(kind: str) -> bool:
    """Return True if what a ledger accepts is a server with its table, at one of its timelines or at all of them."""
    return _SERVER.fullmatch(kind) is not None


def accepts_server(accepted: Iterable[str], own: str) -> bool:
    """Return True if a server is among those that are accepted, by its timeline or without one."""
    return not {own, own.rpartition("/")[0]}.isdisjoint(accepted)


def look(schema: str) -> str:
    """The query by which the table and the server are looked at."""
    return (
        f"SELECT {', '.join(FLAWS.values())}, {_OWN}"
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()"
        f" WHERE n.nspname = '{schema}' AND c.relname = '{TABLE}'"
    )


def flaws(found: Rows) -> list[str]:
    """What of the table and the server is not as the proof assumes; the table is locked and cannot change meanwhile."""
    if not found:
        return ["its table is not to be found"]
    return [text for text, flawed in zip(FLAWS, found[0][:-1], strict=True) if flawed is not False]


def require_sound(place: str, deed: str, found: Rows) -> str:
    """What a ledger in this table is bound to; raise where there is a flaw."""
    if wrong := flaws(found):
        raise failure(place, deed, "; ".join(wrong))
    return str(found[0][-1])


def said(connection: psycopg.Connection[Any], *statements: str) -> tuple[list[Rows], str | None]:
    """The rows of each statement that returns any, and the status of the last statement.

    All are sent in one message; none is run after one that fails.
    """
    cursor = connection.execute("; ".join(statements))
    found: list[Rows] = []
    while True:
        found += [cursor.fetchall()] if cursor.description else []
        status = cursor.statusmessage
        if not cursor.nextset():
            return found, status


# end-proof-region: table


# The log of a ledger on a PostgreSQL server: a row for each record, whose key no two transactions can both write.
#
# Proof: proofs/ledger/storage.tex

T = TypeVar("T")

_WRITE, _READ = "ISOLATION LEVEL READ COMMITTED READ WRITE", "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PAGE = 1000  # records that are read at once
_AGAIN = ("40001", "40P01", "23505")  # another process was first: nothing was written here
_LOCK = 0x6F74_6B6C  # "otkl": sets these locks apart from those of other programs
_WITHIN = (
    "this thread is in the middle of a debit from it, or of reading it: a signal's handler must not use it, "
    "but set a flag by which its program does when the handler has returned"
)
_HARMLESS = "DEBUG", "LOG", "INFO", "NOTICE"
_SET_BACK = (
    "what was read of it is there no more: an older copy or another ledger has taken its place, "
    "or its server crashed while it was read"
)
_MOVED = (
    "it is bound to another server or table: this one was restored or copied, or its server was promoted. "
    "If no release is missing here, and nobody goes on with the other one, state accept_file_system={!r}"
)


class PostgresLog:
    """The records of one name in the table ``opendp_topk_ledger`` of a schema."""

    def __init__(self, address: str, accepts: str | None = None) -> None:
        self._driver = _driver()
        self._accepts = [] if accepts is None else [accepts]
        self._server = ""  # what the last look said that a ledger is bound to
        self._address = read(address)
        self.place = self._address.place
        self.turn = Turn()
        self._table = named(self._address.schema)
        self._key = _LOCK, zlib.crc32(self.place.partition("#")[2].encode()) - 2**31
        self._connection: psycopg.Connection[Any] | None = None
        self._lent: tuple[int, psycopg.Connection[Any]] | None = None  # to a thread
        self._process: object = None
        self._mark = [(-1, "")]  # of all records that were seen here and are on the disk the last: number and digest
        self._warned: list[str] = []

    # proof-region: postgres
    @explained("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` makes of the last record, and return when it is on the disk.

        ``make`` may be called again where another process was first. Without ``durable`` the record may be lost if the
        server fails, alone or with others that follow it. A ledger that is bound to no server is bound to it first.
        """
        bound = False

        def followed(last: Record | None) -> str:
            nonlocal bound
            if last is None:
                raise failure(self.place, "read", GONE)
            accepted = accepted_in(last)
            if durable and (moved := self._moved(accepted)):
                raise failure(self.place, "written", moved)  # [same-server]
            bound = not durable or any(map(is_server, accepted))
            return make(last) if bound else bind(last, self._server)  # [bound-first]

        while True:
            made = self._serialised(followed, self._locked("ROW EXCLUSIVE"), durable=durable)
            if bound:
                return made

    def _moved(self, accepted: list[str]) -> str:
        """Why no debit is taken here: nothing where the ledger is bound to no server, or to this one."""
        elsewhere = any(map(is_server, accepted)) and not accepts_server([*accepted, *self._accepts], self._server)
        return _MOVED.format(self._server) if elsewhere else ""

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
                    self._remember(*([made] if durable else []))  # what may be lost with its server would be missed
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
            mark, *ends = self._ends()
            _, *found, seen, last, lasting = said(connection, begun(_WRITE), start, alone, *looks, *ends)[
                0
            ]  # [exclusive]
            for rows in found:
                self._server = require_sound(self.place, "written", rows)  # [sound-table]
            text = self._with(connection, lambda: make(self._last(mark, seen, last, lasting)))
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

    def _ends(self) -> tuple[tuple[int, str], str, str, str]:
        """The mark, and what is asked for its record, for the last one, and for the last that was waited for."""
        mark = self._mark[0]
        last, lasting = (self._rows(f"{which} ORDER BY number DESC LIMIT 1") for which in ("", LASTING))
        return mark, self._rows(f"AND number = {mark[0]}"), last, lasting

    def _last(self, mark: tuple[int, str], seen: Rows, last: Rows, lasting: Rows) -> Record | None:
        if last:
            self._require_there(mark, seen)
            self._known(lasting)
        return next(iter(self._read(last)), None)  # [last]

    def _require_there(self, kept: tuple[int, str], found: Rows) -> None:
        """Raise unless the record with this number and digest, which was read before, is what was found."""
        if kept[1] and [one.digest for one in self._read(found)] != [kept[1]]:
            raise failure(self.place, "read", _SET_BACK)  # [mark]

    def _known(self, rows: Rows) -> list[Record]:
        """The records of rows that are committed, which are missed from now on if they are on the disk."""
        found = self._read(rows)
        self._remember(*filter(lasts, found))
        return found

    def _remember(self, *found: Record) -> None:
        """Keep as the mark what lies behind it of these records: one step each, whichever threads do this."""
        for record in found:
            heapq.heappushpop(self._mark, _marked(record))

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
                if self._connection is None or self._process != process() or _is_ended(self._connection):  # [process]
                    self.close()
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
        if notice.severity_nonlocalized not in _HARMLESS:  # as for a commit that did not wait for a replica
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
            told = unseal(header)
            assert told is not None
            return seal({**told.fields, "accepted": [self._server]})

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
        (rows,) = self._reading(lambda: (self._rows("AND number = 0"),), "opened")
        if not rows:
            raise failure(self.place, "opened", MISSING)
        return self._known(rows)[0]

    @explained("read")
    def last(self) -> Record:
        """The last record."""
        rows, lasting = self._reading(lambda: self._ends()[2:], "read")
        self._known(lasting)
        for last in self._read(rows):
            return last
        raise failure(self.place, "read", GONE)

    # proof-region: pages
    def records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """All records in their order, or those after one of them; where ``holding`` is given, those whose text has it.

        They are read as they are asked for; also while :meth:`append` makes one.
        """
        while page := self._page(after, holding):
            yield from page
            after = page[-1]  # [next-page]

    @explained("read")
    def _page(self, after: Record | None, holding: str) -> list[Record]:
        since = (-1, "") if after is None else _marked(after)

        def query() -> tuple[str, ...]:
            told = f"AND pg_catalog.strpos(record, {self._quoted(holding)}) > 0" if holding else ""
            page = f"AND number > {since[0]} {told} ORDER BY number LIMIT {1 if holding else _PAGE}"
            return self._rows(f"AND number = {since[0]}"), self._rows(page)

        lent = self._lent is not None and self._lent[0] == threading.get_ident()
        there, rows = said(self._lent[1], *query())[0] if lent and self._lent else self._reading(query)
        self._require_there(since, there)  # [same-before]
        return self._known(rows)

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
        for found in self._known(rows):
            return found
        raise damaged(self.place)

    @explained("checked")
    def flaws(self) -> list[str]:
        """Return the flaws of the table and of the server's settings."""
        found, last = self._exclusively(lambda one: self._answers(one, look(self._address.schema), self._ends()[2]))
        wrong = flaws(found)
        if wrong:
            return wrong
        self._server = require_sound(self.place, "checked", found)
        return [moved for one in self._read(last) if (moved := self._moved(accepted_in(one)))]

    def _answers(self, connection: psycopg.Connection[Any], *queries: str) -> list[Rows]:
        """What the server answers in a transaction that changes nothing, in one message."""
        return said(connection, begun(_READ), self._locked("ACCESS SHARE"), *queries, "COMMIT")[0]

    def _reading(self, queries: Callable[[], tuple[str, ...]], goal: str = "") -> list[Rows]:
        """What the server answers if the mark is there, and if the table is sound, where that is asked for a goal."""

        def deed(connection: psycopg.Connection[Any]) -> list[Rows]:
            mark, there, *_ = self._ends()
            looks = [look(self._address.schema)] if goal else []
            found = self._answers(connection, *looks, there, *queries())
            for rows in found[: len(looks)]:
                require_sound(self.place, goal, rows)
            self._require_there(mark, found[len(looks)])
            return found[len(looks) + 1 :]

        return self._exclusively(deed)

    @explained("read")
    def sync(self) -> Record:
        """The last record, when it is on the disk with all before it: a commit waits for what was written before it."""

        def deed(connection: psycopg.Connection[Any]) -> Record | None:
            self._warned.clear()
            mark, *ends = self._ends()
            wait = "SELECT pg_logical_emit_message(true, '', '')"
            (*found, _), status = said(connection, begun(_WRITE), *ends, wait, "COMMIT")
            if status != "COMMIT" or self._warned:
                raise failure(self.place, "read", "the server could not say that it is on all its disks")
            return self._last(mark, *found)

        last = self._exclusively(deed)
        if last is None:
            raise failure(self.place, "read", GONE)
        self._remember(last)
        return last

    def close(self) -> None:
        """Close the connection; the next use opens one."""
        with self.turn.lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == process():
                with suppress(self._driver.Error):
                    connection.close()


def _marked(record: Record) -> tuple[int, str]:
    return record.number, record.digest


def _is_ended(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has ended a connection that was idle; nothing is sent to ask, and what it sent is its end."""
    with selectors.DefaultSelector() as one:
        return connection.closed or bool(one.register(connection, selectors.EVENT_READ) and one.select(0))


def _driver() -> Any:
    return load("psycopg", "a ledger on a server needs psycopg 3", "opendp_topk[postgres]")
