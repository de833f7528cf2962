"""What a server may have an opinion of: its table, its schemas, its settings, its errors; each with a real server.

Tries proofs/ledger/storage.tex.
"""

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import postgres, turns
from opendp_topk.apps.ledger import records as failures
from tests.concepts.processes import printed
from tests.concepts.sentinels import raises_exactly

from .conftest import draws_nothing, new
from .server import HERE, Server
from .test_interrupts import WORK, in_another_thread, interrupted_at
from .workers import costing

TABLE = "opendp_topk_ledger"


@pytest.fixture
def schema(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """A schema of the test's own."""
    name = f"test_{os.urandom(4).hex()}"
    server.sql(f"CREATE SCHEMA {name}")
    yield name
    server.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(scope="module")
def second() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def own(second: Server) -> Iterator[Server]:
    """A server whose settings a test may change, with an empty database."""
    name = f"test_{os.urandom(4).hex()}"
    second.sql(f"CREATE DATABASE {name}")
    second.database = name
    yield second
    second.database = "postgres"
    second.sql("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
    end = time.monotonic() + 60
    while second.sql("SHOW synchronous_standby_names") != [("",)] and time.monotonic() < end:
        time.sleep(0.01)


def refused(call: Callable[[], Any], *fragments: str) -> None:
    raises_exactly(tk.errors.LedgerError, call, *fragments)


# What somebody can make of the table, and what is said of it. {t} is the table, {s} its schema.
TABLES = {
    "unlogged": (["ALTER TABLE {t} SET UNLOGGED"], "UNLOGGED or temporary"),
    "trigger": (
        ["CREATE FUNCTION {s}.gone() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql",
         "CREATE TRIGGER gone BEFORE INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION {s}.gone()"], "triggers"),
    "trigger of a statement": (
        ["CREATE FUNCTION {s}.gone() RETURNS trigger AS 'BEGIN DELETE FROM {t}; RETURN NULL; END' LANGUAGE plpgsql",
         "CREATE TRIGGER gone AFTER INSERT ON {t} EXECUTE FUNCTION {s}.gone()"], "triggers"),
    "rule": (["CREATE RULE gone AS ON INSERT TO {t} DO ALSO DELETE FROM {t}"], "rules"),
    "rule on updates": (["CREATE RULE gone AS ON UPDATE TO {t} DO INSTEAD NOTHING"], "rules"),
    "row security": (["ALTER TABLE {t} ENABLE ROW LEVEL SECURITY"], "row security"),
    "forced row security": (["ALTER TABLE {t} FORCE ROW LEVEL SECURITY"], "row security"),
    "policy": (["CREATE POLICY a ON {t} USING (number = 0)"], "row security"),
    "no primary key": (
        ["ALTER TABLE {t} DROP CONSTRAINT opendp_topk_ledger_pkey"], "not have the primary key"),
    "key of a number": (
        ["ALTER TABLE {t} DROP CONSTRAINT opendp_topk_ledger_pkey", "ALTER TABLE {t} ADD PRIMARY KEY (number)"],
        "not have the primary key"),
    "deferrable key": (
        ["ALTER TABLE {t} DROP CONSTRAINT opendp_topk_ledger_pkey",
         "ALTER TABLE {t} ADD PRIMARY KEY (ledger, number) DEFERRABLE INITIALLY DEFERRED"], "not have the primary key"),
    "no NOT NULL": (["ALTER TABLE {t} ALTER COLUMN record DROP NOT NULL"], "not those of a ledger"),
    "another column": (["ALTER TABLE {t} ADD COLUMN more text"], "not those of a ledger"),
    "another type": (["ALTER TABLE {t} ALTER COLUMN number TYPE numeric"], "not those of a ledger"),
    "a type of that name": (
        ["CREATE DOMAIN {s}.text AS pg_catalog.text", "ALTER TABLE {t} ALTER COLUMN record TYPE {s}.text"],
        "not those of a ledger"),
    "collation": (
        ["CREATE COLLATION {s}.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
         "ALTER TABLE {t} ALTER COLUMN ledger TYPE text COLLATE {s}.loose"], "not those of a ledger"),
    "default": (["ALTER TABLE {t} ALTER COLUMN record SET DEFAULT 'x'"], "not those of a ledger"),
    "check": (["ALTER TABLE {t} ADD CHECK (number < 9)"], "constraints or indexes besides"),
    "cascade": (
        ["CREATE TABLE {s}.names (name text COLLATE \"C\" PRIMARY KEY)", "INSERT INTO {s}.names VALUES ('one')",
         "ALTER TABLE {t} ADD FOREIGN KEY (ledger) REFERENCES {s}.names ON DELETE CASCADE"],
         "constraints or indexes besides"),
    "index that runs code": (
        ["CREATE FUNCTION {s}.seen(text) RETURNS text IMMUTABLE AS 'BEGIN RETURN $1; END' LANGUAGE plpgsql",
         "CREATE INDEX ON {t} ({s}.seen(ledger))"], "constraints or indexes besides"),
    "child": (["CREATE TABLE {s}.child () INHERITS ({t})"], "inherits"),
    "parent": (
        ["CREATE TABLE {s}.parent (LIKE {t})", "ALTER TABLE {t} INHERIT {s}.parent"], "inherits"),
    "partition": (
        ["CREATE TABLE {s}.whole (LIKE {t} INCLUDING ALL) PARTITION BY LIST (ledger)",
         "ALTER TABLE {s}.whole ATTACH PARTITION {t} DEFAULT"], "not an ordinary table"),
    "partitioned": (
        ["ALTER TABLE {t} RENAME TO old", "CREATE TABLE {t} (LIKE {s}.old INCLUDING ALL) PARTITION BY LIST (ledger)",
         "CREATE TABLE {s}.part PARTITION OF {t} DEFAULT", "INSERT INTO {t} SELECT * FROM {s}.old"],
         "not an ordinary table"),
    "view": (
        ["ALTER TABLE {t} RENAME TO old", "CREATE VIEW {t} AS SELECT * FROM {s}.old"], "not an ordinary table"),
    "materialized view": (
        ["ALTER TABLE {t} RENAME TO old", "CREATE MATERIALIZED VIEW {t} AS TABLE {s}.old"],
        "not refer to an ordinary table"),
    "table elsewhere": (
        ["ALTER TABLE {t} RENAME TO old", "CREATE FOREIGN DATA WRAPPER w_{s}",
         "CREATE SERVER s_{s} FOREIGN DATA WRAPPER w_{s}",
         "CREATE FOREIGN TABLE {t} (ledger text, number bigint, record text) SERVER s_{s}"], ""),
    "no table": (["DROP TABLE {t}"], "no longer exists"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", TABLES)
def test_a_table_of_no_ledger_takes_no_debit_and_is_not_opened(server: Server, schema: str, change: str) -> None:
    statements, says = TABLES[change]
    address = server.address(f"{schema}/one")
    ledger = new(address, 3)
    ledger.release(costing(1.0), [1])
    server.sql(*(one.format(t=f"{schema}.{TABLE}", s=schema) for one in statements))
    draws_nothing(ledger, says)
    refused(lambda: tk.ledger.Ledger(address), says.replace("no longer exists", "create one with"))
    found = ledger.verify()
    assert [one for one in found if says in one] != []


@pytest.mark.slow
def test_a_sound_table_keeps_no_flaw_that_is_mended(server: Server, schema: str) -> None:
    ledger = new(server.address(f"{schema}/one"), 2)
    table = f"{schema}.{TABLE}"
    server.sql(f"ALTER TABLE {table} SET UNLOGGED", f"ALTER TABLE {table} SET LOGGED")
    server.sql(f"ALTER TABLE {table} ADD COLUMN more text", f"ALTER TABLE {table} DROP COLUMN more")
    ledger.release(costing(1.0), [1])
    assert ledger.verify() == []


@pytest.mark.slow
def test_an_unlogged_table_does_not_forget_what_was_released(own: Server) -> None:
    """A crash empties such a table: six releases of 1 from a budget of 2, if each start began anew."""
    address, released = own.address("one"), 0
    new(address, 2).close()
    own.sql(f"ALTER TABLE {TABLE} SET UNLOGGED")
    for _ in range(3):
        with contextlib.suppress(tk.errors.LedgerError), tk.ledger.Ledger(address) as ledger:
            while True:
                ledger.release(costing(1.0), [1])
                released += 1
        own.stop()
        own.start()
    own.sql(f"ALTER TABLE {TABLE} SET LOGGED")
    refused(lambda: tk.ledger.Ledger(address), "create one with Ledger.create")
    assert released == 0


# Schemas and search paths.


def spent_by(*addresses: str) -> int:
    """How many releases of 1 these addresses give together."""
    released = 0
    for address in addresses:
        with contextlib.suppress(tk.errors.BudgetError, tk.errors.LedgerError), tk.ledger.Ledger(address) as ledger:
            while True:
                ledger.release(costing(1.0), [1])
                released += 1
    return released


@pytest.mark.slow
def test_another_search_path_is_no_other_ledger(own: Server) -> None:
    own.sql("CREATE ROLE other LOGIN SUPERUSER", "CREATE SCHEMA other", "CREATE SCHEMA third")
    first, second = own.address("one"), own.address("one", "other")
    third = own.address("") + "?options=-csearch_path%3Dthird#one"
    new(first, 2).close()
    for address in (second, third):
        refused(lambda address=address: new(address, 2), "name is already in use")
    own.sql(f"CREATE TABLE other.{TABLE} AS SELECT * FROM {TABLE}", f"CREATE TABLE third.{TABLE} AS TABLE {TABLE}")
    assert spent_by(first, second, third) == 2
    assert spent_by(*(one.replace("#one", "#public/one") for one in (first, second, third))) == 0
    assert "#public/one" in repr(tk.ledger.Ledger(second))


@pytest.mark.slow
def test_the_schema_is_part_of_the_address(server: Server, schema: str) -> None:
    address = server.address(f"{schema}/one")
    with new(address, 2) as ledger:
        assert f"/postgres#{schema}/one" in repr(ledger)
    refused(lambda: tk.ledger.Ledger(server.address("one")), "create one with")
    refused(lambda: tk.ledger.Ledger(address.replace(schema, "nowhere")), "#nowhere/one", "no such schema")
    refused(lambda: new(address.replace(schema, "nowhere"), 2), "no such schema")
    refused(lambda: new(address.replace(schema, "pg_temp"), 2), "could not be created")


@pytest.mark.slow
def test_a_temporary_table_of_that_name_is_not_taken_for_it(server: Server, schema: str) -> None:
    ledger = new(server.address(f"{schema}/one"), 2)
    connection: Any = ledger._journal.log._connection  # type: ignore[attr-defined]
    connection.execute(f"CREATE TEMP TABLE {TABLE} AS TABLE {schema}.{TABLE}")
    for _ in range(2):
        ledger.release(costing(1.0), [1])
    raises_exactly(tk.errors.BudgetError, lambda: ledger.release(costing(1.0), [1]))
    assert (server.sql(f"SELECT count(*) FROM {schema}.{TABLE}"), ledger.verify()) == ([(5,)], [])


@pytest.mark.slow
def test_functions_and_operators_of_a_stranger_are_not_called(own: Server) -> None:
    """A search path that puts a schema before the system's would let a stranger decide what is equal."""
    own.sql(
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.never(text, text) RETURNS bool AS 'SELECT false' LANGUAGE sql",
        "CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never)",
        "CREATE FUNCTION evil.lock(int, int) RETURNS void AS '' LANGUAGE sql",
        "ALTER FUNCTION evil.lock(int, int) RENAME TO pg_advisory_xact_lock",
        f"ALTER ROLE ledger IN DATABASE {own.database} SET search_path = evil, pg_catalog",
    )
    address = own.address("one")
    new(address, 2).close()
    assert spent_by(address, address) == 2
    refused(lambda: new(address, 2), "name is already in use")


# Settings.


@pytest.mark.slow
def test_settings_of_a_role_do_not_count(own: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from psycopg.pq import TransactionStatus

    seen: list[Any] = []
    for setting in ("synchronous_commit = off", "default_transaction_read_only = on", "statement_timeout = '1ms'",
                    "default_transaction_isolation = 'serializable'", "lock_timeout = '1ms'",
                    "row_security = on", "default_table_access_method = 'none'"):  # fmt: skip
        with contextlib.suppress(Exception):
            own.sql(f"ALTER ROLE ledger IN DATABASE {own.database} SET {setting}")
    ledger = new(own.address("one"), 2)
    names = ("synchronous_commit", "transaction_isolation", "statement_timeout", "search_path")
    real = postgres.execute_statements

    def watched(connection: Any, *statements: str) -> Any:
        found = real(connection, *statements)
        if connection.info.transaction_status == TransactionStatus.INTRANS:
            seen.append([connection.execute(f"SHOW {name}").fetchone()[0] for name in names])
        return found

    monkeypatch.setattr(postgres, "execute_statements", watched)
    ledger.release(costing(1.0), [1])
    assert seen[0] == ["on", "read committed", "0", "pg_catalog, pg_temp"]
    assert ledger.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "says"),
    [("fsync = off", "fsync is off"), ("full_page_writes = off", "full_page_writes is off"),
     ("zero_damaged_pages = on", "ignores lost writes")],
)  # fmt: skip
def test_a_server_that_may_lose_what_it_wrote_is_refused(own: Server, setting: str, says: str) -> None:
    address = own.address("one")
    ledger = new(address, 2)
    own.sql(f"ALTER SYSTEM SET {setting}", "SELECT pg_reload_conf()")
    name, value = setting.split(" = ")
    while own.sql(f"SHOW {name}") != [(value,)]:
        time.sleep(0.01)
    time.sleep(0.2)  # the ledger's own connection reads it at its next statement
    draws_nothing(ledger, says)
    refused(lambda: tk.ledger.Ledger(address), says)


@pytest.mark.slow
def test_a_server_that_goes_on_behind_records_that_it_could_not_restore_is_refused(own: Server) -> None:
    new(own.address("one"), 2).close()
    own.set(ignore_invalid_pages="on")
    for setting in ("on", "off"):
        own.fast()
        own.start()
        assert own.sql("SHOW ignore_invalid_pages") == [(setting,)]
        if setting == "on":
            refused(lambda: tk.ledger.Ledger(own.address("one")), "ignore_invalid_pages is on")
        own.sql("ALTER SYSTEM RESET ignore_invalid_pages")
    assert tk.ledger.Ledger(own.address("one")).verify() == []


@pytest.mark.slow
def test_a_role_that_quotes_all_names_has_the_same_table(own: Server) -> None:
    own.sql(f"ALTER ROLE ledger IN DATABASE {own.database} SET quote_all_identifiers = on")
    with new(own.address("one"), 2) as ledger:
        ledger.release(costing(1.0), [1])
        assert ledger.verify() == []


@pytest.mark.slow
def test_what_is_sent_and_not_confirmed_is_waited_for_a_minute(own: Server) -> None:
    """A network that is cut says nothing; without a limit the system waits a quarter of an hour."""
    connection = new(own.address("one"), 2)._journal.log._connection  # type: ignore[attr-defined]
    with socket.socket(fileno=os.dup(connection.fileno())) as one:
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["", "client_min_messages = error"])
def test_a_commit_that_did_not_wait_for_its_replica_releases_nothing(own: Server, setting: str) -> None:
    """An administrator who cancels the wait turns the commit into a success with a warning, which may be hidden."""
    if setting:
        own.sql(f"ALTER ROLE ledger IN DATABASE {own.database} SET {setting}")
    ledger, drawn, said = new(own.address("one"), 2), [], []
    own.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
    while own.sql("SHOW synchronous_standby_names") != [("nobody",)]:
        time.sleep(0.01)

    def work() -> None:
        try:
            ledger.release(costing(1.0, function=drawn.append), [1])
        except tk.errors.LedgerError as error:
            said.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 60
    while thread.is_alive() and time.monotonic() < end:
        own.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        time.sleep(0.02)
    thread.join(1)
    assert "on all its disks" in said[0]
    assert drawn == []


@pytest.mark.slow
def test_a_standby_is_refused(own: Server) -> None:
    new(own.address("one"), 2).close()
    twin = own.twin()
    try:
        refused(lambda: tk.ledger.Ledger(twin.address("one")), "a standby, which may lag behind")
        refused(lambda: new(twin.address("two"), 2), "standby")
    finally:
        twin.close()


@pytest.mark.slow
def test_an_account_that_may_only_read_and_insert_is_enough(own: Server) -> None:
    new(own.address("one"), 2).close()
    own.sql("CREATE ROLE clerk LOGIN", "CREATE ROLE reader LOGIN", "CREATE ROLE stranger LOGIN")
    own.sql(f"GRANT SELECT, INSERT ON {TABLE} TO clerk", f"GRANT SELECT ON {TABLE} TO reader")
    with tk.ledger.Ledger(own.address("one", "clerk")) as ledger:
        ledger.release(costing(1.0), [1])
        head = ledger.head()
    new(own.address("two", "clerk"), 2).close()
    with tk.ledger.Ledger(own.address("one", "reader")) as ledger:
        assert (ledger.verify(head), ledger.head(1)[:2], ledger.history()[0].state) == ([], "1-", "released")
        refused(lambda: ledger.release(costing(1.0), [1]), "this account lacks permissions")
    refused(lambda: tk.ledger.Ledger(own.address("one", "stranger")), "this account lacks permissions")


# Errors of a server, and addresses that are none.

SECRET = "s3cr3t-word"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [({"database": "nowhere"}, 'database "nowhere" does not exist'), ({"account": "nobody:" + SECRET}, '"nobody"'),
     ({"database": "postgres?sslmode=nonsense"}, "nonsense"), ({"database": "postgres?options=-x%20y"}, "argument"),
     ({"database": "postgres?sslmode=require"}, "SSL")],
)  # fmt: skip
def test_what_a_server_refuses_is_told_in_its_words(server: Server, change: dict[str, str], says: str) -> None:
    caught = raises_exactly(
        tk.errors.LedgerError, lambda: tk.ledger.Ledger(server.address("one", **change)), "could not be reached", says
    )
    assert SECRET not in str(caught)
    assert caught.__cause__ is None
    assert caught.__context__ is None


@pytest.mark.parametrize(
    ("state", "says"),
    [("57014", "the statement was cancelled"), ("57P05", "was idle for too long"), ("57P01", "the server was stopped"),
     ("25P03", "idle for too long"), ("25P02", "had ended the transaction"), ("25006", "or read-only"),
     ("53300", "no free connection"), ("53200", "out of memory"), ("53100", "out of disk space")],
)  # fmt: skip
def test_a_state_of_a_server_is_told_as_what_it_is(state: str, says: str) -> None:
    raised = pytest.importorskip("psycopg").errors.lookup(state)

    class Log:
        place = "here"

        @failures.convert_to_ledger_error("written")
        def append(self) -> None:
            raise raised

    refused(Log().append, says, f"SQLSTATE {state}")


@pytest.mark.further
def test_a_server_that_is_not_there_is_told() -> None:
    pytest.importorskip("psycopg")
    address = f"postgresql://one:{SECRET}@{HERE}:1/x?sslmode=disable#name"
    caught = raises_exactly(
        tk.errors.LedgerError, lambda: tk.ledger.Ledger(address), f"postgresql://{HERE}:1/x#public/name", "refused"
    )
    assert SECRET not in str(caught)


def test_a_password_that_a_driver_repeats_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = pytest.importorskip("psycopg")

    def refuses(**options: Any) -> None:
        raise psycopg.OperationalError(f"connection failed\nwith password={options['password']}, once")

    monkeypatch.setattr(psycopg, "connect", refuses)
    address = f"postgresql://one:{SECRET}@{HERE}/x"
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(address), "failed with password=..., once")


