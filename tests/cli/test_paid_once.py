"""What is paid is found again: its record is kept, it is paid once, and what was not recorded is settled later."""

import json
import os
import signal
import subprocess
import unicodedata
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files, journal
from opendp_topk.apps.ledger.charges import pay_once_check
from opendp_topk.apps.planning import record_store as kept_records
from tests.concepts.sentinels import raises_exactly

from .command import COMMAND
from .conftest import Command, Library


@pytest.fixture
def ledger(tmp_path: Path, command: Command) -> Path:
    path = tmp_path / "budget.ledger"
    assert command("ledger", "create", path, "--dataset", "loans", "--epsilon", 8).code == 0
    return path


def records(ledger: Path) -> list[str]:
    folder = Path(f"{ledger}.records")
    return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.mark.parametrize("out", ["w2.csv", None])
def test_paid_records_are_kept_for_any_out(command: Command, library: Library, ledger: Path, out: str | None) -> None:
    table = [] if out is None else ["--out", str(library.folder / out)]
    paid = library.release("--epsilon", 1, "--ledger", ledger, "--label", "May")
    done = command(*paid, *table)
    kept = Path(f"{ledger}.records") / "1.json"
    assert (done.code, str(kept) in "".join(done.err.split())) == (0, True)
    assert kept.stat().st_mode & 0o77 == 0
    assert command("verify", kept, "--ledger", ledger).code == 0
    assert command("show", kept).code == 0
    again = command(*library.release("--epsilon", 1, "--ledger", ledger, "--label", "May", "--from-record", kept))
    assert (again.code, tk.ledger.Ledger(ledger).count()) == (0, 1)


def test_a_release_with_a_paid_label_and_period_is_refused(command: Command, library: Library, ledger: Path) -> None:
    def paid(*more: str) -> Any:
        return command(*library.release("--epsilon", 0.5, "--ledger", ledger, *more))

    named = unicodedata.normalize("NFC", "Mai, \u00e4lter")
    assert paid("--label", named).code == 0
    for alike in (named, unicodedata.normalize("NFD", named), named.upper(), f" {named}"):
        paid("--label", alike).complains(
            2, "entry 1 of the ledger has already paid", "1.json", "--from-record", "--again"
        )
    for more in (["--label", "June"], ["--label", named, "--period", "2026"], ["--label", named, "--again"], [], []):
        assert paid(*more).code == 0
    paid("--label", named, "--period", "2026").complains(2, "entry 3 of the ledger")
    paid("--label", named).complains(2, "entry 4 of the ledger", "4.json")
    assert tk.ledger.Ledger(ledger).count() == 6


def test_a_release_that_failed_may_be_paid_again(command: Command, library: Library, ledger: Path) -> None:
    with tk.ledger.Ledger(ledger) as account:
        made = account.reserve(cost=0)
        made.settle("failed")
    paid = library.release("--epsilon", 0.5, "--ledger", ledger, "--label", "May")
    broken = library.folder / "broken.csv"
    broken.write_text("reader,book\n1\n")
    assert command(*[broken if one == library.table else one for one in paid]).code == 1
    assert command(*paid).code == 0


def test_a_release_that_dies_before_its_file_is_written_is_not_lost(
    command: Command, library: Library, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record is kept before the entry says that it was released; then the entry is settled with it."""

    class Died(BaseException):
        pass

    paid = library.release("--epsilon", 1, "--ledger", ledger, "--label", "May")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(journal.Journal, "settle_if_possible", mock.Mock(side_effect=Died))
        raises_exactly(Died, lambda: command(*paid))
    kept = Path(f"{ledger}.records") / "1.json"
    assert records(ledger) == ["1.json"]
    command(*paid).complains(2, "entry 1", str(kept))
    assert command(*paid, "--from-record", kept).code == 1, "nobody has said that it was released"
    assert command("ledger", "settle", ledger, 1, "--record", kept).code == 0
    assert command("verify", kept, "--ledger", ledger).code == 0
    assert command(*paid, "--from-record", kept).code == 0
    assert tk.ledger.Ledger(ledger).count() == 1


def test_a_release_of_which_nobody_can_say_that_it_was_released_says_so(
    command: Command, library: Library, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full then; the release is printed, the exit code is 1, and the entry is settled afterwards."""
    write, paid = files.write_all_bytes, library.release("--epsilon", 1, "--ledger", ledger)

    def full(handle: int, data: bytes) -> None:
        if b'"kind":"state"' in data:
            raise OSError(28, os.strerror(28))
        write(handle, data)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "write_all_bytes", full)
        done = command(*paid)
    assert done.code == 1
    assert "Carmen" in done.out or done.out.strip()
    assert "was drawn, and its cost is spent" in done.err
    assert f"ledger settle {ledger} 1 --record" in done.err
    kept = Path(f"{ledger}.records") / "1.json"
    assert command("verify", kept, "--ledger", ledger).code == 1
    assert command("ledger", "settle", ledger, 1, "--record", kept).code == 0
    assert command("verify", kept, "--ledger", ledger).code == 0
    command("ledger", "settle", ledger, 1, "--record", kept).complains(2, "already released")


