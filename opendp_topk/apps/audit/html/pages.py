"""Pages from the templates of this package (Jinja2). They need no other file and no network."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

from ....errors.extras import import_extra
from ....markup.foreign import escape_html
from ..audited import Audited


def render_audit(name: str, found: Audited, again: str | None = None) -> str:
    """Return the page of an audit of the function ``name`` by samples; ``again`` is the command that repeats it."""
    verdict, *facts = (line.split(": ", 1) for line in found.lines)
    outcomes = [
        (one.event.removeprefix("the release is "), (one.first, one.second), _log_ratio_text(one.first, one.second))
        for one in found.found.estimate.outcomes
    ]
    of = found.found.estimate.outcomes[0].of
    return render_page("audited.html", name=name, verdict=verdict, facts=facts, again=again, outcomes=outcomes, of=of)


def _log_ratio_text(first: int, second: int) -> str:
    if not first or not second:
        return "∞" if first else "-∞"
    return f"{math.log(first / second):.2f}"


def render_page(template: str, **values: Any) -> str:
    """Return a page; every value that is put into it is escaped."""
    return str(template_environment().get_template(template).render(values))


@functools.cache
def template_environment() -> Any:
    """Return the environment of the templates. Raise MissingExtraError if Jinja2 is not installed."""
    need, extra = "HTML pages of audits require jinja2", "opendp_topk[cli]"
    jinja2, markup = import_extra("jinja2", need, extra), import_extra("markupsafe", need, extra).Markup
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, markup) else markup(escape_html(value)),
    )
