"""Many processes, sudden death, a full disk, a file that may not be written, forks, and Ctrl-C.

The numbers of kills and processes are for a build; OPENDP_TOPK_KILLS=500 asks for that many. A signed head is taken
after each death of a server and of a crowd, and must agree with the ledger after the next.
Tries proofs/ledger/storage.tex.
"""

import json
import os
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import locks, postgres
from tests.concepts.processes import printed

from .conftest import new
from .server import Server
from .workers import CREATED, PLANS, costing, signing_keys


class Found(NamedTuple):
    """After one death: all releases that were seen so far, and all that are recorded."""

    way: str
    seen: int
    recorded: int


def until_it_fails(ledger: tk.ledger.Ledger) -> int:
    """How many releases a ledger makes before its server is gone."""
    released: list[int] = []
    mine = costing(1.0, function=released.append)
    try:
        while True:
            ledger.release(mine, [1])
    except tk.errors.LedgerError as error:
        said = str(error)
    assert "Nothing was released" in said
    return len(released)


def of_server(count: int) -> list[Found]:
    """So many ends of a server under a ledger in use: a kill of all its processes, an immediate stop, and again."""
    made, seen, found, folder = Server(), 0, [], tempfile.TemporaryDirectory()
    try:
        ledger, (private, public) = new(made.address("one"), 10**6), signing_keys(Path(folder.name))
        head = ledger.head(sign=private)
        for turn in range(count):
            way = made.stop if turn % 2 else made.kill
            end = threading.Timer(0.05 + 0.013 * turn, way)
            end.start()
            seen += until_it_fails(ledger)
            end.join()
            made.start()
            found.append(Found(way.__name__, seen, int(ledger.spent())))
            assert ledger.verify(head, key=public) == []
            head = ledger.head(sign=private)
        return found
    finally:
        folder.cleanup()
        made.close()


def of_crowds(address: object, rounds: int, writers: int = 4) -> list[Any]:
    """So many rounds of clients that are killed together: what was seen, what is recorded, and problems, after each."""
    found, before = run("crowds", address, rounds, writers), 0
    for seen, recorded, problems in found:
        assert problems == []
        assert 0 <= recorded - seen - before <= writers, "a death leaves at most one debit without its release"
        before = recorded - seen
    return found


KILLS = int(os.environ.get("OPENDP_TOPK_KILLS", "60"))


def run(name: str, *arguments: object) -> list[Any]:
    return list(map(json.loads, printed("-m", "tests.ledger.workers", name, *arguments).splitlines()))


@pytest.mark.slow
def test_sixteen_processes_spend_the_budget_and_no_more(connect: str) -> None:
    (found,) = run("attempts", connect, 16, 40, 480)
    assert [one["failed"] for one in found] == [[]] * 16
    assert sum(one["released"] for one in found) == 480
    assert sum(one["refused"] for one in found) == 160
    with tk.ledger.Ledger(connect) as ledger:
        assert (ledger.spent(), ledger.remaining()) == (480.0, 0.0)
        assert ledger.verify() == []


