"""Kills of clients of a server, of the server itself, and of clients of a file.

``python -m tests.ledger.kills [CLIENTS] [SERVERS] [FILES] [CROWDS]``; a 0 leaves one out. Of the deaths of clients of a
file a fifth each comes in the middle of a record, before it is on the disk, or in the release, the others at random. In
a crowd four clients at once release from a file, and then from a server, until all are killed. A signed head is taken
after each death of a server and of a crowd, and must agree with the ledger after the next.

A release is counted when it was seen, that is, after its function has run; what is recorded is read after each death.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import opendp_topk as tk
from tests import places

from .conftest import new
from .server import Server
from .workers import costing, signing_keys


class Found(NamedTuple):
    """After one death: all releases that were seen so far, and all that are recorded."""

    way: str
    seen: int
    recorded: int


def until_it_fails(ledger: tk.Ledger) -> int:
    """How many releases a ledger makes before its server is gone."""
    released: list[int] = []
    mine = costing(1.0, function=released.append)
    try:
        while True:
            ledger.release(mine, [1])
    except tk.LedgerError as error:
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
    from .test_processes import run

    found, before = run("crowds", address, rounds, writers), 0
    for seen, recorded, problems in found:
        assert problems == []
        assert 0 <= recorded - seen - before <= writers, "a death leaves at most one debit without its release"
        before = recorded - seen
    return found


def of_clients(count: int) -> list[Any]:
    """So many kills of clients at random moments, as :func:`tests.ledger.workers.crashes` reports them."""
    from .test_processes import run

    made = Server()
    try:
        return run("crashes", made.address("one"), count, 0)
    finally:
        made.close()


def of_files(count: int) -> list[Any]:
    """So many kills of clients of a file, as :func:`of_clients`."""
    from .test_processes import run

    with tempfile.TemporaryDirectory() as folder:
        return run("crashes", Path(folder, "budget.ledger"), count - 3 * (count // 5), count // 5)


def told(what: str, rounds: list[Any]) -> None:
    """Say what was seen and recorded at the end."""
    _, _, seen, recorded = rounds[-2]
    print(f"{what}: {seen} releases seen, {recorded:.0f} recorded, problems {rounds[-1][3]}")


if __name__ == "__main__":
    from .test_processes import held

    places.settle()
    given = sys.argv[1:] + ["200", "20", "600", "100"][len(sys.argv) - 1 :]
    clients, servers, files, crowds = map(int, given[:4])
    if files:
        rounds = of_files(files)
        held(rounds, files - 3 * (files // 5), files // 5)
        told(f"{files} kills of clients of a file", rounds)
    if clients:
        rounds = of_clients(clients)
        held(rounds, clients, 0)
        told(f"{clients} kills of clients", rounds)
    if crowds:
        with tempfile.TemporaryDirectory() as folder:
            seen, recorded, _ = of_crowds(Path(folder, "budget.ledger"), crowds)[-1]
        print(f"{crowds} kills of four clients of a file: {seen} releases seen, {recorded:.0f} recorded")
        made = Server()
        try:
            seen, recorded, _ = of_crowds(made.address("one"), crowds // 4)[-1]
        finally:
            made.close()
        print(f"{crowds // 4} kills of four clients of a server: {seen} releases seen, {recorded:.0f} recorded")
    for one in of_server(servers):
        assert one.seen <= one.recorded
        print(f"the server ended by {one.way}: {one.seen} releases seen, {one.recorded} recorded")
