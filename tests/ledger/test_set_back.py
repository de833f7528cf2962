"""What a crash, a restore or a failover of a server takes back, and what a ledger that was open makes of it.

Tries proofs/ledger/storage.tex and proofs/ledger/ledger.tex.
"""

import contextlib
import functools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import postgres
from opendp_topk.apps.ledger.records import seal_record
from opendp_topk.apps.ledger.report import ledger_summary
from opendp_topk.errors import BudgetError, LedgerError, QueryError
from tests.concepts.sentinels import raises_exactly

from .conftest import draws_nothing, new
from .server import Server
from .workers import costing

TABLE = "opendp_topk_ledger"
TAKEN_BACK = "it was replaced by an older copy or another ledger"
MOVED = "it is bound to another server or table"
ONE = costing(0.25)


@pytest.fixture(scope="module")
def losing() -> Iterator[Server]:
    """A server that writes late what nobody waits for, so that a crash surely loses it."""
    made = Server()
    made.set(wal_writer_delay="10s")
    yield made
    made.close()


@pytest.fixture
def address(losing: Server) -> str:
    """A ledger that has planned four releases, and begun a conversation of 1."""
    found = losing.address(f"one{os.urandom(4).hex()}")
    with new(found, 10**6) as ledger:
        ledger.reserve_all([(ONE, f"place {n}") for n in range(4)])
        ledger.conversation([1], budget=1)
    return found


def crash(server: Server) -> None:
    server.kill()
    server.start()


# What another process does that comes first after the crash, and what must not be done after it.
DRAWN: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any], type[Exception]]] = {
    "plan": (
        lambda ledger: ledger.planned(1),
        lambda plan: plan.release("place 1", [1], ONE),
        lambda plan: plan.release("place 0", [1], ONE) and plan.left(),
        QueryError,
    ),
    "conversation": (
        lambda ledger: ledger.resume(2, [1]),
        lambda talk: talk(costing(0.75)),
        lambda talk: talk(ONE) and talk.remaining(),
        BudgetError,
    ),
}


def refused_step(found: Any, server: Server) -> None:
    """A step that is refused when it has read what others wrote."""
    with contextlib.suppress(QueryError, BudgetError):
        found.release("place 0", [1], ONE) if hasattr(found, "left") else found(costing(1.0))


def next_step(found: Any) -> Any:
    """A draw of a plan, or a question of a conversation."""
    return found.release("place 2", [1], ONE) if hasattr(found, "left") else found(ONE)


def failed_commit(found: Any, server: Server) -> None:
    """A step whose server ends before its commit."""
    real = postgres.execute_statements

    def said(connection: Any, *statements: str) -> Any:
        if any(one.startswith("INSERT") for one in statements):
            server.kill()
        return real(connection, *statements)

    postgres.execute_statements = said  # type: ignore[attr-defined]
    try:
        raises_exactly(LedgerError, lambda: next_step(found))
    finally:
        postgres.execute_statements = real  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("last", [None, refused_step, failed_commit])
@pytest.mark.parametrize("what", DRAWN)
def test_what_a_crash_takes_back_is_read_again(losing: Server, address: str, what: str, last: Any) -> None:
    """The number of what was lost goes to a draw of another process, which the first one must see."""
    find, other, own, error = DRAWN[what]
    mine = find(tk.ledger.Ledger(address))
    own(mine)
    if last is not None:
        last(mine, losing)
    crash(losing)
    other(find(tk.ledger.Ledger(address)))
    raises_exactly(error, lambda: other(mine))
    assert tk.ledger.Ledger(address).verify() == []


