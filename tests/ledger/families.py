"""Forks and births of ledgers: ``python -m tests.ledger.families NAME FOLDER ...``."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opendp_topk as tk
from opendp_topk.ledger import creation

from .workers import die, unit

BUDGET = {"budget": 10**6, "measure": tk.MaxDivergence()}


def child(work: Callable[[], Any]) -> int:
    """A forked process that does ``work``; its number."""
    process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException as error:
            print(json.dumps(repr(error)), flush=True)
            os._exit(1)
        os._exit(0)
    return process


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def parent_leaves(folder: str) -> None:
    """A child goes on with the ledger that its parent opened and closes meanwhile."""
    path = Path(folder, "budget.sqlite")
    ledger = tk.Ledger(path, **BUDGET)
    ledger.release(unit(), [1], d_in=1)
    (ready, ready_end), (go, go_end) = os.pipe(), os.pipe()

    def work() -> None:
        ledger.release(unit(), [1], d_in=1)
        os.write(ready_end, b"r")
        os.read(go, 1)
        for _ in range(5):
            ledger.release(unit(), [1], d_in=1)

    process = child(work)
    os.read(ready, 1)
    ledger.close()
    os.write(go_end, b"g")
    code = ended(process)
    with tk.Ledger(path) as again:
        print(json.dumps([code, len(again.history()), again.spent()]))


def threads_and_forks(folder: str, forks: str) -> None:
    """Four threads debit one object while the process forks; every child debits it too."""
    ledger = tk.Ledger(Path(folder, "budget.sqlite"), **BUDGET)
    stop, released = threading.Event(), []

    def work() -> None:
        while not stop.is_set():
            ledger.release(unit(), [1], d_in=1)
            released.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    codes = [ended(child(lambda: [ledger.release(unit(), [1], d_in=1) for _ in range(3)])) for _ in range(int(forks))]
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps([codes, len(released), len(ledger.history()), ledger.spent()]))


def births(folder: str, files: str) -> None:
    """Eight processes create and debit the same file at once, many times over."""
    found = []
    for number in range(int(files)):
        path = Path(folder, f"{number}.sqlite")
        gate, opened = os.pipe()

        def work(path: Path = path, gate: int = gate, opened: int = opened) -> None:
            os.close(opened)
            os.read(gate, 1)
            for _ in range(5):
                with tk.Ledger(path, **BUDGET) as ledger:
                    ledger.release(unit(), [1], d_in=1)

        processes = [child(work) for _ in range(8)]
        os.close(opened)
        codes = [ended(process) for process in processes]
        os.close(gate)
        found.append([codes, tk.Ledger(path).spent()])
    print(json.dumps([found, sorted(one.name for one in Path(folder).iterdir() if one.name.endswith(".new"))]))


def dying_births(folder: str) -> None:
    """A process dies at each step of making a ledger; prints whether there is a file, and what the next one does."""

    def before(holder: Any, name: str) -> Callable[[], None]:
        def plan() -> None:
            setattr(holder, name, lambda *_, **__: die())

        return plan

    def after(holder: Any, name: str) -> Callable[[], None]:
        def plan() -> None:
            real = getattr(holder, name)
            setattr(holder, name, lambda *some, **named: (real(*some, **named), die()))

        return plan

    plans = {
        "connected": after(creation.sqlite3, "connect"),
        "written": before(creation.os, "fsync"),
        "synced": after(creation, "_write"),
        "placing": before(Path, "rename"),
        "placed": after(Path, "rename"),
    }
    for name, plan in plans.items():
        path = Path(folder, f"{name}.sqlite")

        def work(path: Path = path, plan: Callable[[], None] = plan) -> None:
            plan()
            tk.Ledger(path, **BUDGET)

        code, there = ended(child(work)), path.exists()
        with contextlib.closing(tk.Ledger(path, **BUDGET)) as ledger:
            ledger.release(unit(), [1], d_in=1)
            print(json.dumps([name, code, there, ledger.spent()]))


if __name__ == "__main__":
    {one.__name__: one for one in (parent_leaves, threads_and_forks, births, dying_births)}[sys.argv[1]](*sys.argv[2:])
