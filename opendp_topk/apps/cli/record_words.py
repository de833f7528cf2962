"""The record of a release in words, the same on a terminal and on a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from ...spaces.curves.closed_forms import attack_accuracy, total_variation
from ..ledger import Ledger
from ..ledger.report import budget_summary_texts, protected_unit_text
from ..ledger.stated import NOT_STATED, TITLES, metadata_lines
from ..planning.release_record import PrivacyClaim, ReleaseRecord


def count_amounts(record: ReleaseRecord) -> list[float] | None:
    """Return the noisy counts or sums, or None if none were released."""
    found = record.released.counts
    return None if found is None else [record.score_amount(count) for count in found]


def other_users_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the row for the noisy number of users with an item that was not released, if it was requested."""
    number = record.released.other
    return [] if number is None else [("other", f"{number} {record.counted_noun} (a noisy count) have another item")]


def loss_text(claim: PrivacyClaim) -> str:
    """Return the privacy loss without its unit."""
    if not isinstance(claim.d_out, tuple):
        return f"{claim.symbol} = {claim.d_out:.12g}"
    return f"{claim.main_symbol} = {claim.d_out[0]:.12g}, delta = {claim.d_out[1]:.6g}"


def provenance_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the rows for the condition on rows, the digest of the file list and the deadline, if recorded."""
    where, files, padded = record.where, record.files, record.padded
    attested = f"a list as private as the table, with the digest {files}"
    return [
        *([] if where is None else [("rows", f"only those with {where}")]),
        *([] if files is None else [("files", attested)]),
        *([] if padded is None else [("deadline", f"{padded:g} seconds after the table began to be opened")]),
    ]


def group_column(record: ReleaseRecord) -> list[tuple[str, Sequence[Any]]]:
    """Return the group of each item as a column, or no column if there is one list."""
    groups = record.released.groups
    return [] if groups is None else [("group", groups)]


def csv_line(parts: Sequence[str]) -> str:
    """Return an item of several columns as a line of CSV, because its entries may contain commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(parts)
    return text.getvalue()


def accuracy_texts(record: ReleaseRecord) -> dict[str, str]:
    """Return the accuracy guarantees by name, with "user" replaced by the ledger's noun for a person."""
    called = {"user": record.person, "users": record.people}
    sums = record.summed_column is not None  # nothing is replaced: the column of numbers may be called "user"
    return {
        name: one.words if sums else re.sub(r"\busers?\b", lambda found: called[found[0]], one.words)
        for name, one in record.promises.items()
    }


def protected_people(record: ReleaseRecord) -> int:
    """Return the size of the protected group in people, given the stated bound on user column values per person."""
    stated = record.stated
    values = int(stated.get("at_most", 1)) * (2 if stated.get("shared") else 1)
    return max(1, record.claim.d_in // values)


def protection_text(record: ReleaseRecord) -> str:
    """Return the protected unit, with the stated bound that it relies on, if any."""
    whom, stated = (protected_unit_text(record.claim.neighbors, protected_people(record), record.person), record.stated)
    if "at_most" not in stated:
        return whom
    if record.is_row_level:
        return f"{whom}, who has at most {stated['at_most']} rows (stated, not checked)"
    shared = "which several people may share" if stated.get("shared") else "each of which belongs to no one else"
    column = record.mechanism["user"]
    return f"{whom}, who has rows with at most {stated['at_most']} values of {column}, {shared} (stated, not checked)"


def release_facts(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return rows for the protected unit, the meaning of a person, the table and the stated metadata."""
    stated, ledger = record.stated, record.ledger
    one = f"a {record.person}, identified by the column {stated.get('column', record.mechanism['user'])}"
    if record.is_row_level:
        one = f"a {record.person}, whom no column of the table identifies"
    return [
        ("protects", protection_text(record)),
        ("a person is", one),
        ("table", NOT_STATED if ledger is None else str(ledger["dataset"])),
        *metadata_lines(stated),
    ]


def signing_checklist(record: ReleaseRecord) -> list[str]:
    """Return the questions to ask before signing off the release."""
    one, column = record.person, record.mechanism["user"]
    *titles, last = TITLES.values()
    bound = "Is the stated bound correct for every person?"
    alone = f"Does each {one} have one value of the column {column}? A person with two values counts as two people."
    return [
        bound if "at_most" in record.stated else alone,
        record.asked.public_check(record),
        f"Are {', '.join(['table', *titles])} and {last} as agreed?",
        "Does `opendp-topk verify` with the ledger report that every line agrees?",
        "Is this accuracy of an attacker acceptable, and is the remaining budget enough for all planned releases?",
    ]


def budget_rows(ledger: Ledger) -> list[tuple[str, str]]:
    """Return the rows for the spent and the remaining budget of the ledger that has paid."""
    budget, gone, left, at = budget_summary_texts(ledger)
    of = f"of {budget}{at and f', {at}'}, on {ledger.count()} {'entry' if ledger.count() == 1 else 'entries'}"
    return [("spent so far", f"{gone} {of}"), ("left", left)]


def attack_text(record: ReleaseRecord) -> str:
    """Explain the privacy loss as the accuracy of an attacker who knows all other rows."""
    claim, number = record.claim, protected_people(record)
    one = f"one particular {record.person}" if number == 1 else f"one particular group of {number} people"
    if claim.neighbors == "replace":
        what = f"which of two sets of rows {one} has in the table"
    else:
        what = f"whether {one} is in the table{'' if number == 1 else ', completely or not at all'}"
    return (
        f"An attacker who knows all other rows guesses {what}; both are equally likely. Without this release the "
        f"guess is right 50 % of the time. With it, at most {claim_attack_accuracy(claim):g} %."
    )


def claim_attack_accuracy(claim: PrivacyClaim) -> float:
    """Return the highest accuracy, in percent, of guessing which of two equally likely neighbouring tables was used."""
    main, delta = map(float, claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out, 0))
    return attack_accuracy(total_variation(main, delta, concentrated=claim.main_symbol == "rho"))


def payment_text(record: ReleaseRecord) -> str:
    """Return which entry of which ledger paid for the release, if any."""
    entry = record.ledger
    if entry is None:
        return "No ledger was named: only this record documents the cost."
    return f"Entry {entry['entry']} of the ledger of {entry['dataset']}, charged {format_time(entry['time'])}."


def format_time(time: str) -> str:
    return time.replace("T", " ").replace("+00:00", " UTC")


def mechanism_text(record: ReleaseRecord) -> str:
    known, hidden = record.mechanism, ("mechanism", "transformation", "partition")
    shown = [f"{name} = {value}" for name, value in known.items() if name not in hidden]
    partition = record.mechanism.get("partition")
    if partition is not None:
        shown.append(f"in each of {partition['groups']} groups of {partition['group']}")
    return f"{known['mechanism']}, with {', '.join(shown)}"


def software_text(record: ReleaseRecord) -> str:
    library, engine = record.library, record.engine
    return f"{library['name']} {library['version']}; the table was counted by {engine['name']} {engine['version']}"
