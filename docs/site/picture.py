"""``python -m docs.site.picture``: draw the README's picture anew, with the first code of the gallery."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    """Every run is another release."""
    mpl.rcParams.update({"svg.hashsalt": "opendp_topk", "svg.fonttype": "none"})
    found = re.search(r"```python\n(.*?)```", (DOCS / "gallery" / "release.md").read_text("utf-8"), re.DOTALL)
    assert found is not None, "the gallery begins with a release"
    names: dict[str, Any] = {}
    exec(compile(found[1], "release.md", "exec"), names)
    names["figure"].savefig(DOCS / "release.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
