"""HTML elements that escape every text unless it is markup already, and the tables that notebooks show."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from .foreign import escape_html

_VOID = frozenset(("br", "input", "meta", "wbr"))


class Markup(str):
    """Text that is HTML; any other string is escaped when it is put into an element."""


def el(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element with these children and attributes.

    A final underscore of an attribute's name is dropped, and other underscores become hyphens. An attribute that is
    None or False is omitted.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape_html(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join_markup(children)}</{name}>")


def join_markup(parts: Iterable[Any], between: str = "") -> Markup:
    """Return the concatenated parts, with texts escaped."""
    return Markup(between.join(part if isinstance(part, Markup) else escape_html(part) for part in parts))


def bind_percent_signs(page: str) -> str:
    """Return the page with no line break between a number and its percent sign."""
    return page.replace(" %", "\u00a0%")


_LEFT = "text-align: left"
_TOP = "text-align: left; vertical-align: top; white-space: nowrap"
_MOST = 100  # rows that are displayed in a notebook; to_frame() returns all


def facts_table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Return names and their values, one per line, under a title."""
    body = (el("tr", el("th", name, scope="row", style=_TOP), el("td", value, style=_LEFT)) for name, value in rows)
    return el("table", _table_caption(title), el("tbody", *body))


def columns_table(title: str, columns: Mapping[str, Iterable[Any]]) -> str:
    """Return columns of equal length under their names; long columns are cut, and the title contains their length."""
    lines = list(zip(*columns.values(), strict=True))
    head = el("tr", *(el("th", name, scope="col", style=_LEFT) for name in columns))
    body = (el("tr", *(el("td", value, style=_LEFT) for value in line)) for line in itertools.islice(lines, _MOST))
    more = f" (the first {_MOST} of {len(lines)})" if len(lines) > _MOST else ""
    return el("table", _table_caption(title + more), el("thead", head), el("tbody", *body))


def _table_caption(title: str) -> Markup:
    return el("caption", title, style="text-align: left; font-weight: bold; caption-side: top")
