"""The record of a release as one page: in words first, readable on a telephone and on paper. It needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...markup.elements import Markup, el, join, unbroken
from ..ledger import Ledger
from ..planning.release_record import ReleaseRecord
from . import record_words as words

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(record: ReleaseRecord, ledger: Ledger | None = None) -> str:
    """The whole page; with the ``ledger`` that has paid, also what is left of it."""
    title = words.question(record)
    body = el(
        "main",
        el("h1", title),
        el("p", f"Released {words.moment(record.time)}", class_="soft"),
        el("section", _facts(words.facts(record)), el("p", words.how(record)), *_listed(record)),
        _section("How sure is it?", *(el("p", _sentence(said)) for said in words.promised(record).values())),
        _section("What does it not say?", *(el("p", one) for one in words.silent(record))),
        _section("What was cut?", el("p", words.caps(record))),
        _section("What could one person lose?", el("p", words.at_stake(record), class_="stake")),
        _section(
            "What did it cost, and who paid?",
            el("p", "Every further release from the table adds its own cost."),
            _facts(_bill(record, ledger)),
        ),
        _section("To ask before it is signed", el("ul", *map(_question, words.checklist(record)), class_="ask")),
        el(
            "section",
            el("h2", "Why is this so?"),
            el("p", _state(record)),
            _facts([*map(_document, record.proof["documents"]), *_made(record)]),
            class_="small",
        ),
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    )
    style = Path(__file__).with_name("release_page.css").read_text(encoding="utf-8")
    tops = join((Markup(head), el("title", title), el("style", Markup(style))))
    return f'<!doctype html>\n<html lang="en">{el("head", tops)}{unbroken(str(el("body", body)))}</html>\n'


def _section(title: str, *parts: Markup) -> Markup:
    return el("section", el("h2", title), *parts)


def _question(text: str) -> Markup:
    """A question, in which a command is marked as one."""
    return el("li", *(el("code", one) if at % 2 else one for at, one in enumerate(text.split("`"))))


def _bill(record: ReleaseRecord, ledger: Ledger | None) -> list[tuple[str, str]]:
    paid = [("privacy loss", words.loss(record.claim)), ("paid by", words.paid(record))]
    unknown = [] if record.ledger is None else [("left", "the ledger tells: show this record together with it")]
    return [*paid, *(unknown if ledger is None else words.spent(ledger)), *words.other(record)]


def _listed(record: ReleaseRecord) -> list[Markup]:
    """The items, with bars and their uncertainty where counts were released, or leads; a list for each group."""
    ranked, items = record.release == "ranking", record.released.items
    if not items:
        none = "gap surely was large enough" if record.by_gap else f"item surely had enough {words.counted(record)}"
        return [el("p", f"Nothing was released: no {none}.", class_="stake")]
    counts, promise = words.counts(record), record.promises.get("count_accuracy")
    near = None if promise is None else promise.within
    top = max([*(counts or ()), 0]) + (near or 0) or 1
    rows = [_line(record, place, counts, near, top) for place in range(len(items))]
    lists, start = [], 0
    for group, one in record.released.lists:
        own = rows[start : start + len(one.items)]
        head = [] if record.partition is None else [el("h2", group, dir="auto")]
        lists += [*head, el("ol" if ranked else "ul", *own)]
        start += len(own)
    whole = record.k is None or record.by_gap or record.partition is not None
    short = 0 if whole else (record.k or 0) - len(items)
    enough = f"no further item surely had enough {words.counted(record)}"
    end = [el("p", f"It ends {short} short of {record.k}: {enough}.")] if short else []
    several = (
        [el("p", f"Each item is one of {record.mechanism['item']}.", class_="soft")]
        if isinstance(items[0], list)
        else []
    )
    return [*several, *lists, *end, *_key(counts, near, words.counted(record))]


def _line(record: ReleaseRecord, place: int, counts: Sequence[float] | None, near: int | None, top: float) -> Markup:
    """One item of a list."""
    asked, gaps, item = record.quantiles, record.released.gaps, record.released.items[place]
    rank = words.ranks(record)[place] if record.release == "ranking" else asked[place] if len(asked) > 1 else ""
    parts = [el("span", rank, class_="rank")]
    text = words.line_of(item) if isinstance(item, list) else item
    parts.append(el("span", text, class_="item", dir="auto"))
    if counts is not None:
        parts += [_count(counts[place], near), _bar(counts[place], near, top)]
    if gaps is not None:
        parts.append(el("span", f"ahead of the next by {gaps[place]:.6g}", class_="lead"))
    return el("li", *parts)


def _key(counts: Sequence[float] | None, near: int | None, people: str) -> list[Markup]:
    if counts is None or near is None:
        return []
    return [el("p", f"Bars are noisy counts; the lines on them reach {near} {people} to both sides.", class_="soft")]


def _count(count: float, near: int | None) -> Markup:
    return el("span", f"{count:.12g}", *([] if near is None else [el("small", f" \u00b1 {near}")]), class_="number")


def _bar(count: float, near: int | None, top: float) -> Markup:
    bar = el("span", class_="bar", style=f"width: {_percent(count, top)}")
    marks = [bar]
    if near is not None:
        low, high = _percent(count - near, top), _percent(top - count - near, top)
        marks.append(el("span", class_="range", style=f"left: {low}; right: {high}"))
    return el("span", *marks, class_="track", aria_hidden="true")


def _percent(part: float, whole: float) -> str:
    return f"{100 * min(max(part, 0), whole) / whole:.2f}%"


def _state(record: ReleaseRecord) -> Markup:
    status = record.proof["status"]
    said = {
        "current": "Each of these documents proves a part of the claim, and was up to date with the code that ran.",
        "unproven": "Part of the claim rests on what its author vouched for, and is not proved.",
    }.get(status, "A document was not up to date with the code that ran, so that the claim is not proved as it stands.")
    return join((el("span", f"Proofs: {status}.", class_=status), f" {said}"))


def _document(proof: dict[str, Any]) -> tuple[Any, Any]:
    name = "no document" if proof["document"] is None else proof["document"]
    claim = [] if proof["claim"] is None else [", claim ", el("code", proof["claim"])]
    return el("span", proof["status"], class_=proof["status"]), join((el("code", name), *claim))


def _made(record: ReleaseRecord) -> list[tuple[str, Any]]:
    return [
        ("mechanism", words.mechanism(record)),
        *words.read(record),
        *([] if words.keys_alone(record) else [("scale of noise", words.noise(record))]),
        ("software", words.made_by(record)),
    ]


def _facts(rows: Sequence[tuple[Any, Any]]) -> Markup:
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in rows))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