def test_only_the_record_of_the_entry_settles_it(command: Command, library: Library, ledger: Path) -> None:
    assert command(*library.release("--epsilon", 1, "--ledger", ledger)).code == 0
    assert command("ledger", "reserve", ledger, "--amount", 1).code == 0
    kept = Path(f"{ledger}.records") / "1.json"
    command("ledger", "settle", ledger, 2, "--record", kept).complains(2, "the record of entry 2")
    changed = json.loads(kept.read_text())
    changed["ledger"]["entry"] = 2
    kept.with_name("2.json").write_text(json.dumps(changed))
    command("ledger", "settle", ledger, 2, "--record", kept.with_name("2.json")).complains(2, "the record of entry 2")


def test_a_record_that_cannot_be_kept_is_told_before_or_after(
    command: Command, library: Library, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(f"{ledger}.records").write_text("in the way")
    command(*library.release("--epsilon", 1, "--ledger", ledger)).complains(1, "the record of the release")
    assert tk.ledger.Ledger(ledger).count() == 0
    Path(f"{ledger}.records").unlink()
    monkeypatch.setattr(kept_records, "write_atomically", mock.Mock(side_effect=OSError(28, os.strerror(28))))
    done = command(*library.release("--epsilon", 1, "--ledger", ledger))
    assert (done.code, "could not be stored" in done.err) == (1, True)
    assert tk.ledger.Ledger(ledger).entry(1).state == "released"


def test_records_of_another_ledger_are_told_before_anything_is_paid(
    command: Command, library: Library, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(f"{ledger}.records")
    folder.mkdir()
    (folder / "1.json").write_text("{}")
    command(*library.release("--epsilon", 1, "--ledger", ledger)).complains(1, "the record of an entry 1", "0 entries")
    assert tk.ledger.Ledger(ledger).count() == 0
    listed = Path.glob

    def drawn_meanwhile(path: Path, pattern: str) -> list[Path]:
        found = [*listed(path, pattern)]
        with tk.ledger.Ledger(ledger) as other:
            other.reserve(cost=1).settle("failed")
        return found

    monkeypatch.setattr(kept_records.Path, "glob", drawn_meanwhile)
    assert command(*library.release("--epsilon", 1, "--ledger", ledger)).code == 0


def test_in_python_a_release_is_paid_once_if_that_is_asked(ledger: Path) -> None:
    account = tk.ledger.Ledger(ledger)
    measurement = _costing(account)
    first = account.reserve(measurement, label="May", once=True)
    with pytest.raises(tk.errors.ParameterError, match="entry 1 has already paid"):
        account.reserve(measurement, label="MAY", once=True)
    first.settle("failed")
    account.reserve(measurement, label="May", once=True)
    account.reserve(measurement, label="May")
    with pytest.raises(tk.errors.ParameterError, match="entry 3 has already paid"):
        account.reserve(measurement, label="May", once=True)
    assert account.count() == 3
    pay = pay_once_check(account._journal, "June", None)
    tk.ledger.Ledger(ledger).reserve(measurement, label="June")
    raises_exactly(tk.errors.ParameterError, pay, "entry 4 has already paid")


def _costing(account: tk.ledger.Ledger) -> tk.Measurement:
    domain, metric = tk.FrameDomain("reader", "book"), tk.UserDistance()
    count = (domain, metric) >> tk.then_count_by_item(candidates=["a", "b"])
    return count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=1.0)


@pytest.mark.slow
def test_a_service_that_is_stopped_leaves_no_draft(library: Library) -> None:
    arguments = library.release("--epsilon", 10**6, "--out", library.folder / "top.json", table="-")
    before = set(os.listdir(library.folder))
    running = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while running.poll() is None and set(os.listdir(library.folder)) == before:
        pass
    for _ in range(6):
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(timeout=10)  # its input stays open: a table that ends is another way to stop
            break
        except subprocess.TimeoutExpired:
            continue
    running.communicate()
    assert (running.returncode, set(os.listdir(library.folder))) == (130, before)
