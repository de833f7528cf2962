"""What a written page lacks for those who use a keyboard, a screen reader or a telephone."""

from __future__ import annotations

import re
from pathlib import Path

_PRE = re.compile(r"<pre(?![^>]*tabindex)([^>]*)>")
_TABLE = re.compile(r'<div class="table-wrapper([^"]*)">')
_MATH = re.compile(r'(<math display="block".*?</math>)', re.DOTALL)


def finished(folder: Path) -> None:
    """Make what scrolls sideways reachable from the keyboard, on all pages that Sphinx wrote."""
    for path in sorted(folder.rglob("*.html")):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


def page(text: str) -> str:
    """The text of a page with its scrolling parts named and in the order of the tab key."""
    text = _PRE.sub(r'<pre tabindex="0"\1>', text)
    text = _TABLE.sub(
        r'<div class="table-wrapper\1" tabindex="0" role="region" aria-label="Table, scrolls sideways">', text
    )
    text = text.replace('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">')
    return _MATH.sub(r'<span class="formula" tabindex="0" role="region" aria-label="Formula">\1</span>', text)