def test_without_its_driver_a_server_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    opened = partial(tk.ledger.Ledger, "postgresql://one")
    raises_exactly(tk.errors.MissingExtraError, opened, "requires psycopg 3", "opendp_topk[postgres]")


@pytest.mark.parametrize(
    "address",
    ["postgresql://[::1", f"postgresql://u:{SECRET}@[::1", f"postgresql://u:{SECRET}@h@h/x", f"postgresql://u:a/{SECRET}@h/x",
     f"postgresql://u:a?{SECRET}=1@h/x", f"postgresql://u:a#{SECRET}@h/x", f"postgresql://u:{SECRET}%zz@h/x", f"postgresql://u:{SECRET}",
     "postgresql://h/\ud800", "postgresql://h/x#\ud800", "postgresql://h/a\0b", "postgresql://h/a\nb", "postgresql://h/%0a",
     "postgresql://h/" + "x" * 100_000, "postgresql://h/x?colour=red", "postgresql://h/x#%ff", "postgresql://h/x#a/b/c",
     "postgresql://h/x#a b/c", "postgresql://h/x#pub.lic/c", "postgresql://h/x#" + "s" * 64 + "/c", "postgresql://h:port/x",
     "postgresql://h/x?host"],
)  # fmt: skip
def test_an_address_that_is_none_is_told_in_words(address: str) -> None:
    pytest.importorskip("psycopg")
    caught = raises_exactly(
        tk.errors.LedgerError, lambda: tk.ledger.Ledger(address), "the address of the ledger's server is refused"
    )
    assert SECRET not in str(caught)
    assert len(str(caught)) < 400


