"""Kills of `opendp-topk release` at random moments, each then run again: ``python -m tests.cli.kills COUNT``.

Each release has a label of its own, writes a table of its items, and is killed once. It is then run again. What must
hold: an entry, and one only, has paid for each label; nothing was shown or kept that no entry has paid for; an entry
that says that it was released has its record; and every record that is kept verifies and gives the answer again, once
its entry is settled with it.
"""

import collections
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import opendp_topk as tk
from tests import places

_LONGEST = 1.5  # times what a release takes that is not killed


def run(folder: Path, name: str, *arguments: object) -> int:
    """The command in a process of its own, which begins with all that it imports; its number."""
    process = os.fork()
    if process:
        return process
    from opendp_topk.apps.cli import main

    with open(folder / f"{name}.out", "ab", 0) as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    sys.argv = ["opendp-topk", *map(str, arguments)]
    code: object = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 1)


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed(folder: Path, count: int) -> collections.Counter[str]:
    """So many kills; how often what was found after one of them."""
    ledger, table, books = folder / "budget.ledger", folder / "loans.csv", folder / "books.txt"
    table.write_text("reader,book\n" + "".join(f"{one},{'abc'[one % 3]}\n" for one in range(100)))
    books.write_text("a\nb\nc\n")
    votes = {"dataset": "loans", "metric": tk.UserDistance()}
    tk.ledger.Ledger.create(ledger, budget=10**6, measure=tk.MaxDivergence(), **votes).close()  # type: ignore[arg-type]
    found: collections.Counter[str] = collections.Counter()

    def release(name: str, *more: object) -> tuple[object, ...]:
        asked = "--user", "reader", "--item", "book", "--candidates", books, "--k", 1, "--epsilon", 1
        return ("release", "top-k", table, *asked, "--ledger", ledger, "--label", name, *more)

    start = time.monotonic()
    assert ended(run(folder, "first", *release("first"))) == 0
    longest = _LONGEST * (time.monotonic() - start)
    for number in range(count):
        name = f"release {number}"
        process = run(folder, name, *release(name, "--out", folder / f"{number}.csv"))
        time.sleep(random.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        died = ended(process) == -signal.SIGKILL
        found[after(folder, ledger, number, name, release)] += 1
        found["died"] += died
    assert tk.ledger.Ledger(ledger).verify() == []
    return found


def after(folder: Path, ledger: Path, number: int, name: str, release: object) -> str:
    """What was found after a kill, and was put right."""
    assert callable(release)
    with tk.ledger.Ledger(ledger) as account:
        entries = [one for one in account.history() if one.label == name]
        shown = (folder / f"{number}.csv").exists()
        assert len(entries) <= 1
        assert entries or not shown, "something was released that nobody has paid for"
        if not entries:
            assert ended(run(folder, name, *release(name))) == 0, "what was not paid can be released"
            assert [one.state for one in account.history() if one.label == name] == ["released"]
            return "not paid, and then released"
        (paid,) = entries
        record = Path(f"{ledger}.records", f"{paid.number}.json")
        assert record.exists() or (paid.state != "released" and not shown)
        assert ended(run(folder, name, *release(name))) == 2, "what was paid is refused"
        assert account.count() == len(account.history())
        assert len([one for one in account.history() if one.label == name]) == 1
        if not record.exists():
            return f"paid and {paid.state}, without a record"
        if paid.state == "reserved":
            assert ended(run(folder, name, "ledger", "settle", ledger, paid.number, "--record", record)) == 0
        assert ended(run(folder, name, "verify", record, "--ledger", ledger)) == 0
        assert ended(run(folder, name, *release(name, "--from-record", record))) == 0
        return f"paid and {paid.state}, and answered from its record"


if __name__ == "__main__":
    import narwhals  # noqa: F401
    import polars  # noqa: F401

    from opendp_topk.apps.cli import app  # noqa: F401
    from opendp_topk.apps.planning.question import PrivacyBudget, TableUnit
    from opendp_topk.apps.planning.question_top_k import TopK

    places.settle()
    asked = TopK(k=1, candidates=3, item="book", unit=TableUnit(user="reader"), budget=PrivacyBudget(epsilon=1.0))
    plan = asked.plan()
    repr(plan.measurement)  # what is known of its proof then is known to all that are forked
    with tempfile.TemporaryDirectory() as where:
        for what, how_often in sorted(killed(Path(where), int(sys.argv[1])).items()):
            print(f"{how_often:5} {what}")
