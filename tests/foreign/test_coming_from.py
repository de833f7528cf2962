"""The code of other libraries on the page for their users runs as it is printed there."""

import re
from pathlib import Path
from typing import Any

import pytest

from .needed import Needed

tools, pipeline = Needed("diffprivlib.tools"), Needed("pipeline_dp")
pytestmark = pytest.mark.foreign
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "coming_from.md").read_text("utf-8")


@pytest.mark.parametrize(("library", "number"), [("diffprivlib", 3), ("pipeline_dp", 2)])
def test_another_library_does_its_tasks(library: str, number: int) -> None:
    assert (tools.quantile if library == "diffprivlib" else pipeline.DPEngine) is not None
    names: dict[str, Any] = {}
    data = re.findall(r"^(?:pages, counts|rows|ages) = .+$", TEXT, re.MULTILINE)
    steps = [code for code in re.findall(r"```py\n(.*?)```", TEXT, re.DOTALL) if library in code]
    assert (len(data), len(steps)) == (3, number)
    for code in (*data, *steps):
        exec(compile(code, "coming_from.md", "exec"), names)
