"""Ledgers in a table of a PostgreSQL server.

Proof: proofs/ledger/storage.tex
"""

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

from ...core.home import process_identity
from ...errors import LedgerError
from ...errors.extras import import_extra
from ...errors.locking import run_holding_lock
from . import locks
from .records import (
    EXISTS,
    GONE,
    MISSING,
    Record,
    accepted_kinds_in,
    convert_to_ledger_error,
    damaged_log_error,
    is_durable_record,
    ledger_error,
    printable_message,
    seal_record,
    server_binding_text,
    unseal_record,
)
from .stated import validate_name
from .turns import BUSY, LedgerLock, busy_debit_key

if TYPE_CHECKING:
    import psycopg


# Address of a ledger on a PostgreSQL server: its server, database, schema and name, and how it is shown.
#
# Options that the address omits are taken from the environment by libpq. They are read once, and shown. No part that
# may contain a password is ever shown. Connections to other machines are encrypted, unless the address or the
# environment sets ``sslmode`` or uses a service.

_LONGEST = 2000  # maximum characters of an address
_FORM = "postgresql://user@host:port/database#schema/name, with special characters as %XX"
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}", re.ASCII)  # the server truncates longer names
_DEFAULT = "public", "budget"
ITSELF = "local" + "host"  # name of the local machine
_FIXED = ("host", "hostaddr", "port", "dbname", "user")
_KEEPALIVES = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
_WATCHED = {"connect_timeout": "60", **_KEEPALIVES, "tcp_user_timeout": "60000"}  # this one in milliseconds


@dataclass(frozen=True)
class ServerAddress:
    """Location of a ledger: options of libpq, the schema of its table, its name there, and the address to show."""

    options: dict[str, Any] = field(repr=False)
    schema: str
    name: str
    place: str


def parse_address(address: str) -> ServerAddress:
    text = str.__str__(address)
    head, _, fragment = text.partition("#")
    rest = head.partition("//")[2]
    if len(text) > _LONGEST or not text.isprintable():
        raise _address_error(f"it must be printable and at most {_LONGEST} characters")
    if rest.count("@") > rest[: re.search(r"[/?]|$", rest).start()].count("@") or rest.count("@") > 1:  # type: ignore[union-attr]
        raise _address_error("`@` is allowed only between account and host")
    if "@" in fragment or "#" in fragment:
        raise _address_error("`@` and `#` are not allowed in the schema and the name")
    schema, name = _parse_schema_and_name(fragment)
    given = _parse_connection_options(head)
    found = {**({} if "service" in given else _environment_options()), **given}
    where = [str(found.get(part) or "") for part in ("host", "port", "dbname")]
    if not re.fullmatch(r"[0-9,]*", where[1]) or not "".join(where).isprintable():
        raise _address_error("the port must be a number")
    host, port, database = where[0] or str(found.get("hostaddr") or ""), where[1], where[2] or found.get("user", "")
    place = f"postgresql://{host}{port and f':{port}'}/{database}#{schema}/{name}"
    stated = "service" in given or os.environ.get("PGSERVICE") or os.environ.get("PGSSLMODE") or _is_local_server(found)
    sealed = {} if stated else {"sslmode": "require"}
    return ServerAddress({**_WATCHED, **sealed, **found, "client_encoding": "UTF8"}, schema, name, place)