def test_an_address_has_at_most_two_thousand_characters() -> None:
    pytest.importorskip("psycopg")
    longest = "postgresql://near/x?application_name="
    assert postgres.parse_address(longest.ljust(2000, "a")).place.startswith("postgresql://near")
    refused(lambda: postgres.parse_address(longest.ljust(2001, "a")), "at most 2000")


def test_a_server_is_accepted_at_its_timeline_or_at_all() -> None:
    own = "server 7/1/2/0000000A"
    listed = [own], [own.rpartition("/")[0]], [], ["server 7/1/3"], ["server 7/1/2/0000000B"]
    assert [postgres.is_server_accepted(one, own) for one in listed] == [True, True, False, False, False]


def test_what_is_wrong_in_an_address_is_named_without_a_password() -> None:
    pytest.importorskip("psycopg")
    refused(lambda: tk.ledger.Ledger("postgresql://h/x?colour=red#a"), "no option 'colour'")
    address, said = f"postgresql://u:a#{SECRET}@h/x", "`@` and `#` are not allowed"
    assert SECRET not in str(raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(address), said))


def test_what_an_address_leaves_open_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGHOST", "far")
    monkeypatch.setenv("PGDATABASE", "books")
    monkeypatch.setenv("PGPORT", "6543")
    assert postgres.parse_address("postgresql://").place == "postgresql://far:6543/books#public/budget"
    found = postgres.parse_address(f"postgresql://u:{SECRET}@near:1/x#s%5Fs/a%23b")
    assert found.place == "postgresql://near:1/x#s_s/a#b"
    assert SECRET not in repr(found)
    monkeypatch.setenv("PGHOST", "elsewhere")
    assert (found.options["host"], found.options["port"], found.options["dbname"]) == ("near", "1", "x")


