"""Whether a record says what this library computes, and what the ledger says that has paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.version import version
from ...errors import LedgerError, ParameterError
from ...numerics.arithmetic import exact
from ...spaces.metrics import UserDistance
from ..ledger import Entry, Ledger
from ..ledger.charges import claimed
from ..ledger.entries import RELEASED
from ..ledger.stated import in_words
from .columns import Columns
from .rebuilding import Rebuilt, rebuilt
from .release_record import IN_WORDS, Claim, ReleaseRecord, canonical, digest_of

AGREES, DISAGREES, UNKNOWN = VERDICTS = ("agrees", "does not agree", "cannot be known")
_LATER = "another version than this one made the record, or other sources of it: verify it with those"
_OTHER_SOURCES = "the entry was debited for this measurement, by other sources or proofs of this version"


@dataclass(frozen=True)
class Finding:
    """What was looked at, one of ``VERDICTS``, and why. The words may repeat what the record says."""

    what: str
    verdict: str
    why: str


def verified(
    fields: Mapping[str, Any], ledger: Ledger | None = None, head: str | None = None, key: str | None = None
) -> list[Finding]:
    """What agrees of a record, what does not, and what cannot be known, in the order in which one would ask.

    Args:
        fields: All of the record, as it was read.
        ledger: The one that is said to have paid.
        head: A head of that ledger, which was kept elsewhere.
        key: A file with the public key with which that head must be signed.

    Raises:
        ParameterError: ``head`` is none, or is given without a ledger, or ``key`` without a head.
        LedgerError: The ledger or the key cannot be read.
    """
    if (head is not None or key is not None) and ledger is None:
        raise ParameterError("a head is that of a ledger: name it, too")
    record = ReleaseRecord.from_dict(fields)
    found = rebuilt(record)
    same = record.library == {"name": "opendp_topk", "version": version()}
    paid = list(_paid(record, digest_of(fields), found if same else None, ledger))
    same = same and all(one.why != _OTHER_SOURCES for one in paid)
    held = [] if ledger is None else [_whole(ledger, head, key)]
    return [*_computed(fields, record, found, same), *held, *paid, *_untold(paid)]


def _computed(fields: Mapping[str, Any], record: ReleaseRecord, found: Rebuilt | None, same: bool) -> Iterator[Finding]:
    """What this library computes again."""
    made = f"{record.library['name']} {record.library['version']}"
    other = f"made by {made}, of other sources than are here: what they computed, they alone can compute again"
    yield Finding("library", AGREES if same else UNKNOWN, f"{made}, as here" if same else other)
    own = canonical(record.as_dict()) == canonical(fields)
    yield Finding(
        "fields", AGREES if own else DISAGREES, "those of a record" if own else "it has some that no release writes"
    )
    if found is None:
        none = "this library builds no measurement with these parameters, so many items and this measure"
        yield Finding("measurement", DISAGREES if same else UNKNOWN, none if same else _LATER)
        return
    yield Finding("measurement", AGREES, "it was built again, and has exactly these parameters")
    yield _cost(record.claim, found.claim, same, found.plan.query.unit.whom)
    for name in sorted({*record.promises, *found.promises}):
        told, computed = record.promises.get(name), found.promises.get(name)
        yield _same(name.replace("_", " "), told == computed, same, "the theorem gives these words and this number")
    yield _same("items", _fitting(record, found), same, "as many, and with as much beside them, as it releases")
    state = f"{found.proof['status']}, as it was then"
    yield _same("proof", record.proof["status"] == found.proof["status"], same, state)
    told, here = record.proof["documents"], found.proof["documents"]
    for place in range(max(len(told), len(here))):
        one, other = (dict(enumerate(documents)).get(place, {}) for documents in (told, here))
        name = str(other.get("document", one.get("document")))
        yield _same(
            f"proof {name}", canonical(one) == canonical(other), same, "this library has the same, by its digests"
        )


def _same(what: str, agrees: bool, same: bool, why: str) -> Finding:
    if agrees:
        return Finding(what, AGREES, why)
    if not same:
        return Finding(what, UNKNOWN, _LATER)
    return Finding(what, DISAGREES, "the same version of the library gives another: it was edited, or the library was")


def _cost(told: Claim, computed: Claim, same: bool, whom: str) -> Finding:
    """Whether the map gives what is claimed; what another version claims may be more, and no less."""
    if told == computed:
        return Finding("cost", AGREES, f"the map gives the same {computed.symbol} for {whom}")
    if not same and _covers(told, computed):
        return Finding("cost", AGREES, f"this version computes no more {computed.symbol} for {whom}")
    return Finding("cost", DISAGREES, f"the map gives {computed.symbol} = {_written(computed.d_out)} for {whom}")


def _covers(told: Claim, computed: Claim) -> bool:
    one, other = (claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out,) for claim in (told, computed))
    alike = (told.measure, told.symbol, told.neighbors, told.d_in)
    return alike == (computed.measure, computed.symbol, computed.neighbors, computed.d_in) and all(
        exact(loss) >= exact(least) for loss, least in zip(one, other, strict=True)
    )


def _written(d_out: Any) -> str:
    return ", ".join(map(str, d_out)) if isinstance(d_out, tuple) else str(d_out)


def _fitting(record: ReleaseRecord, found: Rebuilt) -> bool:
    """Whether what was released is of the kind that the measurement releases."""
    released, known, task = record.released, record.mechanism, found.plan.query.task
    led = bool(getattr(getattr(task, "mechanism", None), "led", False))
    beside = (released.counts is not None, released.gaps is not None, released.other is not None)
    counted = bool(getattr(task, "counted", False))
    whole = all(type(one) is int for one in [*(released.counts or ()), *([released.other] if beside[2] else ())])
    columns = found.plan.query.unit.columns
    possible = columns.could_be(released.items) if released.groups is None else _one_each(record, columns)
    grouped = (released.groups is None) == (record.partition is None)
    return beside == (counted, led, "then" in known) and whole and possible and grouped


def _one_each(record: ReleaseRecord, columns: Columns) -> bool:
    """Whether there is one list for each group, all as long, and of one kind."""
    lists, items = record.released.lists, record.released.items
    alike = all(len({type(one) for one in values}) == 1 for values in (items, record.released.groups or ()))
    return (
        alike
        and len({group for group, _ in lists}) == len(lists) == (record.partition or {}).get("groups")
        and all(len(part.items) == record.k and columns.could_be(part.items) for _, part in lists)
    )


def _paid(record: ReleaseRecord, digest: str, found: Rebuilt | None, ledger: Ledger | None) -> Iterator[Finding]:
    """What the ledger says."""
    told = record.ledger
    if ledger is None or told is None:
        unpaid = told is None and ledger is not None
        why = "the record names none, so that no ledger has paid for it" if unpaid else "no ledger was named"
        yield Finding("entry", DISAGREES if unpaid else UNKNOWN, why)
        return
    try:
        if not 0 < told["entry"] <= ledger.count():
            yield Finding("entry", DISAGREES, f"there are {ledger.count()} entries")
            return
        entry, at = ledger.entry(told["entry"]), ledger.head(told["entry"])
    except LedgerError:
        yield Finding("entry", UNKNOWN, "the ledger cannot be read")
        return
    yield from _entry(record, told, entry, ledger, at)
    yield from _words(record, in_words(ledger.user, ledger.person, ledger.stated, entry.as_dict()))
    yield from _described(found, entry)
    yield _digest(entry, digest)


def _entry(record: ReleaseRecord, told: Mapping[str, Any], entry: Entry, ledger: Ledger, at: str) -> Iterator[Finding]:
    claim = record.claim
    expected = {
        "data set": (told["dataset"], ledger.dataset),
        "neighbours": (repr(UserDistance(claim.neighbors)), ledger.metric),
        "distance": (str(claim.d_in), entry.d_in),
        "time": (told["time"], entry.time),
        "claim": (told.get("claim"), entry.claim),
        "head": (told.get("head", at), at),
        "state": (RELEASED, entry.state),
    }
    others = [name for name, (one, other) in expected.items() if one != other]
    why = (
        f"another {', another '.join(others)}" if others else f"number {entry.number} has this data set, time and claim"
    )
    yield Finding("entry", DISAGREES if others else AGREES, why)


def _words(record: ReleaseRecord, said: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether what people said of the release is what they said to the ledger; older records repeat none of it."""
    if record.format not in IN_WORDS:
        return
    same = canonical(dict(record.stated)) == canonical(dict(said))
    why = "the entry and its ledger state the same" if same else "the entry, or its ledger, states another"
    yield Finding("words", AGREES if same else DISAGREES, why)


