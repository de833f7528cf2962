"""Verification of a whole ledger, signatures of its head, and repair of its file."""

from __future__ import annotations

import itertools
import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import LedgerError, ParameterError, checks
from ...errors.extras import import_extra
from ...errors.files import quote_path, read_regular_file
from .amounts import (
    UNBOUNDED,
    Amount,
    BudgetAccount,
    add_amounts,
    deserialize_amount,
    format_amount,
    is_amount_within,
    is_limit_within_budget,
    serialize_amount,
)
from .files import SEPARATOR, FileLog, sync_folder, write_new_file
from .journal import RELEASED, Journal, parse_header, utc_timestamp
from .logs import SCHEMES, Log, resolve_path
from .planned import PLANNED, WHAT
from .records import (
    Record,
    accepted_kinds_in,
    damaged_log_error,
    is_next_record,
    ledger_error,
    next_record_text,
    record_head,
    seal_record,
    unseal_record,
)

# Heads signed with Ed25519: the holder of a key confirms the ledger's records up to one of them.

_LINE = re.compile(r"(\d{1,18}-[0-9a-f]{64})(?::ed25519:([0-9a-f]{128}))?", re.ASCII)
_PURPOSE = "opendp_topk ledger head "  # signed with each head, so a signature of other data is invalid
_MOST = 2**16  # maximum bytes of a key file


def sign_head(head: str, key: str | os.PathLike[str]) -> str:
    keys, kind = _load_cryptography()
    content = _read_key_file(key)
    try:
        found = keys.load_pem_private_key(content, password=None)
    except Exception:  # replaced by our own error, which contains nothing of the key
        found = None
    if not isinstance(found, kind.Ed25519PrivateKey):
        raise LedgerError(
            f"{quote_path(os.fspath(key))} is not a private Ed25519 key in PEM without a password: create one "
            "with openssl genpkey -algorithm ed25519"
        )
    return f"{head}:ed25519:{found.sign((_PURPOSE + head).encode('ascii')).hex()}"


def parse_head_line(line: Any) -> tuple[str, str | None]:
    """Return the head in a stored line, and its signature if it has one."""
    found = _LINE.fullmatch(line.strip()) if isinstance(line, str) else None
    if found is None:
        raise ParameterError("head must be a line that `head` printed")
    return found[1], found[2]


def is_signed(line: Any, key: str | os.PathLike[str]) -> bool:
    """Return True if this very line is signed with the private key of ``key``, a public Ed25519 key in PEM."""
    keys, kind = _load_cryptography()
    head, signature = parse_head_line(line)
    content = _read_key_file(key)
    try:
        found = keys.load_pem_public_key(content)
    except Exception:
        found = None
    if not isinstance(found, kind.Ed25519PublicKey):
        raise LedgerError(
            f"{quote_path(os.fspath(key))} is not a public Ed25519 key in PEM: derive it from the private key "
            "with openssl pkey -pubout"
        )
    try:
        found.verify(bytes.fromhex(signature or ""), (_PURPOSE + head).encode("ascii"))
    except Exception:
        return False
    return signature is not None


def _read_key_file(key: str | os.PathLike[str]) -> bytes:
    return read_regular_file(key, "the key", LedgerError, at_most=_MOST)


def _load_cryptography() -> tuple[Any, Any]:
    names = ("serialization", "asymmetric.ed25519")
    keys, kind = (
        import_extra(f"cryptography.hazmat.primitives.{one}", "signatures require cryptography", "opendp_topk[sign]")
        for one in names
    )
    return keys, kind


# Consistency of a ledger's records with each other, and with a head that was stored elsewhere.
#
# Proof: proofs/ledger/ledger.tex

_NOTES = "accept", "repair"  # kinds of records that neither charge nor settle an entry