@pytest.mark.slow
def test_records_across_a_crash_are_not_joined(losing: Server, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may end with a record that is lost then, whose number a draw has when the next page is read."""
    monkeypatch.setattr(postgres, "_PAGE", 1)
    ledger = tk.ledger.Ledger(address)
    plan = ledger.planned(1)
    plan.release("place 0", [1], ONE)
    listed = ledger._journal.log.iter_records()
    seen = [next(listed) for _ in range(5)]
    assert seen[-1].fields["kind"] == "state"
    crash(losing)
    tk.ledger.Ledger(address).planned(1).release("place 1", [1], ONE)
    raises_exactly(LedgerError, lambda: next(listed), "its server crashed while it was read")
    assert plan.left() == ("place 2", "place 3")


HEADS: dict[str, Callable[[tk.ledger.Ledger], str]] = {
    "head": lambda ledger: ledger.head(),
    "summary": lambda ledger: str(ledger_summary(ledger)["head"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", HEADS)
def test_a_head_taken_while_others_write_stays_true_after_a_crash(losing: Server, address: str, how: str) -> None:
    ledger, other = tk.ledger.Ledger(address), tk.ledger.Ledger(address)
    reserved, log = other.reserve(cost=1), ledger._journal.log
    real = log.sync_records

    def sync() -> Any:
        found = real()
        reserved.settle()
        return found

    log.sync_records = sync  # type: ignore[method-assign]
    head = HEADS[how](ledger)
    crash(losing)
    tk.ledger.Ledger(address).reserve(cost=1)
    assert tk.ledger.Ledger(address).verify(head) == []


READERS: dict[str, Callable[[tk.ledger.Ledger], Any]] = {
    "spent": lambda ledger: ledger.spent(),
    "history": lambda ledger: ledger.history(),
    "verify": lambda ledger: ledger.verify(),
    "head": lambda ledger: ledger.head(),
    "fits": lambda ledger: ledger.fits(ONE),
    "entry": lambda ledger: ledger.entry(3),
    "planned": lambda ledger: ledger.planned(1).left(),
    "settle": lambda ledger: ledger.settle(4, "failed"),
}


def set_back(server: Server, address: str, count: int) -> None:
    """Take from the ledger's records all behind so many, as an older copy that takes its place would."""
    name = address.partition("#")[2]
    server.sql(f"DELETE FROM {TABLE} WHERE ledger = '{name}' AND number >= {count}")


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_ledger_that_has_only_read_misses_what_was_set_back(losing: Server, address: str, reader: str) -> None:
    """What ended the records was a state, which is not missed; the debit before it is."""
    mine, other = tk.ledger.Ledger(address), tk.ledger.Ledger(address)
    other.release(costing(1.0), [1])
    other.reserve(cost=1)
    other.release(costing(1.0), [1])
    READERS[reader](mine)
    set_back(losing, address, 6)
    draws_nothing(mine, TAKEN_BACK)
    raises_exactly(LedgerError, mine.history, TAKEN_BACK)
    raises_exactly(LedgerError, mine.spent, TAKEN_BACK)
    (problem,) = mine.verify()
    assert TAKEN_BACK in problem
    tk.ledger.Ledger(address).release(costing(1.0), [1])  # who opens it anew cannot know, but with a head that was kept


@pytest.mark.slow
def test_what_may_be_lost_is_not_missed(losing: Server, address: str) -> None:
    ledger = tk.ledger.Ledger(address)
    ledger.release(costing(1.0), [1])
    assert ledger.history()[-1].state == "released"
    crash(losing)
    assert ledger.history()[-1].state == "reserved"
    ledger.release(costing(1.0), [1])
    assert (ledger.spent(), ledger.verify()) == (4.0, [])
    set_back(losing, address, 0)
    raises_exactly(LedgerError, ledger.head, "could not be read: it no longer exists")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["fast", "stop", "kill"])
def test_a_connection_that_was_ended_while_it_was_idle_is_made_again(losing: Server, address: str, way: str) -> None:
    ledger = tk.ledger.Ledger(address)
    ledger.release(costing(1.0), [1])
    getattr(losing, way)()
    losing.start()
    ledger.release(costing(1.0), [1])
    assert ledger.verify() == []


# A ledger is bound to its server and its table.


def moved(address: str) -> str:
    """What the error names that a ledger is bound to elsewhere; nothing was drawn."""
    drawn: list[Any] = []
    with tk.ledger.Ledger(address) as ledger:
        work = functools.partial(ledger.release, costing(1.0, function=drawn.append), [1])
        caught = raises_exactly(LedgerError, work, MOVED, "accept_file_system")
        (problem,) = ledger.verify()
    assert MOVED in problem
    assert drawn == []
    return str(caught).partition("accept_file_system='")[2].partition("'")[0]


def accepted(address: str) -> None:
    """Accept what :func:`moved` found; then the rest of the budget, one release, is left."""
    with tk.ledger.Ledger(address, accept_file_system=moved(address)) as ledger:
        ledger.release(costing(1.0), [1])
        raises_exactly(BudgetError, lambda: ledger.release(costing(1.0), [1]))
        assert (ledger.verify(), len(ledger.accepted)) == ([], 2)