def _described(found: Rebuilt | None, entry: Entry) -> Iterator[Finding]:
    """Whether the entry was debited for the measurement of the record, by what it says of it but for its proof."""
    if found is None:
        return
    measurement = found.plan.measurement
    if lines(entry.measurement) != lines(repr(measurement)):
        yield Finding("debit", DISAGREES, "the entry was debited for another measurement")
    elif entry.claim != claimed(measurement):
        yield Finding("debit", AGREES, _OTHER_SOURCES)
    else:
        yield Finding("debit", AGREES, "the entry was debited for this measurement, by the very sources that are here")


def lines(shown: str) -> list[str]:
    """What the repr of a measurement says, but for its proofs."""
    return [" ".join(line.split()) for line in shown.splitlines() if not line.strip().startswith("proof ")]


def _digest(entry: Entry, digest: str) -> Finding:
    if entry.record is None:
        return Finding("digest", UNKNOWN, "the entry has none of its record: it is older, or was never settled")
    if entry.record != digest:
        return Finding("digest", DISAGREES, "the record is not the one that was made at the release")
    return Finding("digest", AGREES, "the record is, in every field, the one that was made at the release")


def _whole(ledger: Ledger, head: str | None, key: str | None) -> Finding:
    """Whether the ledger's records are whole, and go on from a head."""
    wrong = ledger.verify(head, key=key)
    if wrong:
        return Finding("ledger", DISAGREES, "; ".join(wrong))
    if head is None:
        return Finding("ledger", AGREES, "its records are whole; who can write it could have rewritten it whole")
    signed = "" if key is None else " and signed"
    return Finding("ledger", AGREES, f"its records are whole; it goes on from the head that was kept{signed}")


def _untold(paid: list[Finding]) -> Iterator[Finding]:
    """What no computation can tell."""
    sealed = any(one.what == "digest" and one.verdict == AGREES for one in paid)
    if not sealed:
        yield Finding(
            "what was released",
            UNKNOWN,
            "without a digest in a ledger, items, numbers, words and the list of candidates may have been edited",
        )
    yield Finding("table", UNKNOWN, "that these rows were read, by this engine, a record cannot show")
