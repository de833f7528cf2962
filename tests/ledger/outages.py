"""Servers that crash, are restored or fail over under eight clients of one ledger.

``python -m tests.ledger.outages [--kills 200] [--restores 20] [--failovers 20]``. The clients draw from one plan, ask
in one conversation, release and read. A kill is a fast or an immediate stop, or ``kill -9``; the clients stay, and go
on when the server is there again. A restore puts a backup in the place of the data, a failover promotes a standby that
was behind: what was released since is lost.

Each client writes down what it draws as it draws it. Nothing may be drawn twice, or beyond what was paid; but where a
tail was lost, somebody who has not seen it may go on behind it.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import re
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import opendp_topk as tk
from opendp_topk.apps.ledger.postgres import TABLE
from tests import places

from .conftest import new
from .server import Server
from .workers import child, costing, ended

CLIENTS, PLACES, QUESTIONS, RELEASES = 8, 600, 400, 800
DRAW, QUESTION, RELEASE = 0.25, 1.0, 1.0
WAYS = "fast", "stop", "kill"


class Drawn(NamedTuple):
    """What a client has drawn: the place of the plan where it is one, and the label or the head of its entry."""

    client: int
    place: str
    key: str


class Crowd:
    """Clients of one ledger, which go on until they are ended, and what they have drawn."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.folder = tempfile.TemporaryDirectory(prefix="drawn-")
        self.processes: list[int] = []

    def join(self) -> None:
        """Eight more clients."""
        for client in range(len(self.processes), len(self.processes) + CLIENTS):
            self.processes.append(child(lambda client=client: self._go_on(client)))  # type: ignore[misc]

    def _go_on(self, client: int) -> None:
        handle = os.open(Path(self.folder.name, str(client)), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        numbers = itertools.count()
        warnings.simplefilter("ignore")  # that an entry stays reserved
        opened, parent = None, os.getppid()
        while os.getppid() == parent:
            try:
                opened = opened or self._opened()
                self._once(*opened, client, next(numbers), handle)
            except tk.TopKError:
                time.sleep(0.01)

    def _opened(self) -> tuple[tk.Ledger, Any, Any]:
        ledger = tk.Ledger(self.address)
        return ledger, ledger.planned(1), ledger.resume(2, [1])

    def _once(self, ledger: tk.Ledger, plan: Any, talk: Any, client: int, number: int, handle: int) -> None:
        label, what = f"{client}-{number}", random.choice(["drawn", "drawn", "asked", "asked", "made", "read"])

        def drawing(cost: float, place: str = "", key: str = label) -> tk.Measurement:
            return costing(cost, function=lambda _: os.write(handle, f"{place} {key}\n".encode()))

        if what == "drawn":
            place = random.choice(plan.left()[:3] or ("0",))
            reserved = plan.reserve(place, costing(DRAW))
            reserved._measurement = drawing(DRAW, place, reserved.payment_fields["head"])
            reserved.release([1])
        elif what == "asked":
            talk(drawing(QUESTION), label=label)
        elif what == "made":
            ledger.release(drawing(RELEASE), [1], label=label)
        else:
            random.choice((ledger.spent, ledger.history, ledger.head))()
        plan.left(), talk.remaining()

    def drawn(self) -> list[Drawn]:
        """What they have drawn, of each client in its order."""
        found = []
        for client in range(len(self.processes)):
            path = Path(self.folder.name, str(client))
            lines = path.read_text().splitlines() if path.exists() else []
            found += [Drawn(client, *line.split(" ")) for line in lines]
        return found

    def end(self) -> list[Drawn]:
        """End the clients; what they have drawn."""
        for process in self.processes:
            os.kill(process, signal.SIGKILL)
            ended(process)
        found = self.drawn()
        self.folder.cleanup()
        return found


def begun(server: Server) -> Crowd:
    """Eight clients of a new ledger."""
    address = server.address(f"one{os.urandom(4).hex()}")
    budget = PLACES * DRAW + QUESTIONS * QUESTION + RELEASES * RELEASE
    with new(address, budget) as ledger:
        ledger.reserve_all([(costing(DRAW), str(place)) for place in range(PLACES)])
        ledger.conversation([1], budget=QUESTIONS * QUESTION)
    found = Crowd(address)
    found.join()
    return found


def waited(least: float = 0.05, most: float = 0.6) -> None:
    time.sleep(random.uniform(least, most))


def told(address: str, drawn: list[Drawn]) -> tuple[int, int]:
    """How much of it the ledger has lost, and how many places were drawn twice by that; nothing else may be wrong."""
    with tk.Ledger(address) as ledger:
        assert ledger.verify() == []
        listed, records = ledger.history(), ledger._journal.log.iter_records()
        known = {one.label for one in listed} | {f"{one.number}-{one.digest}" for one in records}
        assert sum(one.cost for one in listed if one.used is None) <= ledger.limit
    lost = {one for one in drawn if one.key not in known}
    for client in {one.client for one in lost}:
        own = [one in lost for one in drawn if one.client == client]
        assert own == sorted(own), "a client went on behind what it had seen"
    for kept in (lost, set(drawn) - lost):
        assert max(Counter(one.place for one in kept if one.place).values(), default=1) == 1, "a place was drawn twice"
    assert len({one.key for one in drawn}) == len(drawn)
    twice = Counter(one.place for one in drawn if one.place)
    return len(lost), sum(count - 1 for count in twice.values())


def of_kills(count: int, each: int = 10) -> list[Drawn]:
    """So many ends of a server, a new ledger after some of them: nothing is lost, and nothing drawn twice."""
    server, found = Server(), []
    try:
        server.set(wal_writer_delay="10s")
        for first in range(0, count, each):
            crowd, head = begun(server), ""
            for turn in range(first, min(first + each, count)):
                waited(0.1, 0.3)
                with contextlib.suppress(tk.LedgerError), tk.Ledger(crowd.address) as ledger:
                    head = ledger.head()
                waited(0.1, 0.9)
                getattr(server, WAYS[turn % len(WAYS)])()
                server.start()
                with tk.Ledger(crowd.address) as ledger:
                    assert ledger.verify(head) == []
            waited(0.5, 1)
            drawn = crowd.end()
            assert told(crowd.address, drawn) == (0, 0)
            found += drawn
        return found
    finally:
        server.close()


def of_restores(count: int) -> list[tuple[int, int, int]]:
    """So many backups that take the place of the data: what was drawn, what of it is lost, and places drawn twice."""
    server, found = Server(), []
    try:
        for turn in range(count):
            crowd = begun(server)
            waited()
            copy = server.keep()
            waited()
            getattr(server, WAYS[turn % len(WAYS)])()
            server.restore(copy)
            waited(0.5, 1)
            crowd.join()
            waited(0.5, 1)
            drawn = crowd.end()
            found.append((len(drawn), *told(crowd.address, drawn)))
        return found
    finally:
        server.close()


def of_failovers(count: int) -> list[tuple[int, int, int]]:
    """So many standbys that are promoted without their primary's tail, as :func:`of_restores`."""
    server, found = Server(), []
    try:
        for turn in range(count):
            crowd, twin = begun(server), server.twin()
            waited()
            twin.fast()
            waited()
            getattr(server, WAYS[turn % len(WAYS)])()
            server.close()
            server, port = twin, server.port
            server.port = port
            server.start()
            server.promote()
            before = server.sql(f"SELECT count(*) FROM {TABLE}")
            crowd.join()
            waited(0.5, 1)
            assert server.sql(f"SELECT count(*) FROM {TABLE}") == before, "somebody went on before it was accepted"
            accept(crowd.address)
            waited(0.5, 1)
            drawn = crowd.end()
            found.append((len(drawn), *told(crowd.address, drawn)))
        return found
    finally:
        server.close()


def accept(address: str) -> None:
    """State that no release is missing, which is not so."""
    with tk.Ledger(address) as ledger:
        (problem,) = ledger.verify()
    kind = re.findall(r"accept_file_system='(.*?)'", problem)[0]
    tk.Ledger(address, accept_file_system=kind).close()


if __name__ == "__main__":
    places.settle()
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (("kills", 200), ("restores", 20), ("failovers", 20)):
        given.add_argument(f"--{name}", type=int, default=default, metavar="N")
    asked = given.parse_args()
    drawn = of_kills(asked.kills)
    print(f"{asked.kills} kills: {len(drawn)} drawn by {CLIENTS} clients at once, none of it lost, and no place twice")
    for name, rounds in (("restores", of_restores(asked.restores)), ("failovers", of_failovers(asked.failovers))):
        all_of_it, lost, twice = map(sum, zip(*rounds, strict=True)) if rounds else (0, 0, 0)
        print(f"{len(rounds)} {name}: {all_of_it} drawn, {lost} lost, {twice} places again by who had not seen that")
