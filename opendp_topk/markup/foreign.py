"""Escape text from outside, such as from a file, so that it is displayed and never interpreted.

A terminal interprets control characters, direction marks reorder the displayed text, and a spreadsheet computes a cell
that begins like a formula.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

# Controls (C0, DEL, C1), marks of direction, line separators, surrogates, byte-order and annotation marks.
_ACTING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb"
_ON_PAGES = re.compile(f"(?![\n\t])[{_ACTING}]")
_ON_A_LINE = re.compile(f"[{_ACTING}]")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
# A spreadsheet begins a formula with these, or skips them and looks at the next character.


def terminal_line(value: Any) -> str:
    """Return one line for a terminal; control characters, direction marks and line breaks are escaped as in Python."""
    return _ON_A_LINE.sub(_escape_character, str(value))


def escape_html(value: Any) -> str:
    """Return HTML that displays the text; line breaks and tabs are kept."""
    return html.escape(_ON_PAGES.sub(_escape_character, str(value)))


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return ``value`` as JSON; characters that would affect a terminal are escaped as in JSON."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    return "\n".join(_ON_A_LINE.sub(_escape_in_json, part) for part in text.split("\n"))


def spreadsheet_cell(value: Any) -> Any:
    """Return a value that a spreadsheet displays as text if it is a string; other values are returned unchanged."""
    if not isinstance(value, str):
        return value
    text = terminal_line(value)
    return "'" + text if value.lstrip(" ").startswith(_FORMULA) else text


def _escape_character(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _escape_in_json(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
