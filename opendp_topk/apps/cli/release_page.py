"""The record of a release as one self-contained HTML page, readable on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...markup.elements import Markup, bind_percent_signs, el, join_markup, page_head
from ..ledger import Ledger
from ..planning.release_record import ReleaseRecord
from . import record_words as words


def render_release_page(record: ReleaseRecord, ledger: Ledger | None = None) -> str:
    """Return the page as HTML, with the remaining budget of the ``ledger`` that has paid, if given."""
    asked = record.asked
    title, scale = asked.title(record), asked.scale_text(record)
    technical = [
        *map(_document_row, record.proof["documents"]),
        ("mechanism", words.mechanism_text(record)),
        *words.provenance_rows(record),
        *([] if scale is None else [("scale of noise", scale)]),
        ("software", words.software_text(record)),
    ]
    body = el(
        "main",
        el("h1", title),
        el("p", f"Released {words.format_time(record.time)}", class_="soft"),
        el(
            "section",
            el("p", asked.method(record)),
            *_render_items(record),
            _definition_list(words.release_facts(record)),
        ),
        _render_section(
            "How accurate is it?",
            *(el("p", f"{said[:1].upper()}{said[1:]}.") for said in words.accuracy_texts(record).values()),
        ),
        _render_section("What does it not show?", *(el("p", one) for one in asked.limits(record))),
        _render_section("How were the data truncated?", el("p", asked.truncation(record))),
        _render_section("What could an attacker find out?", el("p", words.attack_text(record), class_="stake")),
        _render_section(
            "What did it cost, and which ledger paid?",
            el("p", "Every further release from this table adds its cost."),
            _definition_list(_cost_rows(record, ledger)),
        ),
        _render_section(
            "Questions before signing", el("ul", *map(_checklist_item, words.signing_checklist(record)), class_="ask")
        ),
        el(
            "section",
            el("h2", "Proofs and technical details"),
            el("p", _proof_status_text(record)),
            _definition_list(technical),
            class_="small",
        ),
    )
    head = page_head(title, Path(__file__).with_name("release_page.css"))
    return f'<!doctype html>\n<html lang="en">{head}{bind_percent_signs(str(el("body", body)))}</html>\n'


def _render_section(title: str, *parts: Markup) -> Markup:
    return el("section", el("h2", title), *parts)


def _checklist_item(text: str) -> Markup:
    """Return a question as a list item, with commands in backquotes marked as code."""
    return el("li", *(el("code", one) if at % 2 else one for at, one in enumerate(text.split("`"))))


def _cost_rows(record: ReleaseRecord, ledger: Ledger | None) -> list[tuple[str, str]]:
    paid = [("privacy loss", words.loss_text(record.claim)), ("paid by", words.payment_text(record))]
    unknown = [] if record.ledger is None else [("left", "unknown without the ledger: show this record with --ledger")]
    return [*paid, *(unknown if ledger is None else words.budget_rows(ledger)), *words.other_users_rows(record)]


def _render_items(record: ReleaseRecord) -> list[Markup]:
    """Return the items with their noisy counts and error bars, or leads, in one list per group."""
    ranked, items, asked = record.release == "ranking", record.released.items, record.asked
    if not items:
        return [el("p", f"Nothing was released: {asked.nothing(record)}.", class_="stake")]
    counts, promise = words.count_amounts(record), record.promises.get("count_accuracy")
    near = None if promise is None else promise.within_users
    top = max([*(counts or ()), 0]) + (near or 0) or 1
    rows = [_render_item(record, place, counts, near, top) for place in range(len(items))]
    lists, start = [], 0
    for group, one in record.released.group_lists:
        own = rows[start : start + len(one.items)]
        head = [] if record.released.groups is None else [el("h2", group, dir="auto")]
        lists += [*head, el("ol" if ranked else "ul", *own)]
        start += len(own)
    short = asked.shortfall(record)
    enough = f"no further item was certain to have enough {record.counted_noun}"
    end = [el("p", f"It has {short} fewer than {record.k} items: {enough}.")] if short else []
    several = []
    if isinstance(items[0], list):
        several.append(el("p", f"Each item is a combination of {record.mechanism['item']}.", class_="soft"))
    return [*several, *lists, *end, *_bar_legend(counts, near, record.counted_noun)]


def _render_item(
    record: ReleaseRecord, place: int, counts: Sequence[float] | None, near: int | None, top: float
) -> Markup:
    gaps, item = record.released.gaps, record.released.items[place]
    rank = "".join(str(values[place]) for _, values in record.asked.labels(record))
    parts = [el("span", rank, class_="rank")]
    text = words.csv_line(item) if isinstance(item, list) else item
    parts.append(el("span", text, class_="item", dir="auto"))
    if counts is not None:
        error = [] if near is None else [el("small", f" \u00b1 {near}")]
        parts.append(el("span", f"{counts[place]:.12g}", *error, class_="number"))
        parts.append(_render_bar(counts[place], near, top))
    if gaps is not None:
        parts.append(el("span", f"ahead of the next by {gaps[place]:.6g}", class_="lead"))
    return el("li", *parts)


def _bar_legend(counts: Sequence[float] | None, near: int | None, people: str) -> list[Markup]:
    if counts is None or near is None:
        return []
    legend = f"Bars are noisy counts; the lines on them show the error bound of {near} {people} on either side."
    return [el("p", legend, class_="soft")]


def _render_bar(count: float, near: int | None, top: float) -> Markup:
    marks = [el("span", class_="bar", style=f"width: {_bar_percent(count, top)}")]
    if near is not None:
        low, high = _bar_percent(count - near, top), _bar_percent(top - count - near, top)
        marks.append(el("span", class_="range", style=f"left: {low}; right: {high}"))
    return el("span", *marks, class_="track", aria_hidden="true")


def _bar_percent(part: float, whole: float) -> str:
    return f"{100 * min(max(part, 0), whole) / whole:.2f}%"


def _proof_status_text(record: ReleaseRecord) -> Markup:
    status = record.proof["status"]
    said = {
        "current": "Each of these documents proves a part of the claim, and matched the code that ran.",
        "unproven": "A part of the claim relies on a statement of its author, and is not proved.",
    }.get(status, "A document did not match the code that ran, so the claim is not proved for this code.")
    return join_markup((el("span", f"Proofs: {status}.", class_=status), f" {said}"))


def _document_row(proof: dict[str, Any]) -> tuple[Any, Any]:
    name = "no document" if proof["document"] is None else proof["document"]
    claim = [] if proof["claim"] is None else [", claim ", el("code", proof["claim"])]
    return el("span", proof["status"], class_=proof["status"]), join_markup((el("code", name), *claim))


def _definition_list(rows: Sequence[tuple[Any, Any]]) -> Markup:
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in rows))
