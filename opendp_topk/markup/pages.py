"""Pages from templates of Jinja2, in which every value is escaped, and which load no other file."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from .elements import bind_percent_signs
from .foreign import escape_html


@functools.cache
def template_environment(folder: Path, *, joined: bool = False) -> Any:
    """Return the environment of the templates in ``folder``; jinja2 must be installed.

    If ``joined``, the line breaks and indents of HTML templates are not part of the page.
    """
    import jinja2
    from markupsafe import Markup

    def load(name: str) -> tuple[str, str, None]:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        return re.sub(r"\n\s*", "", text) if joined and name.endswith(".html") else text, str(path), None

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=joined,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escape_html(value)),
    )
    made.filters["bound"] = bind_percent_signs
    return made
