"""Kills of clients of a server, and of the server itself: ``python -m tests.ledger.kills [CLIENTS] [SERVERS]``.

A release is counted when it was seen, that is, after its function has run; what is recorded is read after each death.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, NamedTuple

import opendp_topk as tk

from .conftest import new
from .server import Server
from .workers import costing


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
    made, seen, found = Server(), 0, []
    try:
        ledger = new(made.address("one"), 10**6)
        for turn in range(count):
            way = made.stop if turn % 2 else made.kill
            end = threading.Timer(0.05 + 0.013 * turn, way)
            end.start()
            seen += until_it_fails(ledger)
            end.join()
            made.start()
            found.append(Found(way.__name__, seen, int(ledger.spent())))
            assert ledger.verify() == []
        return found
    finally:
        made.close()


def of_clients(count: int) -> list[Any]:
    """So many kills of clients at random moments, as :func:`tests.ledger.workers.crashes` reports them."""
    from .test_processes import run

    made = Server()
    try:
        return run("crashes", made.address("one"), count, 0)
    finally:
        made.close()


if __name__ == "__main__":
    from .test_processes import held

    clients, servers = map(int, (sys.argv[1:] + ["200", "20"][len(sys.argv) - 1 :])[:2])
    rounds = of_clients(clients)
    held(rounds, clients, 0)
    _, _, seen, recorded = rounds[-2]
    print(f"{clients} kills of clients: {seen} releases seen, {recorded:.0f} recorded, problems {rounds[-1][3]}")
    for one in of_server(servers):
        assert one.seen <= one.recorded
        print(f"the server ended by {one.way}: {one.seen} releases seen, {one.recorded} recorded")
