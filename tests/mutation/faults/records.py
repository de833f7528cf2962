"""Faults in records of releases: digests that tell too much or too little, edits that nobody sees."""

from __future__ import annotations

from ..fault import Fault

FAULTS = (
    Fault(
        "no-digest",
        "an entry is settled without the digest of its record",
        "ledger/reservation.py",
        "RELEASED, kept)",
        "RELEASED)",
    ),
    Fault(
        "last-digest",
        "a later state exchanges the digest of a record",
        "ledger/entries.py",
        'digest = found[at].record or fields.get("record")',
        'digest = fields.get("record") or found[at].record',
    ),
    Fault(
        "no-salt",
        "the salt of a record is the same for all",
        "planning/release_record.py",
        '"salt": uuid.uuid4().hex + uuid.uuid4().hex',
        '"salt": "0" * 64',
    ),
    Fault(
        "any-digest-will-do",
        "a record with another digest than its entry's agrees",
        "planning/verification.py",
        "if entry.record != digest:",
        "if len(entry.record) != len(digest):",
    ),
    Fault(
        "unsealed-answer",
        "a question is answered from a record of which the ledger keeps no digest",
        "planning/answers.py",
        "if wrong or not sealed:",
        "if wrong:",
    ),
    Fault(
        "any-candidates",
        "a question about other candidates has the same answer",
        "planning/answers.py",
        "for name in question if canonical",
        'for name in question if name != "candidates" and canonical',
    ),
    Fault(
        "other-words",
        "a record may state another purpose than its ledger",
        "planning/verification.py",
        "same = canonical(dict(record.stated)) == canonical(dict(said))",
        "same = record.stated.keys() == said.keys()",
    ),
    Fault(
        "field-named-twice",
        "of a field that is named twice the last counts",
        "cli/record_file.py",
        "if len(dict(pairs)) < len(pairs):",
        "if len(pairs) < 0:",
    ),
    Fault(
        "cheaper-claim",
        "a record may claim less than the map gives, if another version made it",
        "planning/verification.py",
        "exact(loss) >= exact(least)",
        "exact(loss) > 0",
    ),
)