def dumped(server: Server, target: Server, database: str, *more: str) -> None:
    """What ``pg_dump`` writes of the ledgers' table, restored in another database."""
    command = [server.programs / "pg_dump", "-t", TABLE, *more, "-d", server.address("")]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    restore = [server.programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", target.address("", database=database)]
    subprocess.run(restore, input=text, check=True, capture_output=True)


@pytest.mark.slow
def test_a_dump_that_is_restored_takes_debits_when_somebody_says_so(losing: Server) -> None:
    """In another database of the same server, and in the same one in the place of a later table."""
    name = f"one{os.urandom(4).hex()}"
    new(losing.address(name), 2).release(costing(1.0), [1])
    losing.sql(f"CREATE DATABASE {name}")
    dumped(losing, losing, name)
    accepted(losing.address(name, database=name))
    dumped(losing, losing, losing.database, "--clean")
    accepted(losing.address(name))


@pytest.mark.slow
def test_a_standby_that_is_promoted_takes_debits_when_somebody_says_so(losing: Server) -> None:
    name = f"one{os.urandom(4).hex()}"
    new(losing.address(name), 2).release(costing(1.0), [1])
    twin = losing.twin()
    try:
        twin.promote()
        accepted(twin.address(name))
    finally:
        twin.close()


@pytest.mark.slow
def test_all_timelines_of_a_server_can_be_accepted_before_it_fails_over(losing: Server) -> None:
    name = f"one{os.urandom(4).hex()}"
    ledger = new(losing.address(name), 3)
    (kind,) = ledger.accepted
    with tk.ledger.Ledger(losing.address(name), accept_file_system=kind.rpartition("/")[0]) as mine:
        assert mine.accepted == (kind.rpartition("/")[0], kind)
    twin = losing.twin()
    try:
        twin.promote()
        tk.ledger.Ledger(twin.address(name)).release(costing(1.0), [1])
    finally:
        twin.close()


@pytest.mark.slow
def test_a_ledger_that_is_bound_to_no_server_is_bound_with_its_next_debit(losing: Server) -> None:
    """As those are that were made before ledgers were bound."""
    name = f"one{os.urandom(4).hex()}"
    with new(losing.address(name), 3) as ledger:
        fields = {**ledger._journal.header.fields}
    del fields["accepted"]
    text = seal_record(fields)
    losing.sql(f"UPDATE {TABLE} SET record = '{text}' WHERE ledger = '{name}'")
    with tk.ledger.Ledger(losing.address(name)) as old:
        assert old.accepted == ()
        old.release(costing(1.0), [1])
        assert (len(old.accepted), old.verify(), old.count(), old.spent()) == (1, [], 1, 1.0)


@pytest.mark.slow
def test_the_target_of_a_subscription_takes_no_debit() -> None:
    """Its rows are debits that were paid on another server, which hears nothing of those that are made here."""
    made: list[Server] = []
    try:
        made.append(Server())
        source = made[0]
        source.set(wal_level="logical")
        source.fast()
        source.start()
        made.append(Server())
        target = made[1]
        ledger = new(source.address("one"), 4)
        new(target.address("other"), 4).close()  # makes the table
        source.sql(f"CREATE PUBLICATION all_of_it FOR TABLE {TABLE}")
        link = f"host={source.folder} port={source.port} user=ledger dbname=postgres"
        target.sql(f"CREATE SUBSCRIPTION all_of_it CONNECTION '{link}' PUBLICATION all_of_it")
        ledger.release(costing(1.0), [1])
        end = time.monotonic() + 60
        while target.sql(f"SELECT count(*) FROM {TABLE} WHERE ledger = 'one'") != [(3,)] and time.monotonic() < end:
            time.sleep(0.05)
        raises_exactly(LedgerError, lambda: tk.ledger.Ledger(target.address("one")), "the target of a subscription")
        target.sql("ALTER SUBSCRIPTION all_of_it DISABLE")
        raises_exactly(LedgerError, lambda: tk.ledger.Ledger(target.address("other")), "the target of a subscription")
        target.sql("DROP SUBSCRIPTION all_of_it")
        with tk.ledger.Ledger(target.address("one")) as copy:
            draws_nothing(copy, MOVED)
    finally:
        for one in made:
            one.close()
