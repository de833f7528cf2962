"""A question that is asked again is answered from the record of its release: the same answer, which costs nothing.

What was released is public, and saying it again is post-processing. Whether the table has changed since is not looked
at, because the answer to that would be one more release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ...errors import TableError
from ..ledger import Ledger
from .plan import Plan
from .release_record import Claim, ReleaseRecord, canonical, parameters_of, plain
from .units import Users
from .verification import AGREES, DISAGREES, verified


def answer(fields: Mapping[str, Any], ledger: Ledger, question: Mapping[str, Any]) -> ReleaseRecord:
    """The record ``fields``, if it is whole, paid for by a released entry of ``ledger``, and answers ``question``.

    Raises:
        TableError: It is not, or it answers another question.
    """
    found = verified(fields, ledger)
    wrong = [one for one in found if one.verdict == DISAGREES]
    sealed = any(one.what == "digest" and one.verdict == AGREES for one in found)
    if wrong or not sealed:
        raise TableError(
            f"the record is no answer: its {wrong[0].what if wrong else 'digest'} cannot be relied on. Nothing was "
            "released; `opendp-topk verify` says what does not agree"
        )
    record = ReleaseRecord.from_dict(fields)
    asked, told = question, _answered(record)
    others = [name for name in asked if canonical(asked[name]) != canonical(told[name])]
    if others:
        raise TableError(
            f"the record is no answer: it is of another question, by its {', '.join(others)}. Nothing was released: "
            "ask as it was asked, or pay for a release"
        )
    return record


def asked(
    plan: Plan[Any, Users],
    where: str | None,
    candidates: str | None,
    words: Mapping[str, Any],
    groups: str | None = None,
) -> dict[str, Any]:
    """What makes a question the same: ``plan``, rows, the digests of lists, and words as records have them."""
    known, task = parameters_of(plan.measurement), plan.query.task
    return {
        "k": task.k,
        "counts": getattr(task, "counted", False),
        "kind of release": task.release,
        "cost": asdict(Claim.of(plan)),
        "mechanism": {name: plain(value) for name, value in known.items() if name != "scale"},
        "scale": plain(known["scale"]),
        "rows": where,
        "candidates": candidates,
        "groups": groups,
        "label": words.get("label"),
        "words": {name: word for name, word in words.items() if name != "label"},
    }


def _answered(record: ReleaseRecord) -> dict[str, Any]:
    """The question of which a record tells the answer."""
    stated = record.stated
    return {
        "k": record.k,
        "counts": record.released.counts is not None,
        "kind of release": record.release,
        "cost": asdict(record.claim),
        "mechanism": {name: plain(value) for name, value in record.mechanism.items()},
        "scale": record.scale,
        "rows": record.read.where,
        "candidates": record.read.candidates,
        "groups": record.read.groups,
        "label": stated.get("label"),
        "words": {name: word for name, word in stated.items() if name != "label"},
    }