def find_ledger_problems(
    journal: Journal, kept: str | None = None, key: str | os.PathLike[str] | None = None
) -> list[str]:
    anchor, signature = (None, None) if kept is None else parse_head_line(kept)
    if key is None and signature is not None:
        raise ParameterError("head is signed: also give the key, or remove the signature from the head")
    if key is not None and anchor is None:
        raise ParameterError("key requires a signed head: also give the head")
    forged = key is not None and not is_signed(kept, key)
    found: list[str] = []
    try:
        found.extend(find_contradictions(journal))  # keeps what was found before a read error
        if forged:
            return [*found, "the kept head was not signed with this key, or the head or the key was changed"]
        return found if anchor is None else [*found, *_compare_with_head(journal.log, anchor)]
    except LedgerError as error:
        return [*found, str(error).replace(". Nothing was released", "")]


def find_contradictions(journal: Journal) -> Iterator[str]:
    """Yield the contradictions, one line each. Iteration raises LedgerError if the ledger cannot be read."""
    yield from journal.log.storage_flaws()
    yield from _check_record_chain(journal.log.place, journal.log.iter_records())


def _compare_with_head(log: Log, kept: str) -> list[str]:
    number = int(kept.partition("-")[0])
    found = log.find_first_record(lambda record: record.number >= number)
    if found is None:
        return [
            f"record {number}, whose head was kept, is missing: the ledger was restored from an older copy, or "
            "truncated"
        ]
    if record_head(found) != kept:
        return [f"record {number} differs from the kept head: the ledger was rewritten"]
    return []


# proof-region: checking
class _RecordTotals:
    """Totals over the records up to one of them."""

    def __init__(self, account: BudgetAccount) -> None:
        self.account = account
        self.spent = account.zero_amount
        self.told = serialize_amount(self.spent)
        self.entries = 0
        self.paid: dict[int, Amount] = {}
        self.used: dict[int, Amount] = {}
        self.places: dict[int, set[int]] = {}  # indices of planned releases that are not drawn yet

    def add_record(self, fields: dict[str, Any]) -> None:
        """Add one record. Raise ValueError if it does not add up."""
        if fields["kind"] == "debit":
            self._add_debit(fields, deserialize_amount(fields["cost"]))
        elif fields["kind"] not in (*_NOTES, "state") or (
            fields["kind"] == "state" and not 0 < fields["of"] <= self.entries
        ):
            raise ValueError
        if (fields["spent"], fields["entries"]) != (self.told, self.entries):  # [totals]
            raise ValueError

    def _add_debit(self, fields: dict[str, Any], cost: Amount) -> None:
        self.entries += 1
        if fields["measurement"] == WHAT:
            self.paid[self.entries] = cost
        if fields["measurement"] == PLANNED:
            self.places[self.entries] = set(range(len(fields["places"])))
        if "place" in fields:
            self.places[fields["within"]].remove(fields["place"])  # [each-once]
            if any(cost):
                raise ValueError
        if "used" not in fields:
            self.spent = add_amounts(self.spent, cost)
            self.told = serialize_amount(self.spent)
            if not self.account.is_total_allowed(self.spent):  # [totals-fit]
                raise ValueError
            return
        number = fields["within"]
        used = add_amounts(self.used.get(number, self.account.zero_amount), cost)
        if deserialize_amount(fields["used"]) != used or not is_amount_within(used, self.paid[number]):  # [used-totals]
            raise ValueError
        self.used[number] = used


def _check_record_chain(place: str, records: Iterable[Record]) -> list[str]:
    listed = iter(records)
    before = next(listed, None)
    if before is None or before.number != 0 or before.fields.get("kind") != "ledger":
        return ["the first record does not contain the parameters of the ledger"]
    _, account = parse_header(place, before)
    found = [] if is_limit_within_budget(account) else ["the limit does not match the budget"]  # [limit]
    walk, ledger = _RecordTotals(account), before.digest
    for after in listed:
        if not is_next_record(before, after) or after.fields.get("ledger") != ledger:  # [chain]
            return [
                *found,
                f"record {after.number} does not follow record {before.number}: one was removed, added or rewritten",
            ]
        try:
            if after.fields["kind"] != "accept" and accepted_kinds_in(after) != accepted_kinds_in(
                before
            ):  # [accepted-by-record]
                raise ValueError
            walk.add_record(after.fields)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return [*found, f"record {after.number} has a total that does not match the earlier records"]
        before = after
    return found


