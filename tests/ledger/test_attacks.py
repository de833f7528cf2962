"""What was done to ledgers to make them overspend or forget, by name, on each back end where it applies.

Of a signed head one changed byte of the line, of the ledger or of the key is refused.
Tries proofs/ledger/ledger.tex.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import records
from opendp_topk.apps.ledger.files import SEPARATOR
from opendp_topk.errors import BudgetError, LedgerError, ParameterError
from tests.concepts.processes import ROOT
from tests.concepts.sentinels import raises_exactly

from .conftest import draws_nothing, new
from .server import Server
from .test_processes import run
from .workers import costing, signing_keys, spend

Fields = list[dict[str, Any]]


def texts(path: Path) -> list[str]:
    """The records of a file, by another way than the ledger's."""
    return [piece.removesuffix("\n") for piece in path.read_text("ascii").split("\x1e")[1:]]


def overwrite(path: Path, listed: list[str]) -> None:
    path.write_bytes(b"".join(SEPARATOR + one.encode() + b"\n" for one in listed))


def resealed(fields: Fields) -> list[str]:
    """Records as somebody would write them who knows the format and computes every digest anew."""
    made: list[str] = []
    for one in fields:
        if made:
            one = {**one, "previous": made[-1][:64], "ledger": made[0][:64]}
        made.append(records.seal_record(one))
    return made


@pytest.mark.parametrize("more", [{"kind": "unknown"}, {"kind": "state", "of": 0}, {"kind": "state", "of": 2}], ids=str)
def test_a_record_of_no_known_kind_or_of_no_entry_is_noticed(path: Path, more: dict[str, Any]) -> None:
    ledger = new(path, 4)
    ledger.reserve(cost=1)
    log, fields = ledger._journal.log, {"time": "", "operator": "", "state": "failed", **more}
    first = log.first_record().digest
    log.append(lambda last: records.next_record_text(last, first, **fields))
    assert ledger.verify() != []


# Names, mounts, moves and side files.


def alternately(*names: Path) -> tuple[int, float]:
    """How many releases of 1/4 two names of a ledger with budget 1 give together, and what both tell was spent."""
    released = 0
    ledgers = [tk.ledger.Ledger(name) for name in names]
    for turn in range(16):
        try:
            spend(ledgers[turn % len(ledgers)], 0.25)
            released += 1
        except BudgetError:
            break
    spent = {one.spent() for one in ledgers}
    assert len(spent) == 1
    return released, spent.pop()


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_two_names_by_a_link_spend_one_budget(path: Path, link: Callable[[Path, Path], None]) -> None:
    new(path, 1).close()
    link(path, path.with_name("other"))
    assert alternately(path, path.with_name("other")) == (4, 1.0)


@pytest.mark.slow
def test_two_names_by_a_bind_mount_spend_one_budget(tmp_path: Path) -> None:
    """A container's ``-v a:b`` gives one file two names; a death under one of them changes nothing under the other."""
    first, second = tmp_path / "a", tmp_path / "b" / "b"
    second.parent.mkdir()
    second.touch()
    new(first, 12).close()
    script = (
        'mount --bind "$0" "$1" || exit 77\n'
        'for name in "$0" "$1" "$0" "$1"; do python3 -m tests.ledger.workers two_names "$name"; done\n'
        'python3 -m tests.ledger.workers spend_all "$1"\n'
    )
    command = ["unshare", "-m", "sh", "-c", script, str(first), str(second)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PATH": path}, check=False
    )
    if done.returncode in (1, 77) and not done.stdout:
        pytest.skip("mounts need a right that this account does not have; the test with links shows the same")
    released = sum(map(int, done.stdout.split()))
    with tk.ledger.Ledger(first) as ledger:
        assert (released, ledger.spent()) == (12, 12.0), done.stderr
        assert ledger.verify() == []


