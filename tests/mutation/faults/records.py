"""Faults in records of releases: digests that tell too much or too little, edits that nobody sees."""

from __future__ import annotations

from ..fault import Fault

FAULTS = (
    Fault(
        "no-digest",
        "an entry is settled without the digest of its record",
        "apps/ledger/planned.py",
        "RELEASED, kept)",
        "RELEASED)",
    ),
    Fault(
        "last-digest",
        "a later state exchanges the digest of a record",
        "apps/ledger/journal.py",
        'if one["state"] != RELEASED:',
        'if one["state"]:',
    ),
    Fault(
        "no-salt",
        "the salt of a record is the same for all",
        "apps/planning/release_record.py",
        '"salt": uuid.uuid4().hex + uuid.uuid4().hex',
        '"salt": "0" * 64',
    ),
    Fault(
        "any-digest-will-do",
        "a record with another digest than its entry's agrees",
        "apps/planning/verification.py",
        "if entry.record != digest:",
        "if len(entry.record) != len(digest):",
    ),
    Fault(
        "field-named-twice",
        "of a field that is named twice the last counts",
        "apps/cli/record_file.py",
        "if len(dict(pairs)) < len(pairs):",
        "if len(pairs) < 0:",
    ),
    Fault(
        "cheaper-claim",
        "a record may claim less than the map gives, if another version made it",
        "apps/planning/verification.py",
        "to_fraction(loss) >= to_fraction(least)",
        "to_fraction(loss) > 0",
    ),
)
