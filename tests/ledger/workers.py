"""What the tests of the ledger run in processes of their own: ``python -m tests.ledger.workers NAME LEDGER ...``."""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opendp_topk as tk
from opendp_topk.apps.ledger import files
from tests import places

CREATED = 7  # how a process ends that has created a ledger
PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
VOTES = tk.LInfDistance(monotonic=True)
SPACE = tk.VectorDomain(tk.AtomDomain(int)), VOTES
FOR_VOTES = {"measure": PURE, "dataset": "votes", "metric": VOTES}


def costing(loss: Any, measure: tk.Measure = PURE, function: Callable[[Any], Any] = len) -> tk.Measurement:
    """A measurement that costs ``loss`` and shows when its function runs."""
    return tk.make_user_measurement(*SPACE, measure, function=function, privacy_map=lambda d_in: loss)


def spend(ledger: tk.ledger.Ledger, *losses: float) -> None:
    """Release once for each of these losses."""
    for loss in losses:
        ledger.release(costing(loss), [1])


def child(work: Callable[[], Any]) -> int:
    """A forked process that does ``work``; its number."""
    process = os.fork()
    if process == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    return process


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def attempts(connect: str, processes: str, each: str, budget: str) -> None:
    """So many processes with so many attempts each; prints how many were released, refused, and failed otherwise."""
    tk.ledger.Ledger.create(connect, budget=budget, **FOR_VOTES).close()
    pipes = []
    for _ in range(int(processes)):
        reader, writer = os.pipe()

        def work(writer: int = writer) -> None:
            found: dict[str, Any] = {"released": 0, "refused": 0, "failed": []}
            try:
                ledger = tk.ledger.Ledger(connect)
                for _ in range(int(each)):
                    try:
                        ledger.release(costing(1.0), [1, 2])
                        found["released"] += 1
                    except tk.errors.BudgetError:
                        found["refused"] += 1
            except BaseException as error:
                found["failed"].append(repr(error))
            os.write(writer, json.dumps(found).encode())

        child(work)
        os.close(writer)
        pipes.append(reader)
    print(json.dumps([json.loads(os.read(pipe, 1 << 16)) for pipe in pipes]))


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after(count: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """``real``, until it was called so many times; then death."""
    left = iter(range(count))
    return lambda *some, **named: real(*some, **named) if next(left, None) is not None else die()


def half_written(count: int) -> None:
    """Dies in the middle of writing a record, after so many others."""
    real, left = files.write_all_bytes, iter(range(count))

    def write(handle: int, data: bytes) -> None:
        if next(left, None) is None:
            real(handle, data[: len(data) // 2])
            die()
        real(handle, data)

    files.write_all_bytes = write


def unsynced(count: int) -> None:
    """Dies when a record is written and not yet on the disk."""
    files._sync_to_disk = _after(count, files._sync_to_disk)


def in_sampling(count: int) -> tk.Measurement:
    """Dies when the function has run ``count`` times."""
    left = iter(range(count))
    return costing(1.0, function=lambda data: die() if next(left, None) is None else 0)


PLANS = ("half_written", "unsynced", "sampling")


def planned(name: str, turn: int) -> tk.Measurement:
    """The measurement whose releases end in the planned death."""
    if name == "half_written":
        half_written(2 * turn)
    if name == "unsynced":
        unsynced(turn)
    return in_sampling(turn) if name == "sampling" else costing(1.0)


def crashes(connect: str, random_kills: str, planned_kills: str) -> None:
    """Kills children at random moments after 0 to 3 releases, and at planned moments.

    Prints releases seen and debits found after each.
    """
    tk.ledger.Ledger.create(connect, budget=10**9, **FOR_VOTES).close()
    moments = [("random", n) for n in range(int(random_kills))]
    moments += [(name, n) for n in range(int(planned_kills)) for name in PLANS]
    seen = 0
    for name, turn in moments:
        reader, writer = os.pipe()

        def work(name: str = name, turn: int = turn, writer: int = writer) -> None:
            ledger = tk.ledger.Ledger(connect)
            measurement = planned(name, turn % 4)
            os.write(writer, b"ready")
            while True:
                ledger.release(measurement, [1, 2])
                os.write(writer, b".")

        process = child(work)
        os.close(writer)
        assert os.read(reader, 5) == b"ready"
        if name == "random":
            for _ in range(turn % 4):
                seen += len(os.read(reader, 1))
            time.sleep(0.001 + 0.0002 * (int.from_bytes(os.urandom(1), "big") % 100))
            os.kill(process, signal.SIGKILL)
        while block := os.read(reader, 1 << 16):
            seen += len(block)
        os.close(reader)
        death = -ended(process)
        with tk.ledger.Ledger(connect) as ledger:
            print(json.dumps([name, death, seen, ledger.spent()]))
    with tk.ledger.Ledger(connect) as ledger:
        print(json.dumps(["end", 0, len(ledger.history()), ledger.verify()]))


def draws(connect: str, kills: str, each: str) -> None:
    """Four processes at once draw from one plan, all the same places, and are killed; again, until so many died.

    Prints after each round the places whose release was seen so far, those that are left, and what the records lack.
    """
    one, labels = costing(0.25), [f"place {n}" for n in range(int(kills) * int(each))]
    ledger = tk.ledger.Ledger.create(connect, budget=10**6, **FOR_VOTES)
    ledger.reserve_all([(one, label) for label in labels])
    seen: list[int] = []
    for turn in range(int(kills) // 4):
        reader, writer = os.pipe()

        def work(writer: int = writer) -> None:
            plan = tk.ledger.Ledger(connect).planned(1)
            for label in plan.left():
                with contextlib.suppress(tk.errors.QueryError):
                    plan.release(label, [1, 2], one)
                    os.write(writer, labels.index(label).to_bytes(2, "big"))

        processes = [child(work) for _ in range(4)]
        os.close(writer)
        for _ in range(1 + turn % 4):
            seen.append(int.from_bytes(os.read(reader, 2), "big"))
        time.sleep(0.002 * (int.from_bytes(os.urandom(1), "big") % 20))
        for process in processes:
            os.kill(process, signal.SIGKILL)
        while block := os.read(reader, 2):
            seen.append(int.from_bytes(block, "big"))
        os.close(reader)
        for process in processes:
            ended(process)
        left = [labels.index(label) for label in ledger.planned(1).left()]
        print(json.dumps([sorted(seen), left, ledger.verify(), ledger.spent()]))


def crowds(connect: str, rounds: str, writers: str) -> None:
    """So many children release at once until all of them are killed at a random moment, again and again.

    Prints releases seen and debits found after each round; and what contradicts the signed head of the round before.
    """
    ledger = tk.ledger.Ledger.create(connect, budget=10**9, **FOR_VOTES)
    with tempfile.TemporaryDirectory() as folder:
        private, public = signing_keys(Path(folder))
        seen, kept = 0, ledger.head(sign=private)
        for _ in range(int(rounds)):
            readers, children = [], []
            for _ in range(int(writers)):
                reader, writer = os.pipe()

                def work(writer: int = writer) -> None:
                    mine, measurement = tk.ledger.Ledger(connect), costing(1.0)
                    while True:
                        mine.release(measurement, [1, 2])
                        os.write(writer, b".")

                children.append(child(work))
                os.close(writer)
                readers.append(reader)
            seen += sum(len(os.read(reader, 1)) for reader in readers)  # each has released
            time.sleep(0.0002 * (int.from_bytes(os.urandom(1), "big") % 100))
            for process in children:
                os.kill(process, signal.SIGKILL)
            for reader in readers:
                while block := os.read(reader, 1 << 16):
                    seen += len(block)
                os.close(reader)
            assert [ended(process) for process in children] == [-9] * len(children)
            problems = ledger.verify(kept, key=public)
            kept = ledger.head(sign=private)
            print(json.dumps([seen, ledger.spent(), problems]))


def signing_keys(folder: Path, name: str = "own") -> tuple[Path, Path]:
    """A private key for heads and its public one, in files."""
    from cryptography.hazmat.primitives import serialization as keys
    from cryptography.hazmat.primitives.asymmetric import ed25519

    made = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    pem = keys.Encoding.PEM
    private.write_bytes(made.private_bytes(pem, keys.PrivateFormat.PKCS8, keys.NoEncryption()))
    public.write_bytes(made.public_key().public_bytes(pem, keys.PublicFormat.SubjectPublicKeyInfo))
    return private, public


def full_disk(path: str) -> None:
    """Releases under a limit on the size of files until the ledger fails; lifts the limit; releases again."""
    drawn: list[int] = []
    released = 0
    ledger = tk.ledger.Ledger.create(path, budget=10**6, **FOR_VOTES)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    message = kind = ""
    try:
        while released < 10_000:
            ledger.release(costing(1.0, function=lambda data: drawn.append(1)), [1, 2])
            released += 1
    except tk.errors.TopKError as error:
        message, kind = str(error), type(error).__name__
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    found = {"released": released, "drawn": len(drawn), "message": message, "kind": kind}
    ledger.release(costing(1.0), [1, 2])
    print(json.dumps({**found, "after": len(ledger.history()), "problems": ledger.verify()}))


def obey_permissions() -> None:
    """From now on the superuser is asked for the right to write, too; what it may read stays (Linux, ``capset(2)``)."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the third version, this process
    held = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable ones, in two halves
    assert libc.capget(version, held) == 0
    held[0] &= ~(1 << 1)  # CAP_DAC_OVERRIDE
    assert libc.capset(version, held) == 0, os.strerror(ctypes.get_errno())


def descriptors(folder: str) -> None:
    """Releases from a ledger in memory, that was made as if on a disk, with few free descriptors."""
    import resource

    from opendp_topk.apps.ledger import files as mounts

    path, real, found = os.path.join(folder, f"{os.getpid()}.ledger"), mounts.file_system_kind, []
    try:
        mounts.file_system_kind = lambda handle: None  # type: ignore[assignment]
        ledger = tk.ledger.Ledger.create(path, budget=100, **FOR_VOTES)
        ledger.release(costing(1.0), [1])
        mounts.file_system_kind = real
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(map(int, os.listdir("/proc/self/fd")))
        for free in range(8):
            released: list[int] = []
            resource.setrlimit(resource.RLIMIT_NOFILE, (used + free, most[1]))
            try:
                ledger.release(costing(1.0, function=released.append), [1])
            except tk.errors.LedgerError:
                pass
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, most)
            found.append(len(released))
    finally:
        os.unlink(path)
    print(json.dumps(found))


def read_only(path: str) -> None:
    """Opens, reads and releases without the right to write."""
    drawn: list[int] = []
    measurement = costing(1.0, function=lambda data: drawn.append(1))
    if os.geteuid() == 0:
        obey_permissions()
    message = kind = ""
    ledger = tk.ledger.Ledger(path)
    spent, problems = ledger.spent(), ledger.verify()
    try:
        ledger.release(measurement, [1, 2])
    except tk.errors.TopKError as error:
        message, kind = str(error), type(error).__name__
    print(json.dumps({"drawn": len(drawn), "message": message, "kind": kind, "spent": spent, "problems": problems}))


def threads_and_forks(connect: str, forks: str) -> None:
    """Four threads debit one object while the process forks; every child debits it too.

    One release comes first: a child that is forked while a thread imports a module waits for ever if it imports it too.
    """
    ledger = tk.ledger.Ledger.create(connect, budget=10**6, **FOR_VOTES)
    ledger.release(costing(1.0), [1])
    stop, released = threading.Event(), [1]

    def work() -> None:
        while not stop.is_set():
            ledger.release(costing(1.0), [1])
            released.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    codes = [ended(child(lambda: [ledger.release(costing(1.0), [1]) for _ in range(3)])) for _ in range(int(forks))]
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps([codes, len(released), len(ledger.history()), ledger.spent()]))


def births(connect: str, files: str) -> None:
    """Eight processes create the same ledger at once, one of them does, and all debit it; many times over."""
    found = []
    for number in range(int(files)):
        gate, opened = os.pipe()
        name = f"{connect}{number}"

        def work(name: str = name, gate: int = gate, opened: int = opened) -> None:
            os.close(opened)
            os.read(gate, 1)
            created = False
            with contextlib.suppress(tk.errors.LedgerError):
                tk.ledger.Ledger.create(name, budget=10**6, **FOR_VOTES).close()
                created = True
            for _ in range(5):
                with tk.ledger.Ledger(name) as ledger:
                    ledger.release(costing(1.0), [1])
            os._exit(CREATED if created else 0)

        processes = [child(work) for _ in range(8)]
        os.close(opened)
        codes = sorted(ended(process) for process in processes)
        os.close(gate)
        found.append([codes, tk.ledger.Ledger(name).spent()])
    print(json.dumps(found))


def interrupted(path: str) -> None:
    """Waits for a lock that its parent holds, until Ctrl-C; prints how long that took to act."""
    sent = [0.0]

    def press() -> None:
        time.sleep(0.5)
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
    ledger = tk.ledger.Ledger(path)
    threading.Thread(target=press).start()
    try:
        ledger.release(costing(1.0), [1])
    except KeyboardInterrupt:
        print(json.dumps(time.monotonic() - sent[0]))


def two_names(path: str) -> None:
    """Releases twice, and dies in the middle of a third; prints how many were released."""
    ledger = tk.ledger.Ledger(path)
    for _ in range(2):
        ledger.release(costing(1.0), [1])
    print(2, flush=True)
    half_written(0)
    ledger.release(costing(1.0), [1])


def spend_all(path: str) -> None:
    """Releases until the budget is spent; prints how many were released."""
    ledger, released = tk.ledger.Ledger(path), 0
    while ledger.fits(costing(1.0)):
        ledger.release(costing(1.0), [1])
        released += 1
    print(released)


def creates(path: str, accept: str | None = None) -> None:
    """Creates a ledger with a budget of 1, and spends it."""
    _tried(lambda: tk.ledger.Ledger.create(path, budget=1, accept_file_system=accept, **FOR_VOTES))  # type: ignore[arg-type]


def releases(path: str, accept: str | None = None) -> None:
    """Spends all of a ledger."""
    _tried(lambda: tk.ledger.Ledger(path, accept_file_system=accept))


def _tried(opened: Callable[[], tk.ledger.Ledger]) -> None:
    """Prints how many releases a ledger gave, what it accepts, and the error that ended this."""
    found: dict[str, Any] = {"released": 0, "accepted": [], "told": ""}
    try:
        with opened() as ledger:
            found["accepted"] = list(ledger.accepted)
            while ledger.fits(costing(1.0)):
                ledger.release(costing(1.0), [1])
                found["released"] += 1
    except tk.errors.LedgerError as error:
        found["told"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    places.take_any()
    globals()[sys.argv[1]](*sys.argv[2:])