# end-proof-region: checking


# Repair of a damaged file: records that verify are kept, lost records are charged, and nothing is refunded.
#
# The total in the next record determines the joint charge of lost records between others. Lost records at the end may
# have had any charge.

LOST = "lost: its record could not be read; its cost follows from the next record"
_REST = (
    "lost: records at the end could not be read, or continued from an older copy, so all of the remaining budget "
    "is charged"
)
_FIRST_LINE = b"What follows is a damaged ledger as it was found, kept by its repair.\n"
_SHORTEST = 200  # bytes: a record contains three digests of 64 digits each
_BLANKS = b"\0\t\n\v\f\r\x1a \xef\xbb\xbf"  # left at the end of a file by editors, or after a power failure


class _FilePiece(NamedTuple):
    """Data between two separators: a record, an unfinished record, or damage."""

    data: bytes
    record: Record | None
    damaged: bool


def repair_file(address: str | os.PathLike[str], *, charge_rest: bool = False) -> list[str]:
    """Repair the file at ``address`` under an exclusive lock; see :meth:`Ledger.repair`."""
    checks.require_boolean("charge_rest", charge_rest)
    if isinstance(address, str) and address.startswith(SCHEMES):
        raise ParameterError("address must be a file: restore a table on a server from its backup")
    log = FileLog(resolve_path(address))
    return log.run_exclusively(lambda handle, data: _repair_locked_file(log, handle, data, charge_rest=charge_rest))


def _repair_locked_file(log: FileLog, handle: int, data: bytes, *, charge_rest: bool) -> list[str]:
    told: list[str] = []
    pieces = _pieces(data, told)
    found, twice, tail = _ordered_records(pieces)
    if not found or found[0].number != 0:
        raise ledger_error(
            log.place, "repaired", "its first record, which contains the parameters of the ledger, cannot be read"
        )
    built = _RepairedRecords(log.place, found)
    told += [f"{twice} {'record' if twice == 1 else 'records'} that occurred twice were omitted"] if twice else []
    if tail and not charge_rest:
        raise ledger_error(
            log.place,
            "repaired",
            "records at its end cannot be read, or continue from an older copy: their charges may have used "
            "all of the remaining budget. Restore it from a backup that is not older than the last release, "
            "or repair it with charge_rest (--charge-rest)",
        )
    if tail:
        built.charge_rest()
    told += built.told
    if not told and not any(one.damaged for one in pieces):
        return []
    kept = log.path.parent / f"{log.path.name[:60]}.{uuid.uuid4().hex[:8]}.damaged"
    built.finish_repair([*told, f"the damaged file is kept as {kept.name}"])
    _replace_damaged_file(log, handle, data, built, kept)
    return [*told, f"the damaged file is kept as {kept.name}"]


def _pieces(data: bytes, told: list[str]) -> list[_FilePiece]:
    """Return the pieces of a file, without the data behind the last record's line feed if they cannot be a record.

    An append begins with a separator. So a record whose separator alone is damaged leaves as many bytes as a record
    has, and no system replaces confirmed data by zeros.
    """
    pieces = [_parse_piece(one, number > 0) for number, one in enumerate(data.split(SEPARATOR)) if one or number]
    last = pieces[-1] if pieces else None
    if last is None or not last.damaged:
        return pieces
    text, end, stray = last.data.partition(b"\n")
    whole = _parse_piece(text + end)
    if whole.record is None or (len(stray) >= _SHORTEST and stray.strip(_BLANKS)):
        return pieces
    told.append(f"text after record {whole.record.number} was not a record and was omitted, without a charge")
    return [*pieces[:-1], whole]


