"""What the tests of the ledger run in processes of their own: ``python -m tests.ledger.workers NAME FILE ...``."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import opendp_topk as tk


def unit(function: Callable[[Any], Any] = len, cost: float = 1.0) -> tk.Measurement:
    """A measurement that costs ``cost`` and shows when its function runs."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    return tk.make_user_measurement(*space, tk.MaxDivergence(), function=function, privacy_map=lambda d: d * cost)


def attempts(path: str, processes: str, each: str) -> None:
    """So many processes with so many attempts each; prints how many were released, refused, and failed otherwise."""
    pipes = []
    for _ in range(int(processes)):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            found = {"released": 0, "refused": 0, "failed": []}
            try:
                ledger = tk.Ledger(path, budget=3000, measure=tk.MaxDivergence())
                for _ in range(int(each)):
                    try:
                        ledger.release(unit(), [1, 2], d_in=1)
                        found["released"] += 1
                    except tk.BudgetError:
                        found["refused"] += 1
            except BaseException as error:
                found["failed"].append(repr(error))
            os.write(writer, json.dumps(found).encode())
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
    print(json.dumps([json.loads(os.read(pipe, 1 << 16)) for pipe in pipes]))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_sampling(ledger: tk.Ledger, after: int) -> tk.Measurement:
    """Dies when the function has run ``after`` times."""
    left = iter(range(after))
    return unit(lambda data: die() if next(left, None) is None else 0)


def at_statement(word: str) -> Callable[[tk.Ledger, int], tk.Measurement]:
    """Dies when SQLite is about to run a statement that begins with ``word``, for the ``after``-th time."""

    def plan(ledger: tk.Ledger, after: int) -> tk.Measurement:
        left = iter(range(after))
        ledger._store._connection.set_trace_callback(  # type: ignore[union-attr]
            lambda text: die() if text.startswith(word) and next(left, None) is None else None
        )
        return unit()

    return plan


def after_commit(ledger: tk.Ledger, after: int) -> tk.Measurement:
    """Dies between the debit and the release."""
    debit, left = ledger._store.debit, iter(range(after))

    def then_die(row: Any) -> None:
        debit(row)
        if next(left, None) is None:
            die()

    ledger._store.debit = then_die  # type: ignore[method-assign]
    return unit()


PLANS = {
    "insert": at_statement("INSERT"),
    "commit": at_statement("COMMIT"),
    "between": after_commit,
    "sampling": in_sampling,
}


def crashes(path: str, random_kills: str, planned_kills: str) -> None:
    """Kills children at random and at planned moments; prints releases seen and debits found after each."""
    tk.Ledger(path, budget=10**9, measure=tk.MaxDivergence()).close()
    moments = [("random", n) for n in range(int(random_kills))]
    moments += [(name, n) for n in range(int(planned_kills)) for name in PLANS]
    seen = 0
    for name, turn in moments:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with contextlib.suppress(BaseException):
                ledger = tk.Ledger(path)
                measurement = PLANS[name](ledger, turn % 4) if name in PLANS else unit()
                os.write(writer, b"ready")
                while True:
                    ledger.release(measurement, [1, 2], d_in=1)
                    os.write(writer, b".")
            os._exit(0)
        os.close(writer)
        assert os.read(reader, 5) == b"ready"
        if name == "random":
            time.sleep(0.001 + 0.0002 * (int.from_bytes(os.urandom(1), "big") % 100))
            os.kill(child, signal.SIGKILL)
        while block := os.read(reader, 1 << 16):
            seen += len(block)
        os.close(reader)
        _, status = os.waitpid(child, 0)
        with tk.Ledger(path) as ledger:
            entries = ledger.history()
            print(json.dumps([name, os.WTERMSIG(status), seen, len(entries), ledger.spent()]))


def full_disk(path: str) -> None:
    """Releases under a limit on the size of files until the ledger fails; lifts the limit; releases again."""
    drawn: list[int] = []
    released = 0
    ledger = tk.Ledger(path, budget=10**6, measure=tk.MaxDivergence())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    message = kind = ""
    try:
        while released < 10_000:
            ledger.release(unit(lambda data: drawn.append(1)), [1, 2], d_in=1)
            released += 1
    except tk.TopKError as error:
        message, kind = str(error), type(error).__name__
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    found = {"released": released, "drawn": len(drawn), "message": message, "kind": kind}
    ledger.release(unit(), [1, 2], d_in=1)
    print(json.dumps({**found, "after": len(ledger.history())}))


def read_only(path: str) -> None:
    """Opens and releases without the right to write, as another user where this one may write everything."""
    drawn: list[int] = []
    measurement = unit(lambda data: drawn.append(1))
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    message = kind = ""
    try:
        tk.Ledger(path).release(measurement, [1, 2], d_in=1)
    except tk.TopKError as error:
        message, kind = str(error), type(error).__name__
    print(json.dumps({"drawn": len(drawn), "message": message, "kind": kind}))


if __name__ == "__main__":
    {one.__name__: one for one in (attempts, crashes, full_disk, read_only)}[sys.argv[1]](*sys.argv[2:])
