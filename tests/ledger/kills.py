"""Kills of a server, and of four clients at once that release from a file or from a server.

A signed head is taken after each death, and must agree with the ledger after the next.

A release is counted when it was seen, that is, after its function has run; what is recorded is read after each death.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

import opendp_topk as tk

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