def test_there_is_no_file_beside_it_to_remove(path: Path) -> None:
    ledger = new(path, 1)
    seen: list[list[str]] = []
    ledger.release(costing(0.25, function=lambda data: seen.append(os.listdir(path.parent))), [1])
    assert seen == [[path.name]]
    ledger.close()
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.slow
@pytest.mark.quick(take="copyfile")
@pytest.mark.parametrize("take", [shutil.copyfile, os.rename])
def test_a_file_that_is_copied_or_moved_after_a_death_keeps_all_debits(path: Path, take: Any) -> None:
    found = run("crashes", path, 1, 1)
    moved = path.parent / "elsewhere" / "b"
    moved.parent.mkdir()
    take(path, moved)
    with tk.ledger.Ledger(moved) as ledger:
        assert ledger.spent() == len(ledger.history()) == found[-2][3] >= found[-2][2]
        assert ledger.verify() == []
        spend(ledger, 1.0)


# What somebody who may write the file can do to it.


SIMPLE: dict[str, Callable[[list[str]], list[str]]] = {
    "delete_a_row": lambda rows: rows[:1] + rows[3:],
    "delete_the_last_rows": lambda rows: rows[:-2],
    "raise_the_budget": lambda rows: [
        rows[0].replace('"budget":["1"],"limit":["1"]', '"budget":["9"],"limit":["9"]'),
        *rows[1:],
    ],
    "rewrite_a_total": lambda rows: [*rows[:-1], rows[-1].replace('"spent":["3/4"]', '"spent":["1/4"]')],
    "rewrite_the_middle": lambda rows: [rows[0], rows[1].replace('"cost":["1/4"]', '"cost":["0"]'), *rows[2:]],
    "exchange_rows": lambda rows: [rows[0], *rows[3:5], *rows[1:3], *rows[5:]],
}


@pytest.mark.parametrize("attack", SIMPLE)
def test_an_edited_file_is_noticed(path: Path, attack: str) -> None:
    ledger = new(path, 1)
    spend(ledger, 0.25, 0.25, 0.25)
    head = ledger.head()
    edited = SIMPLE[attack](texts(path))
    assert edited != texts(path)
    overwrite(path, edited)
    try:
        with tk.ledger.Ledger(path) as again:
            without, found = again.verify(), again.verify(head)
    except LedgerError:
        return  # what is wrong in the first or in the last record shows when it is opened
    assert found != []
    assert without != [] or attack == "delete_the_last_rows", "only a head that was kept tells of a whole older copy"


def without_a_row(fields: Fields) -> Fields:
    kept = [fields[0], *fields[3:]]
    for number, one in enumerate(kept):
        one["number"] = number
        if number:
            one["entries"] -= 1
            one["spent"] = [str(Fraction(one["spent"][0]) - Fraction(1, 4))]
        if one["kind"] == "state":
            one["of"] -= 1
    return kept


def with_a_larger_budget(fields: Fields) -> Fields:
    fields[0] |= {"budget": ["9"], "limit": ["9"]}
    return fields


def with_smaller_costs(fields: Fields) -> Fields:
    for one in fields:
        one["spent"] = ["0"]
        if "cost" in one:
            one["cost"] = ["0"]
    return fields


@pytest.mark.parametrize("attack", [without_a_row, with_a_larger_budget, with_smaller_costs])
def test_a_file_rewritten_with_all_digests_is_told_by_its_head(path: Path, attack: Callable[[Fields], Fields]) -> None:
    ledger = new(path, 1)
    spend(ledger, 0.25, 0.25, 0.25)
    head = ledger.head()
    ledger.close()
    overwrite(path, resealed(attack([json.loads(one[65:]) for one in texts(path)])))
    with tk.ledger.Ledger(path) as again:
        assert again.verify() == [], "what is whole in itself shows only against a head"
        (found,) = again.verify(head)
    assert "kept" in found


def test_totals_that_do_not_add_up_are_found_whatever_the_digests_say(path: Path) -> None:
    ledger = new(path, 1)
    spend(ledger, 0.25, 0.25, 0.25)
    fields = [json.loads(one[65:]) for one in texts(path)]
    fields[3]["spent"] = ["1/8"]
    overwrite(path, resealed(fields))
    assert tk.ledger.Ledger(path).verify() == ["record 3 has a total that does not match the earlier records"]
    fields = [json.loads(one[65:]) for one in texts(path)]
    fields[1] |= {"cost": ["2"], "spent": ["2"]}
    overwrite(path, resealed(fields[:2]))
    again = tk.ledger.Ledger(path)
    assert again.verify() == ["record 1 has a total that does not match the earlier records"]
    assert again.remaining() == 0.0, "what is left of an overspent budget is nothing"
    raises_exactly(BudgetError, lambda: spend(again, 0.0))


