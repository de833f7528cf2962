"""Notebook displays of values: a small table with a caption, without page styles and without scripts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from .elements import Markup, el

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