def _ordered_records(pieces: list[_FilePiece]) -> tuple[list[Record], int, bool]:
    """Return the records with rising numbers, the number of duplicates behind them, and whether anything else is.

    Anything else is damaged data, or a record that continues an older one. Its charge is not known from the records.
    """
    kept: dict[str, Record] = {}
    most, twice, other, fallen = -1, 0, False, False
    for piece in pieces:
        if piece.record is None:
            other |= piece.damaged
            continue
        fallen |= piece.record.number <= most
        if not fallen:
            kept[piece.record.digest] = piece.record
            most, other = piece.record.number, False
        elif piece.record.digest in kept:
            twice += 1
        else:
            other = True
    return list(kept.values()), twice, other


def _parse_piece(data: bytes, separated: bool = True) -> _FilePiece:
    text = data.decode("ascii", "replace")
    record = unseal_record(text.removesuffix("\n")) if separated else None
    bad = record is None and (not separated or "\n" in text or unseal_record(text[:-1]) is not None)
    return _FilePiece(data, record, bad)


class _RepairedRecords:
    """Records of the repaired file: those that were found, and placeholders for lost ones between them."""

    def __init__(self, place: str, found: list[Record]) -> None:
        self.place = place
        self.told: list[str] = []
        self._unit, self._account = parse_header(place, found[0])
        self._first = found[0]
        self._begun = {one.fields.get("within") for one in found if "used" in one.fields}
        self._used: dict[Any, Amount] = {}
        self._open: set[int] = set()
        self._most = self._account.zero_amount
        self.texts = [seal_record(found[0].fields)]
        try:
            for before, after in itertools.pairwise(found):
                self._append_found_record(before, after)
            return
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            pass
        raise damaged_log_error(place)

    @property
    def _last_record(self) -> Record:
        last = unseal_record(self.texts[-1])
        assert last is not None
        return last

    def _append_found_record(self, before: Record, after: Record) -> None:
        fields, lost = dict(after.fields), after.number - before.number - 1
        if lost < 0 or fields["ledger"] != self._first.digest or (not lost and fields["previous"] != before.digest):
            raise ValueError
        if lost:
            self._append_placeholders(before, after, lost)
        if "used" in fields:
            cost = deserialize_amount(fields["cost"])
            self._used[fields["within"]] = add_amounts(
                self._used.get(fields["within"], self._account.zero_amount), cost
            )
            fields["used"] = serialize_amount(self._used[fields["within"]])
        if fields["kind"] == "debit" and fields["measurement"] in (WHAT, PLANNED):
            self._open.add(fields["entries"])
        if "place" in fields and fields["within"] not in self._open:  # the record of that plan is lost
            fields.pop("place")
        if fields["kind"] == "state":
            self._open.discard(fields["of"])
        self._most = tuple(map(max, self._most, deserialize_amount(fields["spent"])))
        self.texts.append(seal_record({**fields, "previous": self._last_record.digest}))

    def _append_placeholders(self, before: Record, after: Record, lost: int) -> None:
        """Append records for the lost ones: their entries, with the joint cost that follows from the next total."""
        debit = after.fields["kind"] == "debit"
        own = (
            deserialize_amount(after.fields["cost"])
            if debit and "used" not in after.fields
            else self._account.zero_amount
        )
        totals = deserialize_amount(after.fields["spent"]), own, deserialize_amount(before.fields["spent"])
        charged = tuple(map(_lost_charge, *totals))
        entries = after.fields["entries"] - debit - before.fields["entries"]
        if not 0 <= entries <= lost or (not entries and any(charged)):
            raise ValueError
        numbers = range(before.fields["entries"] + 1, before.fields["entries"] + 1 + entries)
        bearer = next((one for one in numbers if one in self._begun), next(iter(numbers), 0))
        for number in numbers:
            what = WHAT if number in self._begun else LOST
            self._append_debit(charged if number == bearer else self._account.zero_amount, what)
        for _ in range(lost - entries):
            self._append_repair_note(["lost: this record could not be read"])
        first, last = before.number + 1, before.number + lost
        self.told.append(
            f"lost: {f'record {first}' if lost == 1 else f'records {first} to {last}'}, with {entries} "
            f"{'entry' if entries == 1 else 'entries'}, charged {format_amount(charged)}, as the next total shows"
        )

    def _append_debit(self, cost: Amount, what: str) -> None:
        last = self._last_record
        if what == WHAT:
            self._open.add(int(last.fields["entries"]) + 1)
        count, spent = int(last.fields["entries"]) + 1, add_amounts(deserialize_amount(last.fields["spent"]), cost)
        amounts = {"cost": serialize_amount(cost), "spent": serialize_amount(spent), "d_in": str(self._unit.d_in)}
        said = {"operator": "unknown", "label": "", "measurement": what, "proof": "none", "claim": ""}
        made = {"kind": "debit", "entries": count, **amounts, "time": utc_timestamp(), **said}
        self.texts.append(next_record_text(last, self._first.digest, **made))

    def _append_repair_note(self, told: list[str]) -> None:
        self.texts.append(
            next_record_text(self._last_record, self._first.digest, kind="repair", told=told, time=utc_timestamp())
        )

    def charge_rest(self) -> None:
        """Append an entry that charges all that is left, for unreadable records at the end."""
        spent = deserialize_amount(self._last_record.fields["spent"])
        rest = tuple(max(one, Fraction(0)) for one in (a - b for a, b in zip(self._account.limit, spent, strict=True)))
        self._append_debit(rest, _REST)
        self.told.append(f"lost: records at the end, for which the remaining budget ({format_amount(rest)}) is charged")

    def finish_repair(self, told: list[str]) -> None:
        """Append a note of the repair, after closing conversations and plans if some of their records may be lost."""
        if self.told:
            for number in sorted(self._open):
                state = {"of": number, "state": RELEASED, "time": utc_timestamp(), "operator": "unknown"}
                self.texts.append(next_record_text(self._last_record, self._first.digest, kind="state", **state))
        self._append_repair_note(told)

    def require_consistent(self, log: FileLog) -> None:
        """Raise LedgerError unless ``log`` is consistent and spends no less than any record that was found."""
        found = list(find_contradictions(Journal(log, "unknown")))
        if found or any(
            one < other for one, other in zip(Journal(log, "unknown").total_spent(), self._most, strict=True)
        ):
            raise ledger_error(
                self.place, "repaired", "the totals of its readable records do not match: restore it from a backup"
            )


def _lost_charge(after: Fraction, own: Fraction, before: Fraction) -> Fraction:
    """Return the charge between the total ``before`` and an entry with the charge ``own`` and the total ``after``."""
    if after == UNBOUNDED:
        return Fraction(0) if UNBOUNDED in (own, before) else UNBOUNDED
    if after < before + own:
        raise ValueError
    return after - own - before


def _replace_damaged_file(log: FileLog, handle: int, data: bytes, built: _RepairedRecords, kept: Path) -> None:
    """Replace the damaged file by the repaired one, and keep a copy of it that is not a ledger.

    The damaged file is emptied, since it may have another name, which would be a second budget.
    """
    draft = kept.with_suffix(".new")
    try:
        write_new_file(draft, b"".join(SEPARATOR + text.encode("ascii") + b"\n" for text in built.texts))
        built.require_consistent(FileLog(draft))
        write_new_file(kept, _FIRST_LINE + data)
        sync_folder(kept.parent)
        os.replace(draft, log.path)
        os.ftruncate(handle, 0)
        os.fsync(handle)
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_folder(kept.parent)
