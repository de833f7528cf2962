"""HTML pages of records and ledgers, each in one file, readable on a phone and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors.extras import import_extra
from ...markup.pages import template_environment


def render_page(template: str, **values: Any) -> Any:
    """Return a page as HTML; every value that is put into it is escaped."""
    markup = import_extra("markupsafe", "HTML pages require jinja2", "opendp_topk[cli]").Markup
    import_extra("jinja2", "HTML pages require jinja2", "opendp_topk[cli]")
    made = template_environment(Path(__file__).with_name("templates"), joined=True)
    return markup(made.get_template(template).render(values))
