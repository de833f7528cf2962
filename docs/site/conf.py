"""Settings of Sphinx; the builder copies this file beside the pages that it makes."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "repository"))

from docs.site.api import sections
from docs.site.finish import finished
from opendp_topk.apps.planning.options import PANELS

project = "opendp_topk"
html_title = "opendp_topk"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_extra_path = ["extra"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b57a4", "color-brand-content": "#0b57a4"},
    "dark_css_variables": {"color-brand-primary": "#8ec7ff", "color-brand-content": "#8ec7ff"},
}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning:__main__"  # of names that a notebook calls and that may change
# Nothing is loaded from elsewhere, widgets among it.
nb_ipywidgets_js: dict[str, Any] = {}
nb_mime_priority_overrides = [("html", "image/svg+xml", 0)]
nb_merge_streams = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = False  # signatures may name more than the code, as those of a ledger do
napoleon_numpy_docstring = False
napoleon_custom_sections = [
    "Result",
    *(name for name in sections() if name not in ("Args", "Returns", "Raises", "Yields", "Example", "Examples")),
    *((panel, "params_style") for panel in PANELS),
]
suppress_warnings = ["myst.header"]
exclude_patterns = ["repository", "extra"]
_RESULT = re.compile(r"^(\s*)Returns:$")
_PROOF = re.compile(r"^(\s*)Proof: proofs/([\w/]+)\.tex")


def _process(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Proofs that are named become links, bars those of absolute values, and results have no line for a type."""
    linked = (_PROOF.sub(r"\1Proof: :doc:`/proofs/\2`", line).replace("|", r"\|") for line in lines)
    lines[:] = [_RESULT.sub(r"\1Result:", line) for line in linked]


def setup(app: Any) -> None:
    """What happens besides: docstrings are linked, and pages are finished when they are written."""
    import_module("opendp_topk")
    app.connect("autodoc-process-docstring", _process, priority=400)  # before napoleon, whose priority is 500
    app.connect("build-finished", lambda app, error: None if error else finished(Path(app.outdir)))
