"""The code of diffprivlib on the page for its users runs as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .needed import Needed

tools = Needed("diffprivlib.tools")
pytestmark = pytest.mark.foreign
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "coming_from.md").read_text("utf-8")


def test_diffprivlib_does_its_tasks() -> None:
    assert tools.quantile is not None
    names: dict[str, Any] = {}
    data = re.findall(r"^(?:pages, counts|ages) = .+$", TEXT, re.MULTILINE)
    steps = [code for code in re.findall(r"```py\n(.*?)```", TEXT, re.DOTALL) if "diffprivlib" in code]
    assert (len(data), len(steps)) == (2, 3)
    for code in (*data, *steps):
        exec(compile(code, "coming_from.md", "exec"), names)