def held(found: list[Any], deaths: int, each: int) -> None:
    """Released <= recorded after every death, and each death leaves at most one debit without its release."""
    *rounds, (_, _, entries, problems) = found
    assert Counter(name for name, *_ in rounds) == {"random": deaths, **(dict.fromkeys(PLANS, each) if each else {})}
    unreleased = before = 0
    for name, death, released, spent in rounds:
        assert death == 9
        assert spent >= released, "a release was seen whose debit is lost"
        unreleased, before = spent - released - before, spent - released
        assert unreleased <= 1, "one death leaves at most one debit without its release"
        if name == "half_written":
            assert unreleased == 0
        if name in ("unsynced", "sampling"):
            assert unreleased == 1
    assert rounds[-1][3] == entries
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize(("deaths", "each"), [(4, 2), pytest.param(KILLS, KILLS // 6, marks=pytest.mark.slow)])
def test_no_death_loses_a_debit_that_preceded_a_release(deaths: int, each: int, path: Path) -> None:
    found = run("crashes", path, deaths, each)
    held(found, deaths, each)
    assert found[-2][2] > deaths / 4, "the children released too little for a test"


@pytest.mark.slow
def test_no_death_of_a_client_loses_a_debit_on_a_server(server: Server, tmp_path: Path) -> None:
    deaths = max(KILLS // 4, 4)
    found = run("crashes", server.address(tmp_path.name), deaths, 0)
    held(found, deaths, 0)
    assert found[-2][2] >= deaths, "the children released too little for a test"


@pytest.mark.slow
def test_no_death_of_many_who_write_at_once_loses_a_debit(connect: str) -> None:
    pytest.importorskip("cryptography", reason="heads are signed with cryptography, of the extra sign")
    rounds = max(KILLS // (20 if "://" in connect else 4), 2)
    assert of_crowds(connect, rounds)[-1][0] >= (4 if "://" in connect else 4 * rounds)


@pytest.mark.slow
def test_no_death_of_the_server_loses_a_debit() -> None:
    pytest.importorskip("cryptography", reason="heads are signed with cryptography, of the extra sign")
    found = of_server(max(KILLS // 15, 2))
    for turn, one in enumerate(found):
        assert one.seen <= one.recorded <= one.seen + turn + 1
    assert {one.way for one in found} == {"kill", "stop"}


@pytest.mark.slow
def test_a_full_disk_releases_nothing_and_the_ledger_goes_on_after_it(path: Path) -> None:
    (found,) = run("full_disk", path)
    assert found["kind"] == "LedgerError"
    assert "Nothing was released" in found["message"]
    assert 0 < found["released"] == found["drawn"]
    assert found["after"] == found["released"] + 1
    assert found["problems"] == []


@pytest.mark.slow
def test_a_file_that_may_not_be_written_can_be_read() -> None:
    """As on a mount that is read-only: what was spent is told, and nothing is released."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        path = Path(folder, "budget.ledger")
        new(path, 10).release(costing(1.0), [1])
        os.chmod(path, 0o444)
        before = path.read_bytes()
        (found,) = run("read_only", path)
        assert found["kind"] == "LedgerError"
        assert (found["drawn"], found["spent"], found["problems"]) == (0, 1.0, [])
        assert path.read_bytes() == before


@pytest.mark.slow
def test_forks_between_the_debits_of_threads(connect: str) -> None:
    ((codes, released, debits, spent),) = run("threads_and_forks", connect, 10)
    assert codes == [0] * 10
    assert released > 0
    assert debits == spent == released + 30


@pytest.mark.slow
def test_one_of_eight_processes_creates_a_ledger_and_all_spend_it(connect: str) -> None:
    (found,) = run("births", connect, 4)
    assert found == [[[0] * 7 + [CREATED], 40.0]] * 4


@pytest.mark.slow
def test_ctrl_c_acts_while_another_process_holds_the_lock(path: Path) -> None:
    new(path, 10).close()
    handle = os.open(path, os.O_RDWR)
    assert locks.acquire_lock(handle)
    (seconds,) = run("interrupted", path)
    os.close(handle)
    assert seconds < 0.5
    assert tk.ledger.Ledger(path).spent() == 0.0


@pytest.mark.slow
def test_ctrl_c_acts_while_another_process_holds_the_lock_of_a_server(server: Server, tmp_path: Path) -> None:
    import psycopg

    address = server.address(tmp_path.name)
    new(address, 10).close()
    with psycopg.connect(server.address("")) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", postgres.PostgresLog(address)._key)
        (seconds,) = run("interrupted", address)
    assert seconds < 0.5
    assert tk.ledger.Ledger(address).spent() == 0.0


def test_who_waits_too_long_for_a_lock_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = new(path, 10)
    handle = os.open(path, os.O_RDWR)
    assert locks.acquire_lock(handle)
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    start = time.monotonic()
    with pytest.raises(tk.errors.LedgerError, match="another process kept it locked"):
        ledger.release(costing(1.0), [1])
    assert time.monotonic() - start < 60
    os.close(handle)