def test_a_planned_release_that_is_listed_twice_is_found(path: Path) -> None:
    plan = new(path, 1).reserve_all([(costing(0.25), "a"), (costing(0.25), "b")])
    plan.reserve("a")
    plan.reserve("b")
    fields = [json.loads(one[65:]) for one in texts(path)]
    fields[3]["place"] = fields[2]["place"]
    overwrite(path, resealed(fields))
    assert tk.ledger.Ledger(path).verify() == ["record 3 has a total that does not match the earlier records"]


def test_an_old_copy_restored_in_place_is_told_by_its_head(path: Path) -> None:
    ledger = new(path, 1)
    spend(ledger, 0.25)
    old = path.read_bytes()
    spend(ledger, 0.25)
    head = ledger.head()
    ledger.close()
    path.write_bytes(old)
    with tk.ledger.Ledger(path) as again:
        assert again.verify() == []
        assert again.verify(head) == [
            "record 4, whose head was kept, is missing: the ledger was restored from an older copy, or truncated"
        ]
        spend(again, 0.125, 0.125)
        assert again.verify(head) == ["record 4 differs from the kept head: the ledger was rewritten"]
        spend(again, 0.125)
        assert again.verify(again.head()) == []


def test_an_old_copy_restored_under_an_open_ledger_takes_no_debit(path: Path) -> None:
    ledger = new(path, 1)
    old = path.read_bytes()
    spend(ledger, 0.25)
    path.write_bytes(old)
    draws_nothing(ledger, "older copy")
    path.unlink()
    new(path, 1).close()
    draws_nothing(ledger, "replaced by an older copy")


@pytest.mark.parametrize("head", ["", "1-abc", "x" * 70, 7, "1-" + "g" * 64])
def test_a_head_is_a_line_of_its_own_form(path: Path, head: Any) -> None:
    raises_exactly(ParameterError, lambda: new(path, 1).verify(head), "`head` printed")


# The same on a server.


def sql(server: Server, statement: str, *values: Any) -> None:
    import psycopg

    with psycopg.connect(server.address(""), autocommit=True) as connection:
        connection.execute(statement, values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM opendp_topk_ledger WHERE number IN (1, 2) AND ledger = %s",
     "UPDATE opendp_topk_ledger SET record = replace(record, '1/4', '0') WHERE number = 1 AND ledger = %s",
     "UPDATE opendp_topk_ledger SET record = replace(record, '\"1\"', '\"9\"') WHERE number = 0 AND ledger = %s",
     "UPDATE opendp_topk_ledger SET record = replace(record, '3/4', '1/4') WHERE number = 6 AND ledger = %s"],
)  # fmt: skip
def test_an_edited_table_is_noticed(server: Server, tmp_path: Path, statement: str) -> None:
    address = server.address(tmp_path.name)
    ledger = new(address, 1)
    spend(ledger, 0.25, 0.25, 0.25)
    sql(server, statement, tmp_path.name)
    try:
        found = tk.ledger.Ledger(address).verify()
    except LedgerError as error:
        found = [str(error)]
    assert len(found) == 1
    assert re.search("damaged|does not follow|does not add up", found[0])


@pytest.mark.slow
def test_rows_rewritten_under_an_open_ledger_take_no_debit(server: Server, tmp_path: Path) -> None:
    """There is a record of the number that was seen last, and it is another one."""
    ledger = new(server.address(tmp_path.name), 1)
    spend(ledger, 0.25)
    sql(server, "DELETE FROM opendp_topk_ledger WHERE number > 0 AND ledger = %s", tmp_path.name)
    with tk.ledger.Ledger(server.address(tmp_path.name)) as other:
        spend(other, 0.125)
    raises_exactly(LedgerError, lambda: spend(ledger, 0.25), "older copy")


def test_a_record_that_was_rewritten_with_its_own_digest_alone_is_noticed(path: Path) -> None:
    ledger = new(path, 1)
    spend(ledger, 0.25, 0.25)
    listed = texts(path)
    forged = records.seal_record({**json.loads(listed[1][65:]), "label": "somebody else's"})
    overwrite(path, [listed[0], forged, *listed[2:]])
    found = tk.ledger.Ledger(path).verify()
    assert found == ["record 2 does not follow record 1: one was removed, added or rewritten"]


