"""The record of a release as one self-contained HTML page."""

from __future__ import annotations

import itertools

from ..ledger import Ledger
from ..planning.release_record import ReleaseRecord
from . import record_words as words
from .pages import render_page

_PROVED = {
    "current": "Each of these documents proves a part of the claim, and matched the code that ran.",
    "unproven": "A part of the claim relies on a statement of its author, and is not proved.",
}
_NOT_PROVED = "A document did not match the code that ran, so the claim is not proved for this code."


def render_release_page(record: ReleaseRecord, ledger: Ledger | None = None) -> str:
    """Return the page as HTML, with the remaining budget of the ``ledger`` that has paid, if given."""
    released, asked = record.released, record.asked
    counts, promise = words.count_amounts(record), record.promises.get("count_accuracy")
    near = None if promise is None else promise.within_users
    top = max([*(counts or ()), 0]) + (near or 0) or 1
    places, numbered = range(len(released.items)), itertools.count()
    page: str = render_page(
        "release.html",
        record=record,
        asked=asked,
        words=words,
        ledger=ledger,
        items=[words.csv_line(one) if isinstance(one, list) else one for one in released.items],
        several=any(isinstance(one, list) for one in released.items),
        lists=[(group, [next(numbered) for _ in one.items]) for group, one in released.group_lists],
        list="ol" if record.release == "ranking" else "ul",
        ranks=["".join(str(values[place]) for _, values in asked.labels(record)) for place in places],
        counts=counts,
        gaps=released.gaps,
        near=near,
        top=top,
        percent=lambda part: f"{100 * min(max(part, 0), top) / top:.2f}%",
        proved=_PROVED.get(record.proof["status"], _NOT_PROVED),
    )
    return page