def _is_local_server(found: dict[str, Any]) -> bool:
    """Return True if all hosts are the local machine, so that no network can intercept the connection."""
    hosts = str(found.get("hostaddr") or found.get("host") or "").split(",")
    return all(not one or one[0] in "/@" or one == ITSELF or _is_loopback(one) for one in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parse_schema_and_name(fragment: str) -> tuple[str, str]:
    try:
        parts = [unquote(part, errors="strict") for part in fragment.split("/")]
    except UnicodeDecodeError:
        parts = []
    if len(parts) not in (1, 2):
        raise _address_error("# must be followed by a schema and a name")
    schema, name = ("", *parts)[-2:]
    schema = schema or _DEFAULT[0]
    if not _SCHEMA.fullmatch(schema):
        raise _address_error("the schema must be letters, digits and `_`, at most 63")
    return schema, validate_name("the ledger's name after #", name or _DEFAULT[1])


def _parse_connection_options(head: str) -> dict[str, Any]:
    from psycopg import Error, conninfo

    try:
        return dict(conninfo.conninfo_to_dict(head))
    except (Error, UnicodeError):  # its message may contain a password
        pass
    known = {option.keyword.decode() for option in _libpq_options()} | {"ssl"}
    asked = [part.partition("=")[0] for part in head.partition("?")[2].split("&")]
    unknown = [name for name in asked if name and name not in known and name.isidentifier()]
    raise _address_error(f"libpq has no option {unknown[0]!r}" if unknown else "libpq cannot parse it")


def _environment_options() -> dict[str, str]:
    """Return the values that libpq takes from the environment if the address does not set them."""
    values = {option.keyword.decode(): option.val for option in _libpq_options()}
    return {name: value.decode() for name in _FIXED if (value := values.get(name))}


def _libpq_options() -> list[Any]:
    from psycopg import pq

    return list(pq.Conninfo.get_defaults())


def _address_error(reason: str) -> LedgerError:
    return LedgerError(f"the address of the ledger's server is refused: {reason}. It has the form {_FORM}")


# Table of ledgers on a PostgreSQL server: how it is created, and what is required of it and of the server.

Rows = list[tuple[Any, ...]]
TABLE = "opendp_topk_ledger"
_COLUMNS = "ledger text t f t C, number bigint t f t -, record text t f t C"
_PATIENT, _ABANDONED = "120s", "60s"  # timeouts of a lock, and of a client that is idle in a transaction


# proof-region: table
def quoted_table_name(schema: str) -> str:
    return f'"{schema}"."{TABLE}"'  # [schema]


def create_table_statement(schema: str) -> str:
    return (
        f'CREATE TABLE {quoted_table_name(schema)} (ledger text COLLATE "C" NOT NULL, number bigint NOT NULL,'
        ' record text COLLATE "C" NOT NULL, PRIMARY KEY (ledger, number)) USING heap'
    )


def begin_statements(mode: str) -> str:
    """Return the statements that begin a transaction and override the settings of the role and the session."""
    return (
        f"BEGIN {mode};"
        " SET LOCAL search_path = pg_catalog, pg_temp;"  # [search-path]
        " SET LOCAL synchronous_commit = on;"  # [synchronous]
        " SET LOCAL client_min_messages = warning;"  # [warnings]
        " SET LOCAL quote_all_identifiers = off;"  # it would change the names of types
        " SET LOCAL row_security = off;"  # an error instead of hidden rows
        " SET LOCAL statement_timeout = 0;"  # it would end a commit's wait for a replica as a success
        f" SET LOCAL lock_timeout = '{_PATIENT}';"
        f" SET LOCAL idle_in_transaction_session_timeout = '{_ABANDONED}'"
    )


_HAS = "EXISTS (SELECT FROM pg_catalog."
_HIDING = "data_sync_retry", "zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages"
FLAWS = {
    "the table is not an ordinary table, but a view, partitioned, a partition or a foreign table": (
        "c.relkind <> 'r' OR c.relispartition"  # [ordinary]
    ),
    "the table is UNLOGGED or temporary: a crash would empty it": "c.relpersistence <> 'p'",  # [permanent]
    "the table inherits from another table, or another table inherits from it": (
        f"{_HAS}pg_inherits WHERE c.oid IN (inhrelid, inhparent))"
    ),
    "the table does not use PostgreSQL's heap storage": (
        "c.relkind = 'r' AND c.relam <> (SELECT oid FROM pg_catalog.pg_am WHERE amname = 'heap')"
    ),
    "the columns of the table are not those of a ledger": (
        "(SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attname, pg_catalog.format_type(a.atttypid,"
        " a.atttypmod), a.attnotnull, a.atthasdef, a.attidentity = '' AND a.attgenerated = '',"
        " CASE a.attcollation WHEN 0 THEN '-' WHEN 'pg_catalog.\"C\"'::pg_catalog.regcollation THEN 'C' ELSE '?' END),"
        " ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0"
        f" AND NOT a.attisdropped) IS DISTINCT FROM '{_COLUMNS}'"
    ),
    "the table does not have the primary key of a ledger": (
        f"NOT {_HAS}pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisunique AND i.indisvalid"
        " AND i.indisready AND i.indislive AND i.indimmediate AND i.indkey::text = '1 2')"  # [key]
    ),
    "the table has constraints or indexes besides its primary key": (
        "(SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid = c.oid) > 1"
        f" OR {_HAS}pg_constraint WHERE conrelid = c.oid AND contype NOT IN ('p', 'n'))"
    ),
    "the table has triggers": f"{_HAS}pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal)",  # [no-triggers]
    "the table has rules": f"{_HAS}pg_rewrite WHERE ev_class = c.oid)",  # [no-rules]
    "the table has row security": (
        f"c.relrowsecurity OR c.relforcerowsecurity OR {_HAS}pg_policy WHERE polrelid = c.oid)"
    ),
    "the table is the target of a subscription, which writes charges from elsewhere to it": (
        f"{_HAS}pg_subscription_rel WHERE srrelid = c.oid)"  # [no-subscription]
    ),
    "the server does not wait for its disk (fsync is off)": "pg_catalog.current_setting('fsync') <> 'on'",  # [fsync]
    "the server may tear pages (full_page_writes is off)": "pg_catalog.current_setting('full_page_writes') <> 'on'",
    f"the server ignores lost writes ({', '.join(_HIDING[:-1])} or {_HIDING[-1]} is on)": " OR ".join(
        f"pg_catalog.current_setting('{one}') <> 'off'"
        for one in _HIDING  # [hides-nothing]
    ),
    "the server does not wait for commits": "pg_catalog.current_setting('synchronous_commit') <> 'on'",
    "the server is a standby, which may lag behind": "pg_catalog.pg_is_in_recovery()",  # [primary]
}


LASTING = """AND pg_catalog.strpos(record, '"kind":"state"') = 0"""  # durable records; a text has \\" for "
_OWN = (  # differs for a copy, a restored dump, another server, or after a promotion
    "pg_catalog.concat_ws('/', 'server ' || (SELECT system_identifier FROM pg_catalog.pg_control_system()), d.oid, "
    "c.oid, CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN "
    "pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END)"  # [own-server]
)
_SERVER = re.compile(r"server [0-9]+/[0-9]+/[0-9]+(/[0-9A-F]{8})?", re.ASCII)


def is_server(kind: str) -> bool:
    """Return True if an accepted kind is a server with its table, at one of its timelines or at all of them."""
    return _SERVER.fullmatch(kind) is not None


def is_server_accepted(accepted: Iterable[str], own: str) -> bool:
    """Return True if the server ``own`` is accepted, at its timeline or at all of them."""
    return not {own, own.rpartition("/")[0]}.isdisjoint(accepted)


def inspection_query(schema: str) -> str:
    return (
        f"SELECT {', '.join(FLAWS.values())}, {_OWN} FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON "
        "n.oid = c.relnamespace JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() WHERE "
        f"n.nspname = '{schema}' AND c.relname = '{TABLE}'"
    )


def table_flaws(found: Rows) -> list[str]:
    """Return the violations of the proof's assumptions. The table is locked and cannot change meanwhile."""
    if not found:
        return ["its table was not found"]
    return [text for text, flawed in zip(FLAWS, found[0][:-1], strict=True) if flawed is not False]


def require_sound_table(place: str, deed: str, found: Rows) -> str:
    """Return the identity to which a ledger in this table is bound. Raise LedgerError if there is a flaw."""
    if wrong := table_flaws(found):
        raise ledger_error(place, deed, "; ".join(wrong))
    return str(found[0][-1])


def execute_statements(connection: psycopg.Connection[Any], *statements: str) -> tuple[list[Rows], str | None]:
    """Return the rows of each statement that returns any, and the status of the last statement.

    All are sent in one message; none runs after one that fails.
    """
    cursor = connection.execute("; ".join(statements))
    found: list[Rows] = []
    while True:
        found += [cursor.fetchall()] if cursor.description else []
        status = cursor.statusmessage
        if not cursor.nextset():
            return found, status


# end-proof-region: table


# Log of a ledger on a PostgreSQL server: one row per record, with a key that only one transaction can write.

T = TypeVar("T")

_WRITE, _READ = "ISOLATION LEVEL READ COMMITTED READ WRITE", "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PAGE = 1000  # records per read
_AGAIN = ("40001", "40P01", "23505")  # another process was first: nothing was written here
_LOCK = 0x6F74_6B6C  # "otkl": distinguishes these locks from those of other programs
_WITHIN = (
    "this thread is writing a debit to it or reading it: a signal handler must not use it. Set a flag in the "
    "handler, and use the ledger after it has returned"
)
_HARMLESS = "DEBUG", "LOG", "INFO", "NOTICE"
_SET_BACK = (
    "records that were read are no longer there: it was replaced by an older copy or another ledger, or its "
    "server crashed while it was read"
)
_MOVED = (
    "it is bound to another server or table: this one was restored or copied, or its server was promoted. If "
    "no release is missing here, and the other one is no longer used, accept it by accept_file_system={!r} or "
    "`opendp-topk ledger accept`"
)


class PostgresLog:
    """Log of one ledger: the records of its name in the table ``opendp_topk_ledger`` of a schema."""

    def __init__(self, address: str, accepts: str | None = None) -> None:
        self._driver = _load_driver()
        self._accepts = [] if accepts is None else [accepts]
        self._server = ""  # identity found by the last inspection
        self._address = parse_address(address)
        self.place = self._address.place
        self.turn = LedgerLock()
        self._table = quoted_table_name(self._address.schema)
        self._key = _LOCK, zlib.crc32(self.place.partition("#")[2].encode()) - 2**31
        self._connection: psycopg.Connection[Any] | None = None
        self._lent: tuple[int, psycopg.Connection[Any]] | None = None  # lent to a thread
        self._process: object = None
        self._mark = [(-1, "")]  # last durable record seen by this object: number and digest
        self._warned: list[str] = []

    # proof-region: postgres
    @convert_to_ledger_error("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """See :class:`Log`. ``make`` may be called again if another process was first.

        A ledger that is not bound to a server is bound to this one first.
        """
        bound = False

        def build_next_record(last: Record | None) -> str:
            nonlocal bound
            if last is None:
                raise ledger_error(self.place, "read", GONE)
            accepted = accepted_kinds_in(last)
            if durable and (moved := self._moved_server_reason(accepted)):
                raise ledger_error(self.place, "written", moved)  # [same-server]
            bound = not durable or any(map(is_server, accepted))
            return make(last) if bound else server_binding_text(last, self._server)  # [bound-first]

        while True:
            made = self._append_with_retries(
                build_next_record, self._lock_table_statement("ROW EXCLUSIVE"), durable=durable
            )
            if bound:
                return made

    def _moved_server_reason(self, accepted: list[str]) -> str:
        """Return why debits are refused here; an empty string if the ledger is bound to no server or to this one."""
        elsewhere = any(map(is_server, accepted)) and not is_server_accepted([*accepted, *self._accepts], self._server)
        return _MOVED.format(self._server) if elsewhere else ""

    def _lock_table_statement(self, mode: str) -> str:
        """Return the statement that fixes the table until the transaction ends; others may still write rows."""
        return f"LOCK TABLE ONLY {self._table} IN {mode} MODE"  # [kept-as-it-is]

    def _append_with_retries(self, make: Callable[[Record | None], str], start: str, *, durable: bool = True) -> Record:
        """Return the committed record whose text ``make`` returns for the last one. Retry if another was first."""

        def append_until_timeout(connection: psycopg.Connection[Any]) -> Record:
            end = time.monotonic() + locks.PATIENCE
            while time.monotonic() < end:
                made = self._try_append(connection, make, start, durable=durable)
                if made is not None:
                    # A record that may be lost is not remembered, as it would be missed.
                    self._remember_records(*([made] if durable else []))
                    return made
            raise ledger_error(self.place, "written", "other processes always wrote first")

        return self._run_with_connection(append_until_timeout)

    def _try_append(
        self, connection: psycopg.Connection[Any], make: Callable[[Record | None], str], start: str, *, durable: bool
    ) -> Record | None:
        """Write the record in a transaction of its own, and return it, or None if another process was first.

        The server receives two messages: one before ``make`` and one after it.
        """
        one, other = self._key
        alone = f"SELECT pg_advisory_xact_lock({one}, {other})"  # avoids retries; the table's key decides
        try:
            # A record that is not durable charges nothing.
            looks = [inspection_query(self._address.schema)] if durable else []
            mark, *ends = self._end_queries()
            _, *found, seen, last, lasting = execute_statements(
                connection, begin_statements(_WRITE), start, alone, *looks, *ends
            )[0]  # [exclusive]
            for rows in found:
                self._server = require_sound_table(self.place, "written", rows)  # [sound-table]
            text = self._lend_connection(connection, lambda: make(self._checked_last_record(mark, seen, last, lasting)))
            made = unseal_record(text)
            assert made is not None
            made = made._replace(place=made.number)
            row = (
                f"INSERT INTO {self._table} VALUES ({self._quoted_name}, {made.number}, "
                f"{self._quote_literal(text)})"
            )  # [append]
            wait = [] if durable else ["SET LOCAL synchronous_commit = off"]
            self._warned.clear()
            (kept,), status = execute_statements(
                connection, *wait, row, self._select_statement(f"AND number = {made.number}"), "COMMIT"
            )
            if [one.digest for one in self._parse_rows(kept)] != [made.digest]:
                raise ledger_error(self.place, "written", "its table did not keep a row")  # [read-back]
            if status != "COMMIT" or self._warned:  # [durable]
                raise ledger_error(self.place, "written", "the server did not confirm that it is on all its disks")
            return made
        except self._driver.Error as error:
            if error.sqlstate not in _AGAIN:
                raise
        connection.execute("ROLLBACK")  # [rollback]
        return None

    def _lend_connection(self, connection: psycopg.Connection[Any], work: Callable[[], T]) -> T:
        """Return the result of ``work``, which may read records by this connection while no other process writes."""
        try:
            self._lent = threading.get_ident(), connection
            return work()
        finally:
            self._lent = None

    def _end_queries(self) -> tuple[tuple[int, str], str, str, str]:
        """Return the mark, and the queries for its record, for the last record, and for the last durable record."""
        mark = self._mark[0]
        last, lasting = (self._select_statement(f"{which} ORDER BY number DESC LIMIT 1") for which in ("", LASTING))
        return mark, self._select_statement(f"AND number = {mark[0]}"), last, lasting

    def _checked_last_record(self, mark: tuple[int, str], seen: Rows, last: Rows, lasting: Rows) -> Record | None:
        if last:
            self._require_marked_record(mark, seen)
            self._parse_committed_rows(lasting)
        return next(iter(self._parse_rows(last)), None)  # [last]

    def _require_marked_record(self, kept: tuple[int, str], found: Rows) -> None:
        """Raise LedgerError unless ``found`` is the record with this number and digest, which was read before."""
        if kept[1] and [one.digest for one in self._parse_rows(found)] != [kept[1]]:
            raise ledger_error(self.place, "read", _SET_BACK)  # [mark]

    def _parse_committed_rows(self, rows: Rows) -> list[Record]:
        """Return the records of committed rows, and remember the durable ones, so that their loss is detected."""
        found = self._parse_rows(rows)
        self._remember_records(*filter(is_durable_record, found))
        return found

    def _remember_records(self, *found: Record) -> None:
        """Move the mark to the last of these records, if it is later: one step each, so threads need no lock."""
        for record in found:
            heapq.heappushpop(self._mark, _record_marker(record))

    def _select_statement(self, rest: str) -> str:
        return f"SELECT number, record FROM ONLY {self._table} WHERE ledger = {self._quoted_name} {rest}"

    def _parse_rows(self, rows: Rows) -> list[Record]:
        found = [(number, unseal_record(text, number)) for number, text in rows]
        if any(record is None or record.number != number for number, record in found):  # [own-number]
            raise damaged_log_error(self.place)
        return [record for _, record in found if record is not None]

    def _quote_literal(self, text: str) -> str:
        """Return an SQL literal, quoted by the rules of the open connection."""
        return str(self._driver.sql.Literal(text).as_string(self._connection))

    @property
    def _quoted_name(self) -> str:
        return self._quote_literal(self._address.name)

    def _run_with_connection(self, deed: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Return the result of ``deed`` on the connection of this process, which is closed after every error."""
        return run_holding_lock(self.turn.lock, lambda: self._run_in_turn(deed))  # [one-thread]

    def _run_in_turn(self, deed: Callable[[psycopg.Connection[Any]], T]) -> T:
        mine = busy_debit_key(self.place)
        if mine in BUSY:
            raise ledger_error(self.place, "used", _WITHIN)
        try:
            BUSY.add(mine)
            if (
                self._connection is None or self._process != process_identity() or _is_ended(self._connection)
            ):  # [process]
                self.close()
                self._lent = None
                self._connection, self._process = self._open_connection(), process_identity()
            return deed(self._connection)
        except BaseException:
            self.close()  # [closed-on-error]
            raise
        finally:
            BUSY.discard(mine)

    def _open_connection(self) -> psycopg.Connection[Any]:
        reason = ""
        try:
            connection: psycopg.Connection[Any] = self._driver.connect(**self._address.options, autocommit=True)
            connection.add_notice_handler(self._handle_notice)
            return connection
        except (self._driver.Error, UnicodeError) as error:
            reason = printable_message(str(error), str(self._address.options.get("password") or ""))
        raise ledger_error(self.place, "reached", reason)

    def _handle_notice(self, notice: Any) -> None:
        if notice.severity_nonlocalized not in _HARMLESS:  # such as a commit that did not wait for a replica
            self._warned.append(notice.sqlstate)

    # end-proof-region: postgres

    @convert_to_ledger_error("created")
    def create_first_record(self, header: str) -> None:
        """Create the first record, and the table if there is none."""

        def build_first_record(last: Record | None) -> str:
            if last is not None:
                raise ledger_error(self.place, "created", EXISTS)
            told = unseal_record(header)
            assert told is not None
            return seal_record({**told.fields, "accepted": [self._server]})

        lock = self._lock_table_statement("ROW EXCLUSIVE")
        for start in (lock, f"{create_table_statement(self._address.schema)}; {lock}", lock):
            try:
                self._append_with_retries(build_first_record, start)
                return
            except (self._driver.errors.UndefinedTable, self._driver.errors.DuplicateTable):
                continue  # the table does not exist yet, or another process has just created it
        raise ledger_error(self.place, "created", "its table is repeatedly created and dropped")

    @convert_to_ledger_error("opened")
    def first_record(self) -> Record:
        (rows,) = self._read_checked_rows(lambda: (self._select_statement("AND number = 0"),), "opened")
        if not rows:
            raise ledger_error(self.place, "opened", MISSING)
        return self._parse_committed_rows(rows)[0]

    @convert_to_ledger_error("read")
    def last_record(self) -> Record:
        rows, lasting = self._read_checked_rows(lambda: self._end_queries()[2:], "read")
        self._parse_committed_rows(lasting)
        for last in self._parse_rows(rows):
            return last
        raise ledger_error(self.place, "read", GONE)

    # proof-region: pages
    def iter_records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """See :class:`Log`. Records are read as they are requested, even while :meth:`append` makes one."""
        while page := self._read_page(after, holding):
            yield from page
            after = page[-1]  # [next-page]

    @convert_to_ledger_error("read")
    def _read_page(self, after: Record | None, holding: str) -> list[Record]:
        since = (-1, "") if after is None else _record_marker(after)

        def page_queries() -> tuple[str, ...]:
            told = f"AND pg_catalog.strpos(record, {self._quote_literal(holding)}) > 0" if holding else ""
            page = f"AND number > {since[0]} {told} ORDER BY number LIMIT {1 if holding else _PAGE}"
            return self._select_statement(f"AND number = {since[0]}"), self._select_statement(page)

        lent = self._lent is not None and self._lent[0] == threading.get_ident()
        there, rows = (
            execute_statements(self._lent[1], *page_queries())[0]
            if lent and self._lent
            else self._read_checked_rows(page_queries)
        )
        self._require_marked_record(since, there)  # [same-before]
        return self._parse_committed_rows(rows)

    # end-proof-region: pages

    def find_first_record(self, reached: Callable[[Record], bool]) -> Record | None:
        high = self.last_record()
        if not reached(high):
            return None
        low = -1
        while high.number - low > 1:
            one = self._read_record((low + high.number) // 2)
            if reached(one):
                high = one
            else:
                low = one.number
        return high

    @convert_to_ledger_error("read")
    def _read_record(self, number: int) -> Record:
        (rows,) = self._read_checked_rows(lambda: (self._select_statement(f"AND number = {number}"),))
        for found in self._parse_committed_rows(rows):
            return found
        raise damaged_log_error(self.place)

    @convert_to_ledger_error("checked")
    def storage_flaws(self) -> list[str]:
        found, last = self._run_with_connection(
            lambda one: self._execute_read_only(one, inspection_query(self._address.schema), self._end_queries()[2])
        )
        wrong = table_flaws(found)
        if wrong:
            return wrong
        self._server = require_sound_table(self.place, "checked", found)
        return [moved for one in self._parse_rows(last) if (moved := self._moved_server_reason(accepted_kinds_in(one)))]

    def _execute_read_only(self, connection: psycopg.Connection[Any], *queries: str) -> list[Rows]:
        """Return the server's answers in a read-only transaction, in one message."""
        return execute_statements(
            connection, begin_statements(_READ), self._lock_table_statement("ACCESS SHARE"), *queries, "COMMIT"
        )[0]

    def _read_checked_rows(self, queries: Callable[[], tuple[str, ...]], goal: str = "") -> list[Rows]:
        """Return the server's answers after checking the mark and, if there is a ``goal``, the table."""

        def query_checked_rows(connection: psycopg.Connection[Any]) -> list[Rows]:
            mark, there, *_ = self._end_queries()
            looks = [inspection_query(self._address.schema)] if goal else []
            found = self._execute_read_only(connection, *looks, there, *queries())
            for rows in found[: len(looks)]:
                require_sound_table(self.place, goal, rows)
            self._require_marked_record(mark, found[len(looks)])
            return found[len(looks) + 1 :]

        return self._run_with_connection(query_checked_rows)

    @convert_to_ledger_error("read")
    def sync_records(self) -> Record:
        """Return the last record, once all are on disk: a commit waits for what was written before it."""

        def wait_for_disk(connection: psycopg.Connection[Any]) -> Record | None:
            self._warned.clear()
            mark, *ends = self._end_queries()
            wait = "SELECT pg_logical_emit_message(true, '', '')"
            (*found, _), status = execute_statements(connection, begin_statements(_WRITE), *ends, wait, "COMMIT")
            if status != "COMMIT" or self._warned:
                raise ledger_error(self.place, "read", "the server did not confirm that it is on all its disks")
            return self._checked_last_record(mark, *found)

        last = self._run_with_connection(wait_for_disk)
        if last is None:
            raise ledger_error(self.place, "read", GONE)
        self._remember_records(last)
        return last

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        run_holding_lock(self.turn.lock, self._close_in_turn)

    def _close_in_turn(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == process_identity():
            with suppress(self._driver.Error):
                connection.close()


def _record_marker(record: Record) -> tuple[int, str]:
    return record.number, record.digest


def _is_ended(connection: psycopg.Connection[Any]) -> bool:
    """Return True if the server has ended an idle connection. It sends nothing else then, so unread data mean that."""
    with selectors.DefaultSelector() as one:
        return connection.closed or bool(one.register(connection, selectors.EVENT_READ) and one.select(0))


def _load_driver() -> Any:
    return import_extra("psycopg", "a ledger on a server requires psycopg 3", "opendp_topk[postgres]")