@pytest.fixture
def signed(path: Path) -> tuple[tk.ledger.Ledger, str, Path]:
    """A ledger, its signed head, and the public key."""
    pytest.importorskip("cryptography", reason="heads are signed with cryptography, of the extra sign")
    private, public = signing_keys(path.parent)
    ledger = new(path, 1)
    spend(ledger, 0.25)
    return ledger, ledger.head(sign=private), public


def test_a_signed_head_is_the_head_and_agrees(signed: tuple[tk.ledger.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    assert line.split(":")[:2] == [ledger.head(), "ed25519"]
    assert ledger.verify(line, key=key) == []
    spend(ledger, 0.25)
    assert ledger.verify(line, key=key) == []
    assert ledger.head(1, sign=key.with_suffix(".pem")).startswith(ledger.head(1))


def test_one_changed_byte_of_the_line_is_refused(signed: tuple[tk.ledger.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    for place, letter in enumerate(line):
        other = line[:place] + chr(ord(letter) ^ 1) + line[place + 1 :]
        try:
            found = ledger.verify(other, key=key)
        except ParameterError:
            continue
        assert any("not signed with this key" in one for one in found), place
    assert any("not signed" in one for one in ledger.verify(ledger.head(), key=key))


def test_another_key_and_another_purpose_are_refused(signed: tuple[tk.ledger.Ledger, str, Path]) -> None:
    from cryptography.hazmat.primitives import serialization as keys

    ledger, line, key = signed
    _, other = signing_keys(key.parent, "other")
    assert any("not signed with this key" in one for one in ledger.verify(line, key=other))
    private = keys.load_pem_private_key(key.with_suffix(".pem").read_bytes(), password=None)
    bare = f"{ledger.head()}:ed25519:{private.sign(ledger.head().encode()).hex()}"
    assert any("not signed" in one for one in ledger.verify(bare, key=key)), "it is of the bare text, and of no head"


def test_rewritten_ledgers_do_not_fit_the_signed_head(path: Path, signed: tuple[tk.ledger.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    ledger.close()
    fields = [json.loads(one[65:]) for one in texts(path)]
    fields[1] |= {"label": "nothing of interest"}
    overwrite(path, resealed(fields))
    with tk.ledger.Ledger(path) as again:
        assert again.verify() == []
        assert again.verify(line, key=key) != []


def test_a_signed_head_needs_its_key_and_a_key_its_head(signed: tuple[tk.ledger.Ledger, str, Path]) -> None:
    ledger, line, key = signed
    raises_exactly(ParameterError, lambda: ledger.verify(line), "give the key")
    raises_exactly(ParameterError, lambda: ledger.verify(key=key), "give the head")
    raises_exactly(LedgerError, lambda: ledger.head(sign=key), "not a private Ed25519 key")
    raises_exactly(LedgerError, lambda: ledger.verify(line, key=key.with_suffix(".pem")), "not a public Ed25519 key")
    raises_exactly(LedgerError, lambda: ledger.head(sign=key.with_suffix(".none")), "does not exist")


def test_keys_of_other_kinds_are_told_without_their_text(
    path: Path, signed: tuple[tk.ledger.Ledger, str, Path]
) -> None:
    from cryptography.hazmat.primitives import serialization as keys
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

    raw = keys.Encoding.PEM, keys.PrivateFormat.PKCS8, keys.NoEncryption()
    ledger, line, _ = signed
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    locked = ed25519.Ed25519PrivateKey.generate()
    for name, content in {
        "rsa": other.private_bytes(*raw),
        "locked": locked.private_bytes(*raw[:2], keys.BestAvailableEncryption(b"a word")),
        "none": b"nonsense",
        "empty": b"",
    }.items():
        file = path.with_name(name)
        file.write_bytes(content)
        raises_exactly(LedgerError, lambda file=file: ledger.head(sign=file), "not a private Ed25519 key")
        raises_exactly(LedgerError, lambda file=file: ledger.verify(line, key=file), "not a public Ed25519 key")