def test_connections_to_other_machines_are_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)
    itself = f"postgresql://{postgres.ITSELF}"
    far = "postgresql://far/x", f"{itself},far/x", f"{itself}/x?hostaddr=192.0.2.1"
    here = "postgresql:///x", f"{itself}/x", "postgresql://[::1]/x", "postgresql://%2Ftmp/x"
    stated = "postgresql://far/x?sslmode=verify-full", "postgresql://far/x?sslmode=prefer", "postgresql://?service=a"
    found = [[postgres.parse_address(one).options.get("sslmode") for one in listed] for listed in (far, here, stated)]
    assert found == [["require"] * 3, [None] * 4, ["verify-full", "prefer", None]]
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert "sslmode" not in postgres.parse_address("postgresql://far/x").options


# Ctrl-C and signal handlers.

HANDLER = """
import os, signal, sys
import opendp_topk as tk
from tests.ledger.workers import costing
ledger, other, found = tk.ledger.Ledger(sys.argv[1]), tk.ledger.Ledger(sys.argv[1]), []
def handler(*_):
    for one in (ledger, other):
        try:
            one.release(costing(1.0), [1])
        except tk.errors.LedgerError as error:
            found.append(str(error))
signal.signal(signal.SIGUSR1, handler)
log = ledger._journal.log
real = log._checked_last_record
log._checked_last_record = lambda *rows: (os.kill(os.getpid(), signal.SIGUSR1), real(*rows))[1]
ledger.release(costing(1.0), [1])
log._checked_last_record = real
assert found and all("a signal handler must not use it" in one for one in found), found
assert ledger.spent() == 1.0, ledger.spent()
"""


@pytest.mark.slow
def test_a_signal_handler_that_releases_is_told_at_once(server: Server, schema: str) -> None:
    address = server.address(f"{schema}/one")
    new(address, 9).close()
    printed("-c", HANDLER, address, timeout=100)


WITHIN = "opendp_topk", "contextlib"  # where the lock would be taken, or held by a generator


@pytest.mark.slow
@pytest.mark.parametrize("work", WORK)
def test_no_moment_of_a_debit_leaves_a_lock_of_a_server(server: Server, schema: str, work: str) -> None:
    """While its traceback lives, another thread of this process and another connection have their turn at once."""
    address = server.address(f"{schema}/one")
    ledger, other = new(address, 100), tk.ledger.Ledger(address)
    ledger.reserve(cost=1)
    moment, kept = 0, []
    while (error := interrupted_at(moment, lambda: WORK[work](ledger), WITHIN)) is not None:
        kept.append(error)
        assert in_another_thread(ledger._journal.log), f"moment {moment} left the lock held"
        assert set() == turns.BUSY
        if moment % 10 == 0:
            other._journal.settle(1, "failed")
        moment += 1
        kept = kept[-50:]
    assert moment > 30
    assert (ledger.spent(), ledger.verify()) == (1.0, [])
    end = time.monotonic() + 30
    while server.sql("SELECT FROM pg_locks WHERE locktype = 'advisory'"):
        assert time.monotonic() < end, "a connection was left in its transaction"
